"""The table of `make test-full`: what ran, how long, and what did not pass. Its arguments are the files of results."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def count(path: Path) -> tuple[str, bool]:
    """Return the row of one file, and whether all its tests passed. A run that failed leaves its results as `.new`."""
    found = path if path.exists() else path.with_suffix(".new")
    if not found.exists():
        return f"{path.parent.name}/{path.stem:40} did not end", False
    (suite,) = ElementTree.parse(found).getroot()
    number = {key: int(suite.get(key)) for key in ("tests", "skipped", "failures", "errors")}
    words = ", ".join(f"{n} {key}" for key, n in number.items() if n)
    return f"{path.parent.name}/{path.stem:40} {float(suite.get('time')):7.1f} s  {words}", found == path


if __name__ == "__main__":
    rows, passed = zip(*(count(Path(name)) for name in sys.argv[1:]), strict=True)
    print(*rows, f"{sum(passed)} of {len(rows)} files passed", sep="\n")
    sys.exit(not all(passed))
