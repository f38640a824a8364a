"""The commands of `difsim`, found in the text of their files: to list them nothing has to be imported.

A study is the class `...(Study)` of `experiments/NAME/run.py`, and its command is the name of its folder.
"""

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

HELP = """usage: difsim COMMAND [options]
       difsim COMMAND --help
       difsim --version
       difsim --cite        # the CITATION.cff of this version

A differentiable simulator of small-body contact, and an inversion library on top of it.

example:
  difsim hopper --stage minerva --quick     # a smoke test of MINERVA-II's landing, into results/hopper/minerva/
  difsim view results/hopper/minerva        # look at it"""


@dataclass(frozen=True)
class Command:
    """The class whose fields are the options of a command, and whose method `run` does it: its module and name."""

    module: str
    kind: str

    def load(self) -> type:
        """Import the class."""
        return getattr(importlib.import_module(self.module), self.kind)

    def summary(self) -> str:
        """The first paragraph of the class's docstring."""
        (node,) = (each for each in _read_classes(self.module) if each.name == self.kind)
        return " ".join(inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")[0].split())


TOOLS = {  # what is done with the results of any study
    "compare": Command("experiments.rerun", "Compare"),
    "data": Command("experiments.data_files", "CopyData"),
    "export": Command("experiments.export", "Export"),
    "rerun": Command("experiments.rerun", "Rerun"),
    "view": Command("experiments.view", "View"),
}


def find_studies(package: ModuleType) -> dict[str, Command]:
    """All studies of a package by their names on the command line: a study needs no entry in any list."""
    found = {}
    for folder in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = f"{folder.name}.run"
        if folder.ispkg and find_spec(module):
            for each in _read_classes(module):
                if any(isinstance(base, ast.Name) and base.id == "Study" for base in each.bases):
                    found[folder.name.split(".")[-1]] = Command(module, each.name)
    return found


def describe_commands(studies: Mapping[str, Command]) -> str:
    """The help text of `difsim`: its form, an example, and a sentence on each command."""
    lines = [HELP]
    for title, commands in (("studies", studies), ("results and data", TOOLS)):
        lines += ["", f"{title}:"]
        for name, command in commands.items():
            lines += textwrap.wrap(
                command.summary(), 100, initial_indent=f"  {name:12}", subsequent_indent=" " * 14
            )
    return "\n".join(lines)


def _read_classes(module: str) -> list[ast.ClassDef]:
    text = Path(find_spec(module).origin).read_text(encoding="utf-8")
    return [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
