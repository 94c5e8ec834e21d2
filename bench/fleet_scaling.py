#!/usr/bin/env python3
"""How a sweep on a fleet scales: measured with few workers, simulated with many.

Runs one sweep with each number of workers in --measure, as processes of this machine, and takes the CPU time
of every part on its worker. Then simulates engines that hand parts to free workers in order: the times of
parts are drawn from the measured ones, with a fixed seed, and the driver collects one part after the other,
each in its measured share of the driver's CPU time.

usage: fleet_scaling.py [--points N] [--parts N] [--measure 1,2] [--simulate 1,2,10,100,1000]
"""

import argparse
import concurrent.futures
import heapq
import pathlib
import random
import time

import dfsim

ROOT = pathlib.Path(__file__).resolve().parents[1]
MACHINES = ["a100", "h100-sxm", "h200", "t4", "l4", "v100-pcie", "p100-pcie", "epyc-milan", "epyc-genoa", "a40"]


def timed(function, task):
    begun = time.process_time()
    rows = function(task)
    return rows, time.process_time() - begun


class Timed:
    """An executor that notes how much CPU time each part took on its worker."""

    def __init__(self, workers):
        self.pool = concurrent.futures.ProcessPoolExecutor(workers)
        self.seconds = {}
        # Workers start before the clock does.
        list(self.pool.map(time.sleep, [0.2] * workers))

    def submit(self, function, task):
        outer = concurrent.futures.Future()

        def done(inner):
            try:
                rows, self.seconds[task.part] = inner.result()
            except BaseException as error:  # pylint: disable=broad-except
                outer.set_exception(error)
            else:
                outer.set_result(rows)

        self.pool.submit(timed, function, task).add_done_callback(done)
        return outer


def makespan(parts, workers, collect):
    """Seconds until the last part is collected; each goes to the worker that is free first."""
    free = [0.0] * workers
    ends = []
    for seconds in parts:
        end = heapq.heappop(free) + seconds
        ends.append(end)
        heapq.heappush(free, end)
    collected = 0.0
    for end in sorted(ends):
        collected = max(collected, end) + collect
    return collected


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100_000, help="of the simulated sweep")
    parser.add_argument("--parts", type=int, default=200, help="of the measured sweep")
    parser.add_argument("--measure", type=numbers, default=[1, 2], help="numbers of workers")
    parser.add_argument("--simulate", type=numbers, default=[1, 2, 10, 100, 1000], help="numbers of workers")
    options = parser.parse_args()

    models = sorted(str(path) for path in (ROOT / "graphs/zoo").glob("*.onnx"))[:8]
    sweep = {"models": models, "hardware": MACHINES, "batch": "1:125"}
    count = len(models) * len(MACHINES) * 125
    print(f"measured: {count} points in {options.parts} parts")
    print("workers  wall s  CPU s of workers  CPU s of the driver")
    for workers in options.measure:
        executor = Timed(workers)
        wall, driver = time.perf_counter(), time.process_time()
        table = dfsim.sweep(**sweep, executor=executor, parts=options.parts)
        wall, driver = time.perf_counter() - wall, time.process_time() - driver
        assert len(table) == count and table.failed == 0
        executor.pool.shutdown()
        print(f"{workers:7}  {wall:6.1f}  {sum(executor.seconds.values()):16.1f}  {driver:19.2f}")

    seconds = [executor.seconds[part] for part in sorted(executor.seconds)]
    per_part = count / options.parts
    parts = max(1, round(options.points / per_part))
    drawn = random.Random(1).choices(seconds, k=parts)
    print(f"\nsimulated: {parts * per_part:.0f} points in {parts} parts of {per_part:.0f}, "
          f"{sum(drawn) / parts:.2f} s each")
    print("workers  seconds  speed-up")
    alone = makespan(drawn, 1, driver / options.parts)
    for workers in options.simulate:
        end = makespan(drawn, workers, driver / options.parts)
        print(f"{workers:7}  {end:7.1f}  {alone / end:8.1f}")


if __name__ == "__main__":
    main()
