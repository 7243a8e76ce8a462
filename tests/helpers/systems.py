"""Small studies of systems on prompts."""

from typing import Any

import numpy as np

from duelist.study import Study, create_study


def system_study(
    n_systems: int = 4,
    n_prompts: int = 6,
    storage: str | None = "memory",
    holes: tuple[tuple[int, int], ...] = (),
    **settings: Any,
) -> Study:
    """A study of systems s0, s1, ... on prompts p0, p1, ... of the categories c0 and c1, with holes (system, prompt)."""
    study = create_study("systems", storage, **{"goal": "rank", **settings})
    cells = [(s, p) for p in range(n_prompts) for s in range(n_systems) if (s, p) not in holes]
    study.add_arms(
        [f"s{s} / p{p}" for s, p in cells],
        payloads=[f"answer of {s} to {p}" for s, p in cells],
        contexts=[f"p{p}" for _, p in cells],
        context_payloads={f"p{p}": f"question {p}" for p in range(n_prompts)},
        systems=[f"s{s}" for s, _ in cells],
        categories=[f"c{p % 2}" for _, p in cells],
    )
    return study


def vote(study: Study, n: int, utilities: Any, raters: int = 5, seed: int = 0, ties: float = 0.1) -> None:
    """Let raters vote n times by the logistic model with these utilities of systems."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        rater = f"rater {k % raters}"
        duel = study.ask(rater)
        one, other = (int(str(arm.system)[1:]) for arm in (duel.first, duel.second))
        wins = rng.random() < 1.0 / (1.0 + np.exp(utilities[other] - utilities[one]))
        study.tell(duel, "tie" if rng.random() < ties else "first" if wins else "second", rater)
