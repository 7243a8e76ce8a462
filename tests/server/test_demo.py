"""The demo study."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from duelist.cli import app
from duelist.cli.server import demo_server
from duelist.cli.server.demo_studies import FOLDER, POSTERS, SYSTEMS
from duelist.core.errors import ConnectionLost, StudyNotOpen

PAIRS = 28  # of eight arms


class Stopping:
    """A remote study that is paused, and whose connection is lost after some votes."""

    def __init__(self, study: Any, votes: int) -> None:
        self.study, self.left = study, votes

    def ask(self, rater: str) -> Any:
        try:
            return self.study.ask(rater)
        except StudyNotOpen:
            self.study.open()
            raise

    def tell(self, *given: Any, **named: Any) -> None:
        self.study.tell(*given, **named)
        self.left -= 1
        if self.left == PAIRS:
            self.study.pause()
        if not self.left:
            raise ConnectionLost("the server has stopped; start it again")

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def without_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DUELIST_DATA", str(tmp_path))


@pytest.mark.usefixtures("without_data")
def test_new_raters_replace_those_who_have_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    study, demo = demo_server.make_demo("memory")
    before = len(study.votes())
    monkeypatch.setattr(demo_server, "load_study", lambda *_, **__: Stopping(study, 4 * PAIRS))
    monkeypatch.setattr("time.sleep", lambda _: None)
    demo_server._rate("http://127.0.0.1", "", demo_server.SLOPPY, demo)
    votes = study.votes()[before:]
    assert len(votes) == 4 * PAIRS
    assert {vote.outcome for vote in votes} == {"first"}, "all of them are careless"
    given = Counter(vote.rater for vote in votes)
    assert list(given) == [demo_server.SLOPPY, *(f"{demo_server.SLOPPY} {k}" for k in range(2, len(given) + 1))]
    assert len(given) >= 3


def test_the_demo_has_posters_and_systems() -> None:
    posters = demo_server.make_posters("memory")
    assert {arm.id: arm.payload["text"] for arm in posters.arms()}["sunrise"] == "A sun rises"
    for arm in posters.arms():
        drawn = ET.fromstring(posters.media(arm.payload["image"]).body)
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert {arm.id for arm in posters.arms()} == set(POSTERS)
    assert posters.leaderboard().standings[0].arm in ("sunrise", "waves", "hills", "night")
    assistants = demo_server.make_assistants("memory")
    assert {arm.system for arm in assistants.arms()} == set(SYSTEMS)
    assert {arm.category for arm in assistants.arms()} == {"animals", "kitchen", "nature"}
    assert len(assistants.arms()) == 4 * 6


def test_owners_can_make_the_demo_studies_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the readme work in its folder, which is also among the examples."""
    monkeypatch.setenv("DUELIST_STORAGE", f"sqlite:///{tmp_path / 'demo.db'}")
    monkeypatch.chdir(FOLDER)
    commands = [
        line.partition("#")[0].split() for line in Path("README.md").read_text().splitlines() if "study create" in line
    ]
    assert len(commands) == 3
    for command in commands:
        done = CliRunner().invoke(app, command[1:])
        assert done.exit_code == 0, done.output
    examples = Path(__file__).parents[2] / "examples" / "demo-study"
    assert examples.resolve() == FOLDER.resolve()


@pytest.mark.usefixtures("without_data")
def test_a_kept_demo_study_is_reused(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'demo.db'}"
    first, _ = demo_server.make_demo(storage)
    votes = first.votes()
    first.close()
    again, _ = demo_server.make_demo(storage)
    assert again.votes() == votes
    assert len(again.arms()) == 8
    again.close()
