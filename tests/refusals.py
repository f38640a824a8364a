"""The test of a refusal: by our own code, with the name of what is wrong, and with a remedy."""

import re
import traceback
from collections.abc import Callable

import jaxtyping
import pytest

REMEDY = re.compile(r"give|must|return|write|use|look|swap|correct|make|made of|divide|leave|widen|need", re.I)
OURS = re.compile(r"/(difsim|inversion)/")


def refuse(call: Callable, word: str) -> str:
    """The message of a call that our own code refuses, with the word that says what is wrong, and with a remedy.

    Types are not checked meanwhile, as they are in other tests, and not for users.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    where = traceback.extract_tb(caught.value.__traceback__)[-1].filename
    message = str(caught.value)
    assert OURS.search(where), f"raised by {where}: {message}"
    assert word in message and REMEDY.search(message), message
    return message
