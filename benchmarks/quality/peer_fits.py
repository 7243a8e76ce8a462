"""Estimates by choix, evalica, arena-rank and leaderbot, in their own environment; see `published_fits`.

    python benchmarks/quality/peer_fits.py VOTES.json ESTIMATES.json

Reads systems and votes (first, second, outcome 0, 1 or 2: first, second, tie, and the covariates of each vote), and writes one
list of estimates per fit. It imports nothing of duelist.
"""

# mypy: ignore-errors

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np


def by_choix(votes, n):
    """Maximum a posteriori with prior N(0, 1), decided votes."""
    import choix

    data = [(first, second) if outcome == 0 else (second, first) for first, second, outcome in votes if outcome < 2]
    return choix.opt_pairwise(n, data, alpha=0.5, method="Newton-CG", tol=1e-12).tolist()


def by_evalica(votes, n):
    """Maximum likelihood, a tie as half a win."""
    import evalica

    winners = (evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw)
    found = evalica.bradley_terry(
        [str(first) for first, _, _ in votes],
        [str(second) for _, second, _ in votes],
        [winners[outcome] for _, _, outcome in votes],
        tolerance=1e-14,
        limit=100_000,
    )
    return [float(np.log(found.scores[str(k)])) for k in range(n)]


def by_arena_rank(votes, n, x=None):
    """Maximum likelihood, a tie as half a win; with covariates if there are any."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
    from arena_rank.utils.data_utils import ContextualPairDataset, PairDataset

    names = [f"{k:04}" for k in range(n)]
    frame = pd.DataFrame({
        "model_a": [names[first] for first, _, _ in votes],
        "model_b": [names[second] for _, second, _ in votes],
        "winner": [("model_a", "model_b", "tie")[outcome] for _, _, outcome in votes],
    })  # fmt: skip
    options = {"ftol": 1e-15, "gtol": 1e-12, "max_iter": 100_000}
    if x is None:
        model = BradleyTerry(n, **options)
        model.fit(PairDataset.from_pandas(frame))
        return np.asarray(model.params["ratings"]).tolist()
    columns = [f"x{k}" for k in range(len(x[0]))]
    frame[columns] = x
    data = ContextualPairDataset.from_pandas(frame, columns, reweighted=False, normalize_features=False)
    model = ContextualBradleyTerry(n, len(columns), reg=1.0 / len(votes), **options)
    model.fit(data)
    return [*np.asarray(model.params["ratings"]).tolist(), *np.asarray(model.params["coeffs"]).tolist()]


def by_leaderbot(votes, n):
    """Davidson's model by maximum likelihood; the last number is log nu."""
    from leaderbot.models import Davidson

    counts = {}
    for first, second, outcome in votes:
        low, high = min(first, second), max(first, second)
        of = counts.setdefault((low, high), [0, 0, 0])
        of[outcome if outcome == 2 or first == low else 1 - outcome] += 1
    data = {
        "X": [list(pair) for pair in counts],
        "Y": list(counts.values()),
        "models": [str(k) for k in range(n)],
    }
    model = Davidson(data, k_cov=None, k_tie=0)
    model.train(method="BFGS", max_iter=10_000, tol=1e-12)
    return np.asarray(model.param).tolist()


def main():
    """Write the estimates."""
    given = json.loads(Path(sys.argv[1]).read_text())
    votes, n, x = given["votes"], given["systems"], given["covariates"]
    fits = {
        "choix": by_choix(votes, n),
        "evalica": by_evalica(votes, n),
        "arena-rank": by_arena_rank(votes, n),
        "arena-rank, style": by_arena_rank(votes, n, x),
        "leaderbot": by_leaderbot(votes, n),
    }
    versions = {name: version(name) for name in ("choix", "evalica", "arena-rank", "leaderbot")}
    Path(sys.argv[2]).write_text(json.dumps({"fits": fits, "versions": versions}))


if __name__ == "__main__":
    main()
