"""The check of the built site finds broken links and files of other hosts."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.site import check_built


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "guides").mkdir()
    (tmp_path / "style.css").write_text("body { background: url(picture.png) }")
    (tmp_path / "index.html").write_text('<link rel="stylesheet" href="style.css"><a href="guides/a.html#two">a</a>')
    (tmp_path / "guides" / "a.html").write_text(
        '<h2 id="two">Two</h2><a href="../index.html">home</a><a href="#two">up</a>'
    )
    return tmp_path


def test_a_good_site_has_no_problem(site: Path) -> None:
    assert check_built.broken_links(site) == []
    assert check_built.outside_files(site) == []


@pytest.mark.parametrize("link", ["b.html", "#three", "../index.html#one", "../picture.png"])
def test_a_broken_link_is_found(site: Path, link: str) -> None:
    with (site / "guides" / "a.html").open("a") as page:
        page.write(f'<a href="{link}">broken</a>')
    assert check_built.broken_links(site) == [f"guides/a.html: {link}"]


@pytest.mark.parametrize(
    "loading",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/a.css">',
        '<link rel="preconnect" href="https://fonts.example.org">',
        '<img src="https://example.org/a.png">',
    ],
)
def test_a_file_of_another_host_is_found(site: Path, loading: str) -> None:
    (site / "index.html").write_text(loading)
    assert len(check_built.outside_files(site)) == 1


def test_a_font_of_another_host_is_found(site: Path) -> None:
    (site / "style.css").write_text(
        '@import "https://fonts.example.org/a.css"; a { src: url(https://example.org/a.woff) }'
    )
    assert len(check_built.outside_files(site)) == 2


def test_links_of_the_repository_work() -> None:
    assert check_built.broken_repository_links() == []
