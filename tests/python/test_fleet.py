"""Sweeps on engines: the same table, byte for byte, also when workers are killed in the middle."""

import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
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


def test_workers_say_nothing_on_stderr(whole, capfd):
    assert dfsim.sweep(**SWEEP, executor="processes", parts=3).to_csv() == whole
    assert capfd.readouterr().err == ""


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


CTRL_C = """
import os, sys, tempfile, time, dfsim

def tell(kind, text):
    print("running", flush=True)

if __name__ == "__main__":
    try:
        dfsim.sweep({model!r}, dfsim.machines()[:12], batch="1:4000", executor="processes", parts=64, progress=tell)
    except KeyboardInterrupt:
        children = open(f"/proc/{{os.getpid()}}/task/{{os.getpid()}}/children").read().split()
        commands = [open(f"/proc/{{child}}/cmdline").read() for child in children]
        print([one for one in commands if "tracker" not in one], os.listdir(tempfile.gettempdir()), flush=True)
"""


def test_ctrl_c_ends_the_workers_at_once(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(CTRL_C.format(model=MODELS[0]))
    folder = tmp_path / "tmp"
    folder.mkdir()
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, TMPDIR=str(folder)))
    try:
        assert process.stdout.readline().strip() == "running"
        began = time.monotonic()
        process.send_signal(signal.SIGINT)  # to the driver alone: the workers do not get it
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert time.monotonic() - began < 5
    assert rest.splitlines()[-1] == "[] []"
    assert process.returncode == 0


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


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    # A worker takes the package from where this process has it.
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield ray
    ray.shutdown()


def working_on_ray():
    """Processes that run a part now; Ray names them after the function."""
    found = []
    for command in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if command.read_bytes().startswith(b"ray::run_part"):
                found.append(int(command.parent.name))
        except OSError:  # it has ended
            pass
    return found


def test_ray_with_killed_workers(ray, whole):
    killed = set()
    stop = threading.Event()

    def kill():
        while not stop.is_set() and len(killed) < 2:
            for process in working_on_ray():
                if process not in killed:
                    os.kill(process, signal.SIGKILL)
                    killed.add(process)
                    break
            time.sleep(0.002)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        found = dfsim.sweep(**SWEEP, executor="ray", parts=24)
    finally:
        stop.set()
        thread.join()
    assert len(killed) == 2
    assert found.to_csv() == whole


def test_ray_refuses_a_worker_of_another_version(ray, monkeypatch):
    monkeypatch.setattr(fleet, "program_identity", lambda: "dfsim 99 (0123456789abcdef)")
    with pytest.raises(dfsim.FailedError, match="found a worker with dfsim .*expected dfsim 99"):
        dfsim.sweep(**SWEEP, executor="ray", parts=2)


MPI_DRIVER = """
import os, signal, sys
import dfsim

if __name__ == "__main__":
    table = dfsim.sweep(**{sweep!r}, executor="mpi", parts=9)
    open(sys.argv[1], "w").write(table.to_csv())
"""

# A rank that kills itself in its first part.
MPI_LOSES_A_WORKER = """
import os, signal
from mpi4py import MPI
from dfsim import fleet

if MPI.COMM_WORLD.Get_rank() == 2:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def under_mpi(tmp_path, text):
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun; Debian's package openmpi-bin has it")
    script, output = tmp_path / "driver.py", tmp_path / "table.csv"
    script.write_text(text)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "3", sys.executable, "-m",
                           "mpi4py.futures", str(script), str(output)], env=environment,
                          capture_output=True, text=True, check=False, timeout=300)
    return done, output


def test_mpi(tmp_path, whole):
    done, output = under_mpi(tmp_path, MPI_DRIVER.format(sweep=SWEEP))
    assert done.returncode == 0, done.stderr
    assert output.read_text() == whole


def test_open_mpi_ends_a_job_that_loses_a_worker(tmp_path):
    done, output = under_mpi(tmp_path, MPI_LOSES_A_WORKER + MPI_DRIVER.format(sweep=SWEEP))
    assert done.returncode != 0
    assert "signal 9" in done.stderr
    assert not output.exists()


def test_wrong_arguments():
    with pytest.raises(ValueError, match="unknown engine"):
        dfsim.sweep(**SWEEP, executor="rays")
    with pytest.raises(TypeError, match="executor: found a value of type int"):
        dfsim.sweep(**SWEEP, executor=3)
    with pytest.raises(ValueError, match="parts: found 0"):
        dfsim.sweep(**SWEEP, executor="processes", parts=0)
    for retries in (-1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="retries: found .*, expected a whole number from 0 on"):
            dfsim.sweep(**SWEEP, executor="processes", parts=2, retries=retries)
    with pytest.raises(ValueError, match="without executor"):
        dfsim.sweep(**SWEEP, parts=3)
    with pytest.raises(ValueError, match="journal: found one next to executor"):
        dfsim.sweep(**SWEEP, executor="processes", journal="x")
