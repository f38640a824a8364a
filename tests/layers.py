"""Reads the imports of the tree, without running it, and lists what breaks the import order."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# From the bottom up. A part may import from the rows above its own in this list, never from its own row.
LAYERS = [
    ("difsim.typing", "difsim.units", "difsim.saving", "difsim.status", "difsim.session"),
    (
        "difsim.declarations",
        "difsim.checks",
        "difsim.safe",
        "difsim.runge_kutta",
        "difsim.wide",
        "difsim.conditional",
    ),
    ("difsim.rotation", "difsim.surface_frame", "difsim.mesh", "difsim.spline", "difsim.spice"),
    ("difsim.shape", "difsim.gravity", "difsim.camera", "difsim.particles"),
    ("difsim.contact",),
    ("difsim.body",),  # above contact: a lander is made of contacts
    ("difsim.sph", "difsim.dem"),
    ("difsim.dynamics",),
    ("difsim.stepping",),
    ("difsim.beds",),
    ("difsim",),  # the public names, which difsim/__init__.py collects
    ("inversion",),
    ("experiments",),
]
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts}
ONLY_IN = {"trimesh": "difsim.mesh", "diffrax": "difsim.stepping"}
# Heavy and of the host alone: imported where they are used, so that `import difsim` stays short.
HEAVY = ("trimesh", "igl", "scipy", "xarray", "pandas", "fast_simplification", "matplotlib", "blackjax")
HEAVY += ("pyvista", "PIL", "mujoco", "spiceypy", "distributed")  # of the extras
PEERS = "experiments.benchmarks"  # which measure beside other libraries
PACKAGES = ("difsim", "inversion", "experiments")


def violations(root: Path) -> list[str]:
    """One line for each thing under `root` that breaks the order; empty when all is well."""
    modules = {
        _name(path, root): ast.parse(path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    }
    found = [
        f"{name}: {_part(name)} has no layer, put it into LAYERS and docs/architecture.md"
        for name in modules
        if _part(name) not in HEIGHT
    ]
    if found:
        return found
    graph: dict[str, set[str]] = {}
    for name, tree in modules.items():
        graph[name] = set()
        for node, target in _imports(name, tree, modules):
            where = f"{name}:{node.lineno}"
            top = target.split(".")[0]
            if top in ONLY_IN and _part(name) != ONLY_IN[top] and not name.startswith(PEERS):
                found.append(f"{where}: only {ONLY_IN[top]} imports {top}")
            if top not in PACKAGES:
                continue
            mine, its = _part(name), _part(target)
            if its not in HEIGHT:
                found.append(f"{where}: there is no {target}")
            elif mine == its:
                graph[name].add(target)
            elif HEIGHT[its] >= HEIGHT[mine]:
                found.append(f"{where}: {mine} imports {its}, which is not below it")
            elif top != name.split(".")[0] and any(p.startswith("_") for p in target.split(".")):
                found.append(f"{where}: {target} is not a public name")
        found += _nested_imports(name, tree)
    try:
        TopologicalSorter({name: _existing(targets, modules) for name, targets in graph.items()}).prepare()
    except CycleError as error:
        found.append("cycle: " + " -> ".join(error.args[1]))
    return found + _functions_named_like_modules(modules)


def _name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _part(name: str) -> str:
    """difsim.contact.normal -> difsim.contact, inversion.leastsq -> inversion."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "difsim" else parts[0]


def _imports(name: str, tree: ast.Module, modules: dict):
    """(node, full dotted name) of everything imported; what comes from difsim itself is its module if any."""
    package = name if any(other.startswith(name + ".") for other in modules) else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, *filter(None, [node.module])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                known = full in modules or base != "difsim" or full in HEIGHT or alias.name.startswith("_")
                yield node, full if known else base


def _existing(targets: set[str], modules: dict) -> set[str]:
    """Imported names to the modules that hold them: difsim.contact.normal.Hertz -> difsim.contact.normal."""
    return {t if t in modules else t.rpartition(".")[0] for t in targets}


def _nested_imports(name: str, tree: ast.Module) -> list[str]:
    return [
        f"{name}:{node.lineno}: import inside the function {function.name}"
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and not _is_heavy(node)
    ]


def _is_heavy(node: ast.Import | ast.ImportFrom) -> bool:
    whole = node.names[0].name if isinstance(node, ast.Import) else node.module or ""
    return whole.split(".")[0] in HEAVY


def _functions_named_like_modules(modules: dict) -> list[str]:
    """Within difsim and within inversion: a name must not mean a module here and a function there."""
    found = []
    for package in ("difsim", "inversion"):
        inside = {name: tree for name, tree in modules.items() if name.split(".")[0] == package}
        names = {name.rpartition(".")[2] for name in inside}
        found += [
            f"{name}:{node.lineno}: the function {node.name} has the name of a module"
            for name, tree in inside.items()
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name in names
        ]
    return found
