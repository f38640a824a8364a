"""`difsim rerun DIR` and `difsim compare DIR OTHER`: repeat a run from its folder, and say what differs.

A folder of results holds its options in each of its JSON files, and copies of the files that were read in inputs/.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import tyro
import xarray as xr

import experiments
from experiments.commands import find_studies
from experiments.harness import INPUTS, Study
from experiments.records import file_hash

# Entries that no two runs have in common; `seconds` of anything are times of the machine.
OF_THE_RUN = ("created", "command", "machine", "commit", "options", "inputs", "libraries", "version")
SHOWN = 40  # differences that are printed


@dataclass(kw_only=True)
class Compare:
    """Say which numbers of two folders of results differ, to the last bit."""

    folder: Annotated[Path, tyro.conf.Positional]
    """A folder of results."""
    other: Annotated[Path, tyro.conf.Positional]
    """Another one of the same stages."""

    def run(self) -> None:
        """Print the differences. **Raises:** ValueError for a folder without results."""
        for folder in (self.folder, self.other):
            list_records(folder)
        print(describe_differences(compare(self.folder, self.other)))


@dataclass(kw_only=True)
class Rerun:
    """Repeat what made a folder of results, by its options and its copies of the input files."""

    folder: Annotated[Path, tyro.conf.Positional]
    """A folder of results: each stage that left a JSON file there runs again."""
    out: Path | None = None
    """Folder for the repetition (FOLDER-rerun)."""

    def run(self) -> None:
        """Run the stages in the order of their first runs, and print what differs.

        **Raises:** ValueError for a folder without results, one that is to be written to, a study that there is not,
        and an input that is neither where it was nor in the folder.
        """
        out = self.out or self.folder.with_name(f"{self.folder.resolve().name}-rerun")
        if out.resolve() == self.folder.resolve():
            raise ValueError(f"--out {out} is the folder that is repeated: give another one")
        for record in list_records(self.folder):
            restore(record, self.folder, out).run()
        print(describe_differences(compare(self.folder, out)))


def list_records(folder: Path) -> list[dict[str, Any]]:
    """The provenance of each stage that wrote into a folder, the earliest first. **Raises:** ValueError for none."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    records = [each for each in found if isinstance(each, Mapping) and "study" in each and "options" in each]
    if not records:
        raise ValueError(f"{folder} has no results with their options: it is no folder that a study wrote")
    return sorted(records, key=lambda record: record["created"])


def restore(record: Mapping[str, Any], folder: Path, out: Path) -> Study:
    """The study with the options of a record, to write to `out`.

    An input file is the one where it was, that of the option's default, or the copy in the folder: the first with the
    content that was read.
    """
    studies = find_studies(experiments)
    if record["study"] not in studies:
        raise ValueError(f"{folder} is of the study {record['study']!r}, which is not installed")
    kind = studies[record["study"]].load()
    defaults, hints = {f.name: f.default for f in fields(kind)}, get_type_hints(kind)
    read, options = record["inputs"], {}
    for name, value in record["options"].items():
        found = [_find(v, read, defaults[name], folder) for v in (value if isinstance(value, list) else [value])]
        is_path = Path in _types(hints[name])
        found = [Path(v) if is_path and isinstance(v, str) else v for v in found]
        options[name] = tuple(found) if isinstance(value, list) else found[0]
    return kind(**options | {"stage": record["stage"], "out": out})


def _find(value: Any, read: Mapping[str, str], default: Any, folder: Path) -> Any:
    """The value of an option, or where the content of the file is that it names."""
    if not isinstance(value, str) or value not in read:
        return value
    for place in (Path(value), default, folder / INPUTS / f"{read[value][:8]}-{Path(value).name}"):
        if isinstance(place, str | Path) and Path(place).is_file() and file_hash(Path(place)) == read[value]:
            return str(place)
    raise ValueError(
        f"{value} is not as it was read (SHA-256 {read[value]}), and {folder / INPUTS} has no copy of it"
    )


def _types(hint: Any) -> set[Any]:
    inner = getattr(hint, "__args__", ())
    return {hint, *(kind for each in inner for kind in _types(each))}


def compare(one: Path, other: Path) -> dict[str, tuple[str, str]]:
    """The differences of two folders of results, to the last bit: place -> what each of them has there."""
    found = {}
    for name in sorted({p.name for folder in (one, other) for p in folder.glob("*.json")}):
        here, there = (dict(_entries(_load(folder / name))) for folder in (one, other))
        for key in sorted(here.keys() | there.keys()):
            a, b = (str(of.get(key, "nothing")) for of in (here, there))
            if a != b:
                found[f"{name}: {key}"] = a, b
    for name in sorted({p.name for folder in (one, other) for p in folder.glob("*.nc")}):
        found |= {f"{name}: {key}": both for key, both in _compare_arrays(one / name, other / name).items()}
    return found


def _load(path: Path) -> dict[str, Any]:
    """The content of a JSON file but for what is of one run; the content of input files stands for their paths."""
    if not path.is_file():
        return {}
    whole = json.loads(path.read_text(encoding="utf-8"))
    kept = {k: v for k, v in whole.items() if k not in OF_THE_RUN}
    return kept | {"inputs": sorted(whole.get("inputs", {}).values())}


def _entries(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Each number or text of a summary by its place, without the times that it took."""
    if isinstance(value, Mapping | list):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, each in pairs:
            if not str(key).endswith("seconds"):
                yield from _entries(each, f"{where}.{key}" if where else str(key))
    else:
        yield where, value


def _compare_arrays(one: Path, other: Path) -> dict[str, tuple[str, str]]:
    here, there = ({} if not path.is_file() else _arrays(path) for path in (one, other))
    found = {}
    for name in sorted(here.keys() | there.keys()):
        a, b = here.get(name), there.get(name)
        if a is None or b is None or a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            found[name] = tuple("nothing" if x is None else f"{x.dtype} {x.shape}" for x in (a, b))
        elif (off := np.flatnonzero(np.ravel((a != b) & ~(_is_nan(a) & _is_nan(b))))).size:
            found[name] = f"{off.size} of {a.size} differ, first {np.ravel(a)[off[0]]}", f"{np.ravel(b)[off[0]]}"
    return found


def _is_nan(x: np.ndarray) -> np.ndarray:
    return x != x


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        return {
            f"{node.path.strip('/')}/{name}".strip("/"): np.asarray(variable.values)
            for node in tree.subtree
            for name, variable in node.variables.items()
        }


def describe_differences(found: Mapping[str, tuple[str, str]]) -> str:
    """The differences as text, one a line."""
    if not found:
        return "all numbers are the same to the last bit"
    lines = [f"{key}: {a} | {b}" for key, (a, b) in list(found.items())[:SHOWN]]
    rest = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "\n".join([f"{len(found)} entries differ:", *lines, *rest])
