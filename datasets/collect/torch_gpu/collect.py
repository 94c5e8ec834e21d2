#!/usr/bin/env python3
"""Measures operators, copies and whole networks with PyTorch on a CUDA GPU, or on the CPU to try the script out.

    collect.py run -o campaign --minutes 10            # most valuable first; resumes where it stopped
    collect.py export campaign -o ops.csv.gz --runs runs.csv

See README.md.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import campaign  # noqa: E402
import export  # noqa: E402


def import_torch():
    try:
        import torch
    except ImportError as error:
        raise export.BadInput(f"{error}; install the packages of "
                              f"{pathlib.Path(__file__).with_name('requirements.txt')}") from error
    return torch


def describe(torch, options):
    """Writes a description of the machine next to the results."""
    lines = [f"torch {torch.__version__}"]
    for command in (["nvidia-smi", "-q", "-d", "CLOCK,POWER,PERFORMANCE"], ["lscpu"], ["nvidia-smi"]):
        if shutil.which(command[0]):
            lines.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    (options.output / f"machine-{int(time.time())}.txt").write_text("\n".join(lines))


def run(options):
    torch = import_torch()
    if options.device == "cuda" and not torch.cuda.is_available():
        raise export.BadInput("--device cuda: PyTorch sees no CUDA GPU; expected one (--device cpu tries the script out)")
    if options.worker is None:
        return run_workers(torch, options)
    torch.set_num_threads(options.threads)
    worker = campaign.Worker(torch, options, options.until)
    worker.run(campaign.compiled_tasks(options) if options.worker < 0 else campaign.tasks(options))
    return 0


def run_workers(torch, options):
    """One process per worker; with --compile one more, which measures compiled networks alone."""
    options.output.mkdir(parents=True, exist_ok=True)
    campaign.prepare(options.output)
    describe(torch, options)
    until = time.time() + 60 * options.minutes
    numbers = [*range(options.workers), *([-1] if options.compile else [])]
    again = [sys.executable, __file__, *sys.argv[1:], "--until", str(until), "--worker"]
    workers = [subprocess.Popen([*again, str(number)]) for number in numbers]
    try:
        for worker in workers:
            try:
                worker.wait(max(1, until - time.time()) + options.grace)
            except subprocess.TimeoutExpired:  # its last measurement would take long: lost, claimed again later
                worker.kill()
    except KeyboardInterrupt:
        for worker in workers:
            worker.kill()
        raise
    describe(torch, options)
    return max(0, *(w.wait() for w in workers if w.returncode != -9)) if any(w.returncode != -9 for w in workers) else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run", help="measure for some minutes")
    command.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder of the results")
    command.add_argument("--minutes", type=float, required=True, help="budget; the last measurement may go beyond")
    command.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    command.add_argument("--dtypes", type=lambda s: s.split(","), default=list(campaign.DTYPES),
                         help="default: " + ",".join(campaign.DTYPES))
    command.add_argument("--networks", nargs="*", metavar="NAME", help="default: all of the repository")
    command.add_argument("--workers", type=int, default=min(3, os.cpu_count() or 1),
                         help="processes that share the GPU, one timing at a time; default: 3")
    command.add_argument("--compile", action="store_true", help="one more process measures compiled networks")
    command.add_argument("--kind", choices=("all", "host"), default="all",
                         help="host: how fast an idle host launches networks, with --workers 1; default: all")
    command.add_argument("--seed", type=int, default=1, help="of operators' shapes and networks' batches; default: 1")
    command.add_argument("--threads", type=int, default=4, help="CPU threads of a worker; default: 4")
    command.add_argument("--runs", type=int, default=10, help="timed runs of each; default: 10")
    command.add_argument("--most-ops", type=int, default=100000, help="operators per type at most")
    command.add_argument("--most-batch", type=int, default=1024)
    command.add_argument("--grace", type=float, default=20, help="seconds for the last measurement; default: 20")
    command.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    command.add_argument("--until", type=float, help=argparse.SUPPRESS)
    command = commands.add_parser("export", help="write a profile and a runs file")
    command.add_argument("results", type=pathlib.Path, nargs="+")
    command.add_argument("-o", "--output", type=pathlib.Path, required=True, help="the profile of operators")
    command.add_argument("--host", type=pathlib.Path, help="host times of whole networks, for dispatch_speed.py")
    command.add_argument("--steps", type=pathlib.Path, help="kernel times of training steps by call, for compare_steps.py")
    command.add_argument("--runs", type=pathlib.Path, help="latencies of whole networks")
    command.add_argument("--runs-dtype", choices=campaign.DTYPES, default="float16", help="of the networks; default: float16")
    command.add_argument("--runs-runtime", choices=("cuda-graph", "torch-eager"), default="cuda-graph",
                         help="how the networks ran; default: cuda-graph")
    command.add_argument("--held-out", action="store_true", help="the networks that no model is trained on, not the others")
    command.add_argument("--channels-last", action="store_true", help="--runs takes the runs with channels last, not the others")
    command.add_argument("--timing", nargs="+", choices=("kernel-only", "launch-inclusive"), default=["kernel-only"],
                         help="kinds of times in the profile; launch-inclusive times have few operators")
    return parser.parse_args()


def main():
    options = parse_arguments()
    try:
        if options.command == "export":
            export.write(options)
            return 0
        for dtype in options.dtypes:
            if dtype not in campaign.DTYPES:
                raise export.BadInput(f"--dtypes: there is no '{dtype}'; valid: {', '.join(campaign.DTYPES)}")
        return run(options)
    except export.BadInput as error:
        sys.exit(f"collect.py: {error}")
    except KeyboardInterrupt:
        sys.exit("collect.py: stopped; what was measured is kept, the same command goes on")


if __name__ == "__main__":
    sys.exit(main())
