"""Pages of the server, in the language of their visitor, and their assets."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

from duelist.core.errors import DuelistError
from duelist.server.auth import server_context
from duelist.server.context import ServerContext
from duelist.server.http.middleware import framed_policy
from duelist.server.schemas.common import MAX_ID
from duelist.study import StudySettings
from duelist.study.languages import Sentence, sentences_for

PAGES: Final = Path(__file__).parents[1] / "pages"
_OWNER_PAGES: Final = {
    "/": "studies.html",
    "/signin": "sign-in.html",
    "/new": "new-study.html",
    "/study/{study}": "dashboard.html",
}
_HEADERS: Final = {"Cache-Control": "no-cache", "Vary": "Accept-Language"}
_PLACEHOLDER: Final = re.compile(r"\{\{([a-z_.]+)\}\}")
_ALL_SENTENCES: Final = "sentences"


def add_pages(app: FastAPI) -> None:
    """Add the pages and their assets."""
    for path, name in _OWNER_PAGES.items():
        app.add_api_route(path, _owner_page(name), methods=["GET"], include_in_schema=False)
    app.add_api_route("/rate/{study}", _rater_page, methods=["GET"], include_in_schema=False)
    app.mount("/assets", StaticFiles(directory=PAGES / "assets", check_dir=False), name="assets")


def not_found_page(request: Request) -> Response:
    """Return the page for unknown addresses, which raters see, too."""
    sentences = sentences_for(request.headers.get("accept-language", ""))
    return HTMLResponse(fill_page("not-found.html", sentences), 404, _HEADERS)


def _owner_page(name: str) -> Callable[[], Awaitable[Response]]:
    async def page() -> Response:
        return HTMLResponse(fill_page(name, sentences_for("", "en")), headers=_HEADERS)

    return page


async def _rater_page(study: str, request: Request) -> Response:
    """Return the rater page in the language of the study or else the browser, with the study's own wordings.

    Visitors get it before they sign in, so it contains nothing else of the study.
    """
    settings = await asyncio.to_thread(_settings_of, server_context(request), study)
    language, wordings = (None, None) if settings is None else (settings.language, settings.wordings)
    sentences = sentences_for(request.headers.get("accept-language", ""), language, wordings)
    sites = () if settings is None else settings.recruiting.embed_in
    headers = {**_HEADERS, "Content-Security-Policy": framed_policy(sites)}
    return HTMLResponse(fill_page("rate.html", sentences), headers=headers)


def _settings_of(server: ServerContext, study: str) -> StudySettings | None:
    """Return the settings of a study; None if there is none, or the storage does not respond."""
    number = int(study) if len(study) < 20 and study.isascii() and study.isdigit() else 0
    if not 0 < number <= MAX_ID:
        return None
    try:
        with server.storage.reading(number) as transaction:
            return transaction.study().settings
    except DuelistError:
        return None


def fill_page(name: str, sentences: dict[str, Sentence]) -> str:
    """Return a page with each `{{key}}` replaced by its sentence, and `{{sentences}}` by all of them as JSON."""

    def fill(match: re.Match[str]) -> str:
        if match[1] == _ALL_SENTENCES:  # in a script element of data only "<" could begin markup
            return json.dumps(sentences, ensure_ascii=False).replace("<", "\\u003c")
        return html.escape(str(sentences[match[1]]))

    return _PLACEHOLDER.sub(fill, _template(name))


@cache
def _template(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")
