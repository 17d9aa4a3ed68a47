"""What crosses the border to another process: one function, its input, and back its result or its error.

Rules of this file: a worker process imports it, so it imports nothing of the engine. What goes over is pickled here and not
by the executor, so that what cannot be pickled is named.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any


def pack(function: Callable[[Any], Any], input: Any, node: str) -> bytes:
    """A call as bytes.

    Raises:
        TypeError: The function or a part of the input cannot be pickled; the message names it.
    """
    try:
        return pickle.dumps((function, input))
    except Exception as error:
        if not _picklable(function):
            raise TypeError(
                f"Node {node!r} runs on an executor of other processes, and its function {function!r} cannot be pickled: "
                f"{error}. Define it at the top level of a module."
            ) from error
        raise TypeError(
            f"Node {node!r} runs on an executor of other processes, so its input is pickled, but "
            f"{_culprit(input)} cannot be: {error}. Leave it out of what the node reads (input_schema=...), or make it "
            "in the function."
        ) from error


def run_packed(payload: bytes, node: str) -> bytes:
    """Called in the worker: run the call, and answer its result as bytes."""
    function, input = pickle.loads(payload)
    try:
        result = function(input)
    except Exception as error:
        raise _portable(error) from error.__cause__
    try:
        return pickle.dumps(result)
    except Exception as error:
        raise TypeError(
            f"Node {node!r} ran in another process, so its result is pickled, but {_culprit(result)} cannot be: {error}. "
            "Return plain values."
        ) from None


def unpack(result: bytes) -> Any:
    """The result of a call that ran elsewhere."""
    return pickle.loads(result)


def _picklable(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


def _culprit(value: Any) -> str:
    """The part of a value that cannot be pickled, as a person would find it."""
    parts: Mapping[Any, Any] = value if isinstance(value, Mapping) else getattr(value, "__dict__", {})
    for key, part in parts.items():
        if not _picklable(part):
            return f"key {key!r} (a {type(part).__qualname__})"
    return f"the {type(value).__qualname__}"


def _portable(error: Exception) -> Exception:
    """The error itself where it survives the way, else one that says the same: a pool breaks on one that does not."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        twin = RuntimeError(f"{type(error).__qualname__}: {error}")
        twin.__notes__ = [*getattr(error, "__notes__", ()), "The error itself could not be pickled."]
        return twin
    return error
