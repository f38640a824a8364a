"""Equations as MathML, made when the site is built, so that a page loads no script and no font.

`pymdownx.arithmatex` finds the equations of a page: `$...$` in a line, `$$...$$` as a block. In running text a letter
with an index, such as N_i, is set with a subscript.
"""

import html
import re

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.S)
TAG = re.compile(r"\\tag\{([^}]*)\}")
VERBATIM = re.compile(r"(<(?:code|pre|math|a|h\d)\b.*?</(?:code|pre|math|a|h\d)>|<[^>]*>)", re.S)
INDEXED = re.compile(r"(?<![\w/.-])([^\W\d_]\W?)_([^\W_]{1,8})(?!\w)")
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.S)


def mathml(tex: str, display: str) -> str:
    """One equation. **Raises:** PluginError where a command of TeX was not understood."""
    made = convert(html.unescape(tex).strip(), display=display)
    if unknown := re.findall(r"<m[iot][^>]*>(\\\w+)<", made):
        raise PluginError(f"equation {tex.strip()!r}: {', '.join(unknown)} is not known to latex2mathml")
    return made


def block(tex: str) -> str:
    """An equation on a line of its own, with its number and source from `\\tag{number; source}`."""
    tag = TAG.search(tex)
    made = mathml(TAG.sub("", tex), "block")
    return (
        f'<div class="equation">{made}<span>({html.escape(tag[1])})</span></div>'
        if tag
        else f'<div class="equation">{made}</div>'
    )


def add_subscripts(content: str) -> str:
    """The page with a_b as a with the subscript b, except in code and equations."""
    parts = VERBATIM.split(content)  # text and verbatim parts alternate
    return "".join(part if i % 2 else INDEXED.sub(r"<i>\1</i><sub>\2</sub>", part) for i, part in enumerate(parts))


def on_page_content(content: str, page: Page, **kwargs) -> str:
    """The page with its equations as MathML; a block scrolls by itself where the screen is narrow."""
    content = BLOCK.sub(lambda m: block(m[1]), content)
    content = INLINE.sub(lambda m: mathml(m[1], "inline"), content)
    return content if page.file.src_uri.startswith("api/") else add_subscripts(content)
