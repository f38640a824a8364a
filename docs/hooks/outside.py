"""Pages that live outside docs/: the studies' own and those for contributors. Links between all of them are adapted."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
STUDIES = {
    f"experiments/{p.parent.name}/{p.name}": f"studies/{p.parent.name}-{p.stem}.md".replace("-README", "")
    for p in ROOT.glob("experiments/*/*.md")
}
PLACES = STUDIES | {
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
CODE = re.compile(r"(^```.*?^```$)", re.M | re.S)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site, with links that fit their new place."""
    for source, place in PLACES.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, **kwargs) -> str:
    """Links from and to these pages; a file of the repository that is no page is named, without a link."""
    here = {place: source for source, place in PLACES.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def move(match: re.Match) -> str:
        picture, text, target, anchor = match[1], match[2], match[3], match[4] or ""
        if ":" in target:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        if path.startswith("docs/"):
            place = path.removeprefix("docs/")
        elif path in PLACES:
            place = PLACES[path]
        else:
            return text if text.startswith("`") else f"{text} (`{path}`)"
        return (
            f"{picture}[{text}]({posixpath.relpath(place, posixpath.dirname(page.file.src_uri) or '.')}{anchor})"
        )

    parts = CODE.split(markdown)  # text and code alternate
    return "".join(part if i % 2 else LINK.sub(move, part) for i, part in enumerate(parts))
