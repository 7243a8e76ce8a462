"""Notes on outliers, beside which all other items seem nearly equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats
from duelist.model.outliers import describe_outliers, find_outliers, inflates_variance
from duelist.study.imports.notes import Note


def outlier_notes(
    features: Mapping[str, ArrayLike], ids: Sequence[str], ignored: AbstractSet[str] = frozenset()
) -> list[Note]:
    """Return a note for each feature with outliers that are not `ignored`.

    `features` maps labels to columns.
    """
    reported = np.array([name not in ignored for name in ids], np.bool_)
    notes = []
    for label, column in features.items():
        values = np.asarray(column, np.float64)
        # Numbers that are too large are rejected when the plan is applied.
        with np.errstate(over="ignore", invalid="ignore"):
            far = find_outliers(values)
            is_reported = (far & reported).any() and inflates_variance(values, far)
        if is_reported:
            notes.append(Note("outliers", {"description": describe_outliers(label, values, far & reported, ids)}))
    return notes


def labelled_features(recipe: Mapping[str, Any] | None, features: Floats) -> dict[str, Floats]:
    """Return the features of a study by label, in the units of the file.

    Features made from texts have no labels.
    """
    kind = "given" if recipe is None else recipe["kind"]
    if recipe is not None and kind == "columns":
        columns = features * np.array(recipe["scale"]) + np.array(recipe["mean"])
        return {f"The column {name!r}": column for name, column in zip(recipe["columns"], columns.T, strict=True)}
    return {f"Feature {k}": column for k, column in enumerate(features.T)} if kind == "given" else {}
