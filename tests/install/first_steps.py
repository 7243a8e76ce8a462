"""The first steps with an installed wheel, as a program that needs nothing but the wheel and its dependencies.

The release workflow runs it on every platform, `tests/install/test_wheels.py` on every Python of this machine.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

import duelist as dl
from duelist.cli import app


def shell(*words: str) -> None:
    """Run a command of the command line."""
    try:
        app(list(words))
    except SystemExit as end:
        if end.code:
            raise


sources = Path(__file__).parents[2] / "src"
assert dl.__file__ is not None
assert not Path(dl.__file__).is_relative_to(sources), "this is the checkout, not the wheel"
assert importlib.util.find_spec("native_testing") is None, "the wheel has modules for tests"

runs = dl.simulate(
    [dl.VACDB(), dl.LocalPairUCB(), dl.UniformPair()], dl.environments.Hypercube(dim=5), 300, runs=8, seed=0
)
sys.stdout.write(f"{runs.summary()}\n")
arms = np.eye(4)
policy = dl.VACDB(horizon=300, random_state=0)
for _ in range(100):
    duel = policy.ask(arms)
    policy.tell(duel, float(duel.first < duel.second))
assert dl.restore_policy(policy.snapshot()).ask(arms) == policy.ask(arms)
assert dl.fit_mle(np.eye(3), np.array([1.0, 0.0, 1.0])).converged
shell("list")
sys.stdout.write(f"duelist {dl.__version__} works on Python {sys.version.split()[0]}.\n")
