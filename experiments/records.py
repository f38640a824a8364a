"""Provenance of a result, and JSON that others can read."""

import datetime
import functools
import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax


def provenance() -> dict[str, str]:
    """Date, machine, version, commit and command line of a result."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {jax.default_backend()}, jax {jax.__version__}",
        "version": importlib.metadata.version("difsim"),
        "commit": commit(),
        "command": shlex.join(["difsim", *sys.argv[1:]]),
    }


@functools.cache
def commit() -> str:
    """The commit of the source tree, with "+" where files were changed since; "unknown" outside a repository."""
    try:
        git = ["git", "-C", str(Path(__file__).parent)]
        commit = subprocess.check_output([*git, "rev-parse", "HEAD"], stderr=subprocess.DEVNULL, text=True)
        changed = subprocess.check_output([*git, "status", "--porcelain", "-uno"], stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit.strip() + ("+" if changed else "")


def write_json(path: Path, content: Any) -> str:
    """Write `content`, a NaN or infinity as null, for JSON knows neither; and give the text."""
    clean = json.loads(json.dumps(content), parse_constant=lambda _: None)
    text = json.dumps(clean, indent=1, allow_nan=False)
    path.write_text(text + "\n")
    return text
