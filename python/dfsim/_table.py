"""Tables: arrays by name that other libraries read without copying values one by one."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._native import _dfsim


class Table(Dict[str, "npt.NDArray[Any]"]):
    """A dict of numpy arrays of one length, one per column.

    pandas.DataFrame(table) works, and so does everything that reads the Arrow C stream interface:
    pyarrow.table(table), polars.from_arrow(table), duckdb. Whole numbers are int64, other numbers and
    those that may be missing float64 (nan where there is none), flags bool, strings object (None where
    there is none). The type of a column does not depend on its values.
    """

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        names: List[str] = []
        formats: List[str] = []
        columns: List[Any] = []
        for name, column in self.items():
            names.append(name)
            if column.dtype == np.bool_ or _are_flags(column):
                formats.append("b")
                columns.append(column.tolist())
            elif column.dtype.kind in "iu":
                formats.append("l")
                columns.append(np.ascontiguousarray(column, dtype=np.int64))
            elif column.dtype.kind == "f":
                formats.append("g")
                columns.append(np.ascontiguousarray(column, dtype=np.float64))
            else:
                formats.append("u")
                columns.append(list(column))
        return _dfsim.arrow_stream(names, formats, columns, self.height)

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values()), ()))

    def __repr__(self) -> str:
        return f"<dfsim table of {self.height} rows: {', '.join(self)}>"


def _are_flags(column: npt.NDArray[Any]) -> bool:
    """True and False, some of which may be missing (None)."""
    return column.dtype == object and {type(value) for value in column} - {type(None)} == {bool}


# The type of an array, and the value that stands for a missing one.
_STORED: Dict[type, Tuple[Any, Any]] = {int: (np.int64, 0), float: (np.float64, np.nan), bool: (np.bool_, False),
                                        str: (object, None)}


def column_of(values: List[Any], kind: type) -> npt.NDArray[Any]:
    """Values of one kind, some of which may be None. The type of the array depends on the kind alone."""
    dtype, missing = _STORED[kind]
    column = np.empty(len(values), dtype=dtype)
    column[:] = [missing if value is None else value for value in values]
    return column
