"""Chance-corrected agreement of categorical answers.

Each of the three is (observed - expected) / (1 - expected), with a different expectation: Cohen (1960) gives each of
two raters separate habits; Fleiss (1971) gives all raters the same habits; Krippendorff (1970) does too, corrects for few answers,
and takes units with different numbers of answers. 1 is full agreement, 0 is chance, and below 0 is worse than chance.
NaN if disagreement is impossible: no two answers on one unit, or the same answer everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, check_finite
from duelist.core.errors import InvalidInput


def cohen_kappa(table: ArrayLike) -> float:
    """Return Cohen's kappa of two raters, from the table of how often one gave each answer where the other gave each.

    >>> cohen_kappa([[20, 5], [10, 15]])
    0.4
    """
    counts = _counts("table", table)
    if counts.shape[0] != counts.shape[1]:
        raise InvalidInput(f"table has shape {counts.shape}.", "Give a row and a column for each answer.")
    total = counts.sum()
    if total == 0.0:
        return float("nan")
    shares = counts / total
    return _beyond_chance(float(np.trace(shares)), float(shares.sum(axis=0) @ shares.sum(axis=1)))


def fleiss_kappa(counts: ArrayLike) -> float:
    """Return Fleiss' kappa of many raters.

    There is one row per unit with the count of each answer, with equal row sums of at least two.

    >>> fleiss_kappa([[2, 0], [0, 2]])
    1.0
    """
    answers = _counts("counts", counts)
    each = answers.sum(axis=1)
    if len(each) and ((each != each[0]).any() or each[0] < 2):
        raise InvalidInput(
            "Counts differ in their sums.", "Give as many answers to each unit, or use krippendorff_alpha."
        )
    if not len(each):
        return float("nan")
    n = each[0]
    observed = ((answers**2).sum(axis=1) - n) / (n * (n - 1.0))
    return _beyond_chance(float(observed.mean()), float(np.square(answers.sum(axis=0) / answers.sum()).sum()))


def krippendorff_alpha(counts: ArrayLike) -> float:
    """Return Krippendorff's alpha of many raters.

    There is one row per unit with the count of each answer; single answers are ignored.

    >>> round(krippendorff_alpha([[2, 0], [1, 1], [0, 2], [0, 1]]), 3)
    0.444
    """
    answers = _counts("counts", counts)
    answers = answers[answers.sum(axis=1) >= 2.0]
    each = answers.sum(axis=1)
    total = each.sum()
    if total == 0.0:
        return float("nan")
    same = (((answers**2).sum(axis=1) - each) / (each - 1.0)).sum() / total
    by_answer = answers.sum(axis=0)
    return _beyond_chance(float(same), float((by_answer @ by_answer - total) / (total * (total - 1.0))))


def _beyond_chance(observed: float, expected: float) -> float:
    return float("nan") if expected >= 1.0 else round((observed - expected) / (1.0 - expected), 12)


def _counts(name: str, given: ArrayLike) -> Floats:
    counts = check_finite(name, given, "counts, a row for each unit or answer")
    if counts.ndim != 2 or (counts < 0.0).any():
        raise InvalidInput(f"{name} has shape {counts.shape}.", "Give a table of counts, none below 0.", field=name)
    return counts
