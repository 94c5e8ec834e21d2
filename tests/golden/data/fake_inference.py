"""A program whose reported time is a known function of its setting, for tests of dfsim tune.

usage: fake_inference.py BATCH [--fail-at BATCH] [--silent] [--hang]
"""
import os
import sys
import time

batch = int(sys.argv[1])
threads = int(os.environ["OMP_NUM_THREADS"])
mode = os.environ.get("FAKE_MODE", "slow")
if "--fail-at" in sys.argv and batch == int(sys.argv[sys.argv.index("--fail-at") + 1]):
    sys.exit("out of memory")
if "--hang" in sys.argv:
    time.sleep(1000)
# Seconds per batch: a serial part, arithmetic that threads share, and a penalty of big batches.
seconds = 0.010 + 0.002 * batch / threads + 0.00002 * batch ** 2
if mode == "fast":
    seconds *= 0.8
if "--silent" not in sys.argv:
    print(f"latency: {1.5 * seconds:.9f} s")  # of a warm-up
    print(f"latency: {seconds:.9f} s")
    print(f"throughput: {batch / seconds:.6f} samples/s", file=sys.stderr)
