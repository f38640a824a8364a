"""The words of the library: docstrings that make sense alone, no private words, units, and names of tests."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(str(p.relative_to(ROOT)) for name in ("difsim", "inversion") for p in (ROOT / name).rglob("*.py"))
TESTS = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests").glob("*/test_*.py"))

HEADLESS = "Of How What Where By With As From In To At For Into Who Which When Whose Because Among Beside"
DECIMAL = re.compile(r"(?<![\w.)\]}\"'{:*%/])\.\d")  # not of attributes, format specs, suffixes or versions
PRIVATE = re.compile(r"\b(doors?|told|beside|came|anew)\b", re.IGNORECASE)  # words of our own, not of the field
LONGEST_NAME = 60


def parse(path):
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def definitions(node, prefix=""):
    """Names, nodes and docstrings of all functions and classes that are not inside a function."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield prefix + child.name, child, ast.get_docstring(child)
            if isinstance(child, ast.ClassDef):
                yield from definitions(child, prefix + child.name + ".")


def is_public(name):
    return not any(part.startswith("_") for part in name.split("."))


def exported_names(path, tree):
    """Names of public functions that users call: those of a package's `__init__`, and all of a single module."""
    package = (ROOT / path).parent
    if package.name == "difsim":
        return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and is_public(node.name)}
    inits = list(parse(package.relative_to(ROOT) / "__init__.py").body)
    return {
        alias.name
        for node in inits
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == Path(path).stem
        for alias in node.names
    }


def own_nodes(function):
    """The nodes of a function without those of functions inside it."""
    todo = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)


def missing_sections(function, text):
    """The sections that the docstring of an exported function or a public method lacks."""
    given = function.args
    names = [a.arg for a in given.posonlyargs + given.args + given.kwonlyargs if a.arg not in ("self", "cls")]
    returns = function.returns is not None and ast.unparse(function.returns) != "None"
    raises = any(isinstance(node, ast.Raise) and node.exc is not None for node in own_nodes(function))
    needed = {"Arguments": len(names) > 1, "Returns": len(names) > 1 and returns, "Raises": raises}
    return [section for section, due in needed.items() if due and f"**{section}" not in text]


def faults(path):
    """One line for each fault of a file."""
    tree, found = parse(path), []
    functions = exported_names(path, tree)
    for name, node, text in [("", tree, ast.get_docstring(tree)), *definitions(tree)]:
        where = f"{path}:{getattr(node, 'lineno', 1)} {name}"
        if text is None:
            continue
        if (first := text.split()[0].rstrip(",:")) in HEADLESS.split():
            found.append(f"{where}: begins with {first!r}")
        called = name in functions or ("." in name and is_public(name))
        if called and isinstance(node, ast.FunctionDef):
            found += [f"{where}: no **{section}:**" for section in missing_sections(node, text)]
    return found + texts(path)


def texts(path):
    """Decimals without a zero in comments and strings, and private words in comments and docstrings."""
    source, found = (ROOT / path).read_text(encoding="utf-8"), []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        where = f"{path}:{token.start[0]}:"
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            found += [f"{where} {m.group()} without 0" for m in DECIMAL.finditer(token.string)]
        if token.type == tokenize.COMMENT or token.string.startswith(('"""', 'r"""')):
            found += [f"{where} the word {m.group()!r}" for m in PRIVATE.finditer(token.string)]
    return found


def long_names(path):
    """Names of tests with more than 60 characters."""
    names = [name.split(".")[-1] for name, _, _ in definitions(parse(path))]
    return [name for name in names if name.startswith("test_") and len(name) > LONGEST_NAME]


@pytest.mark.parametrize("path", FILES)
def test_docstrings_make_sense_alone(path):
    assert not faults(path)


@pytest.mark.parametrize("path", TESTS)
def test_names_of_tests_are_short(path):
    assert not long_names(path)
