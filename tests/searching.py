"""Arms ready for a search, as the policies prepare them."""

import numpy as np
from duelist.kernels.linalg import as_columns, whiten
from duelist.kernels.scratch import Room, cut, scratch_block


def whitened(precision, arms):
    """Columns R'^-1 x of all arms, and room to search them in."""
    v = np.empty(arms.shape[::-1])
    as_columns(np.ascontiguousarray(arms), v)
    whiten(np.linalg.cholesky(precision, upper=True), v)
    room = Room(*arms.shape, 16)
    return v, cut(scratch_block(room), room)
