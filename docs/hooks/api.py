"""A page for each package of the library, with an entry for every public name. The pages are made from the source."""

import pkgutil
from collections.abc import Sequence
from pathlib import Path

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PACKAGES = ("difsim", "inversion")


def exported_names(package: griffe.Module) -> list[str]:
    """The names that the `__init__` of a package hands on."""
    return [
        name
        for name, member in package.members.items()
        if member.is_alias and not name.startswith("_") and member.target_path.split(".")[0] in PACKAGES
    ]


def defined_names(module: griffe.Module, *kinds: str) -> list[str]:
    """The public names of some kinds that a module itself defines."""
    return [
        name
        for name, member in module.members.items()
        if not member.is_alias and not name.startswith("_") and member.kind.value in kinds
    ]


def public_names() -> dict[str, dict[str, list[str]]]:
    """The public names of each page, a package or a single module next to the packages, as full paths.

    `names` and `constants`: what a package exports, or what a single module defines. `others`: the types that a
    package's modules define as well, and also the functions where it exports nothing.
    """
    # Together: one package exports names of another.
    loader = griffe.GriffeLoader(search_paths=[ROOT])
    roots = [loader.load(name) for name in PACKAGES]
    loader.resolve_aliases()
    pages = {}
    for root in roots:
        parts = [m for m in root.members.values() if not m.is_alias and m.is_module and not m.name.startswith("_")]
        if root.name == "inversion":
            pages["inversion"] = _list_package(root)
            pages |= {part.path: _list_package(part) for part in parts if part.is_init_module}
            continue
        pages[root.path] = {"names": [f"{root.path}.{each}" for each in exported_names(root)]}
        for part in sorted(parts, key=lambda part: part.name):
            pages[part.path] = _list_package(part) if part.is_init_module else _list_module(part)
    return pages


def _list_module(module: griffe.Module) -> dict[str, list[str]]:
    return {
        "names": [f"{module.path}.{name}" for name in defined_names(module, "function", "class")],
        "constants": [f"{module.path}.{name}" for name in defined_names(module, "attribute")],
    }


def _list_package(package: griffe.Module) -> dict[str, list[str]]:
    names = exported_names(package)
    kinds = ("class",) if names else ("class", "function")
    known = {package.members[name].target_path for name in names}
    inside = [m for m in package.members.values() if not m.is_alias and m.is_module and not m.name.startswith("_")]
    others = [f"{module.path}.{name}" for module in inside for name in defined_names(module, *kinds)]
    return {
        "names": [f"{package.path}.{name}" for name in names if not package.members[name].is_attribute],
        "constants": [f"{package.path}.{name}" for name in names if package.members[name].is_attribute],
        "others": [path for path in others if path not in known],
    }


def page(path: str, names: list[str], constants: Sequence[str] = (), others: Sequence[str] = ()) -> str:
    """The text of one page: its introduction, a table of its names, then an entry for each."""
    text = [f"# {path}\n", _entry(path, members="false", show_root_heading="false", show_root_toc_entry="false")]
    text += ["| name | content |", "|---|---|", *map(_row, names), ""]
    text += [_entry(name, heading_level="2") for name in names]
    if constants:  # which have no docstring
        text += [
            "## Constants\n",
            *(_entry(name, heading_level="3", show_if_no_docstring="true") for name in constants),
        ]
    if others:
        text += ["## In the modules of this package\n", "Types of results and options, and base classes.\n"]
        text += [_entry(name, heading_level="3") for name in others]
    return "\n".join(text)


def _row(path: str) -> str:
    """A line of the table of names: a link, and the first line of the docstring."""
    first = (pkgutil.resolve_name(path).__doc__ or "").strip().split("\n")[0]
    return f"| [`{path.rpartition('.')[2]}`][{path}] | {first.replace('|', chr(92) + '|')} |"


def _entry(path: str, **options: str) -> str:
    return "\n".join(
        [f"::: {path}", "    options:", *(f"      {key}: {value}" for key, value in options.items()), ""]
    )


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The pages under the entry "API" of the navigation."""
    pages = [{path: f"api/{path}.md"} for path in public_names()]
    config.nav = [{"API": pages} if entry == {"API": "api"} else entry for entry in config.nav]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site."""
    for path, lists in public_names().items():
        files.append(File.generated(config, f"api/{path}.md", content=page(path, **lists)))
    return files
