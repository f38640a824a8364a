"""What the report of a benchmark says."""

from collections.abc import Mapping
from typing import Any

from experiments.report import Report, Table


def rows(found: Mapping[str, Any]) -> Report:
    """The report on measured rows."""
    compared = [row for row in found["rows"] if row["ratio"] is not None]
    return Report(
        question="How long does it take, and how does that compare with a peer on the same work?",
        answer=[
            f"{len(compared)} of {len(found['rows'])} rows have a peer; a ratio is the peer's time over ours."
        ],
        tables=[Table("measured", found["rows"])],
        limits=["Times are of this machine with what else ran on it; compare ratios, not seconds."],
    )
