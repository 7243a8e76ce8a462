#!/usr/bin/env python3
"""Draw the pictures of the concepts, the regret of each policy, and the results of the tutorials.

    scripts/site/draw_pictures.py [concepts] [regret] [tutorials]

Colors are those of Okabe and Ito, which people with color blindness can tell apart; every curve is labelled where it ends.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch

import duelist as dl
from duelist.core.figures import PALETTE, label_lines
from duelist.policies import counting, linear
from duelist.simulation.regret_plot import RegretCurve, draw_regret

ROOT: Final = Path(__file__).parents[2]
IMAGES: Final = ROOT / "docs" / "images"
BLUE, ORANGE, GREEN, PURPLE = PALETTE[:4]
GRAY: Final = "#767676"
STYLES: Final = ("-", "--", "-.", ":")
STYLE: Final = {
    "font.size": 11,
    "svg.fonttype": "path",
    "svg.hashsalt": "duelist",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}


def save(name: str) -> None:
    """Write the current figure without a date, so that the same picture gives the same file."""
    path = IMAGES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    plt.savefig(path, metadata={"Date": None})
    plt.close("all")
    print(path.relative_to(ROOT))


def draw_loop() -> None:
    """Draw the loop of ask, vote and tell."""
    _, axes = plt.subplots(figsize=(7.5, 3.2))
    axes.set_axis_off()
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 4.4)
    boxes = {
        "policy": (0.2, 1.5, "Policy", "estimates utilities\nand widths", BLUE),
        "duel": (3.9, 2.7, "Duel", "two arms to compare", ORANGE),
        "person": (7.3, 1.5, "Person", "sees both,\nprefers one", GREEN),
        "vote": (3.9, 0.2, "Vote", "first, second or tie", PURPLE),
    }
    for x, y, title, text, color in boxes.values():
        axes.add_patch(
            FancyBboxPatch((x, y), 2.3, 1.2, boxstyle="round,pad=0.08", facecolor="white", edgecolor=color, lw=2)
        )
        axes.text(x + 1.15, y + 0.92, title, ha="center", va="center", weight="bold", color=color)
        axes.text(x + 1.15, y + 0.4, text, ha="center", va="center", fontsize=9.5)
    arrows = (((1.6, 2.85), (3.75, 3.4), "ask"), ((6.35, 3.4), (8.4, 2.85), ""), ((8.4, 1.35), (6.35, 0.75), ""),
              ((3.75, 0.75), (1.6, 1.35), "tell"))  # fmt: skip
    for start, end, text in arrows:
        axes.add_patch(
            FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=16, lw=1.6, color="#333333",
                            connectionstyle="arc3,rad=-0.18")
        )  # fmt: skip
        place = (start[0] + end[0]) / 2 - 0.25, (start[1] + end[1]) / 2 + (0.42 if text == "ask" else -0.45)
        axes.text(*place, text, ha="center", va="center", family="monospace", weight="bold")
    save("concepts/loop.svg")


def draw_links() -> None:
    """Draw the three links."""
    _, axes = plt.subplots(figsize=(7, 3.6))
    v = np.linspace(-4, 4, 401)
    ends = []
    for name, color, style in zip(("logistic", "probit", "exponential"), (BLUE, ORANGE, GREEN), STYLES, strict=False):
        axes.plot(v, dl.get_link(name).mean(v), style, color=color, lw=2)
        place = {"logistic": (1.9, 0.80), "probit": (-0.1, 0.93), "exponential": (-2.35, 0.3)}[name]
        ends.append((*place, name, color))
    for x, y, text, color in ends:
        axes.text(x, y, text, color=color, ha="left")
    axes.set_xlabel("difference of utilities, u(x) - u(y)")
    axes.set_ylabel("probability that x wins")
    axes.axhline(0.5, color=GRAY, lw=0.6)
    axes.axvline(0, color=GRAY, lw=0.6)
    save("concepts/links.svg")


def draw_width() -> None:
    """Draw the confidence ellipse of two features after 5 and after 50 votes that differ mostly in one of them."""
    rng = np.random.default_rng(0)
    theta = np.array([1.0, 0.6])
    differences = rng.normal(size=(50, 2)) * [1.5, 0.35]
    outcomes = rng.random(50) < dl.get_link("logistic").mean(differences @ theta)
    _, both = plt.subplots(1, 2, figsize=(8, 3.9), sharex=True, sharey=True)
    for axes, votes in zip(both, (5, 50), strict=True):
        z = differences[:votes]
        estimate = dl.fit_mle(z, outcomes[:votes].astype(float)).theta
        precision = np.eye(2) + (z * dl.get_link("logistic").slope(z @ estimate)[:, None]).T @ z
        values, vectors = np.linalg.eigh(np.linalg.inv(precision))
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        size = 2 * 2.0 * np.sqrt(values)
        axes.add_patch(Ellipse((estimate[0], estimate[1]), size[1], size[0], angle=angle, color=BLUE, alpha=0.25, lw=0))
        axes.plot(*estimate, "o", color=BLUE)
        axes.annotate("estimate", estimate, (-12, 10), textcoords="offset points", color=BLUE, ha="right")
        axes.plot(*theta, "*", color=ORANGE, ms=13)
        axes.annotate("true value", theta, (8, -14), textcoords="offset points", color=ORANGE)
        widths = [float(np.sqrt(x @ np.linalg.inv(precision) @ x)) for x in np.eye(2)]
        axes.set_title(
            f"after {votes} votes\nwidth: {widths[0]:.2f} in feature 1, {widths[1]:.2f} in feature 2", fontsize=10.5
        )
        axes.set_xlabel("effect of feature 1")
        axes.set_xlim(-2.4, 3)
        axes.set_ylim(-2.2, 2.8)
    both[0].set_ylabel("effect of feature 2")
    save("concepts/width.svg")


def plot_regret(axes: Axes, runs: dl.Runs) -> None:
    """Draw regret as `Runs.plot` does, with fewer points per curve, so that the file is small."""
    kept = np.unique(np.linspace(0, len(runs.rounds) - 1, 80).astype(int))
    drawn = {}
    for label in runs.labels:
        regrets = runs.regret(label)[:, kept]
        mean = regrets.mean(axis=0)
        half = 1.96 * regrets.std(axis=0, ddof=1) / np.sqrt(len(regrets))
        drawn[label] = RegretCurve(runs.rounds[kept], mean, mean - half, mean + half)
    draw_regret(axes, drawn)


def draw_curves() -> None:
    """Draw regret curves of four policies."""
    names = ["UniformPair", "GreedyUniform", "VACDB", "LocalPairUCB"]
    _, axes = plt.subplots(figsize=(7.5, 4.2))
    plot_regret(axes, dl.simulate(names, "Hypercube:dim=5", horizon=1000, runs=32, seed=0))
    save("concepts/regret.svg")


def draw_layers() -> None:
    """Draw the layer of each duel of VACDB in one run."""
    rng = np.random.default_rng(0)
    arms = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    theta = rng.normal(size=4)
    policy = dl.VACDB(horizon=1000, random_state=0)
    counts = []
    for _ in range(1000):
        i, j = duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < dl.get_link("logistic").mean((arms[i] - arms[j]) @ theta)))
        counts.append(policy.layer_counts_)
    table = np.array(counts)
    used = [k for k in range(table.shape[1]) if table[-1, k] >= 5]
    _, axes = plt.subplots(figsize=(7.5, 3.6))
    for k, color in zip(used, (BLUE, ORANGE, GREEN, PURPLE, GRAY, "#000000"), strict=False):
        axes.plot(np.arange(1, 1001), table[:, k], STYLES[k % 4], color=color, lw=2, label=f"layer {k + 1}")
    axes.set_xlim(0, 1000)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("round")
    axes.set_ylabel("votes in the layer")
    label_lines(axes)
    save("concepts/layers.svg")


def draw_stopping() -> None:
    """Draw the probability that the leader is best, and the arms that are not ruled out, until the decision."""
    rng = np.random.default_rng(1)
    utilities = np.array([1.0, 0.3, 0.0, -0.4, -0.8])
    arms = dl.ArmTable(5)
    policy = dl.policy_for("best", features=False, random_state=0)
    votes, chances, left = [], [], []
    for vote in range(1, 3001):
        i, j = duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < dl.get_link("logistic").mean(utilities[i] - utilities[j])))
        if vote % 5 == 0:
            result = policy.recommend(arms)
            votes.append(vote)
            chances.append(result.probability)
            left.append(len(result.candidates) - 1)
            if result.decided:
                break
    _, (top, below) = plt.subplots(2, 1, figsize=(7.5, 4.6), sharex=True)
    top.plot(votes, chances, color=BLUE, lw=2)
    top.axhline(0.95, color=GRAY, lw=0.8, ls="--")
    top.text(votes[-1] * 0.99, 0.9, "0.95", color=GRAY, ha="right", va="top")
    top.set_ylabel("probability that\nthe leader is best")
    top.set_ylim(0, 1.05)
    below.step(votes, left, where="post", color=ORANGE, lw=2)
    below.set_ylabel("other arms that are\nnot ruled out")
    below.set_xlabel("votes")
    below.set_ylim(-0.2, 4.4)
    below.annotate("decided", (votes[-1], 0), (-70, 25), textcoords="offset points", arrowprops={"arrowstyle": "->"})
    save("concepts/stopping.svg")


def draw_policies() -> None:
    """Draw the regret of each policy beside a good and a random one."""
    for name in linear.__all__:
        horizon, runs = (300, 8) if name == "FGTS" else (1000, 32)
        others = [other for other in ("LocalPairUCB", "UniformPair") if other != name]
        _draw_policy(name, dl.simulate([name, *others], "Hypercube:dim=5", horizon=horizon, runs=runs, seed=0),
                     "32 corners of a cube in 5 dimensions, logistic votes")  # fmt: skip
    utilities = np.linspace(1.2, -1.2, 8)
    table = 1 / (1 + np.exp(utilities[None, :] - utilities[:, None]))
    world = dl.environments.PreferenceMatrix(table)
    for name in counting.__all__:
        if name not in ("COUNTING_POLICIES", "CountingPolicy"):
            others = [other for other in ("RMED1", "UniformPair") if other != name]
            _draw_policy(name, dl.simulate([made(each) for each in (name, *others)], world,
                                           horizon=5000, runs=16, seed=0), "8 arms, Bradley-Terry-Luce")  # fmt: skip


def made(name: str) -> dl.Policy:
    """Return a policy by its name, from either family."""
    policy = getattr(counting, name, None) or getattr(dl, name)
    made_policy: dl.Policy = policy(horizon=5000) if "horizon" in policy.__dataclass_fields__ else policy()
    return made_policy


def _draw_policy(name: str, runs: dl.Runs, world: str) -> None:
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text, so that the files are small
    _, axes = plt.subplots(figsize=(6.5, 3.6))
    plot_regret(axes, runs)
    count = len(runs.regret(runs.labels[0]))
    axes.set_title(f"{world}; {count} runs, defaults; mean and 95 % interval", fontsize=9, color="#444444")
    save(f"regret/{name}.svg")


TUTORIALS: Final = {"compare-policies": ("regret.png", "compare.png"), "ask-and-tell": ("shown.png", "product.png")}


def draw_tutorials() -> None:
    """Run the Python of the tutorials, and keep the picture that each of them ends with."""
    for page, (made_there, kept) in TUTORIALS.items():
        text = (ROOT / "docs" / "get-started" / f"{page}.md").read_text()
        code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))
        with tempfile.TemporaryDirectory() as folder:
            before = Path.cwd()
            os.chdir(folder)
            with mpl.rc_context(STYLE):
                exec(compile(code, page, "exec"), {})  # noqa: S102
            os.chdir(before)
            target = IMAGES / "tutorials" / kept
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(folder) / made_there, target)
        print(target.relative_to(ROOT))
        plt.close("all")


PARTS: Final[dict[str, tuple[Callable[[], None], ...]]] = {
    "concepts": (draw_loop, draw_links, draw_width, draw_curves, draw_layers, draw_stopping),
    "regret": (draw_policies,),
    "tutorials": (draw_tutorials,),
}


def main(parts: list[str]) -> None:
    """Draw the named parts, or all of them."""
    mpl.use("Agg")
    mpl.rcParams.update(STYLE)
    for part in parts or PARTS:
        for draw in PARTS[part]:
            draw()


if __name__ == "__main__":
    main(sys.argv[1:])
