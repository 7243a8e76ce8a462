"""Long tasks that the background worker runs: imports, exports, archives, plans, blocking and reinstating raters.

Files are passed as paths in the temporary folder of the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.core.serialization import to_plain
from duelist.server.worker.arms import add_json
from duelist.study import (
    Storage,
    Study,
    backup_storage,
    copy_study,
    create_study,
    plan_items,
    plan_study,
    plan_votes,
    restore_study,
)
from duelist.study.export import export_votes
from duelist.study.formats import detect_format

Arguments = dict[str, Any]
Task = Callable[[Storage, Study | None, Arguments], Any]
_PLAN_SECONDS: Final = 30.0


def _of(study: Study | None) -> Study:
    if study is None:
        raise InvalidInput("The study is missing.", "Name one.")
    return study


def _export(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    path, form, personal = (arguments[name] for name in ("path", "format", "personal"))
    return to_plain(export_votes(_of(study), path, form, personal, arguments["options"]))


def _archive(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return str(_of(study).save(arguments["path"]))


def _backup(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return str(backup_storage(storage, arguments["path"]))


def _restore(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return restore_study(arguments["path"], storage, arguments["name"]).id


def _copy(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return copy_study(_of(study).name, storage, to_name=arguments["name"]).id


def _import(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    path, options = arguments["path"], arguments["options"]
    form = arguments["format"] or detect_format(path)
    if arguments["timezone"] is not None and form in ("csv", "evalica"):
        options = {**options, "timezone": arguments["timezone"]}  # the other formats have offsets in their times
    plan = plan_votes(path, form, skip_duplicates=arguments["skip_duplicates"], **options)
    report = _of(study).apply(plan)
    return {**to_plain(report), "statement": str(report)}


def _block(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return to_plain(_of(study).block(arguments["rater"], exclude_votes=arguments["exclude_votes"]))


def _reinstate(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return to_plain(_of(study).reinstate(arguments["rater"]))


def _preview(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return plan_items(arguments["paths"], **arguments["options"]).preview()


def _create(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    items = plan_items(arguments["paths"], **arguments["options"])
    goal, settings = arguments["goal"], arguments["settings"]
    return create_study(arguments["name"], storage, arguments["policy"], goal=goal, items=items, **settings).id


def _add(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    report = _of(study).apply(plan_items(arguments["paths"], **arguments["options"]))
    notes = [note.to_dict() for note in report.notes]
    return {"added": report.added, "existing": report.existing, "notes": notes}


def _add_json(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return add_json(_of(study), arguments["path"])


def _plan(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return plan_study(**arguments, unit="chance", max_seconds=_PLAN_SECONDS).to_dict()


TASKS: Final[dict[str, Task]] = {
    "export": _export,
    "archive": _archive,
    "backup": _backup,
    "restore": _restore,
    "copy": _copy,
    "import": _import,
    "block": _block,
    "reinstate": _reinstate,
    "preview": _preview,
    "create": _create,
    "add": _add,
    "add-json": _add_json,
    "plan": _plan,
}
