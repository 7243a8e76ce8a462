"""Languages of the rater page: a catalogue of its sentences per language, and an owner's own wordings."""

from duelist.study.languages.catalogue import (
    LANGUAGES,
    Sentence,
    checked_language,
    checked_wordings,
    load_catalogue,
    preferred_language,
    sentences_for,
)

__all__ = [
    "LANGUAGES",
    "Sentence",
    "checked_language",
    "checked_wordings",
    "load_catalogue",
    "preferred_language",
    "sentences_for",
]
