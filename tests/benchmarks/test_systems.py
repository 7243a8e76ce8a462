"""The runs of `make bench-systems`, on a small place."""

import numpy as np
import pytest
from benchmarks.quality.systems import WAYS, Place, World, cell, median_with_interval, run

SMALL = Place("small", 3, 4, 120, 2, 0.1, 0.1, utilities=(3.0, 0.0, -3.0))


@pytest.mark.parametrize("way", WAYS)
def test_clear_differences_are_found(way: str) -> None:
    for goal in ("best", "rank"):
        assert run(SMALL, way, goal, 0) <= SMALL.budget


@pytest.mark.parametrize("way", WAYS)
def test_ways_ask_for_two_systems_and_a_prompt(way: str) -> None:
    rng = np.random.default_rng(0)
    asking, prompts = WAYS[way](SMALL, "rank", rng), set()
    for _ in range(40):
        first, second, prompt = asking.ask()
        assert first != second
        assert {first, second} <= {0, 1, 2}
        prompts.add(prompt)
        asking.tell(0)
    assert prompts == {0, 1, 2, 3}


def test_the_truth_is_that_of_the_world() -> None:
    """The truth is about the prompts and raters of the run."""
    world = World(SMALL, np.random.default_rng(0))
    assert list(np.argsort(-world.truth)) == [0, 1, 2]


def test_runs_that_did_not_come_so_far_count() -> None:
    assert median_with_interval([100.0] * 9)[0] == 100.0
    assert median_with_interval([100.0] * 3 + [float("inf")] * 6)[0] == float("inf")
    assert cell([100.0] * 6 + [float("inf")] * 3, 500) == "100 (100 to > 500), 67%"
