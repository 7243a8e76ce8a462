"""The audit log: which token of an owner or reader did what, when, from where."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from fastapi import Request
from fastapi.routing import APIRoute

from duelist.server.http.bodies import JsonRequest
from duelist.study.storage import ActionRow

CALLER: Final = "duelist_caller"
"""The key under which the scope of a request has its caller."""
_DOWNLOADS: Final = ("/export/{form}", "/archive", "/backup")
_NAMES: Final = ("rater", "state", "name", "scope", "outcome")
_MAX_LENGTH: Final = 200


def audits(route: APIRoute) -> bool:
    """Return whether a route changes studies, raters or access, or exports data; votes have a separate log."""
    if "rating" in route.tags or route.path.endswith("/preview"):
        return False
    return not {"GET", "HEAD"} & set(route.methods or ()) or route.path.endswith(_DOWNLOADS)


async def record_action(request: JsonRequest, path: str) -> None:
    """Append what an admin or reader has done to the audit log."""
    caller = request.scope.get(CALLER)
    if caller is None or not caller.is_privileged:
        return
    study, client = request.path_params.get("study"), request.client
    row = ActionRow(
        at=round(time.time() * 1e6),
        token=caller.token.id,
        label=caller.token.label,
        address=client.host if client else "unknown",
        action=f"{request.method} {path}",
        study_id=None if study is None else int(study),
        subject=None if path.endswith("/erase") else _subject(request),
    )
    await asyncio.to_thread(request.app.state.server.storage.add_action, row)


def _subject(request: Request) -> str | None:
    """Return what the action was about: a token, a rater, a name, or the settings that were changed."""
    values: Any = getattr(request, "values", None)
    values = values if isinstance(values, dict) else {}
    found: Any = request.path_params.get("token") or request.path_params.get("form")
    found = found or next((values[name] for name in _NAMES if isinstance(values.get(name), str)), None)
    if found is None and isinstance(values.get("settings"), dict):
        found = "settings: " + ", ".join(sorted(values["settings"]))
    return None if found is None else str(found)[:_MAX_LENGTH]
