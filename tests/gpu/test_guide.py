"""The Python of docs/guides/library.md with its block about PyTorch."""

import matplotlib as mpl

from tests.test_guides import blocks


def test_python_runs_from_top_to_bottom(tmp_path, monkeypatch):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    code = blocks("docs/guides/library.md", "python")
    assert any("import gpu" in block for block in code)
    exec(compile("\n".join(code), "docs/guides/library.md", "exec"), {})
