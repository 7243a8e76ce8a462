#!/usr/bin/env python3
"""Check the built site: every link and anchor exists, and no page loads anything from another host.

    scripts/site/check_built.py out/site

Links of README.md and of the other pages at the top of the repository are checked as well.
"""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

ROOT: Final = Path(__file__).parents[2]
_LOADS: Final = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("link", "href"),
    ("use", "href"),
}
_INERT: Final = {"canonical", "prev", "next", "alternate"}
_TAG: Final = re.compile(r"<([a-z][a-z0-9]*)\s([^>]*)>")
_ATTRIBUTE: Final = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|([^\s\">]+))")
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE: Final = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


class _Page(NamedTuple):
    """The anchors, the links and the loaded files of a page."""

    anchors: set[str]
    links: list[str]
    loaded: list[str]


def read(path: Path) -> _Page:
    """Return what a page contains; its generator escapes `<` and `>` in texts and attributes."""
    page = _Page(set(), [], [])
    for tag, rest in _TAG.findall(path.read_text()):
        values = {name: unescape(quoted or bare) for name, quoted, bare in _ATTRIBUTE.findall(rest)}
        if values.get("id"):
            page.anchors.add(values["id"])
        if tag == "a" and values.get("href"):
            page.links.append(values["href"])
        if not set(values.get("rel", "").split()) & _INERT:
            page.loaded.extend(value for name, value in values.items() if (tag, name) in _LOADS and value)
    return page


def broken_links(site: Path) -> list[str]:
    """Return the links of the site whose file or anchor does not exist."""
    pages = {path.resolve(): read(path) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if target.is_dir():
                target /= "index.html"
            missing_anchor = anchor and target in pages and anchor not in pages[target].anchors | {"__skip"}
            if not target.exists() or missing_anchor:
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return found


def outside_files(site: Path) -> list[str]:
    """Return what pages and style sheets load from other hosts."""
    found = []
    for path in site.rglob("*.html"):
        found += [f"{path.relative_to(site)}: {name}" for name in read(path).loaded if re.match(r"(https?:)?//", name)]
    for path in site.rglob("*.css"):
        urls = re.findall(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')]+)", path.read_text())
        found += [f"{path.relative_to(site)}: {name}" for name in urls]
    return found


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def broken_repository_links() -> list[str]:
    """Return the links between Markdown files that do not work where the repository is hosted."""
    found = []
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)\s]+)\)", _CODE.sub("", path.read_text())):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            if not target.exists():
                found.append(f"{path.relative_to(ROOT)}: {link}")
            elif parts.fragment and target.suffix == ".md":
                headings = {_slug(each) for each in _HEADING.findall(target.read_text())}
                if parts.fragment not in headings:
                    found.append(f"{path.relative_to(ROOT)}: {link}")
    return found


def main(folder: str) -> int:
    """Print every problem, and return 1 if there is one."""
    site = Path(folder)
    pages = len(list(site.rglob("*.html")))
    problems = [
        *(f"broken link: {each}" for each in [*broken_links(site), *broken_repository_links()]),
        *(f"loaded from another host: {each}" for each in outside_files(site)),
    ]
    print("\n".join(problems) or f"{pages} pages: all links work, and nothing is loaded from other hosts")
    return 1 if problems or pages < 100 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
