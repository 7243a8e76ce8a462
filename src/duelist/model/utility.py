"""What an item is worth: a sum of blocks, each with coefficients and their prior.

The utility of item i is

    u_i = sum_b D_b[i] . beta_b,    beta_b ~ N(0, I / precision_b),

where D_b is the design of block b: features, one column per arm, one per system, one per system and category. Items are
whatever votes compare: arms, or the answers of systems to prompts. A precision is given, or estimated by the fit
(`duelist.model.vote_fit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from duelist.core.arrays import Floats, Ints, check_finite
from duelist.core.errors import InvalidInput

Design = Any
"""A dense array, or a sparse `csr_array`, which has no types."""
_ROUNDING: Final = 1e-12
_CHUNK: Final = 1 << 22


@dataclass(frozen=True, eq=False)
class Block:
    """One part of the utility: a design (n_items, width) and the prior precision of its coefficients."""

    name: str
    design: Design
    precision: float | Floats | None = 1.0
    """One number, one per coefficient, or None: estimated."""

    @property
    def width(self) -> int:
        """Number of coefficients."""
        return int(self.design.shape[1])

    @property
    def precisions(self) -> Floats:
        """The precision of each coefficient, 1 if it is still to be estimated."""
        return np.broadcast_to(np.asarray(1.0 if self.precision is None else self.precision, np.float64), self.width)


def feature_block(features: ArrayLike, n_items: int, precision: float | None = 1.0, variance: float = 1.0) -> Block:
    """Return a block of features (n_items, dim), centred, with equal variances that add to `variance`.

    So the prior variance of a utility is `variance` / precision, in any units and with any number of features.
    Constant features are ignored.
    """
    x = check_finite("features", features, "finite numbers, a row for each arm: (n_arms, dim)")
    if x.ndim != 2 or len(x) != n_items or x.shape[1] == 0:
        raise InvalidInput(
            f"features have shape {x.shape}, but there are {n_items} arms.", "Give a row for each: (n_arms, dim)."
        )
    return Block("features", standardized(x, variance), precision)


def standardized(x: Floats, variance: float = 1.0) -> Floats:
    """Return features with mean 0 and equal variances that add to `variance`; constant ones become 0."""
    if not len(x):
        return x
    centred = x - x.mean(axis=0)
    size = centred.std(axis=0)
    varies = size > _ROUNDING * np.abs(x).max(axis=0, initial=0.0)
    share = variance / max(varies.sum(), 1)
    return np.asarray(centred * np.where(varies, np.sqrt(share) / np.where(varies, size, 1.0), 0.0))


def effects(
    index: ArrayLike, n_levels: int | None = None, name: str = "effects", precision: float | None = 1.0
) -> Block:
    """Return a block with one effect per level; `index` is the level of each item, -1 for none.

    The levels of an interaction are the combinations of two others, such as system and category.

    >>> effects([0, 1, 0], name="systems").design.toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    level = np.asarray(index, np.int64)
    width = int(level.max(initial=-1)) + 1 if n_levels is None else n_levels
    rows = np.flatnonzero(level >= 0)
    design = csr_array((np.ones(len(rows)), (rows, level[rows])), shape=(len(level), width))
    return Block(name, design, precision)


def arm_effects(n_arms: int, precision: float | None = 1.0) -> Block:
    """Return a block with an effect per arm."""
    return effects(np.arange(n_arms), n_arms, "arm effects", precision)


@dataclass(frozen=True, eq=False)
class Utility:
    """A sum of blocks over the same items."""

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        heights = {block.design.shape[0] for block in self.blocks}
        if len(heights) != 1:
            raise InvalidInput(f"The blocks describe {sorted(heights)} items.", "Give blocks of the same items.")

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.blocks[0].design.shape[0])

    @property
    def width(self) -> int:
        """Number of coefficients of all blocks."""
        return sum(block.width for block in self.blocks)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The coefficients of each block."""
        ends = np.cumsum([block.width for block in self.blocks]).tolist()
        return tuple(slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))

    @cached_property
    def precisions(self) -> Floats:
        """Prior precision of every coefficient."""
        return np.concatenate([block.precisions for block in self.blocks])

    @property
    def estimated(self) -> tuple[int, ...]:
        """Blocks whose precision is to be estimated."""
        return tuple(k for k, block in enumerate(self.blocks) if block.precision is None)

    @property
    def dense(self) -> bool:
        """Whether every block is dense, as features are."""
        return all(isinstance(block.design, np.ndarray) for block in self.blocks)

    @property
    def features(self) -> Floats | None:
        """The design of the features, if any."""
        found = [block.design for block in self.blocks if isinstance(block.design, np.ndarray)]
        return found[0] if found else None

    @property
    def has_arm_effects(self) -> bool:
        """Whether the last block is an effect per item."""
        design = self.blocks[-1].design
        if isinstance(design, np.ndarray) or design.shape[0] != design.shape[1] or design.nnz != design.shape[0]:
            return False
        return bool((design.indices == np.arange(design.nnz)).all() and (design.data == 1.0).all())

    def with_effects_of(self, items: Ints) -> Utility:
        """Return the utility with the effects of some items alone, if the last block is an effect per item."""
        last = self.blocks[-1]
        precision = last.precision[items] if isinstance(last.precision, np.ndarray) else last.precision
        return Utility((*self.blocks[:-1], replace(last, design=last.design[:, items], precision=precision)))

    def with_level(self) -> Utility:
        """Return the utility of the items and of an acceptable level after them, with the prior of one more item.

        >>> Utility((arm_effects(2),)).with_level().n_items
        3
        """
        n, blocks = self.n_items, self.blocks
        own = replace(self, blocks=blocks[-1:]).has_arm_effects
        padded = [replace(block, design=_with_empty_row(block.design)) for block in (blocks[:-1] if own else blocks)]
        precision = float(np.mean(blocks[-1].precisions)) if blocks[-1].width else 1.0
        last = arm_effects(n + 1, precision) if own else effects(np.arange(n + 1) - n, 1, "acceptable level", precision)
        return Utility((*padded, last))

    def with_precisions(self, precisions: dict[int, float]) -> Utility:
        """Return the same blocks with other precisions."""
        return Utility(tuple(
            replace(block, precision=precisions.get(k, block.precision)) for k, block in enumerate(self.blocks)
        ))  # fmt: skip

    def values(self, coefficients: Floats) -> Floats:
        """Return D beta, for one or more columns of coefficients."""
        parts = (block.design @ coefficients[part] for block, part in zip(self.blocks, self.slices, strict=True))
        return np.asarray(sum(parts))

    def gathered(self, by_item: Floats) -> Floats:
        """Return D' v: derivatives by the coefficients from those by the items."""
        return np.concatenate([np.asarray(block.design.T @ by_item) for block in self.blocks])

    def curvature(self, by_items: Any) -> Floats:
        """Return D' L D as a dense matrix, for L (n_items, n_items), dense or sparse."""
        whole = np.empty((self.width, self.width))
        for block, part in zip(self.blocks, self.slices, strict=True):
            image = by_items @ block.design if isinstance(by_items, csr_array) else (block.design.T @ by_items).T
            image = image.toarray() if isinstance(image, csr_array) else np.asarray(image)
            whole[:, part] = self.gathered(image)
        return whole

    def curvature_diagonal(self, by_items: Any) -> Floats:
        """Return the diagonal of D' L D."""
        parts = []
        for block in self.blocks:
            image = by_items @ block.design
            product = block.design * image
            parts.append(np.asarray(product.sum(axis=0)).ravel())
        return np.concatenate(parts)

    def of(self, chosen: Ints) -> Utility:
        """Return the utility of some items, with the same coefficients."""
        return Utility(tuple(replace(block, design=block.design[chosen]) for block in self.blocks))

    def to_dense(self) -> Utility:
        """Return the same blocks as dense arrays."""
        return Utility(tuple(
            block if isinstance(block.design, np.ndarray) else replace(block, design=block.design.toarray())
            for block in self.blocks
        ))  # fmt: skip

    def combined(self, weights: Any) -> Utility:
        """Return the utility of weighted sums of items, (n, n_items), with the same coefficients."""
        return Utility(tuple(replace(block, design=weights @ block.design) for block in self.blocks))

    def prior_variance(self, first: Ints, second: Ints) -> Floats:
        """Return the prior variance of u[first] - u[second], pair by pair."""
        total = np.zeros(len(first))
        step = max(_CHUNK // max(max(block.width for block in self.blocks), 1), 1)
        for block in self.blocks:
            scaled = 1.0 / block.precisions
            for start in range(0, len(first), step):
                part = slice(start, start + step)
                difference = block.design[first[part]] - block.design[second[part]]
                squares = difference**2 if isinstance(difference, np.ndarray) else difference.multiply(difference)
                total[part] += np.asarray(squares @ scaled).ravel()
        return total


def _with_empty_row(design: Design) -> Design:
    """Return a design with one more item, whose utility is 0."""
    if isinstance(design, np.ndarray):
        return np.vstack([design, np.zeros((1, design.shape[1]))])
    return csr_array(
        (design.data, design.indices, np.append(design.indptr, design.indptr[-1])),
        shape=(design.shape[0] + 1, design.shape[1]),
    )
