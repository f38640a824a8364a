"""Programs that never call the host.

diffrax checks by a callback of Python that the times of a record increase and lie in the interval of the solve. A
program that has one waits for the host on a GPU, is kept in no cache, and cannot be compiled for another machine.
`simulate` has checked the times before: known ones by an exception, traced ones by the status.
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import equinox

T = TypeVar("T")

_LOCK = threading.Lock()  # programs may be traced in several threads
_CHECK = equinox._errors.branched_error_if_impl_jit
_tracing = 0


def skip_checks(trace: Callable[..., T]) -> Callable[..., T]:
    """Leave out what equinox's `error_if` would add to the programs that a function traces.

    Only while the function is traced: other programs keep their checks.
    """

    @wraps(trace)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        _enter(1)
        try:
            return trace(*args, **kwargs)
        finally:
            _enter(-1)

    return wrapper


def _enter(change: int) -> None:
    global _tracing
    with _LOCK:
        _tracing += change
        # Not its switch EQX_ON_ERROR: what it traced with one setting is used again with the other.
        equinox._errors.branched_error_if_impl_jit = _pass_through if _tracing else _CHECK


def _pass_through(x: T, *_: Any, **__: Any) -> T:
    return x
