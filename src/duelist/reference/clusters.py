"""The covariance of votes that err together, vote by vote: the definition of `duelist.model.clusters`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def taste(covariance: Floats, scores: Floats, information: Floats, clusters: Sequence[int]) -> tuple[float, Floats]:
    """Return the variance s of tastes, and the covariance C + s C Q C.

    `covariance` is C (n, n); of each vote, `scores` has the derivative of the loss by the utilities (votes, n), and
    `information` its expected second derivative (votes, n, n).
    """
    n = len(covariance)
    products, shared = 0.0, np.zeros((n, n))
    for name in set(clusters):
        members = [k for k, cluster in enumerate(clusters) if cluster == name]
        for v in members:
            for w in members:
                if v != w:
                    products += float(scores[v] @ scores[w])
                    shared += information[v] @ information[w]
    explained = covariance @ shared
    left = float(np.trace(shared) - np.trace(explained @ explained))
    s = max(products + float(np.trace(explained)), 0.0) / left
    return s, covariance + s * explained @ covariance
