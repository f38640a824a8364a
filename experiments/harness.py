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

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import matplotlib
import numpy as np
import tyro
import xarray as xr
from filelock import FileLock, Timeout
from matplotlib.figure import Figure

from difsim.declarations import Quantity
from difsim.plot.style import STYLE
from difsim.saving.atomic import remove_at_once, remove_unfinished, write_atomically
from experiments.log import keep_log
from experiments.records import copy_inputs, hashes, provenance, write_json
from experiments.report import Report
from experiments.variables import describe
from inversion.executors import open_executor
from inversion.progress import Bar


@dataclass(frozen=True)
class Found:
    """The findings of a stage, which the harness writes.

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


LOG = "log.txt"  # of all runs into a folder, the latest last
INPUTS = "inputs"  # folder of a run's results with copies of the files that it read
SEED = Quantity("", "seed of random numbers", ge=0, le=2**32 - 1)  # what NumPy and JAX take alike


@dataclass(kw_only=True)
class Study:
    """The options that every study has, and the run of its stages.

    A subclass adds its options as fields, one of them `stage`, and the class attribute `stages`: for each stage a
    function of the options and of the folder `out`. A stage may keep checkpoints in `out`, in folders whose names
    end with "checkpoint"; an interrupted run goes on from them. They are removed when the stage has finished.
    A stage of many independent runs has them computed by `executor`, and is named in `cluster_stages`.
    """

    out: Path | None = None
    """Folder for summary.json, the NetCDF files and the pictures (results/STUDY/STAGE)."""
    quick: bool = False
    """A smoke test with less of everything. Its answer is not to be quoted."""
    keep_checkpoint: bool = False
    """Keep the checkpoints after a complete run (an interrupted run always goes on from them)."""
    quiet: bool = False
    """Write nothing on the screen but errors. What the run says is in log.txt of its folder."""
    cluster: Annotated[str | None, tyro.conf.arg(metavar="local:N|ADDRESS")] = None
    """Who computes the independent runs of a stage: "local:4" for four processes of this machine, or the address of a
    Dask scheduler, such as tcp://host:8786."""

    stages: ClassVar[Mapping[str, Callable[[Any, Path], Found]]] = {}
    cluster_stages: ClassVar[tuple[str, ...]] = ()  # those that --cluster is for
    executor: ClassVar[Executor | None] = None  # of --cluster, while a stage runs
    ranges: ClassVar[Mapping[str, Quantity]] = {}  # of the options that are physical quantities

    @classmethod
    def name(cls) -> str:
        """The study's name on the command line: that of its folder."""
        return cls.__module__.split(".")[-2]

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
        if self.cluster and self.stage not in self.cluster_stages:
            raise ValueError(f"--cluster is for the stages {list(self.cluster_stages)}, not {self.stage!r}")
        for stage in (self.stage,) if self.stage in self.stages else self.stages:
            out = self.folder(stage)
            if out.exists() and not out.is_dir():
                raise ValueError(f"{out} is a file, and the results go into a folder: give another --out")
            out.mkdir(parents=True, exist_ok=True)
            started, command = time.perf_counter(), f"difsim {self.name()} --stage {stage}"
            log = partial(keep_log, out / LOG, self.quiet)
            with _lock(out), matplotlib.rc_context(STYLE), open_executor(self.cluster) as self.executor:
                with log():
                    print(
                        f"{command}: if it is interrupted (Ctrl-C), the same command goes on from what is finished"
                    )
                with Bar(command, progress=not self.quiet), log():
                    found = self.stages[stage](self, out)
                seconds = time.perf_counter() - started
                about = {"study": self.name(), "stage": stage, "quick": self.quick, "wall_seconds": seconds}
                about |= self.provenance()
                copy_inputs(about["inputs"], out / INPUTS)
                with log():
                    write(out, found, about, type(self))
                    print(f"written to {out}/ in {seconds:.0f} s")
            if not self.keep_checkpoint:
                for kept in out.glob("*checkpoint"):
                    remove_at_once(kept)

    def inputs(self) -> list[Path]:
        """The files that a run reads: those among its options. A study adds the ones it ships or downloads."""
        values = [value for name, value in vars(self).items() if name != "out"]
        flat = [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
        return [path for path in map(Path, filter(_is_name, flat)) if path.is_file()]

    def provenance(self) -> dict[str, Any]:
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
        whole = data.map_over_datasets(describe) if isinstance(data, xr.DataTree) else describe(data)
        files.append(out / f"{name}.nc")
        whole.attrs.update(attributes)
        with write_atomically(files[-1]) as beside:
            # By way of memory: on a full disk HDF5 fails as it closes its file, and then ends the process.
            beside.write_bytes(whole.to_netcdf(engine="h5netcdf"))
    for name, figure in found.figures.items():
        pictures[name] = out / f"{name}.png", caption_of(figure)
        with write_atomically(pictures[name][0]) as beside:
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
    with write_atomically(path) as beside:
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
