"""Servers of large language models: memory, steps, and simulated load.

The functions take the path of a Hugging Face config.json, its folder, or a decoder's ONNX file.
"""

from ._commands import llm_inspect as inspect
from ._commands import llm_predict as predict
from ._commands import llm_search as search
from ._commands import llm_serve as serve
from ._commands import llm_train as train
from ._commands import llm_validate as validate

__all__ = ["inspect", "predict", "search", "serve", "train", "validate"]
