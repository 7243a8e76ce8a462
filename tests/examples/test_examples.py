"""Every example runs as a script and as a notebook, in an empty folder, and shows what it promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SHOWN = {
    "answers_with_embeddings": "160 answers, 16 features each",
    "dask_grid": "28 of 28 cells finished",
    "fastapi_service": "'votes': 240",
    "figure_1a": "average regret after 2000 rounds, 24 runs",
    "images_with_raters": "careless: rater 11",
    "off_policy": "the two best screens",
    "old_votes": "0 votes added; 300 duplicates skipped",
    "plain_policy": "EpsilonGreedy",
    "rank_models": "swan",
}
"""What each example prints."""
ELSEWHERE = {"reward_model"}
"""Run by tests/consumers."""


def run(folder, *command):
    settings = os.environ | {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def check_picture(path):
    """Check that a picture has more than its background."""
    with Image.open(path) as image:
        assert min(image.size) > 200
        assert len(image.convert("RGB").getcolors(2**24)) > 20


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SHOWN) | ELSEWHERE


def test_every_example_is_on_the_page():
    page = (ROOT / "docs" / "get-started" / "examples.md").read_text(encoding="utf-8")
    assert not [path.name for path in EXAMPLES.iterdir() if path.is_file() and f"examples/{path.name}" not in page]


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs_as_a_script(name, tmp_path):
    assert SHOWN[name] in run(tmp_path, "-W", "error", EXAMPLES / f"{name}.py")
    check_picture(tmp_path / "out" / "examples" / f"{name}.png")


@pytest.mark.parametrize("name", sorted(SHOWN.keys() - {"plain_policy"}))
def test_an_example_runs_as_a_notebook(name, tmp_path):
    run(tmp_path, ROOT / "scripts" / "make_notebooks.py", tmp_path, name)
    cells = json.loads((tmp_path / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    assert cells[0]["cell_type"] == "markdown"
    printed = ["".join(output.get("text", "")) for cell in cells for output in cell.get("outputs", ())]
    assert SHOWN[name] in "".join(printed)
    check_picture(tmp_path / "out" / "examples" / f"{name}.png")
