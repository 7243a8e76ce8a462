"""The tutorials, pasted line by line into a shell and into Python, in an empty folder with nothing but the wheel to install from."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import uv

from tests.docs.pages import ROOT, Block, blocks, commands

TUTORIALS: Final = {
    "compare-policies": ("regret.png", "regret-shell.png"),
    "ask-and-tell": ("shown.png", "policy.json"),
    "run-a-study": ("leaderboard.svg", "votes.csv"),
}
"""The tutorials, and the files that each leaves behind."""

_SERVE: Final = """
duelist serve --port 0 > serve.log 2>&1 &
server=$!
for _ in $(seq 600); do if grep -q http://127.0.0.1 serve.log; then break; fi; sleep 0.1; done
grep http://127.0.0.1 serve.log
kill $server
wait $server || true
"""


def sessions(found: list[Block]) -> Iterator[tuple[str, str]]:
    """Yield the console blocks, and the Python between two of them as one session."""
    python: list[str] = []
    for block in found:
        if block.language == "python":
            python.append(block.body)
            continue
        if python:
            yield "python", "\n".join(python)
            python = []
        yield "console", block.body
    if python:
        yield "python", "\n".join(python)


def faster(command: str) -> str:
    """Return a command of `venv` or `pip` as the same command of uv, which takes seconds."""
    installer = shlex.quote(uv.find_uv_bin())
    with_uv = {"python3 -m venv": f"{installer} venv --quiet --python {shlex.quote(sys.executable)}"}
    with_uv["pip install"] = f"{installer} pip install --quiet"
    for begin, replacement in with_uv.items():
        command = f"{replacement}{command.removeprefix(begin)}" if command.startswith(begin) else command
    return command


def script(page: Path, folder: Path) -> str:
    """Return the page as a script for bash; Python is pasted into an interactive interpreter."""
    lines = ["set -eu"]
    for number, (language, body) in enumerate(sessions(blocks(page))):
        if language == "python":
            (folder / f"{number}.pasted").write_text(f"{body}\n")
            lines.append(f"MPLBACKEND=Agg python -i -q < {number}.pasted 2> {number}.errors")
            lines.append(f"if grep -n 'Error\\|Traceback' {number}.errors; then cat {number}.errors; exit 1; fi")
        else:
            for command in commands(body):
                first = command.split()[:2]
                if first != ["python"]:
                    lines.append(_SERVE if first == ["duelist", "serve"] else faster(command))
    return "\n".join(lines)


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_works(name: str, wheel: Path, tmp_path: Path) -> None:
    program = script(ROOT / "docs" / "get-started" / f"{name}.md", tmp_path)
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "DUELIST_STORAGE")
    clean = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        ["bash", "-c", program],
        cwd=tmp_path,
        env={**clean, "UV_FIND_LINKS": str(wheel.parent)},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, f"{program}\n{done.stdout}{done.stderr}"
    assert [file for file in TUTORIALS[name] if not (tmp_path / file).exists()] == []
