"""Express a scorer of a study's features in the units of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from duelist.model.scorer import Scorer

_TEXT_FEATURES: Final = {
    "hashed": "parts of words of the item's text",
    "tfidf": "words of the item's text, weighted",
    "embedded": "the embedding of the item's text",
}


def scorer_for_file(scorer: Scorer, recipe: Mapping[str, Any] | None) -> Scorer:
    """Return the scorer in the units of the file.

    If the features were made from texts, the scorer describes them instead.
    """
    kind = (recipe or {}).get("kind")
    if recipe is None or kind not in (*_TEXT_FEATURES, "columns"):
        return scorer
    if kind == "columns":
        return scorer.unstandardized(recipe["mean"], recipe["scale"], recipe["columns"])
    takes = (
        f"{scorer.dim} features that the study made from texts (kind {kind!r}: {_TEXT_FEATURES[kind]}); for new texts, "
        "`duelist.study.items.features.apply_recipe(study.settings.feature_recipe, texts, None)` makes the same features"
    )
    return replace(scorer, feature_note=takes)
