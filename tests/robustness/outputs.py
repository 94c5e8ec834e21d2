"""The tests of what dfsim writes: pipes, devices, links, full disks, and signals while it writes."""

import os
import pathlib
import signal
import stat
import subprocess
import threading
import time

from commands import MODEL, NO_OUTPUT_OPTION, READERS, WORKING
from runner import ENDS_S, PROGRAM, ROOT, names_in, run, run_all


class Outputs:
    """For Robustness, whose folders and checks these tests use."""

    def test_output_device_stays_a_device(self):
        # A device of this test's own: the slave side of a terminal.
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        drain = threading.Thread(target=self.drain, args=[master], daemon=True)
        drain.start()
        device = os.ttyname(slave)
        for name, line in self.writers(device).items():
            with self.subTest(command=name):
                result = run(line)
                self.assertEqual((result.code, result.stderr), (0, ""))
                self.assertTrue(stat.S_ISCHR(os.stat(device).st_mode))

    @staticmethod
    def drain(descriptor):
        try:
            while os.read(descriptor, 1 << 16):
                pass
        except OSError:
            return  # the terminal is closed

    def writers(self, path):
        """The working commands that take -o, writing to `path`."""
        return {name: [*line, "-o", str(path)] for name, line in self.working().items()
                if name not in NO_OUTPUT_OPTION}

    def test_output_to_a_pipe(self):
        os.mkfifo(self.tmp / "pipe")
        result = run(["inspect", MODEL, "-o", self.tmp / "pipe"])  # no process reads it
        self.check_refused(result, code=1)
        reader = os.open(self.tmp / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.assertEqual(run(["inspect", MODEL, "-o", self.tmp / "pipe"]).code, 0)
        self.assertIn(b"mobilenet_v2", os.read(reader, 1 << 16))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.tmp / "pipe").st_mode))

    def test_output_replaces_no_input(self):
        path = self.tmp / "input"
        path.write_text("kept")
        lines = {name: line for name, line in READERS.items()
                 if name.split(" --")[0] not in NO_OUTPUT_OPTION and "-o" not in line}
        self.assertGreater(len(lines), 20)
        lines = {name: [*self.line(line, path), "-o", path] for name, line in lines.items()}
        lines["--save"] = ["inspect", path, "--save", path]
        lines["--html"] = ["predict", path, "--hw", "a100", "--html", path]
        lines["--rows"] = ["evaluate", "--model", "a100", "--profiles", path, "--rows", path]
        lines["--steps-trace"] = ["llm", "serve", path, "--steps-trace", path]
        for name, line in lines.items():
            with self.subTest(command=name):
                result = run(line)
                self.check_refused(result)
                self.assertIn("is the same file", result.stderr)
                self.assertEqual(path.read_text(), "kept")

    def test_output_link_stays_a_link(self):
        for name, line in self.writers(self.tmp / "link").items():
            with self.subTest(command=name):
                (self.tmp / "link").unlink(missing_ok=True)
                (self.tmp / "target").write_text("before")
                (self.tmp / "link").symlink_to("target")
                result = run(line)
                self.assertEqual(result.code, 0, result.stderr)
                self.assertTrue((self.tmp / "link").is_symlink())
                self.assertNotEqual((self.tmp / "target").read_text(), "before")
                self.assertEqual(names_in(self.tmp), ["link", "target"])

    def test_output_keeps_its_permissions(self):
        out = self.tmp / "out"
        out.write_text("before")
        out.chmod(0o600)
        self.assertEqual(run(["inspect", MODEL, "-o", out]).code, 0)
        self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o600)

    def test_output_in_a_missing_directory(self):
        for name, result in run_all(self.writers(self.tmp / "none" / "out")).items():
            with self.subTest(command=name):
                self.check_refused(result, code=1)
                self.assertIn("No such file or directory", result.stderr)

    def test_output_that_is_a_directory(self):
        for name, result in run_all(self.writers(self.tmp)).items():
            with self.subTest(command=name):
                self.check_refused(result, code=1)
        self.assertEqual(names_in(self.tmp), [])

    def test_full_disk(self):
        lines = self.writers("/dev/full")
        lines["--trace"] = ["predict", MODEL, "--hw", "a100", "--trace", "/dev/full"]
        lines["--html"] = ["predict", MODEL, "--hw", "a100", "--html", "/dev/full"]
        lines["--save"] = ["inspect", MODEL, "--save", "/dev/full"]
        lines["--svg"] = ["roofline", MODEL, "--hw", "a100", "--svg", "/dev/full"]
        lines["--rows"] = [*self.working()["evaluate"], "--rows", "/dev/full"]
        for name, result in run_all(lines).items():
            with self.subTest(command=name):
                self.check_refused(result, code=1)
                self.assertIn("No space left on device", result.stderr)

    def test_full_stdout(self):
        lines = self.working()
        lines["--help"] = ["--help"]
        lines.update({f"{name} --help": [*name.split(), "--help"] for name in WORKING})
        with open("/dev/full", "w", encoding="ascii") as full:
            results = run_all(lines, stdout=full)
        for name, result in results.items():
            with self.subTest(command=name):
                self.check_refused(result, code=1)

    def test_closed_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as stdout:
            results = run_all(self.working(), stdout=stdout)
        for name, result in results.items():
            with self.subTest(command=name):
                self.assertIn(result.code, (1, -signal.SIGPIPE), result.stderr)

    # --- signals ---

    def test_interrupted_writer_leaves_nothing_and_keeps_the_old_file(self):
        out = self.tmp / "graph.json"
        out.write_text("before")
        line = ["generate", "--shape", "layered", "--tasks", "2000000", "-o", out]
        result = run(line, signal_after_s=0.5)
        self.assertEqual(names_in(self.tmp), ["graph.json"])
        if result.code != 0:  # a fast machine may be done
            self.assertEqual(result.code, -signal.SIGINT)
            self.assertEqual(out.read_text(), "before")

    def test_interrupted_commands_leave_nothing(self):
        lines = self.writers(self.tmp / "out")
        for number, (name, line) in enumerate(lines.items()):
            with self.subTest(command=name):
                result = run(line, signal_after_s=0.002 * (number % 20))
                self.assertIn(result.code, (0, -signal.SIGINT), result.stderr)
                self.assertIn(names_in(self.tmp), ([], ["out"]))
                (self.tmp / "out").unlink(missing_ok=True)

    def test_interrupted_calibration_ends_its_child(self):
        python = self.tmp / "python"
        python.write_text(f"#!/bin/sh\necho $$ > {self.tmp}/pid\nexec sleep 60\n")
        python.chmod(0o755)
        process = subprocess.Popen(
            [*PROGRAM, "calibrate", "-o", self.tmp / "out", "--python", python, "--no-install", "--roofs", "skip"],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        child = self.wait_for_number(self.tmp / "pid")
        process.send_signal(signal.SIGINT)  # to dfsim alone, as `kill` does
        self.assertEqual(process.wait(ENDS_S), -signal.SIGINT)
        for _ in range(100):
            if not self.runs(child):
                return
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        self.fail("the child still runs")

    def wait_for_number(self, path):
        for _ in range(ENDS_S * 20):
            text = path.read_text() if path.exists() else ""
            if text.endswith("\n"):
                return int(text)
            time.sleep(0.05)
        return self.fail(f"{path} was not written")

    @staticmethod
    def runs(pid):
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        return state != "Z"
