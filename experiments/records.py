"""Provenance of a result, and JSON that others can read."""

import datetime
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from difsim.saving.atomic import write_atomically

LIBRARIES = ("jax", "jaxlib", "equinox", "diffrax", "numpy", "scipy")  # whose versions may change a digit


def provenance() -> dict[str, Any]:
    """Date, machine, versions, commit and command line of a result."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {jax.local_devices()[0].device_kind}",
        "version": importlib.metadata.version("difsim"),
        "libraries": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in LIBRARIES},
        "commit": commit(),
        "command": shlex.join(["difsim", *sys.argv[1:]]),
    }


@functools.cache
def commit() -> str:
    """The commit of the source tree, with "+" where files were changed since; "unknown" outside a repository."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    ask = functools.partial(subprocess.check_output, stderr=subprocess.DEVNULL, text=True)
    try:
        ask(
            [*git, "ls-files", "--error-unmatch", here.name]
        )  # an environment may lie inside somebody's repository
        commit, changed = ask([*git, "rev-parse", "HEAD"]), ask([*git, "status", "--porcelain", "-uno"])
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit.strip() + ("+" if changed else "")


def hashes(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of the content of each file, by its path."""
    return {str(path): file_hash(path) for path in paths}


def file_hash(path: Path) -> str:
    """SHA-256 of the content of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy_inputs(read: Mapping[str, str], folder: Path) -> None:
    """Copy the files that a run read into a folder, each under the start of its hash and its own name.

    **Arguments:** `read`, SHA-256 by path; `folder`, made where there is something to copy.
    """
    for path, mark in read.items():
        target = folder / f"{mark[:8]}-{Path(path).name}"
        if not target.is_file():
            folder.mkdir(exist_ok=True)
            with write_atomically(target) as beside:
                shutil.copyfile(path, beside)


def write_json(path: Path, content: Any) -> str:
    """Write `content`, a NaN or infinity as null, for JSON knows neither; and give the text."""
    clean = json.loads(json.dumps(content), parse_constant=lambda _: None)
    text = json.dumps(clean, indent=1, allow_nan=False)
    with write_atomically(path) as beside:
        beside.write_text(text + "\n")
    return text


def text_as_array(text: str) -> np.ndarray:
    """A text as bytes [n], as files of arrays hold it."""
    return np.frombuffer(text.encode(), np.uint8)


def array_as_text(array: np.ndarray) -> str:
    """The text of `text_as_array`."""
    return array.tobytes().decode()
