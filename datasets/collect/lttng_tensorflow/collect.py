"""Records a program's operators, and where permitted the kernel's view of its threads, as CTF.

    collect.py --output FOLDER [--framework torch|tensorflow] [--tracer auto|lttng|file] \\
        [--counters NAMES] [--no-kernel] PROGRAM.py [ARGUMENTS...]

PROGRAM.py runs unchanged. To mark steps it may use `dfsim_step()`, a context manager that this
script puts into its globals. The script names on stderr, once, what it cannot record.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import platform
import runpy
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import hooks  # noqa: E402
import tracers  # noqa: E402

KERNEL_EVENTS = "sched_switch,sched_wakeup,sched_waking,irq_handler_entry,irq_handler_exit"
COUNTERS = "instructions,cpu-cycles,cache-misses"


def say(text):
    print("collect.py: " + text, file=sys.stderr)


def counters_permitted():
    """Whether this process may count its own instructions: LTTng drops whole events otherwise."""
    attributes = struct.pack("<IIQQQQQ", 0, 112, 1, 0, 0, 0, 1 << 5 | 1 << 6).ljust(112, b"\0")
    library = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    if number is None:
        return False
    file = library.syscall(ctypes.c_long(number), ctypes.c_char_p(attributes), 0, -1, -1, 0)
    if file >= 0:
        os.close(file)
    return file >= 0


def lttng(*arguments, check=True):
    done = subprocess.run(["lttng", *arguments], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError("lttng %s: %s" % (" ".join(arguments),
                                             (done.stderr or done.stdout).strip().splitlines()[-1]))
    return done.returncode == 0


class LttngSession:
    """A session of LTTng with what this machine permits."""

    def __init__(self, output, kernel, counters):
        self.name = "dfsim-%d" % os.getpid()
        subprocess.run(["lttng-sessiond", "--daemonize"], capture_output=True, check=False)
        lttng("create", self.name, "--output=%s" % output)
        try:
            self._set_up(kernel, counters)
        except RuntimeError:
            lttng("destroy", self.name, check=False)
            raise

    def _set_up(self, kernel, counters):
        lttng("enable-channel", "-s", self.name, "-u", "operators", "--subbuf-size=1M",
              "--num-subbuf=8")
        lttng("enable-event", "-s", self.name, "-u", "tensorflowTracer:*", "-c", "operators")
        lttng("add-context", "-s", self.name, "-u", "-c", "operators", "-t", "vtid")
        wanted = [name for name in counters.split(",") if name]
        if wanted and not counters_permitted():
            say("no counters: the kernel does not permit perf events here")
            wanted = []
        for counter in wanted:
            if not lttng("add-context", "-s", self.name, "-u", "-c", "operators", "-t",
                         "perf:thread:" + counter, check=False):
                say("no counter %s: LTTng does not know it here" % counter)
        if kernel and not self._kernel():
            say("no kernel trace: it needs root (or group tracing) and the lttng-modules; the "
                "trace has operators only")
        lttng("start", self.name)

    def _kernel(self):
        return (lttng("enable-channel", "-s", self.name, "-k", "system", "--subbuf-size=4M",
                      "--num-subbuf=8", check=False)
                and lttng("enable-event", "-s", self.name, "-k", KERNEL_EVENTS, "-c", "system",
                          check=False)
                and lttng("enable-event", "-s", self.name, "-k", "--syscall", "--all", "-c",
                          "system", check=False)
                and lttng("add-context", "-s", self.name, "-k", "-c", "system", "-t", "tid",
                          check=False))

    def close(self):
        lttng("stop", self.name, check=False)
        lttng("destroy", self.name, check=False)


def open_tracer(options):
    """The tracer, and what to close after it."""
    if options.tracer != "file":
        try:
            if shutil.which("lttng") is None or shutil.which("gcc") is None:
                raise RuntimeError("lttng-tools, liblttng-ust-dev or gcc is missing")
            # The session must exist when the provider is loaded.
            session = LttngSession(options.output, not options.no_kernel, options.counters)
            try:
                return tracers.LttngTracer(), session
            except (subprocess.CalledProcessError, OSError) as error:
                session.close()
                raise RuntimeError("the tracepoints cannot be built: %s" % error) from error
        except RuntimeError as error:
            if options.tracer == "lttng":
                sys.exit("collect.py: %s" % error)
            say("%s; writing the trace without LTTng: operators and the counts of getrusage()"
                % error)
    return tracers.CtfTracer(options.output), contextlib.nullcontext()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--framework", choices=("torch", "tensorflow"), default="torch")
    parser.add_argument("--tracer", choices=("auto", "lttng", "file"), default="auto")
    parser.add_argument("--counters", default=COUNTERS)
    parser.add_argument("--no-kernel", action="store_true")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    tracer, session = open_tracer(options)
    operators = (hooks.torch_operators if options.framework == "torch"
                 else hooks.tensorflow_operators)
    sys.argv = [options.program, *options.arguments]
    sys.path.insert(0, str(pathlib.Path(options.program).resolve().parent))
    try:
        with operators(tracer):
            runpy.run_path(options.program, init_globals={"dfsim_step": hooks.Steps(tracer)},
                           run_name="__main__")
    finally:
        tracer.close()
        if hasattr(session, "close"):
            session.close()
    say("the trace is in %s; read it with: dfsim analyze %s" % (options.output, options.output))


if __name__ == "__main__":
    main()
