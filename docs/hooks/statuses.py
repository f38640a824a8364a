"""The page of all statuses, with their remedies, from the code."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from difsim.status import Status

HEAD = """# Statuses

A status says how a run or a search ended. `difsim.Status(code)` gives its name, message and remedy. UNDER_RESOLVED and
PAST_VALIDITY concern derivatives only. For all others except OK, `simulate` raises an exception. Inside `jit`, or with
`throw=False`, it returns the status instead.

| code | status | what happened | what to do |
|---|---|---|---|
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    rows = [f"| {s.value} | `{s.name}` | {s.message} | {s.remedy} |" for s in Status]
    files.append(File.generated(config, "statuses.md", content=HEAD + "\n".join(rows) + "\n"))
    return files
