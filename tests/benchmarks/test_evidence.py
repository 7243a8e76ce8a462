"""Every generated page names its origin, and the check of pages finds changed code and nothing else."""

import subprocess

import pytest

from benchmarks import DOCS, ROOT, evidence
from duelist.research.origin import Origin, made_by, origins, with_origin

WRITTEN = [row for row in evidence.PAGES if (DOCS.parent / row.page).exists()]
"""Pages whose command has run."""


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row.page)
def test_a_page_names_its_command_and_commit(row):
    made = origins((DOCS.parent / row.page).read_text())
    assert made, f"{row.page} does not say how it was made: see duelist.research.origin"
    if row.command != "make evidence":  # whose sections have commands of their own
        assert {each.command for each in made} == {row.command}


@pytest.mark.parametrize("row", evidence.PAGES, ids=lambda row: row.page)
def test_inputs_exist(row):
    assert all((ROOT / path).exists() for path in row.inputs)


def test_the_overview_has_every_listed_page():
    """With its question and command. `make release-check` also compares the commits, and finds generated pages without a row."""

    def rows(text):
        return [line.split(" | ")[:3] for line in text.splitlines() if line.startswith("|")]

    known = rows(evidence.INDEX.read_text())
    assert [row for row in rows(evidence.index()) if row not in known] == [], "run `make evidence-index`"


def test_an_origin_is_read_as_it_was_written():
    for made in (Origin("abc123", "2026-03-01", 12345, "make x"), Origin("abc123-dirty", "2026-03-01", None, "make x")):
        assert origins(with_origin("# Title\n\nText.\n", made.command, made)) == [made]
    assert origins("Made by hand.\n") == []


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one page and one input."""

    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    docs = tmp_path / "docs" / "evidence"
    docs.mkdir(parents=True)
    (tmp_path / "code.py").write_text('"""Doc."""\n\nx = 1\n')
    (tmp_path / "code.hpp").write_text("int x = 1;  // one\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "Start")
    commit = git("rev-parse", "--short", "HEAD")
    (docs / "page.md").write_text(with_origin("# Page\n\n1\n", "make page", Origin(commit, "2026-03-01")))
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    monkeypatch.setattr(evidence, "DOCS", docs)
    monkeypatch.setattr(
        evidence, "PAGES", (evidence.Evidence("evidence/page.md", "make page", "?", ("code.py", "code.hpp")),)
    )
    monkeypatch.setattr(evidence, "INDEX", docs / "index.md")
    (tmp_path / "Makefile").write_text("page: ## Write the page (1 minute).\n")
    (docs / "index.md").write_text(evidence.index())
    caches = (evidence.changes, evidence.code_then, evidence.code_now)
    for each in caches:
        each.cache_clear()
    yield tmp_path
    for each in caches:
        each.cache_clear()


def state(capsys, strict=True):
    for each in (evidence.changes, evidence.code_now):
        each.cache_clear()
    return evidence.check(strict), capsys.readouterr().out


def test_changed_code_makes_a_page_old_and_comments_do_not(repository, capsys):
    assert state(capsys)[0]
    (repository / "code.py").write_text('"""Another text."""\n\n# a comment\nx = 1\n')
    (repository / "code.hpp").write_text("int x = 1;\n// another\n")
    assert state(capsys)[0]
    (repository / "code.hpp").write_text("int x = 2;\n")
    acceptable, output = state(capsys)
    assert not acceptable
    assert "OLD" in output
    assert "changed since: code.hpp" in output
    assert state(capsys, strict=False)[0]


def test_unclear_pages_fail(repository, capsys):
    page = repository / "docs" / "evidence" / "page.md"
    page.write_text("# Page\n\nNo origin.\n")
    assert "no origin" in state(capsys, strict=False)[1]
    page.write_text(f"# Page\n\n{made_by('make page', Origin('0123456789', '2026-03-01'))}\n")
    acceptable, output = state(capsys, strict=False)
    assert not acceptable
    assert "unknown commit 0123456789" in output
    (repository / "docs" / "evidence" / "other.md").write_text("# Other\n\nMade by `make other`.\n")
    assert "evidence/other.md: no row" in state(capsys)[1]


def test_the_overview_of_another_commit_fails_only_the_strict_check(repository, capsys):
    evidence.INDEX.write_text(evidence.INDEX.read_text().replace("2026-03-01", "2026-02-01"))
    assert state(capsys, strict=False)[0]
    acceptable, output = state(capsys)
    assert not acceptable
    assert "index.md is outdated" in output
