#!/usr/bin/env python3
"""Tests scripts/check_docs.py on planted pages: each check finds what it must, and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
import check_docs  # noqa: E402

HELP = """dfsim: how long will this model take?
Usage: dfsim [OPTIONS] SUBCOMMAND

Options:
  -h,--help                   Print this help

Subcommands:
  predict                     How long a model takes
  very-long                   A text that goes on
                              in the next line

Exit codes: 0 fine.
"""


def checked(files, check, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check(root, *arguments)


class Links(unittest.TestCase):
    def test_links_to_files_and_anchors_pass(self):
        self.assertEqual([], checked({
            "a.md": "# A `b` c!\n[x](docs/b.md#the-life-of-x) [y](#a-b-c) [z](https://a.b/c#d) ![p](p.png)\n",
            "docs/b.md": "text\n\n## The life of `x`\n[up](../a.md)\n## Same\n## Same\n[2](#same-1)\n",
            "p.png": ""}, check_docs.broken_links))

    def test_dead_link_is_found_with_file_and_line(self):
        found = checked({"docs/a.md": "one\n[x](../b.md)\n"}, check_docs.broken_links)
        self.assertEqual(1, len(found))
        self.assertTrue(found[0].startswith("docs/a.md:2: link to ../b.md: "), found)

    def test_dead_anchor_is_found(self):
        found = checked({"a.md": "[x](b.md#gone)\n", "b.md": "# Here\n```\n# gone\n```\n"}, check_docs.broken_links)
        self.assertEqual(1, len(found), found)

    def test_script_that_a_page_calls_must_be_executable(self):
        pages = {"a.md": "```\n10 tools/run.py x -o y\npython3 tools/run.py\n```\n"}
        found = checked({**pages, "tools/run.py": "#!/usr/bin/env python3\n"}, check_docs.broken_links)
        self.assertEqual(["a.md:2: tools/run.py cannot run: chmod +x tools/run.py"], found)
        self.assertEqual([], checked({**pages, "tools/run.py": "import sys\n"}, check_docs.broken_links))

    def test_links_in_code_are_ignored(self):
        self.assertEqual([], checked({"a.md": "`[x](gone.md)`\n\n```\n[x](gone.md)\n```\n\n    [x](gone.md)\n"},
                                     check_docs.broken_links))

    def test_link_out_of_the_project_is_found(self):
        self.assertEqual(1, len(checked({"a.md": "[x](../../etc/passwd)\n"}, check_docs.broken_links)))

    def test_sources_name_existing_pages_and_pages_existing_sources(self):
        files = {"sim/a.cc": "// see docs/gone.md and docs/here.md\n", "docs/here.md": "`sim/a.cc` `sim/NAME.cc`\n"}
        found = checked(files, check_docs.broken_links)
        self.assertEqual(["sim/a.cc:1: names docs/gone.md: there is no such file"], found)
        found = checked({"sim/a.cc": "", "docs/a.md": "text\n`sim/b.cc`\n"}, check_docs.broken_links)
        self.assertEqual(["docs/a.md:2: names sim/b.cc: there is no such file"], found)


class Style(unittest.TestCase):
    def style(self, text, name="a.md", sources=False):
        return checked({name: text}, check_docs.bad_style, (), sources)

    def test_plain_sentences_pass(self):
        self.assertEqual([], self.style(
            "# Commands\n\ndfsim checks the file. What does it print? It prints a table.\n\n| a | b |\n|---|---|\n"
            "| what is simulated | there is no file |\n\n```\nwhat is written anew\n```\n\n`anew` is code.\n"))

    def test_forbidden_words_are_found_with_file_and_line(self):
        for text in ["It is trained anew.", "A one-off case.", "judged by others", "drawings of this room",
                     "the file beside it", "commas too many", "It holds gradients against differences.",
                     "The format is told from the content.", "It is no file.", "made-up weights"]:
            with self.subTest(text=text):
                found = self.style("first line\n" + text + "\n")
                self.assertEqual(1, len(found), found)
                self.assertTrue(found[0].startswith("a.md:2: "), found)

    def test_a_clause_as_subject_is_found_across_lines(self):
        found = self.style("It ends here. What an online\npolicy holds back counts.\n")
        self.assertEqual(["a.md:1"], [line.split(": ")[0] for line in found])
        found = self.style("It ends\nhere. Of those\nonly one is used.\n")
        self.assertEqual(["a.md:2"], [line.split(": ")[0] for line in found])
        for text in ["- Its text is short.\n", "## Who may include whom\n", "| Whose name |\n|---|\n"]:
            self.assertEqual(1, len(self.style(text)), text)

    def test_examples_of_bad_style_pass(self):
        self.assertEqual([], self.style("> Before: It is written anew.\n>\n> After: It is written again.\n"))

    def test_sources_are_read_only_on_request(self):
        text = '// Trains it anew.\nint x = f("the file beside it", "anew");\n'
        self.assertEqual([], self.style(text, "sim/a.cc"))
        found = self.style(text, "sim/a.cc", sources=True)
        self.assertEqual(["sim/a.cc:1", "sim/a.cc:2"], [line.split(": ")[0] for line in found])
        self.assertEqual(1, len(self.style("# Done anew.\nx = 1\n", "a.py", sources=True)))

    def test_names_of_tests_have_a_subject(self):
        found = self.style('TEST_CASE("merges transposes") {\nTEST_CASE("Pass: merges", "[x]") {\n', "tests/a.cc", True)
        self.assertEqual(1, len(found), found)
        self.assertIn("Subject: behaviour", found[0])


class Spelling(unittest.TestCase):
    def test_unknown_words_are_found_and_known_ones_pass(self):
        files = {"a.md": "The colour of teh dfsim's pag. `teh` teh.cc\n", "scripts/docs_words.txt": "dfsim\n"}
        found = checked(files, check_docs.misspelled)
        if found is None:
            self.skipTest("aspell is missing")
        self.assertEqual(["a.md:1: unknown word 'pag'", "a.md:1: unknown word 'teh'"],
                         [": ".join(line.split(": ")[:2]) for line in found])

    def test_a_missing_tool_is_reported_as_skipped(self):
        program = [sys.executable, check_docs.__file__, "spelling"]
        result = subprocess.run(program, env={"PATH": "/nonexistent"}, capture_output=True, text=True, check=False)
        self.assertEqual(check_docs.SKIPPED, result.returncode)
        self.assertIn("apt-get install aspell", result.stdout)


class Readme(unittest.TestCase):
    TABLE = "| command |\n|---|\n| [`predict`](p.md) |\n| `very-long` |\n"

    def test_complete_table_passes(self):
        self.assertEqual([], check_docs.readme_problems(self.TABLE, HELP))

    def test_missing_command_is_found(self):
        found = check_docs.readme_problems("`very-long` is in the text only\n" + self.TABLE.replace("very-long", "x"), HELP)
        self.assertEqual(1, len(found), found)
        self.assertIn("`very-long`", found[0])

    def test_long_page_and_help_without_commands_are_found(self):
        self.assertEqual(1, len(check_docs.readme_problems(self.TABLE + "\n" * 300, HELP)))
        self.assertEqual(1, len(check_docs.readme_problems(self.TABLE, "no list here\n")))


class Program(unittest.TestCase):
    def test_findings_make_the_exit_code_1(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.md").write_text("anew\n")
            pathlib.Path(folder, "b").mkdir()
            for arguments, code in [(["style"], 1), (["style", "--sources", "b"], 0), (["links"], 0), (["readme"], 2), (["other"], 2)]:
                result = subprocess.run([sys.executable, check_docs.__file__, *arguments, "--root", folder],
                                        capture_output=True, text=True, check=False)
                self.assertEqual(code, result.returncode, arguments)


if __name__ == "__main__":
    unittest.main()
