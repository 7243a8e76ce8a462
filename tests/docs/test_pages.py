"""Every code block of README.md, CONTRIBUTING.md and docs/ runs, console blocks included."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, run_page

NOT_RUN: Final = {
    "docs/guides/deploying.md": 4,  # accounts of the system, systemd and Docker; tests/server/test_deploy.py checks deploy/
    "docs/guides/experiments.md": 3,  # clusters; tests/research/experiments/test_cluster.py starts one
    "docs/guides/library.md": 1,  # PyTorch; tests/gpu runs the page with it
    "docs/guides/server.md": 2,  # a server of somebody else
}
"""Blocks per page that cannot run in every environment, each with its reason in a comment above it."""

WITH_CODE: Final = [page for page in PAGES if any(not block.not_run for block in blocks(page))]


READS_DATA: Final = ROOT / "docs/guides/data.md"
ELSEWHERE: Final = [READS_DATA, ROOT / "docs/guides/experiments.md", ROOT / "docs/guides/formats.md"]
"""Pages that another test runs: it checks what they leave behind."""


@pytest.mark.parametrize(
    "page", [page for page in WITH_CODE if page not in ELSEWHERE], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, tmp_path, monkeypatch)


def test_every_block_about_data_runs(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELIST_DATA", str(data_folder))
    run_page(READS_DATA, tmp_path, monkeypatch)


def test_blocks_that_do_not_run_are_listed() -> None:
    found = {page.relative_to(ROOT).as_posix(): sum(block.not_run for block in blocks(page)) for page in PAGES}
    assert {name: count for name, count in found.items() if count} == NOT_RUN


def test_pages_have_code() -> None:
    assert len(WITH_CODE) > 25
    assert sum(len(blocks(page)) for page in WITH_CODE) > 100
