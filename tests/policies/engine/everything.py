"""Checksums of everything the engine computes, by name: policies played, live and simulated, fits, searches, snapshots.

python -m tests.policies.engine.everything [threads]   prints them as JSON
"""

import json
import sys
import zlib

import numpy as np

import duelist as dl
from duelist.policies import POLICIES
from duelist.policies.counting import COUNTING_POLICIES

LINKS = ("logistic", "probit", "exponential")


def checksum(*arrays):
    total = 0
    for array in arrays:
        total = zlib.crc32(np.ascontiguousarray(array).tobytes(), total)
    return total


def simulated(threads):
    """All policies against worlds with arms that stay and arms that change, few and many."""
    found = {}
    worlds = {
        "fixed": dl.environments.Hypercube(dim=3),
        "changing": dl.environments.RandomArms(n_arms=9, dim=7),
        "many": dl.environments.RandomArms(n_arms=300, dim=4),
    }
    for world, environment in worlds.items():
        for estimator in ("exact", "online"):
            rounds, runs = (8, 3) if world == "many" else (60, 5)
            policies = {name: kind(horizon=200, estimator=estimator) for name, kind in POLICIES.items()}
            result = dl.simulate(policies, environment, rounds, runs, seed=4, threads=threads)
            for name in policies:
                found[f"simulated {name} {estimator} {world}"] = checksum(*result.log(name))
    return found | counted(threads)


def counted(threads):
    """Policies that count wins, on a table of chances."""
    upper = np.triu(np.random.default_rng(0).uniform(0.1, 0.9, (12, 12)), 1)
    table = dl.environments.PreferenceMatrix(upper + np.tril(1.0 - upper.T, -1) + 0.5 * np.eye(12), "copeland")
    policies = {name: kind(horizon=400) for name, kind in COUNTING_POLICIES.items()}
    result = dl.simulate(policies, table, 400, 3, seed=4, threads=threads)
    return {f"counted {name}": checksum(*result.log(name)) for name in policies}


def live(threads):
    """A few rounds, a batch, and the snapshot after them, for every policy and link."""
    found = {}
    for name, kind in POLICIES.items():
        for seed, link in enumerate(LINKS):
            rng = np.random.default_rng(seed)
            policy = kind(link=link, random_state=seed)
            arms = rng.normal(size=(11, 5))
            for _ in range(30):
                duel = policy.ask(arms if seed else rng.normal(size=(6, 5)))
                policy.tell(duel, float(rng.integers(2)), 1.0 + rng.random())
            batch = policy.ask_batch(rng.normal(size=(40, 6, 5)), k=9, threads=threads)
            state = policy._player.state.arrays()
            found[f"live {name} {link}"] = checksum(
                batch.contexts, batch.information, *(state[key] for key in sorted(state))
            )
            found[f"snapshot {name} {link}"] = policy.snapshot()["checksum"]
    return found


def fitted():
    found = {}
    rng = np.random.default_rng(7)
    for n, dim in ((1, 1), (50, 3), (333, 13), (40, 140)):
        z, outcomes = rng.normal(size=(n, dim)), rng.integers(0, 2, n)
        for link in LINKS:
            for solver in ("newton", "agd", "svrg", "online"):
                fit = dl.fit_mle(z, outcomes, rng.random(n), link=link, solver=solver, max_iterations=40)
                found[f"fit {solver} {link} {n} {dim}"] = checksum(fit.theta)
    return found


def searched():
    found = {}
    rng = np.random.default_rng(8)
    for n, dim in ((2, 1), (7, 3), (100, 5), (255, 16), (256, 16), (3000, 33)):
        arms, theta = rng.normal(size=(n, dim)), rng.normal(size=dim)
        precision = np.eye(dim) + 0.1 * np.ones((dim, dim))
        for kind in (np.float64, np.float32):
            pairs = [dl.best_pair(arms.astype(kind), theta, precision, radius) for radius in (0.0, 0.3, 5.0)]
            pairs.append(dl.widest_pair(arms.astype(kind), precision))
            found[f"search {n} {dim} {kind.__name__}"] = checksum(np.array(pairs, dtype=float))
    return found


def everything(threads=None):
    return {**simulated(threads), **live(threads), **fitted(), **searched()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(everything(int(sys.argv[1]) if len(sys.argv) > 1 else None)))
