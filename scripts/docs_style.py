"""The phrases that docs and messages must not contain, each with what to write instead.

CONTRIBUTING.md explains the rules behind this list. RULES apply to every sentence that a person
reads: Markdown, and with `check_docs.py style --sources` also comments and string literals.
A pattern is matched without regard to case unless it starts with (?-i:.
"""

import re

# (pattern, what to write instead)
PHRASES = [
    (r"\banew\b", "'again'; for models 'retrain', for files 'regenerate'"),
    (r"\bone-off\b", "'one-time', or name the experiment"),
    (r"\bjudg(e|es|ed|ing)\b", "'check', 'evaluate'; for data 'held-out set' or 'test set'"),
    (r"\bwhat judges\b|\bto judge by\b", "'the test set'"),
    (r"\b(this|that|a|same|one|own) rooms?\b(?! for)|\brooms? (that|which|of) (their|its|this)\b",
     "'directory' or 'module'"),
    (r"\bbeside\b", "'next to', 'with' or 'in addition to'"),
    (r"\bcommas? too many\b|\btoo many commas\b", "'trailing comma'"),
    (r"\bhold(s|ing)?\s(?:\S+\s){1,6}?against\b|\bheld (to|against|equal)\b|\bholds? (\S+ ){1,4}equal\b",
     "'check ... against'"),
    (r"\b(is|are|was|were|be) told\b|\bnobody tells\b", "'report', or name who detects it"),
    (r"\b(is|are) said\b|\bsaid so\b", "'the summary reports ...'"),
    (r"\b(lies?|lying) (in|on|at|beside|below|behind)\b|\bmay lie\b", "'is in'"),
    (r"\bstands? (in|at|behind|before|below|above|after|alone|by)\b", "'is in', 'is listed in'"),
    (r"\b(hangs?|hanging) (on|at|off)\b", "'depends on', 'is attached to'"),
    (r"\b(come|comes|coming|came) off\b", "'is subtracted from'"),
    (r"\bmade[- ]up\b", "'synthetic' or 'generated'"),
    (r"\bshall\b", "'must', 'should' or 'will'"),
    (r"\bmended\b|\bmends\b", "'fixed'"),
    (r"\bthereby\b|\bthereof\b|\bwhereby\b|\bwhose ever\b|\bhence the\b", "a clause with a verb"),
    (r"\bby (themselves|itself)\b", "'automatically', 'alone' or 'on its own'"),
    (r"\b(their|its|his) like\b", "'similar operators', 'comparable devices'"),
    (r"\b(about|at most|at least|for) so (long|many|much)\b", "say the number's name"),
    (r"(?<!there )(?<!there's )\b(is|are) no (?!longer\b|more\b|less\b|later\b|worse\b|better\b|different\b"
     r"|slower\b|smaller\b|larger\b|faster\b)", "'is not a', 'are not'"),
    (r"\b(all|any|nothing|everything|what|much|none) of ours\b|\bnothing else of ours\b",
     "name it"),
    (r"\bat hand\b", "'available'"),
    (r"\bmoods?\b", "'speed of the machine'"),
    (r"\bnobody\b", "name the actor: 'no operator', 'the profiler does not'"),
    (r"\bunder way\b", "'in flight', 'running'"),
    (r"\b(is|are|be) worth (what|nothing)\b", "say what it costs or gives"),
    (r"\bto look at\b|\bfor eyes\b|\bfor people and (for )?programs\b", "'to inspect', 'for people'"),
    (r"\bgive way\b|\bgives way\b", "'is replaced by'"),
    (r"\bnever heard\b|\bever heard\b", "'unknown'"),
    (r"\bworth shipping\b", "say the cost"),
    (r"\bbrought (to|into|in) (one|the usual|canonical|order)\b", "'normalised', 'sorted'"),
    (r"\bas good as\b", "'equal to'"),
    (r"\bfound out\b", "'found'"),
    (r"\btakes? over\b|\btaken over\b", "'uses', 'copies' or 'replaces'"),
    (r"\btakes? along\b|\balong with it\b", "'includes'"),
    (r"\bgoes? (on|again) (where|there)\b", "'resumes'"),
    (r"\bis (set|put) beside\b", "'is compared with'"),
    (r"\bof which nothing\b|\bof them only\b|\bof these only\b", "name the subject"),
    (r"\bon purpose\b", "give the reason"),
    (r"\bmeanwhile\b", "'at the same time', 'since then'"),
    (r"\bthe latter\b|\bthe former\b", "name it again"),
]

# A sentence that starts like this and does not end in a question mark has a clause as its subject
# ("What repeating gives is ...") or no subject at all ("Of whole runs the least counts").
OPENERS = re.compile(r"^(What|Who|Whose|Whom|Of|Its|Whoever|Whatever|Wherever)\b")

# Catch2 names read "Subject: behaviour".
TEST_NAME = re.compile(r'^\s*(?:TEST_CASE|TEMPLATE_TEST_CASE)\("((?:[^"\\]|\\.)*)"')
TEST_NAME_FORM = re.compile(r"^[^:]+: \S")

COMPILED = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in PHRASES]


def findings(sentence):
    """(offset in the sentence, found text, advice) of everything in it that a rule forbids."""
    found = []
    for pattern, advice in COMPILED:
        for match in pattern.finditer(sentence):
            found.append((match.start(), match.group(0), advice))
    opener = OPENERS.match(sentence)
    if opener and not sentence.rstrip("*_`) ").endswith("?"):
        found.append((0, opener.group(0) + " ...",
                      "a subject and an active verb in front; the clause behind them"))
    return sorted(found)
