"""The benchmark of fits of other programs: what it calls a difference."""

from __future__ import annotations

import numpy as np
from benchmarks.quality.published_fits import differences

from duelist.model.answers import PAIR_WITH_TIES
from duelist.model.utility import Utility, arm_effects
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes


def test_differences_ignore_the_level_and_count_parameters() -> None:
    counts = np.array([[5.0, 2.0, 3.0], [4.0, 1.0, 2.0]])
    ours = fit(Votes(3, np.array([[0, 1], [1, 2]]), counts), Utility((arm_effects(3),)), PAIR_WITH_TIES)
    assert ours.fitted is not None
    log_nu = float(ours.fitted.parameters[0])
    shifted = (ours.mean + 7.0).tolist()
    assert max(differences([*shifted, log_nu], ours, 3)) < 1e-12
    utilities, others = differences([*shifted[:2], shifted[2] + 0.3, log_nu + 0.5], ours, 3)
    assert abs(utilities - 0.2) < 1e-12
    assert abs(others - 0.5) < 1e-12
