"""What the demo server shows: the files of `demo_study`, and how much the simulated raters like each item."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from duelist.study import ItemPlan, plan_items

FOLDER: Final = Path(__file__).with_name("demo_study")
"""The files; `examples/demo-study` in the repository is the same folder."""
LIKED: Final = {
    "experiment": 1.4,
    "crayons": 1.1,
    "plain": 0.8,
    "poem": 0.4,
    "table": -0.1,
    "question": -0.4,
    "formula": -1.0,
    "wrong": -1.7,
}
"""Utilities of the explanations."""
POSTERS: Final = {
    "sunrise": 1.3,
    "waves": 0.9,
    "hills": 0.7,
    "night": 0.5,
    "circles": 0.2,
    "spiral": 0.0,
    "stripes": -0.5,
    "grid": -0.9,
}
SYSTEMS: Final = {"teacher": 0.9, "terse": 0.3, "poet": -0.2, "confused": -1.6}


class Demo(NamedTuple):
    """Items by id, their utility to the simulated raters, and the prompt."""

    texts: dict[str, str]
    utility: dict[str, float]
    prompt: str
    source: str


def read_explanations() -> Demo:
    """Return eight explanations of the blue sky."""
    plan = plan_items(FOLDER / "explanations.csv")
    texts = {item.id: str(item.payload) for item in plan.items}
    (prompt,) = plan.prompts.values()
    return Demo(texts, LIKED, str(prompt), "explanations of the blue sky")


def read_posters() -> ItemPlan:
    """Return eight posters with captions."""
    return plan_items(sorted((FOLDER / "posters").iterdir()))


def read_answers() -> ItemPlan:
    """Return the answers of four systems to six prompts."""
    return plan_items(FOLDER / "answers.csv")
