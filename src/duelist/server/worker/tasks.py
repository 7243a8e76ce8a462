"""What takes long and is no reading: files in and out, raters left out and given back; runs in the back office.

Files are passed by their paths, in a folder that the server made for the request.
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

Given = dict[str, Any]
Task = Callable[[Storage, Study | None, Given], Any]


def _of(study: Study | None) -> Study:
    if study is None:
        raise InvalidInput("The study is missing.", "Name one.")
    return study


def _export(storage: Storage, study: Study | None, given: Given) -> Any:
    return plain(_of(study).export(given["format"], given["path"], **given["options"]))


def _archive(storage: Storage, study: Study | None, given: Given) -> Any:
    return str(_of(study).save(given["path"]))


def _backup(storage: Storage, study: Study | None, given: Given) -> Any:
    return str(backup_storage(storage, given["path"]))


def _restore(storage: Storage, study: Study | None, given: Given) -> Any:
    return restore_study(given["path"], storage, given["name"]).id


def _copy(storage: Storage, study: Study | None, given: Given) -> Any:
    return copy_study(_of(study).name, storage, to_name=given["name"]).id


def _import(storage: Storage, study: Study | None, given: Given) -> Any:
    path = Path(given["path"])
    try:
        chosen = given["format"] or format_of(path)
        found = _of(study).import_votes(chosen, path, again=given["again"])
    except InvalidInput as error:
        # The file lies in a folder of ours, of which nobody outside has heard.
        message, hint = (text.replace(str(path), path.name) for text in (error.message, error.hint))
        raise error.replace(message, hint) from error
    return {**plain(found), "statement": str(found)}


def _block(storage: Storage, study: Study | None, given: Given) -> Any:
    return plain(_of(study).block(given["rater"], keep_votes=given["keep_votes"]))


def _reinstate(storage: Storage, study: Study | None, given: Given) -> Any:
    return plain(_of(study).reinstate(given["rater"]))


def _preview(storage: Storage, study: Study | None, given: Given) -> Any:
    return read_draft(given["paths"], given["plan"]).preview()


def _create(storage: Storage, study: Study | None, given: Given) -> Any:
    return read_draft(given["paths"], given["plan"]).create(storage=storage).id


def _add(storage: Storage, study: Study | None, given: Given) -> Any:
    draft = read_draft(given["paths"], given["plan"])
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
