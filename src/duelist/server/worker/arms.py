"""Arms as JSON, which the background worker reads: a large document would delay raters."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from duelist.core.errors import DuelistError, InvalidInput
from duelist.server.errors import RequestError, validation_error_from
from duelist.server.http.bodies import parse_json
from duelist.server.schemas import common as schemas
from duelist.study import Study

Body = TypeVar("Body", bound=BaseModel)


def read_as(schema: type[Body], body: bytes) -> Body:
    """Return JSON as the schema describes it."""
    try:
        return schema.model_validate(parse_json(body))
    except ValidationError as error:
        raise validation_error_from(
            error.errors(include_url=False, include_context=False, include_input=False)
        ) from error


def add_json(study: Study, path: str) -> dict[str, Any]:
    """Add the arms of a JSON document to a study, all or none."""
    try:
        body = read_as(schemas.AddArmsRequest, Path(path).read_bytes())
    except RequestError as error:
        raise DuelistError.from_dict(error.body["error"]) from error
    added = add_arms_to(study, body)
    return {"added": added, "existing": len(body.arms) - added}


def add_arms_to(study: Study, body: schemas.AddArmsRequest) -> int:
    """Add arms to a study and return how many are new."""
    features: list[Any] = [arm.features for arm in body.arms]
    none = all(each is None for each in features)
    if not none and any(each is None for each in features):
        missing = next(arm.id for arm in body.arms if arm.features is None)
        raise InvalidInput(f"Features of arm {missing!r} are missing.", "Give features to all arms or to none.")
    return study.add_arms(
        [arm.id for arm in body.arms],
        None if none else features,
        [arm.payload for arm in body.arms],
        [arm.context for arm in body.arms],
        body.prompts,
        [arm.system for arm in body.arms],
        [arm.category for arm in body.arms],
    )
