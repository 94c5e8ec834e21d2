"""Sweeps on engines: the same table, byte for byte, also when workers are killed in the middle."""

import concurrent.futures
import os
import pathlib
import signal
import threading
import time

import pytest

import dfsim
from dfsim import fleet

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = [str(ROOT / "graphs/zoo/resnet18.onnx"), str(ROOT / "graphs/zoo/resnet50.onnx"), "no_such.onnx"]
SWEEP = {"models": MODELS, "hardware": ["a100", "t4"], "batch": "1:32:x2", "prices": {"a100": 4.0, "t4": 0.5}}


@pytest.fixture(scope="module")
def whole():
    return dfsim.sweep(**SWEEP).to_csv()


class Twice:
    """An executor that gives each future back twice as late and counts what runs."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.parts = []

    def submit(self, function, task):
        self.parts.append(task.part)
        return self.pool.submit(function, task)


def test_any_executor_and_any_number_of_parts(whole):
    for parts in (1, 2, 7, 100):  # 36 points: some parts are empty
        executor = Twice()
        assert dfsim.sweep(**SWEEP, executor=executor, parts=parts).to_csv() == whole
        assert sorted(executor.parts) == list(range(1, max(2, parts) + 1))


def test_processes_that_are_killed(whole):
    killed = []
    stop = threading.Event()

    def kill():
        children = pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
        while not stop.is_set() and not killed:
            for child in children.read_text().split():
                command = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
                if b"python" in command and b"resource_tracker" not in command:
                    time.sleep(0.05)
                    os.kill(int(child), signal.SIGKILL)
                    killed.append(child)
                    break
            time.sleep(0.001)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        assert dfsim.sweep(**SWEEP, executor="processes", parts=12).to_csv() == whole
    finally:
        stop.set()
        thread.join()
    assert killed


def test_a_worker_of_another_version_is_refused():
    task = fleet._Task((b"sweep",), 1, 2, "dfsim 99 (0123456789abcdef)")
    with pytest.raises(dfsim.FailedError, match="found a worker with dfsim .*expected dfsim 99"):
        fleet.run_part(task)


def test_a_lost_part_is_an_error():
    class Loses(Twice):
        def submit(self, function, task):
            future = super().submit(function, task)
            return super().submit(function, task._replace(part=1)) if task.part == 2 else future

    with pytest.raises(dfsim.FailedError, match="lost parts .2. of 3"):
        dfsim.sweep(**SWEEP, executor=Loses(), parts=3)


def test_dask_with_a_killed_worker(whole):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            victim = sorted(client.run(os.getpid).values())[0]
            timer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
            timer.start()
            assert dfsim.sweep(**SWEEP, executor=client, parts=24).to_csv() == whole
            timer.join()


def test_ray(whole):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    try:
        assert dfsim.sweep(**SWEEP, executor="ray", parts=6).to_csv() == whole
    finally:
        ray.shutdown()


def test_wrong_arguments():
    with pytest.raises(ValueError, match="unknown engine"):
        dfsim.sweep(**SWEEP, executor="rays")
    with pytest.raises(TypeError, match="executor: found a value of type int"):
        dfsim.sweep(**SWEEP, executor=3)
    with pytest.raises(ValueError, match="parts: found 0"):
        dfsim.sweep(**SWEEP, executor="processes", parts=0)
    with pytest.raises(ValueError, match="without executor"):
        dfsim.sweep(**SWEEP, parts=3)
    with pytest.raises(ValueError, match="journal: found one next to executor"):
        dfsim.sweep(**SWEEP, executor="processes", journal="x")
