#!/usr/bin/env python3
"""Sweeps that processes share: whichever way they run and however often they are killed, the table is
the one of a single process.

usage: sweep_parts_test.py DFSIM
MPI is tested where mpirun is installed, which the output says.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWEEP = ["--models", "graphs/zoo/resnet18.onnx,graphs/zoo/resnet50.onnx,no_such.onnx", "--hw",
         "a100,t4,l4,epyc-milan", "--batch", "1:64:x2", "--threads", "1"]
PARTS = 3


class Sweep:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def command(self, output, *arguments):
        return [self.program, "sweep", *SWEEP, "-o", str(self.folder / output), *arguments]

    def run(self, output, *arguments, check=True, environment=None):
        return subprocess.run(self.command(output, *arguments), cwd=ROOT, check=check, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, env=environment)

    def start(self, output, *arguments):
        return subprocess.Popen(self.command(output, *arguments), cwd=ROOT,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                stdin=subprocess.DEVNULL)

    def files(self, output):
        return sorted(path.name for path in self.folder.iterdir() if path.name.startswith(output))


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def check_killed(sweep, whole):
    """Kills every part in the middle, once; then starts each again, all at the same time."""
    rng = random.Random(1)
    killed = 0
    for part in range(1, PARTS + 1):
        journal = sweep.folder / f"killed.csv.part-{part}-of-{PARTS}"
        process = sweep.start("killed.csv", "--part", f"{part}/{PARTS}")
        wanted = rng.randint(2, 6)  # lines of the journal, one of which is its header
        while process.poll() is None and (
                not journal.exists() or journal.read_bytes().count(b"\n") < wanted):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        check(not (sweep.folder / "killed.csv").exists(), "no table of a part")
    check(killed > 0, "a process was killed before its end")
    refused = sweep.run("killed.csv", "--merge", str(PARTS), check=False)
    check(refused.returncode == 1 and "points are missing, of part" in refused.stderr,
          refused.stderr)
    lines = sum(path.read_bytes().count(b"\n") - 1 for path in sweep.folder.glob("killed.csv.part*"))
    again = [sweep.start("killed.csv", "--part", f"{part}/{PARTS}")
             for part in range(1, PARTS + 1)]
    check(all(process.wait() == 0 for process in again), "parts that went on")
    check((sweep.folder / "killed.csv").read_bytes() == whole, "the table after kills")
    check(sweep.files("killed.csv") == ["killed.csv"], "nothing else is left")
    print(f"{killed} of {PARTS} parts killed with {lines} points done: the same table")


def check_mpi(sweep, whole):
    mpirun = shutil.which("mpirun")
    for rank in range(PARTS):  # what mpirun does, without it
        environment = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank),
                           OMPI_COMM_WORLD_SIZE=str(PARTS))
        sweep.run("ranks.csv", "--mpi", environment=environment)
    check((sweep.folder / "ranks.csv").read_bytes() == whole, "the table of ranks")
    bare = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMI_", "SLURM_"))}
    refused = sweep.run("bare.csv", "--mpi", check=False, environment=bare)
    check(refused.returncode == 2 and "found no rank" in refused.stderr, refused.stderr)
    if mpirun is None:
        print("mpirun itself is not tested: package openmpi-bin is not installed")
        return
    subprocess.run([mpirun, "--allow-run-as-root", "--oversubscribe", "-n", str(PARTS),
                    *sweep.command("mpi.csv", "--mpi")], cwd=ROOT, check=True,
                   stdin=subprocess.DEVNULL, capture_output=True)
    check((sweep.folder / "mpi.csv").read_bytes() == whole, "the table of mpirun")
    print("mpirun: the same table")


def check_colors(program):
    """mpirun gives each process a terminal, but what it prints can go to a file."""
    for started_by_mpi in (False, True):
        reader, terminal = os.openpty()
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("NO_COLOR", "OMPI_COMM_WORLD_RANK")}
        environment.update(TERM="xterm", **({"OMPI_COMM_WORLD_RANK": "0"} if started_by_mpi else {}))
        subprocess.run([program, "version"], stdout=terminal, check=True, env=environment)
        os.close(terminal)
        shown = os.read(reader, 4096)
        os.close(reader)
        check((b"\x1b[" in shown) != started_by_mpi, shown)


def check_slurm(sweep, whole):
    """Runs the tasks of the script as Slurm would, in reverse."""
    script = sweep.folder / "job.sh"
    script.write_text(sweep.run("slurm.csv", "--slurm", str(PARTS)).stdout)
    tasks = re.search(r"^#SBATCH --array=1-(\d+)$", script.read_text(), re.M)
    check(tasks and int(tasks[1]) == PARTS, script.read_text())
    for task in range(PARTS, 0, -1):
        environment = dict(os.environ, SLURM_ARRAY_TASK_ID=str(task), SLURM_SUBMIT_DIR=str(ROOT),
                           SLURM_CPUS_PER_TASK="2",
                           PATH=f"{pathlib.Path(sweep.program).parent}:{os.environ['PATH']}")
        subprocess.run(["sh", script], cwd=sweep.folder, check=True, env=environment,
                       stdin=subprocess.DEVNULL, capture_output=True)
    check((sweep.folder / "slurm.csv").read_bytes() == whole, "the table of the job array")
    print("a job array: the same table")
    check_killed_tasks(sweep, script)


def check_killed_tasks(sweep, script):
    """A task whose program is killed asks Slurm to run it again, three times at most; one that fails
    otherwise does not. dfsim and scontrol are stand-ins here."""
    stands_in = sweep.folder / "bin"
    stands_in.mkdir()
    for name, body in (("dfsim", 'eval "$END"'), ("scontrol", 'echo "$@" >>"$LOG"')):
        (stands_in / name).write_text(f"#!/bin/sh\n{body}\n")
        (stands_in / name).chmod(0o755)
    log = sweep.folder / "scontrol.log"
    for end, restarts, status, asked in (("kill -9 $$", "0", 137, "requeue 7_2\n"),
                                         ("kill -9 $$", "3", 137, ""), ("exit 1", "0", 1, ""),
                                         ("kill $$", "0", 143, ""), ("exit 0", "0", 0, "")):
        log.write_text("")
        environment = dict(os.environ, PATH=f"{stands_in}:{os.environ['PATH']}", END=end, LOG=str(log),
                           SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID="2",
                           SLURM_RESTART_COUNT=restarts)
        done = subprocess.run(["sh", script], cwd=sweep.folder, check=False, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True)
        check((done.returncode, log.read_text()) == (status, asked),
              f"{end} after {restarts} restarts: {done.returncode}, {log.read_text()!r}")
    print("a killed task of a job array runs again")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="dfsim_parts_") as folder:
        sweep = Sweep(program, pathlib.Path(folder))
        sweep.run("whole.csv")
        whole = (sweep.folder / "whole.csv").read_bytes()
        check(whole.count(b"\n") == 1 + 3 * 4 * 7, "rows of the whole sweep")
        check_killed(sweep, whole)
        check_mpi(sweep, whole)
        check_slurm(sweep, whole)
        check_colors(program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
