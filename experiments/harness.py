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
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar, TypeVar

import matplotlib
import numpy as np
import tyro
import xarray as xr
from filelock import FileLock, Timeout
from matplotlib.figure import Figure

from difsim.declarations import Quantity
from difsim.saving.atomic import atomically, remove_at_once, remove_unfinished
from experiments.records import hashes, provenance, write_json
from experiments.report import Report
from experiments.style import STYLE
from experiments.variables import described
from inversion import Checkpoint
from inversion.progress import Bar, show_progress
from inversion.shares import Share, share_of, share_out

T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """What a stage found: all of it is written by the harness.

    **Arguments:** `summary`, written as `record`.json after the provenance; `data`, each dataset (or tree of them)
    written as NAME.nc; `figures`, each written as NAME.png; `text`, printed; `report`, the name of the report in the
    study's report.md.j2, by default that of the stage.
    """

    summary: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, xr.Dataset | xr.DataTree] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    text: str = ""
    record: str = "summary"
    report: str = ""


SEED = Quantity("", "seed of random numbers", ge=0, le=2**32 - 1)  # what NumPy and JAX take alike


@dataclass(kw_only=True)
class Study:
    """The options that every study has, and the run of its stages.

    A subclass adds its options as fields, one of them `stage`, and the class attribute `stages`: for each stage a
    function of the options and of the folder `out`. A stage may keep checkpoints in `out`, in folders whose names
    end with "checkpoint"; an interrupted run goes on from them. They are removed when the stage has finished.
    A stage of many runs gives them to `shared`, or its `part` to `inversion.sweep`, is named in `shared_stages`, and
    returns None where another process is to write the results.
    """

    out: Path | None = None
    """Folder for summary.json, the NetCDF files and the pictures (results/STUDY/STAGE)."""
    quick: bool = False
    """A smoke test with less of everything. Its answer is not to be quoted."""
    keep_checkpoint: bool = False
    """Keep the checkpoints after a complete run (an interrupted run always goes on from them)."""

    share: Annotated[str | None, tyro.conf.arg(metavar="RANK/OF")] = None
    """Which process this is of how many that share one stage out among themselves through --out: 0/16 to 15/16, or
    "auto" under SLURM and Open MPI. Whoever finishes last writes the results. The checkpoints stay."""

    command: ClassVar[str] = ""  # of the command line; the folder's name unless given
    stages: ClassVar[Mapping[str, Callable[[Any, Path], Found | None]]] = {}
    shared_stages: ClassVar[tuple[str, ...]] = ()  # those that processes can share
    ranges: ClassVar[Mapping[str, Quantity]] = {}  # of the options that are physical quantities

    @classmethod
    def name(cls) -> str:
        """The study's name on the command line."""
        return cls.command or cls.__module__.split(".")[-2]

    def folder(self, stage: str) -> Path:
        """Where a stage writes: --out, with a folder for each stage where several run."""
        default = Path("results") / self.name()
        return self.out if self.out and self.stage in self.stages else (self.out or default) / stage

    def check_numbers(self) -> None:
        """Refuse impossible options, and warn of unusual ones: a command line needs no confirmation beyond that."""
        for name, quantity in self.ranges.items():
            given = getattr(self, name)
            numbers = np.atleast_1d(np.asarray(() if given is None else given, float))
            if wrong := quantity.find_fault(numbers):
                raise ValueError(f"--{name} {given} {wrong}")
            if doubt := quantity.find_doubt(numbers):
                warnings.warn(f"--{name} {given} {doubt}", stacklevel=3)

    def run(self) -> None:
        """Run the chosen stage, or each of them for the stage "all", and write what they found."""
        self.check_numbers()
        if self.part and self.stage not in self.shared_stages:
            raise ValueError(
                f"--share: stages that can be shared are {list(self.shared_stages)}, not {self.stage!r}"
            )
        for stage in (self.stage,) if self.stage in self.stages else self.stages:
            out = self.folder(stage)
            if out.exists() and not out.is_dir():
                raise ValueError(f"{out} is a file, and the results go into a folder: give another --out")
            out.mkdir(parents=True, exist_ok=True)
            started, command = time.perf_counter(), f"difsim {self.name()} --stage {stage}"
            print(f"{command}: if it is interrupted (Ctrl-C), the same command goes on from what is finished")
            # Processes that share a stage claim its parts one by one.
            claim = nullcontext() if self.part else _lock(out)
            with claim, matplotlib.rc_context(STYLE):
                with Bar(command):
                    found = self.stages[stage](self, out)
                if found is None:
                    print(f"the last of the processes that share {out}/ writes the results")
                    continue
                seconds = time.perf_counter() - started
                about = {"stage": stage, "quick": self.quick, "wall_seconds": seconds} | self.about()
                write(out, found, about, type(self))
            print(f"written to {out}/ in {seconds:.0f} s")
            if not (self.keep_checkpoint or self.part):  # a process that starts late looks there
                for kept in out.glob("*checkpoint"):
                    remove_at_once(kept)

    @property
    def part(self) -> Share | None:
        """Rank and number of the processes of --share."""
        return share_of(self.share) if self.share else None

    def shared(self, tasks: Mapping[str, Callable[[], T]], out: Path, workers: int = 1) -> dict[str, T] | None:
        """The results of tasks; None where they are shared, and another process is to write them.

        **Arguments:** `tasks`, by names of files: each keeps what it made, and reads that when it is called again;
        `out`, the stage's folder; `workers`, threads where the tasks are not shared.
        """
        if self.part is None:
            if workers == 1:  # in this thread, which can be interrupted
                return {name: task() for name, task in show_progress(tasks.items(), "runs")}
            with ThreadPoolExecutor(workers) as pool:
                return dict(zip(tasks, pool.map(lambda task: task(), tasks.values()), strict=True))
        options = {k: v for k, v in asdict(self).items() if k not in ("out", "share", "keep_checkpoint")}
        done = Checkpoint(out / "shared.checkpoint", json.dumps(options, default=str))

        def marked(name: str) -> T:
            result = tasks[name]()
            done.get_or(name, dict)
            return result

        return share_out(
            {name: partial(marked, name) for name in tasks}, done.__contains__, done.folder, self.part
        )

    def inputs(self) -> list[Path]:
        """The files that a run reads: those among its options. A study adds the ones it ships or downloads."""
        values = [value for name, value in vars(self).items() if name != "out"]
        flat = [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
        return [path for path in map(Path, filter(_is_name, flat)) if path.is_file()]

    def about(self) -> dict[str, Any]:
        """Provenance of this run: time, machine, versions, commit, command, seed, options, and files by hash."""
        options = json.loads(json.dumps(asdict(self), default=str))
        seed = getattr(self, "seed", "fixed in the code")
        return provenance() | {"seed": seed, "options": options, "inputs": hashes(self.inputs())}


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder, and remove what a killed one left unfinished there."""
    try:
        with FileLock(folder / ".lock", blocking=False):
            remove_unfinished(folder)
            yield
    except Timeout:
        raise ValueError(f"{folder} is in use by another run: wait for its end, or give another --out") from None


def _is_name(value: Any) -> bool:
    return isinstance(value, str | Path)


def write(out: Path, found: Found, about: Mapping[str, Any], study: type[Study]) -> None:
    """Write what a stage found: NetCDF with its provenance, pictures, JSON, report; and print the report.

    **Arguments:** `out`, an existing folder; `found`; `about`, the provenance: entries of the summary and
    attributes of the datasets; `study`, whose folder has the text of the report. What consists of pictures alone has
    no report.
    """
    attributes = {k: v if isinstance(v, str) else json.dumps(v) for k, v in about.items()}
    files, pictures = [], {}
    for name, data in found.data.items():
        whole = data.map_over_datasets(described) if isinstance(data, xr.DataTree) else described(data)
        files.append(out / f"{name}.nc")
        whole.attrs.update(attributes)
        with atomically(files[-1]) as beside:
            # By way of memory: on a full disk HDF5 fails as it closes its file, and then ends the process.
            beside.write_bytes(whole.to_netcdf(engine="h5netcdf"))
    for name, figure in found.figures.items():
        pictures[name] = out / f"{name}.png", caption_of(figure)
        with atomically(pictures[name][0]) as beside:
            figure.savefig(beside)
    if found.text:
        print(found.text)
    if not found.summary:
        return
    files.append(out / f"{found.record}.json")
    text = write_json(files[-1], {**about, **found.summary})
    summary = {
        k: v for k, v in json.loads(text).items() if k in found.summary
    }  # the report says what the file says
    folder = Path(sys.modules[study.__module__].__file__).parent
    report = Report(summary, folder, found.report or about["stage"], pictures)
    print(f"\n{report.text()}")
    path = out / ("report.html" if found.record == Found.record else f"{found.record}.html")
    title, lead = f"difsim {study.name()}, {about['stage']}", " ".join((study.__doc__ or "").split())
    page = report.page(title, lead, about, files)
    with atomically(path) as beside:
        beside.write_text(page, encoding="utf-8")
    print(f"\nthe report is {path}")


def caption_of(figure: Figure) -> str:
    """Return what a picture shows, from its titles and the labels of its axes, where nobody has written a caption."""
    heading = figure.get_suptitle()
    panels = []
    for axes in figure.axes:
        title = axes.get_title(loc="left") or axes.get_title()
        plotted = (
            f"{axes.get_ylabel()} against {axes.get_xlabel()}" if axes.get_ylabel() and axes.get_xlabel() else ""
        )
        panels.append(": ".join(filter(None, (title, plotted))))
    return ". ".join(dict.fromkeys(filter(None, (heading, *panels)))).replace("\n", " ").replace(r"\$", "$")


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
