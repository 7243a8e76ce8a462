"""The files of the pages: size, unused files, and code that would parse text as HTML or JavaScript."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

import duelist
from duelist.study import languages
from duelist.study.languages import LANGUAGES, load_catalogue

PACKAGE = Path(duelist.__file__).parent.resolve()
PAGES = PACKAGE / "server" / "pages"


def loaded_by(page: str) -> set[Path]:
    """Return the files that a page loads, directly and through imports."""
    loaded: set[Path] = set()
    queue = [PAGES / page]
    while queue:
        file = queue.pop()
        if file in loaded:
            continue
        loaded.add(file)
        text = file.read_text(encoding="utf-8")
        queue += [PAGES / name.lstrip("/") for name in re.findall(r'(?:src|href)="(/assets/[^"]+)"', text)]
        queue += [(file.parent / name).resolve() for name in re.findall(r'from "(\.[^"]+)"', text)]
    return loaded


def test_sizes() -> None:
    """The rater page is under 150 KB in every language, and all pages together are under 120 KB when compressed."""
    catalogues = [Path(languages.__file__).with_name(f"{language}.json").stat().st_size for language in LANGUAGES]
    assert sum(file.stat().st_size for file in loaded_by("rate.html")) + max(catalogues) < 150_000
    files = [file for file in PAGES.rglob("*") if file.is_file()]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < 120_000
    used = set().union(*(loaded_by(page.name) for page in PAGES.glob("*.html")))
    assert {file for file in files if file.suffix != ".py"} == used


@pytest.mark.parametrize("file", sorted(str(file.relative_to(PAGES)) for file in PAGES.rglob("*.*")))
def test_no_file_parses_text_as_html_or_code(file: str) -> None:
    text = (PAGES / file).read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "srcdoc",
        "DOMParser",
        "createContextualFragment",
    ):
        assert word not in text
    if file.endswith(".html"):
        text = text.replace('<script type="application/json" id="sentences">{{sentences}}</script>', "")  # data
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)
    assert re.findall(r"https?://(?!www\.w3\.org/)[a-z]", text) == []


PAGE_CODES = {"network", "owner"}
"""Codes of errors that the pages raise themselves."""
SCREENS = {"other", "welcome", "welcome_back", "owner", "invitation_only", "invitation_expired"}
"""Screens of the rater page that are not for one error."""


def source() -> str:
    return "".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))


def test_messages_for_owners_are_for_existing_error_codes() -> None:
    text = (PAGES / "assets" / "owner" / "messages.js").read_text(encoding="utf-8")
    codes = set(re.findall(r'^  "?([a-z_.]+)"?:', text, flags=re.MULTILINE))
    assert len(codes) > 15
    assert {code for code in codes - PAGE_CODES if f'"{code}"' not in source()} == set()


def test_messages_for_raters_are_for_existing_error_codes() -> None:
    keys = load_catalogue("en")
    errors = {key.partition(".")[2] for key in keys if key.startswith("error.")} - {"server", "other"}
    screens = {key.split(".")[1] for key in keys if key.startswith("screen.")} - SCREENS
    assert len(errors) > 15
    assert {code for code in (errors | screens) - PAGE_CODES if f'"{code}"' not in source()} == set()
