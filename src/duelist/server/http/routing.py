"""Routes that authenticate the sender before they read the body, and that reject unknown query parameters."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

from duelist.server.errors import RequestError
from duelist.server.http.bodies import JSON, LIMITS, RATER, JsonRequest, allow_body, smaller
from duelist.server.monitoring.audit import CALLER, audits, record_action

PREFIX: Final = "/api/v1"


class CheckedRoute(APIRoute):
    """A route that checks a request in this order: the sender, the names of the query, the size of the body.

    If it changes or hands out a study, what an owner did with it is in the audit log before the response.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that handles a request."""
        handle = super().get_route_handler()
        checks = [each.call for each in self.dependant.dependencies if hasattr(each.call, "authenticate")]
        names = _query_names(self.dependant)
        path = self.path.removeprefix(PREFIX)
        limit = next((LIMITS[key] for method in self.methods or () if (key := f"{method} {path}") in LIMITS), JSON)

        is_audited = audits(self)

        async def check_and_handle(request: Request) -> Response:
            for check in checks:
                request.scope[CALLER] = await check.authenticate(request)  # type: ignore[union-attr]
            if names is not None:
                _check_query(request, names)
            caller = request.scope.get(CALLER)
            allowed = limit if caller is None or caller.is_privileged else smaller(limit, RATER)
            allow_body(request, allowed, request.app.state.server.options.max_upload_bytes)
            inner = JsonRequest(request.scope, request.receive)
            inner.max_values = allowed.values
            response = await handle(inner)
            if is_audited:
                await record_action(inner, self.path.removeprefix(PREFIX))
            return response

        return check_and_handle


def authenticated(request: Request) -> Any:
    """Return the caller that the route has found."""
    return request.scope[CALLER]


def _query_names(dependant: Any) -> set[str] | None:
    """Return the names of the query parameters of a route, or None if it takes any."""
    if getattr(dependant.call, "takes_any_query", False):
        return None
    names = {parameter.alias for parameter in dependant.query_params}
    for each in dependant.dependencies:
        inner = _query_names(each)
        if inner is None:
            return None
        names |= inner
    return names


def _check_query(request: Request, names: set[str]) -> None:
    unknown = [name for name in request.query_params if name not in names]
    if unknown:
        known = ", ".join(sorted(names)) or "none"
        raise RequestError(
            422,
            "invalid_input",
            f"There is no query parameter {unknown[0][:200]!r} here.",
            f"Parameters: {known}.",
            unknown[0],
        )
