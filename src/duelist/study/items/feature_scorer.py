"""A scorer of features that a study made from a file, for those who have such a file and not the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from duelist.model.scorer import Scorer

_FROM_TEXTS: Final = {
    "hashed": "pieces of words of the arm's text",
    "tfidf": "words of the arm's text, weighted",
    "embedded": "the embedding of the arm's text",
}


def as_given(scorer: Scorer, recipe: Mapping[str, Any] | None) -> Scorer:
    """The scorer for what a file has: columns in their own units; of features made from texts, the words that say what they are."""
    kind = (recipe or {}).get("kind")
    if recipe is None or kind not in (*_FROM_TEXTS, "columns"):
        return scorer
    if kind == "columns":
        return scorer.unstandardized(recipe["mean"], recipe["scale"], recipe["columns"])
    takes = (
        f"{scorer.dim} features that the study made from texts (kind {kind!r}: {_FROM_TEXTS[kind]}); of new texts "
        "`duelist.study.items.features.applied(study.settings.feature_recipe, texts, None)` makes them alike"
    )
    return replace(scorer, feature_note=takes)
