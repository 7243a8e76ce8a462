"""Long tasks that the background worker runs: imports, exports, archives, blocking and reinstating raters.

Files are passed as paths in the temporary folder of the request.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study import Storage, Study, backup_storage, copy_study, restore_study
from duelist.study.formats import format_of
from duelist.study.imports.items import read_draft
from duelist.study.serialization import plain

Arguments = dict[str, Any]
Task = Callable[[Storage, Study | None, Arguments], Any]


def _of(study: Study | None) -> Study:
    if study is None:
        raise InvalidInput("The study is missing.", "Name one.")
    return study


def _export(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return plain(_of(study).export(arguments["format"], arguments["path"], **arguments["options"]))


def _archive(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return str(_of(study).save(arguments["path"]))


def _backup(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return str(backup_storage(storage, arguments["path"]))


def _restore(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return restore_study(arguments["path"], storage, arguments["name"]).id


def _copy(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return copy_study(_of(study).name, storage, to_name=arguments["name"]).id


def _import(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    path = Path(arguments["path"])
    try:
        chosen = arguments["format"] or format_of(path)
        found = _of(study).import_votes(chosen, path, again=arguments["again"])
    except InvalidInput as error:
        # The client does not know the temporary folder.
        message, hint = (text.replace(str(path), path.name) for text in (error.message, error.hint))
        raise error.replace(message, hint) from error
    return {**plain(found), "statement": str(found)}


def _block(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return plain(_of(study).block(arguments["rater"], keep_votes=arguments["keep_votes"]))


def _reinstate(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return plain(_of(study).reinstate(arguments["rater"]))


def _preview(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return read_draft(arguments["paths"], arguments["plan"]).preview()


def _create(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    return read_draft(arguments["paths"], arguments["plan"]).create(storage=storage).id


def _add(storage: Storage, study: Study | None, arguments: Arguments) -> Any:
    draft = read_draft(arguments["paths"], arguments["plan"])
    added = draft.add_to(_of(study))
    return {"added": added, "there": len(draft.arms) - added, "notes": draft.notes}


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
}
