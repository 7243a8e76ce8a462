"""A study of systems in the shell: preview, create, add, vote, leaderboard."""

import csv
from pathlib import Path

from typer.testing import CliRunner

from duelist.cli import app

PROMPTS = ["Explain jazz.", "Write a haiku.", "Name a fruit."]


def run(*arguments: str) -> str:
    found = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return " ".join(found.output.split())


def wide(path: Path, prompts: list[str]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "category", "gpt-x", "llama-y"])
        writer.writerows([p, "c", f"One answer to {p}", f"Another to {p}"] for p in prompts)
    return str(path)


def test_from_a_wide_file_to_the_leaderboard(tmp_path: Path) -> None:
    storage = ("--storage", f"sqlite:///{tmp_path / 's.db'}")
    file = wide(tmp_path / "answers.csv", PROMPTS)
    assert "6 answers of 2 systems (gpt-x, llama-y) to 3 prompts" in run(
        "study", "create", "s", file, "--preview", *storage
    )
    assert "2 systems on 3 prompts" in run("study", "create", "s", file, "--goal", "rank", *storage)
    more = wide(tmp_path / "more.csv", ["Name a color."])
    assert "Nothing was added" in run("study", "add-items", "s", more, "--preview", *storage)
    assert "2 systems on 4 prompts: 2 items added" in run("study", "add-items", "s", more, *storage)
    pair = run("study", "ask", "s", "--rater", "ana", *storage)
    assert "gpt-x" not in pair
    assert "llama-y" not in pair
    run("study", "tell", "s", "1", "first", "--rater", "ana", *storage)
    board = run("study", "leaderboard", "s", *storage)
    assert "system" in board
    assert "gpt-x /" not in board
    assert "gpt-x / Explain jazz." in run("study", "leaderboard", "s", "--by", "item", *storage)
    assert "gpt-x" in run("study", "leaderboard", "s", "--category", "c", *storage)
    assert "system all prompts c" in run("study", "leaderboard", "s", "--by-category", *storage)
    assert "exclude the log-odds added by side" in run("study", "leaderboard", "s", "--covariate", "side", *storage)
    assert "8 answers of 2 systems to 4 prompts" in run("study", "status", "s", *storage)
    assert "gpt-x" in run("study", "history", "s", "--category", "c", *storage)
    stop = CliRunner().invoke(app, ["study", "can-stop", "s", "--category", "c", *storage])
    assert (stop.exit_code, "order of all systems" in stop.output) == (1, True)
