"""What the last release with Numba (commit 3ee722a) left behind: a database of studies, and snapshots of policies.

Run with that commit; the native engine must open both and go on as it would have. Writes `before_native.db`,
with votes and snapshots in it, and `before_native.json`: leaderboards, the duels asked next and
the leaderboards after them, and a snapshot of every policy with the duels that followed.
"""

import json
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np

import duelist as dl

STUDIES = {
    "local": ("LocalPairUCB", {}),
    "local exact": ("LocalPairUCB", {"estimator": "exact"}),
    "layers": ("VACDB", {"estimator": "exact", "horizon": 2000}),
    "best": ("BestArmPair", {}),
    "draws": ("ThompsonPair", {"link": "probit"}),
}
ARMS, DIM, VOTES, MORE = 12, 4, 600, 60


def rate(study, theta, count, rng):
    """Raters answer by a Bradley-Terry model; the duels they were asked, as ids of arms."""
    asked = []
    for _ in range(count):
        duel = study.ask(rater="ana")
        first, second = (study.features([arm.id])[0].astype(float) for arm in (duel.first, duel.second))
        wins = rng.random() < 1.0 / (1.0 + np.exp(-(first - second) @ theta))
        asked.append([duel.first.id, duel.second.id])
        study.tell(duel.id, "first" if wins else "second", rater="ana")
    return asked


def board(study):
    return [[row.arm, row.utility, row.low, row.high] for row in study.leaderboard().standings]


def main(folder):
    rng = np.random.default_rng(5)
    features, theta = rng.normal(size=(ARMS, DIM)), np.array([1.0, -0.5, 0.3, 0.0])
    ids = [f"arm {k}" for k in range(ARMS)]
    path = folder / "before_native.db"
    path.unlink(missing_ok=True)
    url = f"sqlite:///{path}"
    told = {}
    for name, (policy, settings) in STUDIES.items():
        study = dl.create_study(name, storage=url, policy=policy, policy_settings=settings, seed=3)
        study.add_arms(ids, features, payloads=[f"text {k}" for k in range(ARMS)])
        rate(study, theta, VOTES, rng)
        told[name] = {"leaderboard": board(study)}

    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    aside = folder / "aside.db"
    shutil.copy(path, aside)
    for name in STUDIES:
        study = dl.load_study(name, storage=f"sqlite:///{aside}")
        told[name]["asked next"] = rate(study, theta, MORE, np.random.default_rng(9))
        told[name]["leaderboard then"] = board(study)
    aside.unlink()
    for extra in folder.glob("aside.db*"):
        extra.unlink()
    policies = {}
    for name in dl.policies.POLICIES:
        for estimator in ("exact", "online"):
            policy = dl.make_policy(name, horizon=500, estimator=estimator, random_state=7)
            play(policy, features, theta, 80, np.random.default_rng(1))
            left = policy.ask(features)  # out, and not told
            snapshot = policy.snapshot()
            policies[f"{name} {estimator}"] = {
                "snapshot": snapshot,
                "pending": list(left),
                "next": play(policy, features, theta, 40, np.random.default_rng(2)),
                "theta": policy.theta_.tolist(),
            }
    (folder / "before_native.json").write_text(json.dumps({"studies": told, "policies": policies}, indent=1) + "\n")


def play(policy, arms, theta, rounds, rng):
    duels = []
    for _ in range(rounds):
        duel = policy.ask(arms)
        wins = rng.random() < 1.0 / (1.0 + np.exp(-(arms[duel.first] - arms[duel.second]) @ theta))
        policy.tell(duel, float(wins))
        duels.append(list(duel))
    return duels


if __name__ == "__main__":
    main(Path(sys.argv[1]))
