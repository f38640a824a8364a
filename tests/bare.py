"""`python tests/bare.py CODE` runs code where only difsim and what it requires without extras can be imported."""

import re
import sys
import tomllib
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[1]


def distribution(requirement: str) -> str:
    """The name in a requirement such as "jax>=0.10", as package indices normalise it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def list_required() -> set[str]:
    """The names of all distributions that `pip install difsim` brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found, todo = set(), list(project["dependencies"])
    while todo:
        name = distribution(todo.pop())
        if name not in found:
            found.add(name)
            todo += [each for each in requires(name) or () if "extra ==" not in each and "platform" not in each]
    return found


BROUGHT = list_required()
REFUSED = {
    package
    for package, names in packages_distributions().items()
    if not BROUGHT & {distribution(name) for name in names}
} - {"difsim", "inversion", "experiments"}


class OnlyRequired(PathFinder):
    """Finds none of the other packages, as if they were not installed."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in REFUSED else super().find_spec(name, path, target)


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    sys.meta_path[:] = [OnlyRequired if finder is PathFinder else finder for finder in sys.meta_path]
    exec(compile(sys.argv[1], "bare", "exec"), {"__name__": "__main__"})
