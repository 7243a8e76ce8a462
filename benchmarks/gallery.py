"""`make gallery`: draw every kind of picture that duelist makes, and the page that shows them; docs/evidence/gallery.md.

    python -m benchmarks.gallery [--page docs/evidence/gallery.md] [--images docs/images/gallery]

Pictures have at most 64 colors, so that each takes less than 150 kB.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import duelist as dl
from benchmarks import DOCS, ROOT
from duelist.core.errors import NoPairsLeft
from duelist.research.demo import demo_policies
from duelist.research.origin import with_origin
from duelist.study import plan_study

HORIZON, RUNS = 4000, 128
LARGEST: Final = 150_000
COLORS: Final = 64
DPI: Final = 110


class Picture(NamedTuple):
    """A picture, the call that draws it, and what it shows."""

    name: str
    call: str
    shows: str


REGRET: Final = (
    Picture(
        "regret",
        "runs.plot()",
        f"Mean regret of five policies over {HORIZON:,} rounds and {RUNS} runs. The bars are 95 % intervals of the mean, side "
        "by side so that they can be told apart. `make demo` draws the same.",
    ),
    Picture(
        "regret-spread",
        'runs.plot(band="quantile")',
        "How much runs differ: the middle 80 % of them, for two policies.",
    ),
)
STUDY: Final = (
    Picture(
        "leaderboard",
        "study.plot_leaderboard()",
        "Utilities with 95 % intervals, and the range of ranks of every item.",
    ),
    Picture("history", "study.plot_history()", "The probability of being best, as votes come in."),
    Picture("win-matrix", "study.plot_win_matrix()", "Wins of every pair: share, and number of votes."),
    Picture(
        "calibration",
        "study.plot_calibration()",
        "Whether predicted shares agree with votes that the fit has not seen.",
    ),
    Picture(
        "raters",
        "study.plot_raters()",
        "Agreement, side and speed of every rater. One always takes the first item, which makes an outlier.",
    ),
)
PLAN: Final = Picture(
    "plan",
    'plan_study(12, "best").plot()',
    "Before the first vote: the share of simulated studies that have decided after so many votes.",
)
EXAMPLES: Final = {
    "rank_models": "Six language models on prompts.",
    "answers_with_embeddings": "What an embedding of the answers saves.",
    "figure_1a": "A panel of figure 1a, and the same with utilities four times as large.",
    "plain_policy": "A policy of one's own, beside VACDB.",
    "off_policy": "What other policies would have achieved, estimated from the same votes.",
    "dask_grid": "A grid of settings, played on a Dask cluster.",
}
EVIDENCE: Final = {
    "frontier": ("frontier.png", "Every policy on a grid of problems."),
    "cited": ("cited.png", "Policies of cited papers, for four goals."),
    "goal-rank": ("goal-rank.png", "Kendall's tau by votes."),
    "benchmarks": ("benchmarks-horizon.png", "Time of a round by the number of rounds."),
}


def regret_figures() -> Iterator[Figure]:
    """Draw the pictures of simulations."""
    world = dl.environments.Hypercube(dim=5)
    runs = dl.simulate(demo_policies(HORIZON), world, HORIZON, RUNS, seed=0)
    for band, shown in (("interval", runs), ("quantile", runs.only(["VACDB", "LocalPairUCB"]))):
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        shown.plot(figure.subplots(), band=band)
        yield figure


def simulated_study() -> Any:
    """Return a study of ten taglines by twelve raters, one of whom always takes the first item."""
    words = ("Fast as light", "Made by hand", "Good morning", "Less is more", "Bread, better", "Fresh at six", "Warm inside",
             "From our oven", "Every day", "Simply bread")  # fmt: skip
    liked = dict(zip(words, np.linspace(1.2, -1.2, len(words)), strict=True))
    study = dl.create_study("taglines", storage="memory", goal="best", seed=1)
    study.add_arms(list(words))
    rng = np.random.default_rng(0)
    for k in range(480):
        rater = f"rater {k % 12 + 1}"
        try:
            duel = study.ask(rater)
        except NoPairsLeft:
            continue
        gap = 9.0 if rater == "rater 12" else liked[duel.first.id] - liked[duel.second.id]
        outcome = (
            "tie"
            if rng.random() < 0.1 and gap < 9.0
            else "first"
            if rng.random() < 1.0 / (1.0 + np.exp(-gap))
            else "second"
        )
        study.tell(duel, outcome, rater, response_seconds=float(rng.gamma(4.0, 1.2)))
    return study


def study_figures() -> Iterator[Figure]:
    """Draw the pictures of a study."""
    study = simulated_study()
    for each in STUDY:
        draw: Callable[[], Figure] = getattr(study, each.call.removeprefix("study.").removesuffix("()"))
        yield draw()


def write(image: Image.Image, path: Path) -> None:
    """Write a picture with few colors; raise if the file is still too large."""
    image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    if size > LARGEST:
        raise ValueError(f"{path} takes {size:,} bytes, more than {LARGEST:,}.")
    print(f"{path}: {size:,} bytes", flush=True)


def write_figure(figure: Figure, path: Path) -> None:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DPI)
    write(Image.open(content), path)


def write_examples(folder: Path) -> None:
    """Run the examples in an empty folder, and keep their pictures."""
    with tempfile.TemporaryDirectory() as empty:
        for name in EXAMPLES:
            command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
            subprocess.run(command, cwd=empty, env=os.environ | {"MPLBACKEND": "Agg"}, check=True, capture_output=True)
            with Image.open(Path(empty) / "out" / "examples" / f"{name}.png") as image:
                write(image, folder / f"{name}.png")


def page(images: str) -> str:
    """Return the page, for pictures in the folder `images`."""
    lines = [
        "# Gallery",
        "",
        "Every kind of picture that duelist draws. The colors are those of Okabe and Ito, which people with any color vision "
        "can tell apart; lines have their names at their ends, and axes say what is better. Every plot is a matplotlib figure that "
        "you can change and save as PNG, SVG or PDF.",
        "",
    ]

    def show(title: str, each: Picture) -> None:
        lines.extend(
            [f"## {title}", "", f"`{each.call}`: {each.shows}", "", f"![{title}]({images}/{each.name}.png)", ""]
        )

    for title, each in zip(("Regret", "Spread of the runs"), REGRET, strict=True):
        show(title, each)
    titles = ("Leaderboard", "Probability of being best", "Win matrix", "Calibration", "Raters")
    for title, each in zip(titles, STUDY, strict=True):
        show(title, each)
    show("Plan of a study", PLAN)
    lines += ["## Examples", "", "What the [examples](../get-started/examples.md) draw.", ""]
    for name, shows in EXAMPLES.items():
        lines += [
            f"[examples/{name}.py](../../examples/{name}.py): {shows}",
            "",
            f"![{shows}]({images}/{name}.png)",
            "",
        ]
    lines += ["## Evidence", "", "From the pages of evidence, which explain them.", ""]
    for name, (file, shows) in EVIDENCE.items():
        lines += [f"[{shows}]({name}.md)", "", f"![{shows}]({file})", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=DOCS / "gallery.md")
    parser.add_argument("--images", type=Path, default=DOCS.parent / "images" / "gallery")
    options = parser.parse_args()
    options.images.mkdir(parents=True, exist_ok=True)
    for each, figure in zip(REGRET, regret_figures(), strict=True):
        write_figure(figure, options.images / f"{each.name}.png")
    for each, figure in zip(STUDY, study_figures(), strict=True):
        write_figure(figure, options.images / f"{each.name}.png")
    write_figure(
        plan_study(12, "best", raters=20, votes_per_rater=40, effect=0.8, runs=60).plot(),
        options.images / f"{PLAN.name}.png",
    )
    write_examples(options.images)
    text = page(os.path.relpath(options.images, options.page.parent))
    options.page.write_text(with_origin(text, "make gallery"), encoding="utf-8")


if __name__ == "__main__":
    main()
