"""Checks of types that cost little: made when a function is first called, and of few of its calls."""

import functools
from collections import Counter
from collections.abc import Callable

from beartype import beartype

# A call costs some 30 µs to check, a tenth of all the tests' time, and tracing calls one function thousands of times
# with numbers of the same types.
ENOUGH = 20  # calls of a function in a file
calls: Counter[Callable] = Counter()


def check_types(function: Callable) -> Callable:
    """The function with a check of its types; for `--jaxtyping-packages` (pyproject.toml)."""
    made = functools.cache(lambda: beartype(function))

    def check(*args, **kwargs):
        calls[check] += 1
        return made()(*args, **kwargs) if calls[check] <= ENOUGH else None

    return check
