#!/usr/bin/env python3
"""Costs of cost models and schedulers that are written in Python, next to built-in ones.

The figures of docs/guides/python-cost-model.md and python-scheduler.md. Each time is the least of
several runs, in milliseconds of this process.

usage: python_callbacks.py [--runs N]      with the package dfsim installed or on PYTHONPATH
"""

import argparse
import pathlib
import tempfile
import time

import dfsim

ROOT = pathlib.Path(__file__).resolve().parents[1]


def least_ms(runs, call):
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append(1e3 * (time.process_time() - start))
    return min(times)


class FirstFeasible(dfsim.Scheduler):
    """As little Python as a policy can have."""

    name = "first-feasible"

    def plan(self, problem):
        return (problem.times_ns >= 0).argmax(axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    print("model        distinct  built-in  in Python  difference per operator")
    for name in ("resnet50", "bert_base"):
        model = dfsim.load(ROOT / f"graphs/zoo/{name}.onnx")
        sizes = []

        def costs(ops, device, sizes=sizes):
            sizes.append(len(ops))
            return [1.0] * len(ops)

        built_in = least_ms(runs, lambda: model.predict("a100", cost_model="sol"))
        python = least_ms(runs, lambda: model.predict("a100", cost_model=costs))
        print(f"{name:12} {sizes[0]:8} {built_in:7.2f} ms {python:7.2f} ms "
              f"{1e3 * (python - built_in) / sizes[0]:10.1f} us")
    print("\ntasks    first-device  in Python  difference per task")
    with tempfile.TemporaryDirectory() as folder:
        for tasks in (1_000, 10_000, 100_000):
            file = pathlib.Path(folder) / f"{tasks}.json"
            file.write_text(dfsim.generate(tasks=tasks, devices=4, seed=1).to_json())
            found = [least_ms(max(1, runs // 3), lambda: dfsim.compare(
                file, policies=[policy], planning_time=False))
                for policy in ("first-device", FirstFeasible())]
            print(f"{tasks:7} {found[0]:10.1f} ms {found[1]:8.1f} ms "
                  f"{1e3 * (found[1] - found[0]) / tasks:10.2f} us")


if __name__ == "__main__":
    main()
