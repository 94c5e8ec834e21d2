"""torch.nn.Module to ONNX without weights. Imported only when there is a module."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import re
import warnings
from typing import Any, Dict, Iterator, Tuple

from ._errors import InvalidInputError

# Smaller initializers are kept: shapes, axes and scales that the importer reads.
_KEPT_BYTES = 1024
# Packages whose log is about the export alone.
_EXPORTERS = ("torch", "onnx", "onnx_ir", "onnxscript")
# Colours of a terminal.
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences the exporter's output, its log and warnings about its internals."""
    def nothing(_: logging.LogRecord) -> bool:
        return False

    loggers = [logger for name, logger in list(logging.Logger.manager.loggerDict.items())
               if name.split(".")[0] in _EXPORTERS and isinstance(logger, logging.Logger) and not logger.disabled]
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), \
            contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.disabled = True
        # Loggers that the export creates use these, too.
        handlers = [handler for logger in loggers for handler in logger.handlers]
        for handler in handlers:
            handler.addFilter(nothing)
        try:
            yield
        finally:
            for handler in handlers:
                handler.removeFilter(nothing)
            for logger in loggers:
                logger.disabled = False


def _reason(error: BaseException) -> str:
    """One line that says why an export failed: the innermost cause has the reason, and those around it say in which
    step of the exporter."""
    while error.__cause__ is not None:
        error = error.__cause__
    first = _ESCAPES.sub("", str(error)).strip().split("\n\n")[0]
    return " ".join(first.split())[:300] or type(error).__name__


def _arguments(inputs: Any) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    if isinstance(inputs, dict):
        return (), inputs
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    return (inputs,), {}


def export(module: Any, inputs: Any, path: str) -> None:
    """Writes the module's forward pass to `path`; weights are references to a file that is not
    written. The module's mode (train or eval) is left as it is and exported as evaluation."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    if inputs is None:
        raise TypeError("load: found a torch.nn.Module without inputs, expected example inputs; "
                        "say load(module, inputs=torch.zeros(1, 3, 224, 224))")
    if not hasattr(torch.onnx, "ONNXProgram"):
        raise InvalidInputError(f"{type(module).__name__}: found torch {torch.__version__}, "
                                "expected 2.5 or later, to export it; or export it and load the file")
    args, kwargs = _arguments(inputs)
    options: Dict[str, Any] = {"dynamo": True}
    if "verbose" in inspect.signature(torch.onnx.export).parameters:
        options["verbose"] = False
    was_training = module.training
    module.eval()
    try:
        with _quiet(), torch.no_grad():
            program = torch.onnx.export(module, args, kwargs=kwargs, **options)
    except ImportError as error:
        raise InvalidInputError(f"{type(module).__name__}: torch cannot export it without the "
                                f"package {error.name or error}; install onnx and onnxscript") from error
    except Exception as error:
        raise InvalidInputError(f"{type(module).__name__}: torch could not export it to ONNX: "
                                f"{_reason(error)}") from error
    finally:
        module.train(was_training)
    assert program is not None  # as with every export by dynamo
    _save_without_weights(program.model, path)


def _save_without_weights(model: Any, path: str) -> None:
    import onnx_ir  # type: ignore[import-not-found,unused-ignore]

    offset = 0
    for initializer in model.graph.initializers.values():
        value = initializer.const_value
        if value is None or value.nbytes <= _KEPT_BYTES:
            continue
        initializer.const_value = onnx_ir.ExternalTensor(
            "weights.data", offset, value.nbytes, value.dtype, shape=value.shape,
            name=initializer.name, base_dir="")
        offset += value.nbytes
    with open(path, "wb") as file:
        file.write(onnx_ir.to_proto(model).SerializeToString())
