"""Checks of types that are made when a function is called for the first time: most are never called by one file."""

import functools
from collections.abc import Callable

from beartype import beartype


def checked(function: Callable) -> Callable:
    """The function with a check of its types; for `--jaxtyping-packages` (pyproject.toml)."""
    made = functools.cache(lambda: beartype(function))

    def check(*args, **kwargs):
        return made()(*args, **kwargs)

    return check
