"""Models from wherever users have them, as files that the compiled module reads."""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import weakref
from typing import Any, Callable, Optional, Type

from ._errors import NotFoundError

# dfsim.Model; _api.py sets it, since its methods are the commands, which call load().
_model_type: Optional[Type[Any]] = None


def set_model_type(model_type: Type[Any]) -> None:
    global _model_type
    _model_type = model_type


def _model(path: str) -> Any:
    assert _model_type is not None
    return _model_type(path)


class _Kept:
    """Models with a temporary file share one of these, and with its end the file goes."""


def _temporary(name: str, write: Callable[[str], None]) -> Any:
    """The model in a file that `write` makes; the file lives as long as the model and its copies."""
    folder = tempfile.TemporaryDirectory(prefix="dfsim-")
    stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:60] or "model"
    path = os.path.join(folder.name, f"{stem}.onnx")
    try:
        write(path)
        model = _model(path)
    except BaseException:
        folder.cleanup()
        raise
    model.kept = _Kept()
    model.temporary_name = stem
    weakref.finalize(model.kept, folder.cleanup)
    return model


def renamed(model: Any, name: str) -> Any:
    """The same temporary file under another name."""
    return _temporary(name, _write(pathlib.Path(model.path).read_bytes()))


def _write(content: bytes) -> Callable[[str], None]:
    def write(path: str) -> None:
        with open(path, "wb") as file:
            file.write(content)

    return write


def _is_torch_module(source: Any) -> bool:
    # A caller with a module has imported torch already; dfsim does not import it for other callers.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, torch.nn.Module)


def _proto_bytes(proto: Any) -> bytes:
    """An onnx.ModelProto without its large weights, whose values are never used."""
    try:
        content = proto.SerializeToString()
    except Exception as error:  # protobuf's own types: more than 2 GiB
        raise TypeError(f"load: the onnx.ModelProto cannot be serialised ({error}); save it with "
                        "external data and load the file") from error
    if not isinstance(content, bytes):
        raise TypeError(f"load: SerializeToString() gave {type(content).__name__}, expected bytes")
    return content


def load(source: Any, *, inputs: Any = None, name: Optional[str] = None) -> Any:
    """A model, from any of:

    - the path of an ONNX file, a TensorFlow GraphDef (.pb, .pbtxt) or a SavedModel directory;
    - the bytes of an ONNX file (bytes, bytearray or memoryview), or an open binary file of one;
    - an onnx.ModelProto;
    - a torch.nn.Module, with example `inputs`: a tensor, a tuple of arguments or a dict of keyword
      arguments, of the shapes that the module is to get. It is exported to ONNX without weights.

    name: of the model in results; else that of the file, graph or class. A file is read when
    something is predicted; everything else goes to a temporary file that lives as long as the
    model.

    Errors: NotFoundError (no such file), InvalidInputError (the export fails), TypeError.
    """
    if _model_type is not None and isinstance(source, _model_type):
        return source
    if _is_torch_module(source):
        from ._torch import export

        return _temporary(name or type(source).__name__, lambda path: export(source, inputs, path))
    if inputs is not None:
        raise TypeError(f"load: found inputs with {type(source).__name__}, expected them only with "
                        "a torch.nn.Module")
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        if not os.path.exists(path):
            raise NotFoundError(f"{path}: no such file; check the path")
        return _model(path)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _temporary(name or "model", _write(bytes(source)))
    if hasattr(source, "SerializeToString"):
        graph = getattr(getattr(source, "graph", None), "name", "")
        return _temporary(name or graph or "model", _write(_proto_bytes(source)))
    if hasattr(source, "read"):
        content = source.read()  # ValueError: the file is closed
        if not isinstance(content, bytes):
            raise TypeError("load: found a file of text, expected one opened with mode 'rb'")
        return _temporary(name or "model", _write(content))
    raise TypeError(f"load: found {type(source).__name__}, expected a path, the bytes of an ONNX "
                    "file, an open binary file, an onnx.ModelProto or a torch.nn.Module")
