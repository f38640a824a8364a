"""The files that come with difsim: where they are, and copies of the data files to edit."""

import shutil
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path


def find_shipped(name: str) -> Path:
    """A file or folder of the checkout: inside the package where a wheel was installed, as pyproject.toml puts it."""
    package = Path(str(files("experiments")))
    inside = package / name
    return inside if inside.exists() else package.parent / name


def data_folder() -> Path:
    """The folder of the data files."""
    return find_shipped("data")


@dataclass(kw_only=True)
class CopyData:
    """Copy the data files that come with difsim, to start files of your own from."""

    to: Path = field(default_factory=lambda: Path("data"))
    """A folder. Files that are already there are kept as they are."""

    def run(self) -> None:
        """Copy each file that is not there yet, and print the path of each."""
        from difsim.saving.atomic import write_atomically  # takes seconds, and `difsim --cite` needs this module

        source = data_folder()
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            target = self.to / file.relative_to(source)
            kept = target.exists()
            if not kept:
                with write_atomically(target) as whole:
                    shutil.copyfile(file, whole)
            print(f"{target}{' (kept)' if kept else ''}")
