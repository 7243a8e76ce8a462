"""The README's Python with the block about GPUs, which needs PyTorch."""

import matplotlib as mpl

from tests.test_readme import blocks


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    code = blocks("python")
    assert any("import gpu" in block for block in code)
    exec(compile("\n".join(code), "README.md", "exec"), {})
