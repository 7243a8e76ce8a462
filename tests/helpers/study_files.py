"""Studies for tests of imports and exports."""

from datetime import UTC, datetime

import numpy as np
from hypothesis import HealthCheck, settings

from duelist.study import create_study
from duelist.study.formats import FORMATS, read

READABLE = [each.name for each in FORMATS.values() if each.read is not None]
START = datetime(2026, 1, 1, tzinfo=UTC)
PROMPT = "Which caption?"
few_examples = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def empty_study(name="again", storage="memory"):
    return create_study(name, storage=storage, policy="LocalPairUCB")


def study_with_votes(votes=120, contexts="q17", context_payloads=None):
    """Return a study with one vote per rater, and its best arm."""
    rng = np.random.default_rng(0)
    study = empty_study("captions")
    arms = rng.standard_normal((6, 3))
    study.add_arms([f"a{k}" for k in range(6)], arms, [f"text {k}" for k in range(6)], contexts, context_payloads)
    utilities = {f"a{k}": float(arms[k] @ [2.0, -1.0, 0.5]) for k in range(6)}
    for k in range(votes):
        answer(study, rng, utilities, f"rater {k}")
    return study, max(utilities, key=utilities.get)


def answer(study, rng, utilities, rater):
    duel = study.ask(rater=rater)
    first = rng.random() < 1.0 / (1.0 + np.exp(utilities[duel.second.id] - utilities[duel.first.id]))
    study.tell(duel.id, "first" if first else "second", rater=rater)


def counts(imported):
    return imported.added, imported.duplicates


def export_and_read(study, path, name="jsonl"):
    study.export(path, name)
    return list(read(path, name))
