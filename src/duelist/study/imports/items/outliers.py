"""What is to be said of arms that stand so far from all others in a feature that these seem nearly equal in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from duelist.model.outliers import describe_outliers, find_outliers, inflates_variance
from duelist.study.study import Study


def far_off_notes(
    columns: Mapping[str, ArrayLike], ids: Sequence[str], but: AbstractSet[str] = frozenset()
) -> list[str]:
    """A note for each column that has such arms, other than those of `but`."""
    others = np.array([name not in but for name in ids], np.bool_)
    notes = []
    for name, column in columns.items():
        values = np.asarray(column, np.float64)
        far = find_outliers(values)
        if (far & others).any() and inflates_variance(values, far):
            notes.append(
                f"{describe_outliers(name, values, far & others, ids)}. Beside it all other arms seem nearly equal. Correct "
                "it if it is wrong; if it is right, leave the arm out or rescale the column, for example by its logarithm."
            )
    return notes


def far_off_in(study: Study, but: AbstractSet[str]) -> list[str]:
    """The same of a study whose features are numbers of a file, other than of those arms that it had before."""
    recipe: dict[str, Any] = study.settings.feature_recipe or {"kind": "given"}
    if recipe["kind"] not in ("columns", "given"):
        return []
    numbers = study.features()
    names = [f"Feature {k}" for k in range(numbers.shape[1])]
    if recipe["kind"] == "columns":
        numbers = numbers * np.array(recipe["scale"]) + np.array(recipe["mean"])
        names = [f"The column {name!r}" for name in recipe["columns"]]
    return far_off_notes(dict(zip(names, numbers.T, strict=True)), [arm.id for arm in study.arms()], but)
