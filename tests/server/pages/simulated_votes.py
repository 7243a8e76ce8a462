"""Votes made up by a coin that knows the arms, for studies that dashboards show."""

from __future__ import annotations

import numpy as np

from duelist.study import Study


def vote_by_strength(study: Study, strengths: dict[str, float], votes: int, raters: list[str], seed: int = 0) -> None:
    """So many votes through ask and tell: an arm wins with the logistic chance of the difference in strength."""
    rng = np.random.default_rng(seed)
    for k in range(votes):
        rater = raters[k % len(raters)]
        duel = study.ask(rater=rater)
        gap = strengths[duel.first.id] - strengths[duel.second.id]
        roll = rng.random()
        outcome = "tie" if roll < 0.1 else "first" if rng.random() < 1 / (1 + np.exp(-gap)) else "second"
        study.tell(duel, outcome, rater=rater, response_seconds=float(rng.uniform(1, 9)))
