"""Catalogues: every sentence that a rater sees, by key and language.

A catalogue is a JSON file: `{"button.undo": "Undo", "progress.open": {"one": "{count} vote so far", "other": ...}}`. A sentence that
depends on a number is a mapping from plural categories of CLDR to texts; the page chooses one with `Intl.PluralRules`. `{name}` is a
placeholder.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.validation import checked_text

Sentence = str | dict[str, str]
"""A text, or texts by plural category."""

LANGUAGES: Final = ("en", "de", "fr", "es", "pt", "zh", "ar")
DEFAULT: Final = "en"
CATEGORIES: Final = ("zero", "one", "two", "few", "many", "other")
"""The plural categories of CLDR."""
MAX_WORDING: Final = 2000
"""Characters of a wording."""
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_FIXED: Final = ("language.name", "language.direction")


@cache
def load_catalogue(language: str) -> dict[str, Sentence]:
    """Return the sentences of a language by key; do not change them."""
    path = Path(__file__).with_name(f"{language}.json")
    catalogue: dict[str, Sentence] = json.loads(path.read_text(encoding="utf-8"))
    return catalogue


def preferred_language(accept_language: str) -> str:
    """Return the language that a browser prefers among those with a catalogue, by its Accept-Language header.

    >>> preferred_language("pl, pt-BR;q=0.8, en;q=0.9")
    'en'
    >>> preferred_language("zh-Hant-TW")
    'zh'
    >>> preferred_language("")
    'en'
    """
    best, best_weight = DEFAULT, 0.0
    for part in accept_language[:1000].split(","):
        tag, *parameters = part.split(";")
        language = tag.strip().partition("-")[0].lower()
        weight = _weight(parameters)
        if language in LANGUAGES and weight > best_weight:
            best, best_weight = language, weight
    return best


def _weight(parameters: list[str]) -> float:
    """Return the weight of a language in an Accept-Language header, 1 by default, and 0 if it is not a number from 0 to 1."""
    value = next((each.strip()[2:] for each in parameters if each.strip().startswith("q=")), "1")
    return float(value) if re.fullmatch(r"0(\.\d{0,3})?|1(\.0{0,3})?", value) else 0.0


def sentences_for(
    accept_language: str, language: str | None = None, wordings: dict[str, dict[str, Sentence]] | None = None
) -> dict[str, Sentence]:
    """Return the sentences of a page: in the owner's language or else the browser's, with the owner's wordings in place.

    The key "language.code" has the language itself.
    """
    chosen = language or preferred_language(accept_language)
    return {"language.code": chosen, **load_catalogue(chosen), **(wordings or {}).get(chosen, {})}


# -- settings of a study -----------------------------------------------------------------


def checked_language(language: Any) -> str | None:
    """Return a language with a catalogue, or None for the browser's."""
    if language is not None and language not in LANGUAGES:
        raise InvalidInput(
            f"language is {language!r}.", f"Choose one of {', '.join(LANGUAGES)}, or none.", field="language"
        )
    return language


def checked_wordings(wordings: Any) -> dict[str, dict[str, Sentence]]:
    """Return wordings by language and key, if each replaces a sentence of the catalogue and has only its placeholders."""
    if not isinstance(wordings, dict) or not all(isinstance(each, dict) for each in wordings.values()):
        raise InvalidInput(
            f"wordings are {wordings!r}.",
            'Give texts by language and key: {"en": {"outcome.tie": "Equal"}}.',
            field="wordings",
        )
    for language, texts in wordings.items():
        if language not in LANGUAGES:
            raise InvalidInput(
                f"wordings have the language {language!r}.", f"Choose among {', '.join(LANGUAGES)}.", field="wordings"
            )
        for key, wording in texts.items():
            _check_wording(language, key, wording)
    return wordings


def _check_wording(language: str, key: str, wording: Any) -> None:
    original = load_catalogue(language).get(key)
    if original is None or key in _FIXED:
        near = get_close_matches(str(key), load_catalogue(language), 1)
        hint = f"Did you mean {near[0]!r}?" if near else "docs/pages.md says where the keys are listed."
        raise InvalidInput(f"The rater page has no sentence {key!r}.", hint, field="wordings")
    forms = wording if isinstance(wording, dict) else {"other": wording}
    if isinstance(wording, dict) and (
        isinstance(original, str) or "other" not in forms or not {*forms} <= {*CATEGORIES}
    ):
        raise InvalidInput(
            f"The wording of {key!r} is {wording!r}.",
            "Give a text."
            if isinstance(original, str)
            else f"Give texts by plural category, among {', '.join(CATEGORIES)}.",
            field="wordings",
        )
    known = placeholders(original)
    for text in forms.values():
        if len(checked_text(f"The wording of {key!r}", text)) > MAX_WORDING:
            raise InvalidInput(
                f"The wording of {key!r} has {len(text):,} characters.",
                f"Give at most {MAX_WORDING:,}.",
                field="wordings",
            )
        unknown = placeholders(text) - known
        if unknown:
            listed = ", ".join(f"{{{name}}}" for name in sorted(known)) or "none"
            raise InvalidInput(
                f"The wording of {key!r} has the placeholder {{{min(unknown)}}}.",
                f"Its placeholders are: {listed}.",
                field="wordings",
            )


def placeholders(sentence: Sentence) -> set[str]:
    """Return the names of the placeholders of a sentence, in any of its plural forms."""
    texts = sentence.values() if isinstance(sentence, dict) else [sentence]
    return {name for text in texts for name in _PLACEHOLDER.findall(text)}
