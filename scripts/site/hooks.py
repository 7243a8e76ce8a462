"""Hooks of MkDocs: add the generated pages, complete the navigation, and link names to their pages."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

import algorithms
import commands
import http_api
import python_api
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import duelist as dl

ROOT: Final = Path(__file__).parents[2]
ROOT_PAGES: Final = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
_FENCE: Final = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\]\(([^)#:\s]+)(#[^)\s]*)?\)")
_NAME: Final = re.compile(r"(?<![\[`\w])`(?:dl\.|duelist\.)?(counting\.)?([A-Za-z]\w+)(?:\(\))?`(?![\]`\w])")

_generated: dict[str, str] = {}
_targets: dict[str, str] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Generate the pages and complete the navigation, before MkDocs reads either."""
    missing = [*python_api.undocumented(), *commands.undocumented()]
    if missing:
        raise PluginError("Public names without documentation:\n  " + "\n  ".join(missing))
    _generated.clear()
    for module in (python_api, commands, http_api, algorithms):
        _generated.update(module.pages())
    for name in ROOT_PAGES:
        _generated[f"contributing/{name}"] = _move_root_page((ROOT / name).read_text())
    for source in _linked_sources(Path(config.docs_dir)):
        _generated[f"files/{source}.md"] = _source_page(source)
    _set_targets()
    paths = {path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md")}
    config.nav = _expand(config.nav, paths | set(_generated), _named(config.nav))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those of docs/."""
    for path, text in _generated.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adapt GitHub's Markdown to MkDocs's, and link the first mention of each public name to its page."""
    path = page.file.src_uri
    seen: set[str] = set()
    parts = _FENCE.split(markdown)
    for k in range(0, len(parts), 2):
        lines = [_line(line, path, seen) for line in parts[k].split("\n")]
        parts[k] = "\n".join(lines)
    return "".join(parts)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the search dialog and the navigation of a page's own headings, for screen readers."""
    output = output.replace(
        'data-md-component="search" role="dialog">', 'data-md-component="search" role="dialog" aria-label="Search">'
    )
    return output.replace('<nav class="md-nav md-nav--secondary" aria-label="Table of contents">',
                          '<nav class="md-nav md-nav--secondary" aria-label="On this page">')  # fmt: skip


def _line(line: str, path: str, seen: set[str]) -> str:
    if line.startswith("|"):
        line = re.sub(r"`[^`]*`", lambda found: found[0].replace("\\|", "|"), line)
    line = _LINK.sub(lambda found: _outside(found, path), line)
    if line.startswith("#"):
        return line

    def link(found: re.Match[str]) -> str:
        target = _targets.get(found[2])
        if target is None or target == path or target in seen:
            return found[0]
        seen.add(target)
        return f"[{found[0]}]({posixpath.relpath(target, posixpath.dirname(path) or '.')})"

    linked = re.split(r"(\[[^\]]*\]\([^)]*\))", line)
    linked[::2] = [_NAME.sub(link, part) for part in linked[::2]]
    return "".join(linked)


def _resolve(path: str, link: str) -> str:
    """Return the path of a link's file, relative to docs/."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def _outside(found: re.Match[str], path: str) -> str:
    """Return a link to a file outside docs/ as a link to its page in the site."""
    resolved = _resolve(path, found[1])
    if not resolved.startswith("../"):
        return found[0]
    name = resolved.removeprefix("../")
    target = f"contributing/{name}" if name in ROOT_PAGES else f"files/{name}.md"
    return f"]({posixpath.relpath(target, posixpath.dirname(path) or '.')}{found[2] or ''})"


def _linked_sources(docs: Path) -> list[str]:
    """Return the files of the repository outside docs/ to which pages link."""
    found = set()
    for page in docs.rglob("*.md"):
        path = page.relative_to(docs).as_posix()
        for link, _ in _LINK.findall(_FENCE.sub("", page.read_text())):
            name = _resolve(path, link).removeprefix("../")
            if _resolve(path, link).startswith("../") and name not in ROOT_PAGES and (ROOT / name).is_file():
                found.add(name)
    return sorted(found)


def _source_page(name: str) -> str:
    language = {".py": "python", ".sh": "sh", ".toml": "toml", ".yml": "yaml", ".hpp": "cpp"}.get(
        Path(name).suffix, "text"
    )
    return f"# {name}\n\n````{language}\n{(ROOT / name).read_text().rstrip()}\n````\n"


def _move_root_page(text: str) -> str:
    return text.replace("](docs/contributing/", "](").replace("](docs/", "](../")


def _set_targets() -> None:
    """Set the page of each public name."""
    _targets.clear()
    for name in dl.__all__:
        for path in (f"algorithms/linear/{name}.md", f"{python_api.FOLDER}/{name}.md"):
            if path in _generated:
                _targets.setdefault(name, path)
    for path in _generated:
        if path.startswith("algorithms/counting/"):
            _targets.setdefault(Path(path).stem, path)


def _named(nav: Any) -> set[str]:
    if isinstance(nav, str):
        return {nav}
    if isinstance(nav, dict):
        nav = list(nav.values())
    return set().union(*map(_named, nav)) if nav else set()


def _expand(nav: Any, paths: set[str], named: set[str]) -> Any:
    """Return the navigation with `folder/*` replaced by the pages of that folder that are not named elsewhere."""
    if isinstance(nav, dict):
        return {title: _expand_value(value, paths, named) for title, value in nav.items()}
    found = []
    for item in nav:
        if isinstance(item, str) and item.endswith("/*"):
            found += _pages_of(item, paths, named)
        elif isinstance(item, dict):
            found.append(_expand(item, paths, named))
        else:
            found.append(item)
    return found


def _expand_value(value: Any, paths: set[str], named: set[str]) -> Any:
    if isinstance(value, str):
        return _pages_of(value, paths, named) if value.endswith("/*") else value
    return _expand(value, paths, named)


def _pages_of(pattern: str, paths: set[str], named: set[str]) -> list[str]:
    folder = pattern.removesuffix("*")
    inside = (path for path in paths if path.startswith(folder) and "/" not in path.removeprefix(folder))
    return sorted((path for path in inside if path not in named), key=str.lower)
