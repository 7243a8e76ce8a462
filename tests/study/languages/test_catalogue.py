"""Catalogues are complete, and wordings of owners fit into them."""

from __future__ import annotations

from typing import Any

import pytest

from duelist.core.errors import InvalidInput
from duelist.study import create_study
from duelist.study.languages import LANGUAGES, load_catalogue, preferred_language, sentences_for
from duelist.study.languages.catalogue import placeholders

CATEGORIES = {
    "en": {"one", "other"},
    "de": {"one", "other"},
    "fr": {"one", "other"},
    "es": {"one", "other"},
    "pt": {"one", "other"},
    "zh": {"other"},
    "ar": {"zero", "one", "two", "few", "many", "other"},
}
"""Plural categories of whole numbers below a million (CLDR 44, Language Plural Rules)."""


def test_every_language_has_its_plural_categories_here() -> None:
    assert set(CATEGORIES) == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_is_missing(language: str) -> None:
    english, catalogue = load_catalogue("en"), load_catalogue(language)
    assert list(catalogue) == list(english)  # in the same order, so that files can be compared line by line
    for key, sentence in catalogue.items():
        assert isinstance(sentence, dict) == isinstance(english[key], dict), key
        texts = sentence.values() if isinstance(sentence, dict) else [sentence]
        assert all(text.strip() for text in texts), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_placeholders_are_those_of_the_english_sentence(language: str) -> None:
    english = load_catalogue("en")
    for key, sentence in load_catalogue(language).items():
        forms = sentence if isinstance(sentence, dict) else {"": sentence}
        for category, text in forms.items():
            # "one vote" may spell the number out.
            optional = {"count"} if category in ("zero", "one", "two") else set()
            assert placeholders(text) | optional == placeholders(english[key]) | optional, key
        if isinstance(sentence, dict):
            assert set(sentence) == CATEGORIES[language], key


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_sentences_are_translated(language: str) -> None:
    """Words may be the same in two languages, but not sentences."""
    english = load_catalogue("en")
    same = [key for key, sentence in load_catalogue(language).items() if sentence == english[key]]
    assert [key for key in same if " " in str(english[key])] == []


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("*", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("nl, fr;q=0.7, en;q=0.3", "fr"),
        ("en;q=0.5, ar;q=0.9", "ar"),
        ("zh-Hans-CN", "zh"),
        ("pt-BR", "pt"),
        ("de;q=0, es;q=0.1", "es"),
        ("de;q=nonsense, es;q=0.1", "es"),
        ("de;q=2", "en"),
        (";;;,,,=", "en"),
        ("../../etc", "en"),
    ],
)
def test_the_language_of_a_browser(header: str, language: str) -> None:
    assert preferred_language(header) == language


def test_the_owner_can_fix_the_language_and_change_wordings() -> None:
    wordings: dict[str, dict[str, Any]] = {"de": {"outcome.tie": "Gleichstand"}, "fr": {"outcome.tie": "Pareil"}}
    assert sentences_for("de-DE", None, wordings)["outcome.tie"] == "Gleichstand"
    assert sentences_for("de-DE", "fr", wordings)["outcome.tie"] == "Pareil"
    assert sentences_for("es", None, wordings)["outcome.tie"] == load_catalogue("es")["outcome.tie"]
    assert sentences_for("ar")["language.code"] == "ar"
    assert load_catalogue("de")["outcome.tie"] == "Gleich gut"  # catalogues stay as they are


def test_settings() -> None:
    wordings = {"en": {"outcome.tie": "Equal", "progress.open": {"one": "{count} done", "other": "{count} done"}}}
    study = create_study("languages", "memory", language="fr", wordings=wordings)
    assert (study.settings.language, study.settings.wordings) == ("fr", wordings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"language": "tlh"}, "language is 'tlh'."),
        ({"wordings": ["Equal"]}, "wordings are ['Equal']."),
        ({"wordings": {"en": "Equal"}}, "wordings are {'en': 'Equal'}."),
        ({"wordings": {"tlh": {}}}, "wordings have the language 'tlh'."),
        ({"wordings": {"en": {"outcome.ties": "Equal"}}}, "The rater page has no sentence 'outcome.ties'."),
        ({"wordings": {"en": {"language.direction": "rtl"}}}, "The rater page has no sentence 'language.direction'."),
        ({"wordings": {"en": {"outcome.tie": ""}}}, "The wording of 'outcome.tie' is ''."),
        ({"wordings": {"en": {"outcome.tie": 3}}}, "The wording of 'outcome.tie' is 3."),
        ({"wordings": {"en": {"outcome.tie": "\ud800"}}}, "The wording of 'outcome.tie' is '\\ud800'."),
        ({"wordings": {"en": {"outcome.tie": "x" * 2001}}}, "The wording of 'outcome.tie' has 2,001 characters."),
        (
            {"wordings": {"en": {"outcome.tie": {"other": "Equal"}}}},
            "The wording of 'outcome.tie' is {'other': 'Equal'}.",
        ),
        ({"wordings": {"en": {"progress.open": {"one": "one"}}}}, "The wording of 'progress.open' is {'one': 'one'}."),
        ({"wordings": {"en": {"media.sound": "{sides}"}}}, "The wording of 'media.sound' has the placeholder {sides}."),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        create_study("wrong", "memory", **settings)
    assert error.value.message == message
