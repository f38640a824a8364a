"""The words of docstrings and comments: plain ones of the field, none of our own."""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
FILES = sorted(p for name in ("difsim", "inversion") for p in (ROOT / name).rglob("*.py"))
PRIVATE = re.compile(r"\b(doors?|told|beside|came|anew)\b", re.IGNORECASE)


def private_words(source):
    """Lines of docstrings and comments that hold a private word."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or token.string.startswith(('"""', 'r"""')):
            yield from (line.strip() for line in token.string.splitlines() if PRIVATE.search(line))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_has_no_private_words(path):
    assert not list(private_words(path.read_text(encoding="utf-8")))


def test_a_private_word_is_found():
    assert list(private_words('"""The numbers it was told."""\nx = "told"  # beside it\n')) == [
        '"""The numbers it was told."""',
        "# beside it",
    ]
