"""Files drawn at random, valid in odd but legal forms or damaged, with what is right: none may be wrong in silence.

`python -m tests.odd_files --count 500` prints a table; `tests/more/test_odd_files.py` draws a few of each kind.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from tests.odd_cameras import a_json, a_yaml
from tests.odd_drawn import VERDICTS, judge
from tests.odd_robots import a_urdf, an_mjcf
from tests.odd_tables import a_table

KINDS = {
    "URDF": a_urdf,
    "MJCF": an_mjcf,
    "table with times": a_table,
    "camera, YAML": a_yaml,
    "camera, JSON": a_json,
}


def search(kind: str, count: int, seed: int, folder: Path) -> tuple[Counter, list[str]]:
    """How many of `count` files had which verdict, legal and damaged apart, and the files that are faults."""
    found, faults = Counter(), []
    for i in range(count):
        drawn = KINDS[kind](np.random.default_rng([seed, i]), folder)
        verdict = judge(drawn)
        found["damaged" if drawn.damage else "legal", verdict] += 1
        if verdict == "wrong" or (verdict != "right" and not drawn.damage):
            faults.append(f"{kind} {seed} {i} ({drawn.damage or 'legal'}): {verdict}: {drawn.path}")
    return found, faults


def write(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=500, help="files of all kinds together")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="odd_files"))
    write("| kind | legal: right | refused | damaged: refused | told | no difference | wrong |")
    for kind in KINDS:
        found, faults = search(kind, given.count // len(KINDS), given.seed, folder)
        legal, damaged = ([found[state, verdict] for verdict in VERDICTS] for state in ("legal", "damaged"))
        wrong = legal[2] + legal[3] + damaged[3]
        write(f"| {kind} | {legal[0]} | {legal[1]} | {damaged[1]} | {damaged[2]} | {damaged[0]} | {wrong} |")
        for fault in faults:
            write(fault)


if __name__ == "__main__":
    main()
