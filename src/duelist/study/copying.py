"""Studies from one place to another: archives restored, studies copied, whole storages backed up while they are in use."""

from __future__ import annotations

import tempfile
from pathlib import Path

from duelist.core.errors import InvalidInput, StudyExists
from duelist.study.archive import restore_archive
from duelist.study.opening import DEFAULT_STORAGE, load_study
from duelist.study.storage import Storage, open_storage
from duelist.study.study import Study
from duelist.study.validation import checked_text


def restore_study(path: str | Path, storage: str | Storage | None = DEFAULT_STORAGE, name: str | None = None) -> Study:
    """The study of an archive, in a storage: all of it, or, after an error, nothing.

    It goes on as the one that was archived would have: same log, same board, same next duels.

    Parameters
    ----------
    path
        A file that `Study.save` wrote.
    storage
        Where to, as for `create_study`.
    name
        Another name than it had; StudyExists if there is a study of that name.
    """
    if name is not None:
        checked_text("name", name)
    opened = open_storage(storage)
    return load_study(restore_archive(Path(path), opened, name), opened)


def copy_study(
    name: str,
    storage: str | Storage,
    to_storage: str | Storage | None = None,
    to_name: str | None = None,
) -> Study:
    """A copy of a study, as it is at this moment, in another storage or under another name; the copy.

    Raters may go on with the first while it is copied. From then on the two know nothing of each other.
    """
    if to_storage is None and to_name is None:
        raise InvalidInput(
            "A copy needs another storage or another name.",
            "Pass to_storage=... or to_name=....",
            code="invalid_input.copy_target",
        )
    source = open_storage(storage, create=False)
    study = load_study(name, source)
    with tempfile.TemporaryDirectory(prefix="duelist-copy-") as folder:
        path = study.save(Path(folder) / "study.duelist")
        return restore_study(path, source if to_storage is None else to_storage, to_name)


def backup_storage(storage: str | Storage, path: str | Path) -> Path:
    """Everything in a storage, in one file that is an SQLite storage of its own (`sqlite:///PATH`), all of it or nothing.

    The storage may be in use: from SQLite the file is as it was at one moment; from PostgreSQL each study is.
    """
    target = Path(path)
    if target.exists():
        raise StudyExists(f"There is a file {str(target)!r} already.", "Give another name, or remove it first.")
    opened = open_storage(storage, create=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        scratch = Path(folder) / "backup.db"
        if not opened.copy_to_file(scratch):
            _copy_all(opened, scratch)
        scratch.rename(target)
    return target


def _copy_all(source: Storage, path: Path) -> None:
    target = open_storage(f"sqlite:///{path}")
    try:
        for row in source.list_studies():
            copy_study(row.name, source, target)
    finally:
        target.close()
