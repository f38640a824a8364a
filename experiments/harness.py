"""The harness of all studies: a study gives its options and its stages; everything else of a run is here.

A study is a folder of this package with a module `run` that holds one subclass of `Study`. The command finds it by
its folder, makes the command line from its fields, and writes what its stages return:

    @dataclass
    class ToyStudy(Study):
        '''The first line is the help text of the command.'''

        stage: Literal["fall"] = "fall"
        height: float = 1.0
        stages = {"fall": fall}     # fall(options, out) -> Found(summary, {"result": dataset}, {"fall": figure})
"""

import importlib
import importlib.util
import json
import pkgutil
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import matplotlib
import xarray as xr
from matplotlib.figure import Figure

from experiments.records import provenance, write_json
from experiments.style import STYLE


@dataclass(frozen=True)
class Found:
    """What a stage found: all of it is written by the harness.

    **Arguments:** `summary`, written as `record`.json after the provenance; `data`, each dataset (or tree of them)
    written as NAME.nc; `figures`, each written as NAME.png; `text`, printed in place of the summary.
    """

    summary: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, xr.Dataset | xr.DataTree] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    text: str = ""
    record: str = "summary"


@dataclass(kw_only=True)
class Study:
    """The options that every study has, and the run of its stages.

    A subclass adds its options as fields, one of them `stage`, and the class attribute `stages`: for each stage a
    function of the options and of the folder `out`. A stage may keep checkpoints in `out`, in folders whose names
    end with "checkpoint"; an interrupted run goes on from them. They are removed when the stage has finished.
    """

    out: Path | None = None
    """Folder for summary.json, the NetCDF files and the pictures (results/STUDY/STAGE)."""
    quick: bool = False
    """A smoke test with less of everything. Its answer is not to be quoted."""
    keep_checkpoint: bool = False
    """Keep the checkpoints after a complete run (an interrupted run always goes on from them)."""

    command: ClassVar[str] = ""  # of the command line; the folder's name unless given
    stages: ClassVar[Mapping[str, Callable[[Any, Path], Found]]] = {}

    @classmethod
    def name(cls) -> str:
        """The study's name on the command line."""
        return cls.command or cls.__module__.split(".")[-2]

    def folder(self, stage: str) -> Path:
        """Where a stage writes: --out, with a folder for each stage where several run."""
        default = Path("results") / self.name()
        return self.out if self.out and self.stage in self.stages else (self.out or default) / stage

    def run(self) -> None:
        """Run the chosen stage, or each of them for the stage "all", and write what they found."""
        for stage in (self.stage,) if self.stage in self.stages else self.stages:
            out = self.folder(stage)
            out.mkdir(parents=True, exist_ok=True)
            started = time.perf_counter()
            with matplotlib.rc_context(STYLE):
                found = self.stages[stage](self, out)
                seconds = time.perf_counter() - started
                write(out, found, {"stage": stage, "quick": self.quick, "wall_seconds": seconds} | self.about())
            print(f"\nwritten to {out}/ in {seconds:.0f} s")
            if not self.keep_checkpoint:
                for kept in out.glob("*checkpoint"):
                    shutil.rmtree(kept)

    def about(self) -> dict[str, Any]:
        """Provenance of this run: time, machine, version, commit, command, and all options."""
        options = json.loads(json.dumps(asdict(self), default=str))
        return provenance() | {"options": options}


def write(out: Path, found: Found, about: Mapping[str, Any]) -> None:
    """Write what a stage found: NetCDF with its provenance, pictures, JSON; print the text or the summary.

    **Arguments:** `out`, an existing folder; `found`; `about`, the provenance: entries of the summary and
    attributes of the datasets.
    """
    attributes = {k: v if isinstance(v, str) else json.dumps(v) for k, v in about.items()}
    for name, data in found.data.items():
        data.assign_attrs(attributes).to_netcdf(out / f"{name}.nc", engine="h5netcdf")
    for name, figure in found.figures.items():
        figure.savefig(out / f"{name}.png")
    text = write_json(out / f"{found.record}.json", {**about, **found.summary}) if found.summary else ""
    print(found.text or text)


def find_studies(package: ModuleType) -> dict[str, type[Study]]:
    """All studies of a package by their names on the command line: a study needs no entry in any list."""
    found = {}
    for folder in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if folder.ispkg and importlib.util.find_spec(f"{folder.name}.run"):
            module = importlib.import_module(f"{folder.name}.run")
            found |= {
                each.name(): each
                for each in vars(module).values()
                if isinstance(each, type) and issubclass(each, Study) and each.__module__ == module.__name__
            }
    return found
