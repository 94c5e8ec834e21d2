#!/usr/bin/env python3
"""Tests of what datasets/collect/ort_cpu decides and writes; nothing is measured, no package is needed."""

import collections
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTOR = ROOT / "datasets" / "collect" / "ort_cpu"
sys.path.insert(0, str(COLLECTOR))

import adapt  # noqa: E402
import collect  # noqa: E402
import export  # noqa: E402
import results  # noqa: E402
import rows  # noqa: E402


def reference(arithmetic, memory, spread=0.0):
    return {"arithmetic": {"us": arithmetic, "spread": spread}, "memory": {"us": memory, "spread": spread}}


def record(task, at=reference(100, 200), **more):
    return {"task": task, "kind": "ops", "threads": 1, "reference": at, "rows": [], **more}


class Times(unittest.TestCase):
    def test_long_times_are_medians_less_the_cut_off(self):
        self.assertEqual(rows.middle_time_us([100, 300, 120]), 120.5)

    def test_short_times_are_means_of_the_middle_half(self):
        # Whole microseconds: 2.25 on average between the outliers.
        self.assertEqual(rows.middle_time_us([2, 2, 2, 3, 2, 2, 90, 1]), 2.5)


def sample(number, threads, second, us):
    """A sample of twelve operators that take so long each."""
    rows_of = [{"op_type": "Relu", "inputs": f"float32[{i}]", "attributes": "", "name": f"n{i}", "time_ns": 1000 * us}
               for i in range(12)]
    return {"kind": "ops", "family": "small", "seed": number, "dtype": "float32", "level": "all", "threads": threads,
            "date": f"2026-11-29T00:{second // 60:02}:{second % 60:02}+00:00", "rows": rows_of}


class Handover(unittest.TestCase):
    @staticmethod
    def campaign(two_threads_us):
        """Samples five seconds apart; the times with one thread are 20 us."""
        records = []
        for number, us in enumerate(two_threads_us):
            records += [sample(number, 1, 5 * number, 20), sample(number, 2, 5 * number + 1, us)]
        return records

    def test_minutes_of_slow_handover_are_left_out_with_several_threads_alone(self):
        records = self.campaign([12] * 8 + [22] * 4 + [12] * 8)
        (kept,), slow = results.without_slow([records])
        self.assertEqual(slow, 4)
        self.assertEqual(kept, [r for r in records if r["threads"] == 1 or r["seed"] not in range(8, 12)])

    def test_cores_that_are_always_slow_lose_nothing(self):
        records = self.campaign([22] * 20)
        (kept,), slow = results.without_slow([records])
        self.assertEqual((len(kept), slow), (40, 0))

    def test_a_measurement_without_short_operators_follows_its_neighbours(self):
        records = self.campaign([12] * 8 + [22] * 5 + [12] * 8)
        long_one = sample(10, 2, 51, 900)
        records = [long_one if (r["seed"], r["threads"]) == (10, 2) else r for r in records]
        for row in records[2 * 10]["rows"]:
            row["time_ns"] = 1_000_000
        (kept,), slow = results.without_slow([records])
        self.assertEqual(slow, 5)
        self.assertNotIn(long_one, kept)


class Attributes(unittest.TestCase):
    Node = collections.namedtuple("Node", "op_type input")

    def attributes(self, op_type, given, shapes, constants=None, opset=17, inputs=()):
        node = self.Node(op_type, inputs)
        original = rows.attributes_of
        rows.attributes_of = lambda _: given
        try:
            return rows.canonical_attributes(node, shapes, constants or {}, opset)
        finally:
            rows.attributes_of = original

    def test_convolution_spells_out_defaults(self):
        self.assertEqual(self.attributes("Conv", {"strides": [2, 2]}, [[1, 3, 8, 8], [4, 3, 3, 3]]),
                         "dilations=1,1;group=1;kernel_shape=3,3;pads=0,0,0,0;strides=2,2")

    def test_axis_of_scatters_counts_unless_it_is_the_innermost(self):
        shapes = [[4, 3, 1], [4, 3, 1], [4, 3, 1]]
        self.assertEqual(self.attributes("ScatterElements", {"axis": -2}, shapes), "")
        self.assertEqual(self.attributes("ScatterElements", {}, shapes), "axis=0")
        self.assertEqual(self.attributes("GatherElements", {"axis": -3}, shapes), "axis=0")
        weight = [(64, 32, 3), (64,), (64,)]
        self.assertEqual(self.attributes("DequantizeLinear", {"axis": -3}, weight), "axis=0")
        self.assertEqual(self.attributes("DequantizeLinear", {}, [(64, 32, 3), (32,)]), "axis=1")
        self.assertEqual(self.attributes("QuantizeLinear", {"axis": 2}, [(64, 32, 3), (3,)]), "")
        self.assertEqual(self.attributes("DequantizeLinear", {"axis": 0}, [(64, 32, 3), ()]), "")

    def test_fused_activation(self):
        self.assertEqual(self.attributes("FusedConv", {"activation": b"Clip"}, [[1, 3, 8, 8], [4, 3, 1, 1]]),
                         "activation=Clip;dilations=1,1;group=1;kernel_shape=1,1;pads=0,0,0,0;strides=1,1")
        self.assertEqual(self.attributes("FusedGemm", {"activation": b"Relu"}, [[2, 3], [3, 4]]),
                         "activation=Relu;transA=0;transB=0")

    def test_resize_has_mode_and_coordinates(self):
        self.assertEqual(self.attributes("Resize", {"mode": b"cubic"}, [[1, 3, 8, 8]]),
                         "coordinates=half_pixel;mode=cubic")
        self.assertEqual(self.attributes("Pad", {}, [[1, 3, 8, 8]]), "")
        self.assertEqual(self.attributes("Pad", {"mode": b"reflect"}, [[1, 3, 8, 8]]), "mode=reflect")

    def test_pool_has_no_group(self):
        self.assertEqual(self.attributes("MaxPool", {"kernel_shape": [2, 2]}, [[1, 3, 8, 8]]),
                         "ceil_mode=0;dilations=1,1;kernel_shape=2,2;pads=0,0,0,0;strides=1,1")

    def test_axes_count_from_the_front(self):
        self.assertEqual(self.attributes("Softmax", {"axis": -1}, [[2, 3, 4]]), "axis=2")
        self.assertEqual(self.attributes("Softmax", {}, [[2, 3, 4]], opset=11), "axis=1")
        self.assertEqual(self.attributes("Gather", {}, [[2, 3]]), "axis=0")

    def test_reductions_take_all_axes_by_default(self):
        self.assertEqual(self.attributes("ReduceMean", {"axes": [-1]}, [[2, 3, 4]]), "axes=2;keepdims=1")
        self.assertEqual(self.attributes("ReduceSum", {"keepdims": 0}, [[2, 3]]), "axes=0,1;keepdims=0")

    def test_others_have_none(self):
        self.assertEqual(self.attributes("Relu", {"whatever": 1}, [[2]]), "")


class Operands(unittest.TestCase):
    """The model gives the operands that the profile lacks."""

    def executed(self, weights):
        executed = rows.Executed.__new__(rows.Executed)
        executed.weights = weights
        return executed

    def operands(self, inputs, weights, profiled):
        return self.executed(weights).operands(types.SimpleNamespace(input=inputs), profiled)

    def test_packed_weight(self):
        x, w, b = {"float": [4, 8]}, {"float": [8, 2]}, {"float": [2]}
        self.assertEqual(self.operands(["x", "w", "b"], {"w": w, "b": b}, [x, b]), [x, w, b])

    def test_all_weights_packed(self):
        x, w = {"float": [4, 8]}, {"float": [8, 2]}
        self.assertEqual(self.operands(["x", "w"], {"w": w}, [x]), [x, w])

    def test_left_out_operand(self):
        x, s = {"float": [4, 8]}, {"float": [4]}
        self.assertEqual(self.operands(["x", "", "s", ""], {}, [x, s]), [x, None, s])

    def test_too_few(self):
        self.assertIsNone(self.operands(["x", "y"], {}, [{"float": [1]}]))


class Drift(unittest.TestCase):
    def test_against_the_usual_times(self):
        usual = {"arithmetic": 100, "memory": 200}
        self.assertFalse(results.has_drifted(reference(105, 190), usual))
        self.assertTrue(results.has_drifted(reference(125, 200), usual))
        self.assertFalse(results.has_drifted(reference(125, 200), None))

    def test_within_one_measurement(self):
        self.assertTrue(results.has_drifted(reference(100, 200, spread=0.9), None))

    @staticmethod
    def operator(time_ns):
        return {"op_type": "Relu", "attributes": "", "inputs": "x", "outputs": "y", "time_ns": time_ns, "samples": 1,
                "count": 1}

    def test_of_repeated_samples_the_median_counts(self):
        records = [record(f"t{i}") for i in range(5)]
        records += [record("t", rows=[self.operator(t)]) for t in (900, 100, 120)]
        tasks = export.by_task([records])
        default = export.DEFAULT_EXPONENTS
        self.assertEqual(tasks["t0"][0]["usual"],
                         {"arithmetic": 100, "memory": 200, "exponents": {"wall": default, "ops": default}})
        self.assertEqual([row["time_ns"] for row in export.operator_rows(tasks["t"], {})], [120])

    def test_how_far_one_measurement_of_an_operator_is_from_the_next(self):
        usual = {"arithmetic": 100, "memory": 200}
        repeats = [record("n", kind="network", usual=usual, rows=[self.operator(t)]) for t in (150, 100, 125)]
        tasks = {"n": repeats, "t": [record("t", usual=usual, rows=[self.operator(t)]) for t in (1, 9)]}
        mean, median = export.operator_scatter(tasks, 1)
        self.assertAlmostEqual(mean, (0.5 + 0.2) / 2)
        self.assertAlmostEqual(median, 0.35)
        self.assertIsNone(export.operator_scatter(tasks, 2))

    def test_exponents_are_what_repeated_networks_followed(self):
        tasks = {}
        for i in range(export.LEAST_REPETITIONS):
            a, m = 100 * (1 + 0.03 * i), 200 * (1 + 0.02 * (i * 7 % 5))
            factor = (a / 100) ** 0.9 * (m / 200) ** 0.3
            if i == 4:
                factor *= 3  # once the hypervisor gave the processor to somebody else: no square of it counts
            tasks[i] = [{"kind": "network", "threads": 1, "wall_best_us": 1000 * f, "wall_reference": reference(x, y),
                         "reference": reference(x, y), "rows": [{"time_ns": 900_000 * f * f, "count": 2}]}
                        for x, y, f in ((100, 200, 1.0), (a, m, factor))]
        found = export.fit_exponents(tasks, 1, export.WALL)
        self.assertAlmostEqual(found["arithmetic"], 0.9, delta=0.02)
        self.assertAlmostEqual(found["memory"], 0.3, delta=0.05)
        self.assertAlmostEqual(export.fit_exponents(tasks, 1, export.OPS)["arithmetic"], 1.8, delta=0.04)
        self.assertEqual(export.fit_exponents({0: tasks[0]}, 1, export.WALL), export.DEFAULT_EXPONENTS)
        self.assertEqual(export.fit_exponents(tasks, 2, export.WALL), export.DEFAULT_EXPONENTS)

    def test_scatter_is_of_repeated_networks(self):
        usual = {"arithmetic": 100, "memory": 200}

        def run(us, kind="network"):
            return record("n", kind=kind, usual=usual, wall_best_us=us, wall_reference=reference(100, 200))
        tasks = {0: [run(100), run(100 * math.e ** 0.2)], 1: [run(50), run(50)], 2: [run(9)], 3: [run(1, "ops"), run(9, "ops")]}
        whole, half = export.scatter(tasks, 1)
        self.assertAlmostEqual(whole, 0.1)
        self.assertAlmostEqual(half, 0.1)
        self.assertIsNone(export.scatter(tasks, 2))

    def test_a_whole_run_counts_with_its_least_time(self):
        self.assertEqual(export.measured_us(record("n", wall_us=5.0, wall_best_us=4.0), export.WALL), 4.0)

    def test_repeated_networks_give_medians(self):
        row = {"op_type": "Relu", "attributes": "", "inputs": "float32[1]", "outputs": "float32[1]", "samples": 3}
        usual = {"arithmetic": 100, "memory": 200}
        repeats = [record("n", kind="network", usual=usual, rows=[{**row, "time_ns": ns}]) for ns in (100, 900, 110)]
        merged = export.operator_rows(repeats, {})
        self.assertEqual([(r["time_ns"], r["samples"], r["overhead_ns"]) for r in merged], [(110, 9, 0)])
        merged = export.operator_rows(repeats, {1: (0.1, 33.0)})
        self.assertEqual([(r["time_ns"], r["overhead_ns"]) for r in merged], [(100, 30)])
        self.assertEqual([r["op_class"] for r in merged], ["elementwise"])
        self.assertEqual(export.net_ns(merged[0]), 70)
        self.assertAlmostEqual(export.net_ns({"time_ns": 31, "overhead_ns": 30}), 3.1)

    def network(self, count, wall_us, share, each_us):
        """With the profiler on all operators take `share` longer, and each of them `each_us` more."""
        ops_us = wall_us * (1 + share) + count * each_us
        return record("n", kind="network", usual={"arithmetic": 100, "memory": 200}, wall_best_us=wall_us,
                      wall_reference=reference(100, 200), rows=[{"time_ns": 1000 * ops_us / count, "count": count}])

    def test_the_profilers_cost_is_what_operators_have_beyond_the_wall(self):
        tasks = {i: [self.network(10 + 7 * i, 1000.0 * (i + 1), 0.04, 8.0)] for i in range(export.LEAST_NETWORKS + 2)}
        share, overhead = export.profiler_costs(tasks)[1]
        self.assertAlmostEqual(share, 0.04, delta=0.002)
        self.assertAlmostEqual(overhead, 8000, delta=100)
        few = {0: tasks[0]}  # too few to tell one from the other
        self.assertEqual(export.profiler_costs(few)[1][0], 0.0)
        self.assertAlmostEqual(export.profiler_costs(few)[1][1], 8000 + 0.04 * 1e6 / 10, delta=1)
        host = {0: [self.network(10, 1000.0, 0.0, -5.0)]}  # the profiler does not cause the host's time
        self.assertEqual(export.profiler_costs(host)[1], (0.0, 0.0))

    def test_significant_digits(self):
        self.assertEqual([export.significant(v, 2) for v in (0, 7, 1234, 99_999)], [0, 7, 1200, 100_000])

    def test_times_are_brought_to_the_usual_speed(self):
        usual = {"arithmetic": 100, "memory": 200, "exponents": {"ops": {"arithmetic": 0.5, "memory": 1.0}}}
        measured = {"reference": reference(121, 200), "wall_reference": reference(100, 100), "usual": usual}
        self.assertAlmostEqual(export.speed_factor(measured, export.OPS), 1 / 1.1)
        default = export.DEFAULT_EXPONENTS["memory"]
        self.assertAlmostEqual(export.speed_factor(measured, export.WALL), 2 ** default)


class Adapting(unittest.TestCase):
    def errors(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "errors.csv"
        path.write_text("op_type,kind,output_elements,measured_us,predicted_us\n" + text)
        return path

    def test_buckets_forget_what_the_runtime_made_of_an_operator(self):
        self.assertEqual(adapt.bucket("com.microsoft.nchwc.Conv", "dense", 1000), adapt.bucket("Conv", "dense", 900))
        self.assertEqual(adapt.bucket("com.microsoft.FusedGemm", "linear", 64), adapt.bucket("Gemm", "", 100))
        self.assertNotEqual(adapt.bucket("Conv", "dense", 1000), adapt.bucket("Conv", "grouped", 1000))

    def test_operators_with_large_errors_are_sampled_until_they_were_picked_often(self):
        errors = adapt.read_errors(self.errors("Add,,1000,10,11\nConv,grouped,1000,10,40\n"))
        self.assertEqual(errors[adapt.bucket("Add", "", 1000)], 0.0)  # below what is tolerated
        chooser = adapt.Chooser(errors)
        sums, convolutions = [("Add", "", 1000)] * 9, [("Conv", "grouped", 1000)]
        self.assertEqual(chooser.choose([(1, sums), (2, convolutions)]), 2)
        before = chooser.score(convolutions)
        chooser.choose([(3, convolutions)])
        self.assertLess(chooser.score(convolutions), before)

    def test_bad_files(self):
        for text in ("Add,,1000,0,11\n", "Add,,x,1,1\n", ""):
            with self.assertRaises(results.BadInput):
                adapt.read_errors(self.errors(text))
        with self.assertRaises(results.BadInput):
            adapt.read_errors(pathlib.Path("/no/such/file.csv"))


class Resuming(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def test_a_line_cut_off_by_a_stop_is_dropped(self):
        log = results.Results(self.folder)
        log.add(record("a"))
        log.add(record("b", drifted=True))
        path = self.folder / results.RESULTS
        path.write_bytes(path.read_bytes() + b'{"task":"c","kin')
        again = results.Results(self.folder)
        self.assertEqual([r["task"] for r in again.records], ["a", "b"])
        self.assertFalse(again.wanted({"id": "a", "kind": "ops"}))
        self.assertTrue(again.wanted({"id": "b", "kind": "ops"}))  # drifted
        self.assertTrue(again.wanted({"id": "c", "kind": "ops"}))
        again.add(record("c"))
        self.assertEqual(len(results.read_results(self.folder)), 3)

    def test_repetitions_end(self):
        log = results.Results(self.folder)
        for _ in range(results.MOST_ATTEMPTS):
            self.assertTrue(log.wanted({"id": "b", "kind": "ops"}))
            log.add(record("b", drifted=True))
        self.assertFalse(log.wanted({"id": "b", "kind": "ops"}))

    def test_networks_are_repeated_and_refused_ones_are_not(self):
        log = results.Results(self.folder)
        network = {"id": "n", "kind": "network"}
        for _ in range(results.NETWORK_REPEATS):
            self.assertTrue(log.wanted(network))
            log.add(record("n", kind="network"))
        self.assertFalse(log.wanted(network))
        log.add({"task": "m", "kind": "network", "threads": 1, "error": "refused"})
        self.assertFalse(log.wanted({"id": "m", "kind": "network"}))

    def test_a_damaged_line_in_the_middle_is_an_error_with_its_place(self):
        path = self.folder / results.RESULTS
        path.write_text("nonsense\n" + json.dumps(record("a")) + "\n")
        with self.assertRaisesRegex(results.BadInput, r"results.jsonl:1: found a line that is not JSON"):
            results.Results(self.folder)


class Export(unittest.TestCase):
    def test_equal_rows_give_equal_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / name for name in ("a.csv.gz", "b.csv.gz")]
            for path in paths:
                export.write_csv(path, ["x", "y"], [{"x": 1, "y": "2,3", "z": 4}])
            self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())
            self.assertEqual(gzip.decompress(paths[0].read_bytes()), b'x,y\n1,"2,3"\n')

    def test_cold_rows_of_samples_and_views_are_left_out(self):
        network, sample = {"kind": "network"}, {"kind": "ops"}
        self.assertFalse(export.belongs({"op_class": "view"}, network))
        self.assertFalse(export.belongs({"op_class": "elementwise", "fed": True}, sample))
        self.assertTrue(export.belongs({"op_class": "elementwise", "fed": True}, network))
        self.assertTrue(export.belongs({"op_class": "elementwise", "fed": False}, sample))

    def test_threads_are_devices(self):
        self.assertEqual(export.device_name("CPU", 1), "CPU, 1 thread")
        self.assertEqual(export.device_name("CPU", 2), "CPU, 2 threads")


class MergedDays(unittest.TestCase):
    COLUMNS = ["device", "network", "batch", "op_type", "time_ns", "spread_ns"]
    RUN = {"batch": 1, "dims": "", "shapes": "static", "dtype": "float32", "device": "CPU, 1 thread"}

    def day(self, folder, name, rows_of_day, overhead_us, times_ms):
        """A day's profile, overheads and runs."""
        files = [folder / f"{name}{end}" for end in (".csv.gz", ".json", "_runs.csv")]
        export.write_csv(files[0], self.COLUMNS, [dict(zip(self.COLUMNS, row)) for row in rows_of_day])
        files[1].write_text(json.dumps({"CPU, 1 thread": overhead_us}), encoding="utf-8")
        runs = [{"network": f"n{i}", **self.RUN, "time_ms": time} for i, time in enumerate(times_ms)]
        export.write_csv(files[2], [*self.RUN, "network", "time_ms"], runs)
        return [str(file) for file in files]

    def merge(self, folder, times_ms, *options):
        known = [["CPU, 1 thread", "", "", "Conv", 1000, 10], ["CPU, 1 thread", "n0", 1, "Conv", 900, 9]]
        first = self.day(folder, "first", known, 3, [10, 20, 30])
        times = [("", "", "Conv", 8000, 20), ("", "", "Relu", 5, 1), ("n0", 1, "Conv", 7000, 1), ("n0", 8, "Conv", 9000, 4)]
        other = self.day(folder, "other", [["CPU, 1 thread", *row] for row in times], 4, times_ms)
        output = folder / "merged.csv.gz"
        command = [COLLECTOR / "merge_days.py", *first, "--added", *other, "--only", "Conv", *options, "-o", output]
        return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False), output

    def test_rows_get_the_first_days_speed_and_overhead(self):
        with tempfile.TemporaryDirectory() as folder:
            done, output = self.merge(pathlib.Path(folder), [20, 40, 90])  # twice as slow by the median: 8000 / 2 ns
            self.assertEqual(done.returncode, 0, done.stderr)
            # Less the microsecond that the other day's profiler took longer.
            self.assertEqual(gzip.decompress(output.read_bytes()).decode().splitlines()[3:],
                             ['"CPU, 1 thread",,,Conv,3000,10'])

    def test_networks_are_added_where_the_first_day_lacks_their_batch_size(self):
        with tempfile.TemporaryDirectory() as folder:
            done, output = self.merge(pathlib.Path(folder), [20, 40, 90], "--networks")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(gzip.decompress(output.read_bytes()).decode().splitlines()[4:],
                             ['"CPU, 1 thread",n0,8,Conv,3500,2'])

    def test_days_without_common_networks_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done, output = self.merge(pathlib.Path(folder), [20, 40])
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("found 2 runs of both days, expected 3", done.stderr)
            self.assertFalse(output.exists())


class BadInput(unittest.TestCase):
    def run_collector(self, *arguments, python=("-S",)):
        return subprocess.run([sys.executable, *python, str(COLLECTOR / "collect.py"), *arguments],
                              capture_output=True, text=True, check=False)

    def test_without_its_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.run_collector("run", "-o", folder, "--minutes", "1", python=("-S", "-E", "-s"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("requirements.txt", result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_numbers(self):
        with self.assertRaisesRegex(results.BadInput, "--threads: found '1,x'"):
            collect.parse_list("1,x", "threads")

    def test_networks_are_measured_frozen_and_open(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.v2.onnx.gz"
            path.write_bytes(b"")
            tasks = collect.network_tasks([path], [1], [1, 2], {}, ("static", "open"))
        self.assertEqual([t["id"] for t in tasks],
                         ["network/net.v2/batch1/threads1", "network/net.v2/batch1/threads2",
                          "network/net.v2/batch1/threads1/open", "network/net.v2/batch1/threads2/open"])
        self.assertEqual([t["shapes"] for t in tasks], ["static", "static", "open", "open"])
        self.assertEqual(collect.parse_shapes("open"), ["open"])
        with self.assertRaisesRegex(results.BadInput, "--shapes: found 'dynamic', expected static, open"):
            collect.parse_shapes("dynamic")

    def test_network_that_is_not_there(self):
        with self.assertRaisesRegex(results.BadInput, "no such file"):
            collect.network_tasks([pathlib.Path("missing.onnx")], [1], [1], {})

    def test_export_of_nothing(self):
        result = self.run_collector("export", "/nonexistent", "--device", "x", "-o", "y.csv", python=())
        self.assertEqual(result.returncode, 1)
        self.assertNotIn("Traceback", result.stderr)


if __name__ == "__main__":
    unittest.main()
