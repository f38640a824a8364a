"""The import order: LAYERS in tests/layers.py is the rule, docs/architecture.md its twin for readers."""

import ast
import importlib
from pathlib import Path

import pytest

from tests.layers import LAYERS, violations

ROOT = Path(__file__).parents[2]


def test_the_tree_keeps_the_order():
    assert not violations(ROOT)


def test_the_page_names_every_layer():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and line[2].isdigit()]
    parts = [parts for parts in LAYERS if parts != ("difsim",)]
    assert len(rows) == len(parts)
    for row, expected in zip(rows, parts, strict=True):
        assert all(f"`{part.removeprefix('difsim.')}`" in row for part in expected), row


def exported(init):
    """The names that a package offers: those that its `__init__` imports from modules."""
    tree = ast.parse(init.read_text(encoding="utf-8"))
    return [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]


def test_every_public_name_is_there():
    """An `__all__` with a name that does not exist breaks `import *`."""
    for init in [ROOT / "difsim/__init__.py", *(ROOT / "difsim").glob("*/__init__.py")]:
        module = importlib.import_module(".".join(init.relative_to(ROOT).parent.parts))
        names = getattr(module, "__all__", None)
        assert names is None or names == sorted(exported(init)), module


GOOD = {
    "difsim/__init__.py": "from difsim.stepping import simulate\nfrom difsim import rotation",
    "difsim/safe.py": "import jax\nfrom difsim.typing import Vec3",
    "difsim/typing.py": "",
    "difsim/rotation.py": "from difsim import safe\nfrom difsim.typing import Vec3, _private",
    "difsim/mesh.py": "import trimesh",
    "difsim/contact/__init__.py": "from difsim.contact.normal import Hertz",
    "difsim/contact/normal.py": "def force(): pass",
    "difsim/contact/pair.py": "from difsim.contact.normal import Hertz\nfrom . import normal",
    "difsim/body/lander.py": "from difsim.contact import Hertz",
    "difsim/stepping/solve.py": "import diffrax",
    "difsim/stepping/__init__.py": "def simulate(): pass",
    "inversion/leastsq.py": "import difsim\nfrom difsim import simulate\nfrom difsim.contact import Hertz",
    "experiments/study/run.py": "from inversion.leastsq import fit\nimport difsim\ndef run(): pass",
}


def check(tmp_path, **planted):
    for name, text in {**GOOD, **planted}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return violations(tmp_path)


def test_a_good_tree_passes(tmp_path):
    assert check(tmp_path) == []


@pytest.mark.parametrize(
    "path,text,complaint",
    [
        ("difsim/safe.py", "from difsim.rotation import rotate", "difsim.safe imports difsim.rotation"),
        ("difsim/safe.py", "from difsim import rotation", "difsim.safe imports difsim.rotation"),
        ("difsim/safe.py", "import difsim.rotation as r", "difsim.safe imports difsim.rotation"),
        ("difsim/safe.py", "from . import rotation", "difsim.safe imports difsim.rotation"),
        ("difsim/safe.py", "from .rotation import rotate", "difsim.safe imports difsim.rotation"),
        ("difsim/rotation.py", "import difsim.mesh", "difsim.rotation imports difsim.mesh"),  # a sibling
        ("difsim/contact/pair.py", "from ..body import lander", "difsim.contact imports difsim.body"),
        ("difsim/body/lander.py", "from difsim import simulate", "difsim.body imports difsim,"),
        ("difsim/safe.py", "if x:\n    from inversion import fit", "difsim.safe imports inversion"),
        ("inversion/leastsq.py", "import experiments.study.run", "inversion imports experiments"),
        ("inversion/leastsq.py", "from difsim.safe import _guard", "difsim.safe._guard is not a public name"),
        ("inversion/leastsq.py", "from difsim import _hidden", "_hidden"),
        ("difsim/rotation.py", "import trimesh.graph", "only difsim.mesh imports trimesh"),
        ("inversion/leastsq.py", "from diffrax import Tsit5", "only difsim.stepping imports diffrax"),
        ("experiments/study/run.py", "import trimesh", "only difsim.mesh imports trimesh"),
        ("difsim/rotation.py", "def f():\n    from difsim import safe", "import inside the function f"),
        ("difsim/contact/normal.py", "from difsim.contact.pair import y", "cycle"),
        ("difsim/contact/normal.py", "from difsim.contact import y", "cycle"),
        ("inversion/observe.py", "def leastsq(): pass", "leastsq has the name of a module"),
        ("difsim/body/rigid.py", "def contact(): pass", "contact has the name of a module"),
        ("difsim/novelty.py", "", "difsim.novelty has no layer"),
    ],
)
def test_a_planted_fault_is_found(tmp_path, path, text, complaint):
    found = check(tmp_path, **{path: text})
    assert len(found) == 1 and complaint in found[0], found
