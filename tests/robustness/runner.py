"""Runs dfsim and measures what a run costs."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENDS_S = 60  # only catches commands that never end
PARALLEL = max(2, os.cpu_count() or 2)
PROGRAM = []  # the program to run, set by the test


class Result:
    def __init__(self, code, stdout, stderr, cpu_s, memory_mb):
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
        self.cpu_s = cpu_s
        self.memory_mb = memory_mb


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def send(descriptor, number):
    """Sends a signal to the process of a descriptor, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, number)


def run(arguments, signal_after_s=None, **options):
    """Runs dfsim; with `signal_after_s` it gets SIGINT then."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)], cwd=ROOT, stdin=subprocess.DEVNULL,
            **{"stdout": out, "stderr": errors, **options})
        # Popen.send_signal() and kill() poll first: they would take the exit status of an ended
        # process away from wait4() below. A descriptor signals this process or nothing.
        descriptor = os.pidfd_open(process.pid)
        timers = [threading.Timer(ENDS_S, send, [descriptor, signal.SIGKILL])]
        if signal_after_s is not None:
            timers.append(threading.Timer(signal_after_s, send, [descriptor, signal.SIGINT]))
        for timer in timers:
            timer.start()
        _, state, usage = os.wait4(process.pid, 0)
        for timer in timers:
            timer.cancel()
            timer.join()  # before the descriptor closes
        os.close(descriptor)
        process.returncode = os.waitstatus_to_exitcode(state)
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
        return Result(process.returncode, *texts, usage.ru_utime + usage.ru_stime,
                      usage.ru_maxrss / 1024)


def run_all(lines, **options):
    """Runs the command lines of a dict side by side; gives their results by the same keys."""
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        futures = {name: pool.submit(run, line, **options) for name, line in lines.items()}
        return {name: future.result() for name, future in futures.items()}
