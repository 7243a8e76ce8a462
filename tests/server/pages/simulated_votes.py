"""Simulated votes, for studies whose results the pages show."""

from __future__ import annotations

import numpy as np

from duelist.study import Study


def simulate_votes(study: Study, strengths: dict[str, float], votes: int, raters: list[str], seed: int = 0) -> None:
    """Ask and tell `votes` times; an arm wins with the logistic probability of the difference in strength."""
    rng = np.random.default_rng(seed)
    for k in range(votes):
        rater = raters[k % len(raters)]
        duel = study.ask(rater=rater)
        gap = strengths[duel.first.id] - strengths[duel.second.id]
        roll = rng.random()
        outcome = "tie" if roll < 0.1 else "first" if rng.random() < 1 / (1 + np.exp(-gap)) else "second"
        study.tell(duel, outcome, rater=rater, response_seconds=float(rng.uniform(1, 9)))
