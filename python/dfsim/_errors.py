"""Exceptions of dfsim. Their texts are those that the command line prints."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base class: something could not be done."""


class InvalidInputError(Error, ValueError):
    """A file, option or model is malformed, contradictory or out of range."""


class NotFoundError(Error, LookupError):
    """A file or a name does not exist; the text suggests the nearest valid name."""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but something that dfsim does not do."""


class FailedError(Error, RuntimeError):
    """The input was fine, the work could not be completed."""


class IncompleteError(FailedError):
    """There is a result, but dfsim does not vouch for it: its times are lower limits.

    `result` has it. allow_incomplete=True returns it instead.
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result
