"""What every study writes beside its numbers: when and where they were made, and JSON that others can read."""

import datetime
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax


def provenance() -> dict[str, str]:
    """Date and machine of a result."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {jax.default_backend()}, jax {jax.__version__}",
    }


def record(out: Path, work: Callable[[Path], dict[str, Any]], **about: Any) -> None:
    """Do the `work` of a study in its folder `out`, made if need be; summary.json, printed too, has what it is
    `about`, how long it took, and what was found."""
    out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    found = work(out)
    seconds = time.perf_counter() - started
    print(write_json(out / "summary.json", {**about, "wall_seconds": seconds, **provenance(), **found}))
    print(f"\nwritten to {out}/ in {seconds:.0f} s")


def write_json(path: Path, content: Any) -> str:
    """Write `content`, a NaN or infinity as null, for JSON knows neither; and give the text."""
    clean = json.loads(json.dumps(content), parse_constant=lambda _: None)
    text = json.dumps(clean, indent=1, allow_nan=False)
    path.write_text(text + "\n")
    return text
