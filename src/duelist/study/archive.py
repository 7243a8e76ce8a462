"""A study in one file: everything there is of it, from which it is made again to the bit, in whatever database.

The file is a zip with a part for each table, JSON lines in the order of their keys, and `manifest.json`, written last: the
format's version, the study itself, and how many lines each part has with their SHA-256. Nothing in it depends on the database
or on when it was written, so two archives of one study are equal. It is written and read line by line; the memory it takes does
not grow with the votes.

    study.save("captions.duelist")
    restore_study("captions.duelist", "postgresql+psycopg://...")
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeVar

import numpy as np

from duelist.core.errors import DuelistError, InvalidArchive
from duelist.core.files import atomic_write
from duelist.study.records import ChosenBy, DuelKind, Outcome, Source, StudySettings, StudyState
from duelist.study.storage import (
    ArmRow,
    ContextRow,
    Counters,
    DetailRow,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    MediaRow,
    RaterRow,
    StagedRow,
    Storage,
    Transaction,
    VoteRow,
)
from duelist.study.storage.vectors import packed, unpacked

FORMAT: Final = "duelist study"
VERSION: Final = 1
_MANIFEST: Final = "manifest.json"
_PART: Final = 2000
"""Rows that are read and written at a time."""
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
"""Every part of every archive has this time: that of writing would make equal studies differ."""

Line = list[Any]
Row = TypeVar("Row")


class Table(NamedTuple):
    """A part of an archive: how its lines are read from a study, and written into one."""

    name: str
    read: Callable[[Transaction], Iterator[Line]]
    write: Callable[[Transaction, list[Line]], None]
    at_once: int = _PART
    """Lines that are held in memory."""


def _text(body: bytes) -> str:
    return base64.b64encode(body).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


# -- the tables --------------------------------------------------------------------------


def _in_parts(last: int, read: Callable[[int, int], list[Row]]) -> Iterator[Row]:
    """Rows numbered from 1 to `last`, a part at a time."""
    for start in range(0, last, _PART):
        yield from read(start, min(start + _PART, last))


def _read_features(tx: Transaction) -> Iterator[Line]:
    for chunk in tx.features_since(0):
        arms = np.ascontiguousarray(chunk.arms, "<i8").tobytes()
        yield [chunk.first_row, len(chunk.arms), _text(arms), _text(packed(chunk.vectors))]


def _write_features(tx: Transaction, lines: list[Line]) -> None:
    for first_row, count, arms, vectors in lines:
        numbers = np.frombuffer(_bytes(arms), "<i8")
        tx.add_features(FeatureChunk(first_row, numbers, unpacked(_bytes(vectors), count)))


def _read_duels(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_parts(tx.counters.n_duels, tx.duels_between))


def _duel(line: Line) -> DuelRow:
    row = DuelRow(*line)
    expected = None if row.expected is None else Outcome(row.expected)
    return row._replace(chosen_by=ChosenBy(row.chosen_by), kind=DuelKind(row.kind), expected=expected)


def _read_leases(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_parts(tx.counters.n_duels, tx.leases_between))


def _lease(line: Line) -> LeaseRow:
    row = LeaseRow(*line)
    return row._replace(state=LeaseState(row.state))


def _read_votes(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_parts(tx.counters.n_votes, tx.votes_between))


def _vote(line: Line) -> VoteRow:
    row = VoteRow(*line)
    outcome = None if row.outcome is None else Outcome(row.outcome)
    return row._replace(outcome=outcome, source=Source(row.source))


def _read_details(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_parts(tx.counters.n_duels, lambda after, until: tx.details(after + 1, until)))


def _read_snapshots(tx: Transaction) -> Iterator[Line]:
    for sequence in tx.snapshot_sequences():
        found = tx.snapshot_before(sequence + 1)
        if found is not None:
            yield [sequence, _text(found[1])]


def _write_snapshots(tx: Transaction, lines: list[Line]) -> None:
    for sequence, body in lines:
        tx.put_snapshot(sequence, _bytes(body))


def _write_raters(tx: Transaction, lines: list[Line]) -> None:
    for line in lines:
        tx.put_rater(RaterRow(*line))


def _read_staged(tx: Transaction) -> Iterator[Line]:
    return ([row.number, row.since, _text(row.body)] for row in tx.staged())


def _write_staged(tx: Transaction, lines: list[Line]) -> None:
    tx.add_staged([StagedRow(number, since, _bytes(body)) for number, since, body in lines])


def _read_media(tx: Transaction) -> Iterator[Line]:
    for key in tx.media_keys():
        row = tx.media(key)
        if row is not None:
            yield [row.key, row.name, row.type, _text(row.body)]


def _write_media(tx: Transaction, lines: list[Line]) -> None:
    tx.add_media([MediaRow(key, name, kind, _bytes(body)) for key, name, kind, body in lines])


TABLES: Final = (
    Table(
        "arms",
        lambda tx: map(list, tx.arms_since(-1)),
        lambda tx, lines: tx.add_arms([ArmRow(*line) for line in lines]),
    ),
    Table(
        "contexts",
        lambda tx: map(list, tx.contexts_since(-1)),
        lambda tx, lines: tx.put_contexts([ContextRow(*line) for line in lines]),
    ),
    Table("features", _read_features, _write_features),
    Table("raters", lambda tx: map(list, tx.raters()), _write_raters),
    Table("duels", _read_duels, lambda tx, lines: tx.add_duels([_duel(line) for line in lines])),
    Table("leases", _read_leases, lambda tx, lines: tx.add_leases([_lease(line) for line in lines])),
    Table("votes", _read_votes, lambda tx, lines: tx.add_votes([_vote(line) for line in lines])),
    Table("details", _read_details, lambda tx, lines: tx.add_details([DetailRow(*line) for line in lines])),
    Table("staged", _read_staged, _write_staged),
    Table("snapshots", _read_snapshots, _write_snapshots),
    Table("media", _read_media, _write_media, at_once=1),
)


# -- into a file -------------------------------------------------------------------------


def write_archive(tx: Transaction, path: Path) -> Path:
    """Everything that this transaction sees of its study, in one file, all of it or none."""
    study = tx.study()
    parts: dict[str, Any] = {}
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
        for table in TABLES:
            with archive.open(_member(f"{table.name}.jsonl"), "w", force_zip64=True) as part:
                parts[table.name] = _write_lines(part, table.read(tx))
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "name": study.name,
            "state": study.state.value,
            "created_at": study.created_at,
            "settings": asdict(study.settings),
            "counters": asdict(study.counters),
            "parts": parts,
        }
        archive.writestr(_member(_MANIFEST), json.dumps({**manifest, "sha256": _digest(manifest)}, indent=1))
    return path


def _digest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _MOMENT)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _write_lines(part: IO[bytes], lines: Iterator[Line]) -> dict[str, Any]:
    count, digest = 0, hashlib.sha256()
    for line in lines:
        body = json.dumps(line, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        part.write(body)
        digest.update(body)
        count += 1
    return {"lines": count, "sha256": digest.hexdigest()}


# -- out of a file -----------------------------------------------------------------------


class Manifest(NamedTuple):
    """What an archive says of itself."""

    name: str
    state: StudyState
    created_at: int
    settings: StudySettings
    counters: Counters
    parts: dict[str, dict[str, Any]]


def read_manifest(path: str | Path) -> Manifest:
    """What an archive is of: name, state, settings, and how much of everything."""
    with _opened(Path(path)) as archive:
        return _manifest(archive, Path(path))


def restore_archive(path: Path, storage: Storage, name: str | None) -> str:
    """Write the study of an archive into a storage, all of it or nothing, under its own name or another; the name it has there."""
    with _opened(path) as archive:
        manifest = _manifest(archive, path)
        _check_parts(archive, manifest, path)
        there = manifest.name if name is None else name
        with storage.restoring(there, manifest.settings, manifest.created_at) as tx, _understood(path):
            for table in TABLES:
                _restore_table(archive, table, tx)
            tx.put_study(there, manifest.settings, manifest.state)
            tx.counters = manifest.counters
    return there


def _restore_table(archive: zipfile.ZipFile, table: Table, tx: Transaction) -> None:
    held: list[Line] = []
    with archive.open(f"{table.name}.jsonl") as part:
        for line in part:
            held.append(json.loads(line))
            if len(held) == table.at_once:
                table.write(tx, held)
                held = []
    if held:
        table.write(tx, held)


def _check_parts(archive: zipfile.ZipFile, manifest: Manifest, path: Path) -> None:
    """Read it through once before anything is written."""
    for table in TABLES:
        said = manifest.parts.get(table.name)
        if said is None:
            raise InvalidArchive(f"Archive {str(path)!r} has no {table.name}.", "It is not whole, take another copy.")
        count, digest = 0, hashlib.sha256()
        with _understood(path), archive.open(f"{table.name}.jsonl") as part:
            for line in part:
                digest.update(line)
                count += 1
        if {"lines": count, "sha256": digest.hexdigest()} != said:
            raise InvalidArchive(
                f"Archive {str(path)!r} is damaged: its {table.name} are not those that were written.",
                "Take another copy.",
            )


def _manifest(archive: zipfile.ZipFile, path: Path) -> Manifest:
    with _understood(path):
        body = json.loads(archive.read(_MANIFEST))
        if body["format"] != FORMAT:
            raise InvalidArchive(f"{str(path)!r} is no archive of a study.", "Give an archive of a study.")
        if body["version"] != VERSION:
            raise InvalidArchive(
                f"Archive {str(path)!r} has version {body['version']}; this release reads version {VERSION}.",
                "Restore it with the release that made it.",
            )
        if body.pop("sha256") != _digest(body):
            raise InvalidArchive(
                f"Archive {str(path)!r} is damaged: its manifest is not the one that was written.", "Take another copy."
            )
        return Manifest(
            body["name"],
            StudyState(body["state"]),
            body["created_at"],
            StudySettings(**body["settings"]),
            Counters(**body["counters"]),
            body["parts"],
        )


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    if not path.is_file():
        raise InvalidArchive(f"There is no file {str(path)!r}.", "Give the path of an archive.")
    with _understood(path):
        archive = zipfile.ZipFile(path)
    with archive:
        yield archive


@contextmanager
def _understood(path: Path) -> Iterator[None]:
    """What cannot be understood inside the block was damaged, or never an archive."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        LookupError,
        TypeError,
        ValueError,
        RuntimeError,
        OSError,
    ) as error:
        # A damaged directory may lie before the file's beginning, where nobody can look, and what is not compressed as it says it is
        # has no number; other errors of the disk are the disk's.
        if isinstance(error, DuelistError) or (isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)):
            raise
        raise InvalidArchive(
            f"{str(path)!r} is damaged or no archive of a study ({error}).", "Give a complete archive."
        ) from error
