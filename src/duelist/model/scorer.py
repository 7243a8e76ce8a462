"""`Scorer`: a fitted preference model that scores arms by their features and predicts votes.

    scorer = policy.scorer()                      # or study.scorer()
    scorer.save("scorer.json")                    # or .npz; plain numbers, never pickle
    scorer = load_scorer("scorer.json")
    scorer.score(features)                        # one number per arm
    scorer.prefer(first, second)                  # the probability that people prefer the first
    scorer.columns                                # the columns of the table that the study was made from

A scorer needs NumPy only; it loads neither the engine nor SciPy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, check_finite
from duelist.core.errors import InvalidInput
from duelist.core.files import READ_ERRORS, atomic_write

FORMAT: Final = "duelist.scorer"
VERSION: Final = 1
_SUFFIXES: Final = (".json", ".npz")
_erf = np.frompyfunc(math.erf, 1, 1)


def _logistic(v: Floats) -> Floats:
    e = np.exp(-np.abs(v))
    return np.asarray(np.where(v >= 0.0, 1.0, e) / (1.0 + e))


def _probit(v: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.asarray(_erf(v / math.sqrt(2.0)), np.float64)))


def _exponential(v: Floats) -> Floats:
    tail = 0.5 * np.exp(-np.abs(v))
    return np.asarray(np.where(v < 0.0, tail, 1.0 - tail))


MEANS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "logistic": _logistic,
    "probit": _probit,
    "exponential": _exponential,
}
"""The probability of winning by difference of scores; `duelist.model.links` has the same functions, from the engine."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """A linear preference model: the score of an arm is (x - centre) . theta.

    >>> scorer = Scorer(theta=np.array([2.0, 0.0]))
    >>> scorer.score([[1.0, 5.0], [0.0, 7.0]])
    array([2., 0.])
    >>> round(float(scorer.prefer([1.0, 5.0], [0.0, 7.0])), 3)
    0.881
    """

    theta: Floats
    link: str = "logistic"
    """The link function, which turns a difference of scores into a probability."""
    centre: Floats = field(default_factory=lambda: np.zeros(0))
    """Features of an arm with score 0: the mean of a study's arms. It affects no preference."""
    scale: Floats = field(default_factory=lambda: np.zeros(0))
    """Standard deviation of each feature over the arms compared; 0 if it never differed and so has no weight."""
    ridge: Floats = field(default_factory=lambda: np.zeros(0))
    """The ridge of the estimate, one number per feature."""
    votes: float = 0.0
    """Number of votes it was learned from."""
    source: str = ""
    """Name of the policy or study that learned it."""
    columns: tuple[str, ...] = ()
    """Columns of a table that the features are, in order and in the table's units; empty if the features have no names."""
    feature_note: str = ""
    """A description of the features, if they are neither columns nor those given with the arms."""

    def __post_init__(self) -> None:
        theta = check_finite("theta", self.theta, "finite numbers, one per feature")
        if theta.ndim != 1 or not len(theta):
            raise InvalidInput(f"theta has shape {theta.shape}.", "Give one finite number per feature.")
        if self.link not in MEANS:
            raise InvalidInput(f"link is {self.link!r}.", f"Choose one of {', '.join(MEANS)}.", field="link")
        object.__setattr__(self, "theta", theta)
        for name in ("centre", "scale", "ridge"):
            value = check_finite(name, getattr(self, name), f"{len(theta)} finite numbers")
            if value.shape == (0,):
                value = np.zeros(len(theta))
            if value.shape != theta.shape:
                raise InvalidInput(
                    f"{name} has shape {value.shape}.",
                    f"Give {len(theta)} numbers, one per entry of theta.",
                    field=name,
                )
            object.__setattr__(self, name, value)
        self._check_columns()

    def _check_columns(self) -> None:
        columns = tuple(map(str, self.columns))
        if columns and len(columns) != self.dim:
            raise InvalidInput(
                f"columns are {', '.join(columns)}.",
                f"Give {self.dim} names, one per entry of theta.",
                field="columns",
            )
        object.__setattr__(self, "columns", columns)

    @property
    def dim(self) -> int:
        """Number of features."""
        return len(self.theta)

    def score(self, features: ArrayLike) -> Floats:
        """Return scores (...) of features (..., dim). Only differences of scores have a meaning."""
        x = check_finite("features", features, f"finite numbers (..., {self.dim})")
        if x.ndim == 0 or x.shape[-1] != self.dim:
            named = f" ({', '.join(self.columns)})" if self.columns else ""
            raise InvalidInput(
                f"features have shape {x.shape}.",
                f"Give (..., {self.dim}), the features it was fitted with{named}.",
            )
        return np.asarray((x - self.centre) @ self.theta)

    def prefer(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the probability that people prefer the first arm; both arguments are (..., dim)."""
        return MEANS[self.link](self.score(first) - self.score(second))

    def unstandardized(self, mean: ArrayLike, scale: ArrayLike, columns: Sequence[str] = ()) -> Scorer:
        """Return this model for raw features, if it was fitted to (x - mean) / scale.

        >>> scorer = Scorer(theta=np.array([2.0])).unstandardized(mean=[10.0], scale=[4.0])
        >>> scorer.score([[10.0], [14.0]])
        array([0., 2.])
        """
        factor = np.asarray(scale, np.float64)
        return replace(
            self,
            theta=self.theta / factor,
            centre=np.asarray(mean, np.float64) + factor * self.centre,
            scale=self.scale * factor,
            ridge=self.ridge * factor**2,
            columns=tuple(columns),
        )

    def save(self, path: str | Path) -> Path:
        """Write the scorer to a .json or .npz file, atomically."""
        path = _checked_path(path)
        plain = {"format": FORMAT, "version": VERSION, **asdict(self)}
        with atomic_write(path) as file:
            if path.suffix == ".npz":
                np.savez_compressed(file, **plain)
            else:
                listed = {
                    name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in plain.items()
                }
                file.write((json.dumps(listed, allow_nan=False) + "\n").encode())
        return path


def load_scorer(path: str | Path) -> Scorer:
    """Return the scorer in a file written by `Scorer.save`."""
    path = _checked_path(path)
    try:
        plain = _read_npz(path) if path.suffix == ".npz" else json.loads(path.read_text())
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {str(path)!r}.", "Give a file that `Scorer.save` wrote.") from None
    except READ_ERRORS as error:
        raise InvalidInput(f"{path} is not a scorer ({error}).", "Give a file that `Scorer.save` wrote.") from error
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a scorer.", "Give a file that `Scorer.save` wrote.")
    if plain.get("version") != VERSION:
        raise InvalidInput(
            f"{path} has version {plain.get('version')!r}, but this duelist reads {VERSION}.",
            "Update duelist, or save the scorer again.",
        )
    known = {each.name for each in fields(Scorer)}
    missing = sorted(known - set(plain))
    if missing:
        raise InvalidInput(f"{path} has no {missing[0]!r}.", "Give a file that `Scorer.save` wrote.")
    try:
        return Scorer(**{name: plain[name] for name in known})
    except (InvalidInput, TypeError) as error:
        raise InvalidInput(
            f"{path} is not a valid scorer ({error}).", "Give a file that `Scorer.save` wrote."
        ) from error


def _read_npz(path: Path) -> dict[str, Any]:
    with path.open("rb") as whole, np.load(whole, allow_pickle=False) as file:
        return {name: value if value.ndim else value.item() for name, value in file.items()}


def _checked_path(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise InvalidInput(f"path is {str(path)!r}.", "Give a path that ends in .json or .npz.", field="path")
    return path
