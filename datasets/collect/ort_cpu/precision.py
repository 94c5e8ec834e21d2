"""A model in another precision, converted with ONNX Runtime's own tools: what `dfsim tune` measures
with --precision.

  fp16          convert_float_to_float16() with its block list
  int8          quantize_static() in QDQ form with its defaults, after the optimiser's basic level;
                calibrated on made-up inputs, since only times are wanted
  int8-dynamic  quantize_dynamic() of products
  int8-weights, int4-weights  MatMulNBits in blocks of 128
"""

import pathlib

import numpy as np
import onnx
import onnxruntime

from measure import NUMPY_TYPES, PROVIDERS

BITS = {"int8-weights": 8, "int4-weights": 4}


class MadeUpInputs:
    """One set of inputs, as onnxruntime.quantization's CalibrationDataReader gives them."""

    def __init__(self, path, dims):
        session = onnxruntime.InferenceSession(path, providers=PROVIDERS)
        rng = np.random.default_rng(0)
        feeds = {}
        for item in session.get_inputs():
            shape = [d if isinstance(d, int) else dims.get(d, 1) for d in item.shape]
            dtype = NUMPY_TYPES[item.type]
            made = rng.uniform(0.1, 1, shape) if np.issubdtype(dtype, np.floating) else np.ones(shape)
            feeds[item.name] = made.astype(dtype)
        self.feeds = [feeds]

    def get_next(self):
        return self.feeds.pop() if self.feeds else None


def optimised(path, folder):
    """The model after the optimiser's basic level, with its weights inside."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(pathlib.Path(folder) / "optimised.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(path, options, providers=PROVIDERS)
    return options.optimized_model_filepath


def converted(path, precision, dims, folder):
    """The path of the model in that precision; `path` itself for "" and fp32."""
    if precision in ("", "fp32"):
        return path
    out = str(pathlib.Path(folder) / f"{precision}.onnx")
    if precision == "fp16":
        from onnxruntime.transformers import float16
        onnx.save(float16.convert_float_to_float16(onnx.load(path)), out)
    elif precision == "int8":
        from onnxruntime import quantization
        before = optimised(path, folder)
        quantization.quantize_static(before, out, MadeUpInputs(before, dims))
    elif precision == "int8-dynamic":
        from onnxruntime import quantization
        quantization.quantize_dynamic(path, out, op_types_to_quantize=["MatMul", "Gemm"])
    elif precision in BITS:
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        quantizer = MatMulNBitsQuantizer(onnx.load(path), bits=BITS[precision], block_size=128)
        quantizer.process()
        onnx.save(quantizer.model.model, out)
    else:
        raise ValueError(f"no conversion to {precision}")
    return out
