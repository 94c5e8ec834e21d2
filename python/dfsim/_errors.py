"""Exceptions of dfsim, with the messages that the command line prints."""

from __future__ import annotations

from typing import Any, Optional


class Error(Exception):
    """Base class: something could not be done.

    `result`: what the command prints although it fails, such as the report of files that cannot be
    used; None when there is nothing.
    """

    result: Optional[Any] = None


class InvalidInputError(Error, ValueError):
    """A file, option or model is malformed, contradictory or out of range."""


class NotFoundError(Error, LookupError):
    """A file or a name does not exist; the text suggests the nearest valid name."""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but something that dfsim does not do."""


class FailedError(Error, RuntimeError):
    """The input was fine, but the work could not be completed."""


class IncompleteError(FailedError):
    """There is a result, but its times are lower limits.

    `result` has it. allow_incomplete=True returns it instead.
    """


class DoesNotFitError(FailedError):
    """There is a result, but the model needs more memory than the device has.

    `result` has it. allow_oversubscription=True returns it instead.
    """


def with_result(name: str, message: str, result: Any) -> Error:
    """An error of that class, or of a more precise one, with a result. `message` is that of the command line."""
    classes = {one.__name__: one for one in (InvalidInputError, NotFoundError, UnsupportedError)}
    # A message ends with the option that accepts the result.
    accepting = {"--allow-incomplete": IncompleteError, "--allow-oversubscription": DoesNotFitError}
    failed = accepting.get(message.rsplit(" ", 1)[-1], FailedError)
    error = classes.get(name, failed)(message)
    error.result = result
    return error
