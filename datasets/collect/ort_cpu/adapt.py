"""Which sample to measure next: the one whose operators a model is known to get wrong.

`dfsim evaluate --rows errors.csv` writes how far a model was from each measured operator. Operators are put into
buckets by type, variant and size; of a few candidates the collector takes the one whose operators lie in the buckets
with the largest errors, less what was picked from these buckets before.
"""

import collections
import csv
import math
import statistics

from results import BadInput

CANDIDATES = 6
TOLERATED = 0.10  # an error that needs no more points
SIZES_PER_BUCKET = 4.0  # a bucket holds sizes within this factor
COLUMNS = ("op_type", "kind", "output_elements", "measured_us", "predicted_us")


def base_name(op_type):
    """com.microsoft.nchwc.Conv, FusedConv, QLinearConv: all of them are made from Conv."""
    name = op_type.rsplit(".", 1)[-1]
    for prefix in ("Fused", "QLinear"):
        name = name.removeprefix(prefix)
    return name


def bucket(op_type, kind, elements):
    name = base_name(op_type)
    return name, kind if name == "Conv" else "", int(math.log(max(elements, 1), SIZES_PER_BUCKET))


def read_errors(path):
    """Mean error above what is tolerated, by bucket, as |ln(predicted / measured)|."""
    errors = collections.defaultdict(list)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or [])]
            if missing:
                raise BadInput(f"{path}: no column {', '.join(missing)}; expected a file that "
                               "`dfsim evaluate --rows` wrote")
            for number, row in enumerate(reader, 2):
                try:
                    error = abs(math.log(float(row["predicted_us"]) / float(row["measured_us"])))
                    errors[bucket(row["op_type"], row["kind"], float(row["output_elements"]))].append(error)
                except (ValueError, ZeroDivisionError, TypeError) as problem:
                    raise BadInput(f"{path}:{number}: {problem}; expected positive numbers") from problem
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}; --adapt takes a file that `dfsim evaluate --rows` wrote") from problem
    if not errors:
        raise BadInput(f"{path}: no rows; nothing to adapt to")
    return {key: max(0.0, statistics.fmean(values) - TOLERATED) for key, values in errors.items()}


class Chooser:
    def __init__(self, errors):
        self.errors = errors
        # Expects the usual error where nothing was evaluated yet.
        self.unknown = statistics.fmean(errors.values())
        self.picked = collections.Counter()

    def score(self, contents):
        """Expected error of a sample's operators; what was picked already counts less."""
        counts = collections.Counter(bucket(*item) for item in contents)
        return sum(self.errors.get(key, self.unknown) * math.log2(1 + count) / (1 + self.picked[key])
                   for key, count in counts.items())

    def choose(self, candidates):
        """candidates: (seed, contents) each; the seed of the best, which counts as picked."""
        seed, contents = max(candidates, key=lambda item: (self.score(item[1]), -item[0]))
        self.picked.update({bucket(*item) for item in contents})
        return seed
