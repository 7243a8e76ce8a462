"""Run the code of a page of the documentation: its Python and its console blocks, from top to bottom, in an empty folder."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from typer.testing import CliRunner

from duelist.cli import app

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNNABLE: Final = ("python", "pycon", "console", "sh", "toml")
_BLOCK: Final = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL
)
_INSTALLING: Final = ("pip", "python", "python3", "source")
"""Commands that tests/install runs in empty environments."""
_HERE_DOCUMENT: Final = re.compile(r"<<'(\w+)'")


class Block(NamedTuple):
    """A block of code, and the comment above it."""

    language: str
    body: str
    note: str

    @property
    def not_run(self) -> bool:
        """Whether the comment says that this block cannot run here, and why."""
        return "not run: " in self.note


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page that are meant to be run."""
    found = (Block(each["language"], each["body"], each["note"] or "") for each in _BLOCK.finditer(page.read_text()))
    return [block for block in found if block.language in RUNNABLE and "excerpt" not in block.note]


def commands(body: str) -> list[str]:
    """Return the commands of a console block, each with its here document."""
    found: list[str] = []
    end = ""
    for line in body.splitlines():
        if end:
            found[-1] += f"\n{line}"
            end = "" if line == end else end
        elif line.strip() and not line.startswith("#"):
            found.append(line)
            match = _HERE_DOCUMENT.search(line)
            end = match[1] if match else ""
    return found


class Shell:
    """Runs the commands of a page."""

    def __init__(self, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._page = page
        self._monkeypatch = monkeypatch

    def run(self, command: str) -> None:
        """Run a command: duelist in this process, everything else in bash."""
        words = shlex.split(command.partition("\n")[0], comments=True)
        if words[0] == "duelist":
            self._duelist(words[1:])
        elif words[0] == "make":
            targets = [word for word in words[1:] if "=" not in word]
            assert all(re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE) for target in targets)
        elif words[0] == "export":
            name, _, value = words[1].partition("=")
            self._monkeypatch.setenv(name, value)
        elif words[0] == "cd":
            self._monkeypatch.chdir(words[1])
            self._monkeypatch.syspath_prepend(str(Path.cwd()))
        elif words[0] not in _INSTALLING or (words[1:] and words[0] == "python"):
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            subprocess.run(["bash", "-euc", command], check=True, env={**os.environ, "PATH": path, "MPLBACKEND": "Agg"})

    def _duelist(self, words: list[str]) -> None:
        if words[0] == "serve":
            self._serve(words)
            return
        if "dask" in words:
            return  # tests/research/experiments/test_cluster.py starts a cluster
        if words[0] == "simulate" and "--horizon" not in words:
            words = [*words, "--horizon", "50"]
        result = CliRunner().invoke(app, words)
        expected = (0, 1) if "can-stop" in words else (0,)  # `can-stop` answers by its exit status
        assert result.exit_code in expected, f"{self._page}: duelist {shlex.join(words)}\n{result.output}"

    def _serve(self, words: list[str]) -> None:
        """Start the server, and stop it when it has printed its address."""
        command = [sys.executable, "-m", "duelist.cli", *words, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
            assert server.stdout is not None
            try:
                printed = iter(server.stdout.readline, "")
                assert any("http://127.0.0.1:" in line for line in printed), f"{self._page}: {words} printed no address"
            finally:
                server.terminate()
                server.stdout.read()


def run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, everything: bool = False) -> None:
    """Run every block of a page. `examples` is there, as in a copy of the repository."""
    mpl.use("Agg")
    name = page.relative_to(ROOT).as_posix()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DUELIST_STORAGE", raising=False)
    Path("examples").symlink_to(ROOT / "examples")
    Path("out").mkdir()
    names: dict[str, Any] = {"__name__": "__main__"}
    shell = Shell(name, monkeypatch)
    for block in blocks(page):
        if block.not_run and not everything:
            continue
        if block.language == "python":
            exec(compile(block.body, name, "exec"), names)
        elif block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(block.body, {}, name, None, 0)
            assert doctest.DocTestRunner().run(test).failed == 0
        elif block.language == "toml":
            first = block.body.partition("\n")[0]
            assert re.fullmatch(r"# [\w-]+\.toml", first), f"{name}: the first line of a TOML block names its file"
            Path(first.removeprefix("# ")).write_text(block.body)
        else:
            for command in commands(block.body):
                shell.run(command)
    plt.close("all")
