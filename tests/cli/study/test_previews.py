"""Previews of files in the shell: what raters will see, in few lines."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from duelist.cli import app


def preview(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["study", "create", "previewed", *arguments, "--preview"], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    return done.output


def test_pictures_with_captions(tmp_path: Path) -> None:
    (tmp_path / "captioned.csv").write_text("id,image,caption\na,cat.png,A cat\nb,dog.png,A dog\n")
    for name in ("cat.png", "dog.png"):
        (tmp_path / name).write_bytes(b"\x89PNG" + name.encode())
    shown = preview(str(tmp_path))
    assert "  a: cat.png: A cat\n" in shown
    assert "{" not in shown
    assert next(line for line in shown.splitlines() if " image " in line).split("│")[2].strip() == "media"


def test_long_answers_of_many_systems_take_a_line_each(tmp_path: Path) -> None:
    systems = [f"model-{k}" for k in range(12)]
    answer = "a long answer " * 40
    lines = [",".join(["prompt", *systems])]
    lines += [",".join([f"Question {k}?", *(f"{answer}{k} of {name}" for name in systems)]) for k in range(3)]
    (tmp_path / "answers.csv").write_text("\n".join(lines))
    shown = preview(str(tmp_path / "answers.csv"))
    assert "Read as 36 answers of 12 systems" in shown
    assert len(shown.splitlines()) < 60
