#!/usr/bin/env python3
"""Measures ONNX Runtime's operators of trees, support vectors and linear models, with one and two threads.

usage: classic_ops.py > classic_ops.csv

Needs numpy, onnxruntime, scikit-learn and skl2onnx. Each model is trained on 2,000 random rows of 20
columns, converted, and run 12 times on 10,000 other rows (support vectors: 1,000) with the profiler on;
the median of the kernel's times counts, for each row.
"""
import csv
import pathlib
import sys
import tempfile

import numpy as np
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from measure import kernel_times_us  # noqa: E402

MODELS = {
    "100 trees of any depth": (RandomForestClassifier(100, random_state=0), 10_000),
    "300 trees of depth 10": (RandomForestRegressor(300, max_depth=10, random_state=0), 10_000),
    "200 trees of depth 3": (GradientBoostingRegressor(n_estimators=200, random_state=0), 10_000),
    "radial basis": (SVC(), 1_000),
    "scaled": (make_pipeline(StandardScaler(), LogisticRegression()), 10_000),
    "linear": (LinearRegression(), 10_000),
}
RUNS = 12


def main():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((2000, 20)).astype(np.float32)
    labels = (columns[:, 0] + columns[:, 1] ** 2 > 1).astype(int)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["operator", "model", "ns_per_row_1_thread", "ns_per_row_2_threads"])
    with tempfile.TemporaryDirectory() as folder:
        for name, (model, count) in MODELS.items():
            model.fit(columns, labels)
            converted = to_onnx(model, columns[:1]).SerializeToString()
            rows = rng.standard_normal((count, 20)).astype(np.float32)
            times = [dict(kernel_times_us(converted, {"X": rows}, threads, folder, RUNS)) for threads in (1, 2)]
            for op in times[0]:
                if op.startswith(("TreeEnsemble", "SVM", "Linear", "Scaler")):
                    writer.writerow([op, name, *(f"{1000 * by_op[op] / count:.1f}" for by_op in times)])


if __name__ == "__main__":
    main()
