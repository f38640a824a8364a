"""What every study writes beside its numbers: when and where they were made, and JSON that others can read."""

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

import jax


def provenance() -> dict[str, str]:
    """Date and machine of a result."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {jax.default_backend()}, jax {jax.__version__}",
    }


def write_json(path: Path, content: Any) -> str:
    """Write `content`, a NaN or infinity as null, for JSON knows neither; and give the text."""
    clean = json.loads(json.dumps(content), parse_constant=lambda _: None)
    text = json.dumps(clean, indent=1, allow_nan=False)
    path.write_text(text + "\n")
    return text
