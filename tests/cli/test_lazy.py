"""The shell answers before the library is loaded, and what it says of the library is true."""

import inspect
import json
import subprocess
import sys

import pytest

from duelist.cli import defaults
from duelist.research import demo
from duelist.research.experiments import tuning
from duelist.research.experiments.engines import ENGINES
from duelist.research.paper import CATALOG
from duelist.study import GOALS
from duelist.study.formats import FORMATS
from duelist.study.items.features import FEATURE_KINDS
from duelist.study.records import Outcome, Source
from duelist.study.studies import DEFAULT_POLICY, DEFAULT_STORAGE

HEAVY = (
    "alembic",
    "distributed",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "sqlalchemy",
    "torch",
)
LOADED = """
import importlib.machinery, importlib.util, json, sys
# The package without its __init__: what the shell loads by itself.
spec = importlib.machinery.PathFinder.find_spec("duelist")
bare = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("duelist", None, is_package=True))
bare.__path__ = spec.submodule_search_locations
sys.modules["duelist"] = bare
from duelist.cli import app
try:
    app(json.loads(sys.argv[1]), prog_name="duelist")
finally:
    print("loaded", json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
HELPS = [
    [],
    ["simulate"],
    ["tune"],
    ["reproduce"],
    ["run"],
    ["report"],
    ["demo"],
    ["study"],
    ["study", "create"],
    ["study", "limit"],
    ["storage", "upgrade"],
]


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_help_loads_nothing_heavy(words):
    command = [sys.executable, "-c", LOADED, json.dumps([*words, "--help"])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: duelist" in done.stdout
    loaded = json.loads(done.stdout.rpartition("loaded ")[2])
    assert "typer" in loaded
    assert not set(HEAVY) & set(loaded)


def test_what_help_says_of_the_library_is_so():
    demo_defaults = inspect.signature(demo.run_demo).parameters
    assert {
        "STORAGE": DEFAULT_STORAGE,
        "POLICY": DEFAULT_POLICY,
        "GOALS": ", ".join(GOALS),
        "OUTCOMES": ", ".join(Outcome),
        "SOURCES": ", ".join(Source),
        "SOURCE": Source.HUMAN.value,
        "FEATURES": ", ".join(each.kind for each in FEATURE_KINDS),
        "FORMATS": ", ".join(FORMATS),
        "EXPERIMENTS": ", ".join(CATALOG),
        "ENGINES": ", ".join(ENGINES),
        "ENGINE": next(iter(ENGINES)),
        "TUNING_RUNS": tuning.FIRST_RUNS,
        "TUNING_SEED": tuning.TUNING_SEED,
        "DEMO_HORIZON": demo_defaults["horizon"].default,
        "DEMO_RUNS": demo_defaults["runs"].default,
    } == {name: value for name, value in vars(defaults).items() if name.isupper()}
