"""The Python of docs/guides/library.md with its block about PyTorch."""

from tests.docs.pages import ROOT, run_page


def test_python_runs_from_top_to_bottom(tmp_path, monkeypatch):
    run_page(ROOT / "docs/guides/library.md", tmp_path, monkeypatch, everything=True)
