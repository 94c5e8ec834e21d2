"""Sweeps on many workers, by an engine that exists: Ray, Dask, MPI, or any executor of the standard library.

The sweep is cut into parts (dfsim sweep --part). A worker predicts a part and returns its rows; the engine
starts the part again on another worker when its worker is lost. The table is the one that dfsim.sweep() makes
without an engine, byte for byte. Models, hardware files and sweep files need the same paths on all workers;
names of built-in machines work everywhere.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import gzip
import hashlib
import importlib
import json
import os
import pathlib
import tempfile
from typing import Any, Callable, Dict, Generator, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _run
from ._errors import FailedError
from ._messages import spoken
from ._native import _dfsim
from ._results import Sweep
from ._support import Option, Progress, Watched

# Options of the report, which the driver makes, and of files that a worker does not have.
_OF_THE_REPORT = ("--prices", "--max-price", "--max-latency-ms", "--max-memory-gb", "--output", "--html")


class PartRows(NamedTuple):
    """The finished points of one part, as the part's journal has them."""

    part: int
    journal: bytes  # packed by gzip


class _Task(NamedTuple):
    arguments: Tuple[bytes, ...]
    part: int  # from 1
    parts: int
    program: str
    folder: str = ""  # for the worker's files; "" = that of the system


@functools.lru_cache(maxsize=1)
def program_identity() -> str:
    """The version and a digest of the compiled module, which is equal on workers of one fleet."""
    digest = hashlib.sha256(pathlib.Path(str(_dfsim.__file__)).read_bytes()).hexdigest()[:16]
    return f"dfsim {_dfsim.version} ({digest})"


def run_part(task: _Task) -> PartRows:
    """Predicts one part; what an engine calls on a worker."""
    if task.program != program_identity():
        raise FailedError(f"fleet: found a worker with {program_identity()}, expected {task.program}; install "
                          "the same wheel on all workers")
    with tempfile.TemporaryDirectory(prefix="dfsim-part-", dir=task.folder or None) as folder, spoken("sweep"):
        output = os.path.join(folder, "points.csv")
        part = f"--part={task.part}/{task.parts}"
        _dfsim.run([*_before_files(task.arguments, part, f"--output={output}")], None)
        journal = pathlib.Path(f"{output}.part-{task.part}-of-{task.parts}").read_bytes()
    return PartRows(task.part, gzip.compress(journal, 1, mtime=0))


def _before_files(arguments: Sequence[bytes], *more: str) -> List[bytes]:
    """The arguments with further options, in front of "--" and the files."""
    end = arguments.index(b"--") if b"--" in arguments else len(arguments)
    return [*arguments[:end], *(word.encode() for word in more), *arguments[end:]]


def _untyped(module: str) -> Any:
    """An optional package, whose types differ between its releases."""
    return importlib.import_module(module)


_Rows = Generator[PartRows, None, None]
Engine = Callable[[List[_Task], int], _Rows]


def _on_ray(tasks: List[_Task], retries: int) -> _Rows:
    ray = _untyped("ray")

    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    remote = ray.remote(num_cpus=1, max_retries=retries)(run_part)
    waiting = [remote.remote(task) for task in tasks]
    try:
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            try:
                yield ray.get(done[0])
            except ray.exceptions.RayTaskError as error:
                raise (error.cause or error) from error
    finally:
        for reference in waiting:
            ray.cancel(reference, force=False)


def _on_dask(client: Any) -> Engine:
    def run(tasks: List[_Task], retries: int) -> _Rows:
        as_completed = _untyped("distributed").as_completed

        futures = client.map(run_part, tasks, pure=False, retries=retries)
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            client.cancel(futures)

    return run


def _by_name_dask(tasks: List[_Task], retries: int) -> _Rows:
    distributed = _untyped("distributed")

    try:
        yield from _on_dask(distributed.get_client())(tasks, retries)
    except ValueError:  # there is none
        with distributed.Client(threads_per_worker=1) as client:
            yield from _on_dask(client)(tasks, retries)


def _on_executor(make: Callable[[], Any]) -> Engine:
    """Executors of the standard library. One that breaks with a worker is created again."""

    def run(tasks: List[_Task], retries: int) -> _Rows:
        left: Dict[int, _Task] = {task.part: task for task in tasks}
        for attempt in range(retries + 1):
            executor = make()
            futures = [executor.submit(run_part, task) for task in left.values()]
            done = False
            try:
                for future in concurrent.futures.as_completed(futures):
                    rows = future.result()
                    left.pop(rows.part, None)
                    yield rows
                done = True
                return
            except concurrent.futures.BrokenExecutor:
                if attempt == retries:
                    raise
            finally:
                # A pool whose workers end fails all futures, and cannot fail one that is cancelled.
                if done or not _end_workers(executor):
                    for future in futures:
                        future.cancel()
                executor.shutdown(wait=True)

    return run


def _end_workers(executor: Any) -> bool:
    """Ends the processes of a pool, which would finish their parts first, as at Ctrl-C. False: it has none."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    for process in processes:
        process.terminate()
    return bool(processes)


def _on_processes(tasks: List[_Task], retries: int) -> _Rows:
    # A worker that is ended leaves its files, which go with the folder.
    with tempfile.TemporaryDirectory(prefix="dfsim-parts-") as folder:
        own = [task._replace(folder=folder) for task in tasks]
        with contextlib.closing(_on_executor(concurrent.futures.ProcessPoolExecutor)(own, retries)) as rows:
            yield from rows


class _Borrowed:
    """An executor of the caller, who ends it."""

    def __init__(self, executor: Any) -> None:
        self.submit = executor.submit

    def shutdown(self, wait: bool = True) -> None:
        """Leaves the executor as it is."""


def _mpi_executor() -> Any:
    return _untyped("mpi4py.futures").MPIPoolExecutor()


_ENGINES: Dict[str, Tuple[Engine, str]] = {
    "ray": (_on_ray, "ray"),
    "dask": (_by_name_dask, "dask[distributed]"),
    "mpi": (_on_executor(_mpi_executor), "mpi4py"),
    "processes": (_on_processes, ""),
}


def engine_of(executor: Any) -> Engine:
    """The engine of a name, a Dask client, or an executor with submit()."""
    if isinstance(executor, str):
        if executor not in _ENGINES:
            raise ValueError(f"executor: unknown engine {executor!r}; valid: {', '.join(_ENGINES)}, a Dask "
                             "client, or an executor of concurrent.futures")
        engine, package = _ENGINES[executor]
        try:
            if package:
                __import__({"dask[distributed]": "distributed"}.get(package, package))
        except ImportError as error:
            raise ImportError(f"executor={executor!r} needs a package that is not installed; run pip install "
                              f"'{package}'") from error
        return engine
    if type(executor).__module__.split(".")[0] == "distributed" and hasattr(executor, "map"):
        return _on_dask(executor)
    if callable(getattr(executor, "submit", None)):
        return _on_executor(lambda: _Borrowed(executor))
    raise TypeError(f"executor: found a value of type {type(executor).__name__}, expected 'ray', 'dask', "
                    "'mpi', 'processes', a Dask client or an executor of concurrent.futures")


def _part_count(executor: Any, parts: Optional[int]) -> int:
    # Two at least: one part alone is a whole sweep.
    if parts is not None:
        if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= 100_000:
            raise ValueError(f"parts: found {parts!r}, expected a whole number from 1 to 100000")
        return max(2, parts)
    workers = getattr(executor, "_max_workers", None) or (os.cpu_count() or 1)
    if executor == "ray":
        ray = _untyped("ray")

        if ray.is_initialized():
            workers = int(ray.cluster_resources().get("CPU", workers))
    elif hasattr(executor, "scheduler_info"):
        workers = sum(int(one["nthreads"]) for one in executor.scheduler_info()["workers"].values())
    return max(2, 8 * workers)


def _collected(rows: Iterator[PartRows], parts: int, tell: Any, journal: pathlib.Path) -> int:
    """Writes the rows of all parts into one journal; the number of failed points."""
    found: Dict[int, bool] = {}
    failed = set()
    with journal.open("wb") as out:
        for one in rows:
            if found.setdefault(one.part, False):
                continue  # an engine that gives a part twice
            found[one.part] = True
            header, _, lines = gzip.decompress(one.journal).partition(b"\n")
            if len(found) == 1:
                out.write(header + b"\n")
            out.write(lines)
            for line in lines.splitlines():
                if b'"error":' in line:
                    failed.add(json.loads(line)["key"])
            if tell is not None:
                tell("stage", f"part {len(found)} of {parts}")
    if sorted(found) != list(range(1, parts + 1)):
        missing = sorted(set(range(1, parts + 1)) - set(found))
        raise FailedError(f"fleet: the engine has lost parts {missing[:8]} of {parts}, expected all; run the "
                          "sweep again")
    return len(failed)


def table(options: Sequence[Option], executor: Any, parts: Optional[int], retries: int,
          progress: Progress) -> Sweep:
    """The table of a sweep; dfsim.sweep(executor=...) calls this."""
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries: found {retries!r}, expected a whole number from 0 on; 0 restarts no part")
    engine = engine_of(executor)
    count = _part_count(executor, parts)
    predicting = [option for option in options if option[0] not in _OF_THE_REPORT]
    if all(value is None for name, value, _ in options if name == "--threads"):
        predicting = [("--threads", 1, kind) if name == "--threads" else (name, value, kind)
                      for name, value, kind in predicting]
    worker_arguments = _run.Arguments("sweep", predicting)  # holds models that are temporary files
    words = tuple(worker_arguments.encoded())
    tasks = [_Task(words, part, count, program_identity()) for part in range(1, count + 1)]
    with tempfile.TemporaryDirectory(prefix="dfsim-fleet-") as folder:
        journal = pathlib.Path(folder) / "points.journal"
        # Closed at once when an exception ends the work: the engine's workers end, too.
        with Watched(progress) as tell, contextlib.closing(engine(tasks, retries)) as rows:
            failed = _collected(rows, count, tell, journal)
        arguments, found, refused = _run.swept("sweep", options, journal, None)
    if found.failed < failed:
        raise FailedError(f"fleet: {failed - found.failed} points failed on workers but not here; give the "
                          "workers the same model and hardware files under the same paths")
    return arguments.accepted(found, refused)
