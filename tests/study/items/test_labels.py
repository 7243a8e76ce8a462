"""Items of a file without ids are shown by their texts, in results, plots and the shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelist.cli import app
from duelist.core.figures import line_labels
from duelist.study import Study, create_study, plan_items
from duelist.study.items.labels import beginning, picture_of

TAGLINES = ["Fast as light", "Slow is smooth", "Made for mornings, and for everybody who would rather not see one"]
LABELS = ["1 “Fast as light”", "2 “Slow is smooth”", "3 “Made for mornings, and for ever…”"]


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'studies.db'}"


@pytest.fixture
def study(tmp_path: Path, storage: str) -> Iterator[Study]:
    """A study of taglines without ids, after three votes and with a gold pair."""
    file = tmp_path / "taglines.csv"
    file.write_text("tagline\n" + "".join(f'"{text}"\n' for text in TAGLINES), encoding="utf-8")
    made = create_study("taglines", storage, goal="best", items=plan_items(file))
    made.add_gold("1", "2", "first")
    for rater in ("ana", "ben", "cleo"):
        made.tell(made.ask(rater), "first", rater=rater)
    yield made
    made.close()


def test_analyses_name_items_by_id_or_by_label(study: Study) -> None:
    assert {row.arm for row in study.leaderboard().standings} == {"1", "2", "3"}
    assert {row.arm for row in study.leaderboard(labels=True).standings} == set(LABELS)
    assert [row.utility for row in study.leaderboard().standings] == [
        row.utility for row in study.leaderboard(labels=True).standings
    ]
    assert study.recommend(labels=True).best in LABELS
    assert study.can_stop(labels=True).statement.startswith(tuple(LABELS))
    assert set(study.win_matrix(labels=True).arms) == set(LABELS)
    study.retire(["3"])
    assert {row.arm for row in study.leaderboard(labels=True).standings} == set(LABELS[:2])


def test_plots_show_labels(study: Study) -> None:
    axes = study.plot_leaderboard().axes[0]
    assert {tick.get_text() for tick in axes.get_yticklabels()} == set(LABELS)
    by_id = study.plot_leaderboard(labels=False).axes[0]
    assert {tick.get_text() for tick in by_id.get_yticklabels()} == {"1", "2", "3"}
    assert "Fast as light" in " ".join(tick.get_text() for tick in study.plot_win_matrix().axes[0].get_yticklabels())
    assert "Fast as light" in " ".join(line_labels(study.plot_history().axes[0]))


@pytest.mark.parametrize(
    "command", ["leaderboard", "status", "win-matrix", "history", "gold", "explain", "can-stop", "tell"]
)
def test_the_shell_shows_labels(study: Study, storage: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    more = {"explain": ["1"], "tell": ["1", "tie", "-r", "ana", "--revise"]}.get(command, [])
    shown = CliRunner().invoke(app, ["study", command, "taglines", *more, "-s", storage])
    assert any(label in shown.output for label in LABELS), shown.output


def test_the_beginning_of_any_payload() -> None:
    assert beginning("# Heading\n\nand **more**") == "Heading and more"
    assert beginning({"image": "cat.png", "caption": "A cat"}) == "A cat"
    assert beginning([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]) == "Because."
    assert beginning("cat.png") == beginning(None) == beginning(3) == ""
    assert picture_of({"image": "cat.png", "caption": "A cat"}) == picture_of([{"image": "cat.png"}]) == "cat.png"
    assert picture_of("A cat") is None
    assert picture_of({"audio": "cat.mp3"}) is None
