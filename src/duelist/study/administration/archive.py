"""Study archives: a whole study in one file, which any storage can restore bit for bit.

The file is a zip with one member per table, as JSON lines in the order of their keys, and `manifest.json`, written last: the version of
the format, the study, and the number of lines and SHA-256 of each member. Nothing in it depends on the database or the time of writing,
so two archives of one study are equal. It is written and read line by line, in memory that does not grow with the votes.

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
from duelist.policies import is_registered
from duelist.study.records import ChosenBy, DuelKind, Outcome, Source, StudySettings, StudyState
from duelist.study.replay import new_policy, restored_policy
from duelist.study.settings import archived_settings
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
from duelist.study.storage.encoding import decode_vectors, encode_vectors

FORMAT: Final = "duelist study"
VERSION: Final = 1
_MANIFEST: Final = "manifest.json"
_BATCH: Final = 2000
"""Rows that are read and written at a time."""
_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every zip member; the time of writing would make archives of equal studies differ."""

Line = list[Any]
Row = TypeVar("Row")


class ArchivedTable(NamedTuple):
    """A member of an archive: how to read its lines from a study and write them into one."""

    name: str
    read: Callable[[Transaction], Iterator[Line]]
    write: Callable[[Transaction, list[Line]], None]
    batch_size: int = _BATCH
    """Lines in memory at a time."""


def _text(body: bytes) -> str:
    return base64.b64encode(body).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


# -- tables ------------------------------------------------------------------------------


def _in_batches(last: int, read: Callable[[int, int], list[Row]]) -> Iterator[Row]:
    """Yield the rows numbered from 1 to `last`, read in batches."""
    for start in range(0, last, _BATCH):
        yield from read(start, min(start + _BATCH, last))


def _read_features(tx: Transaction) -> Iterator[Line]:
    for chunk in tx.features_since(0):
        arms = np.ascontiguousarray(chunk.arms, "<i8").tobytes()
        yield [chunk.first_row, len(chunk.arms), _text(arms), _text(encode_vectors(chunk.vectors))]


def _write_features(tx: Transaction, lines: list[Line]) -> None:
    for first_row, count, arms, vectors in lines:
        numbers = np.frombuffer(_bytes(arms), "<i8")
        tx.add_features(FeatureChunk(first_row, numbers, decode_vectors(_bytes(vectors), count)))


def _read_duels(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_batches(tx.counters.n_duels, tx.duels_between))


def _duel(line: Line) -> DuelRow:
    row = DuelRow(*line)
    expected = None if row.expected is None else Outcome(row.expected)
    return row._replace(chosen_by=ChosenBy(row.chosen_by), kind=DuelKind(row.kind), expected=expected)


def _read_leases(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_batches(tx.counters.n_duels, tx.leases_between))


def _lease(line: Line) -> LeaseRow:
    row = LeaseRow(*line)
    return row._replace(state=LeaseState(row.state))


def _read_votes(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_batches(tx.counters.n_votes, tx.votes_between))


def _vote(line: Line) -> VoteRow:
    row = VoteRow(*line)
    outcome = None if row.outcome is None else Outcome(row.outcome)
    return row._replace(outcome=outcome, source=Source(row.source))


def _read_details(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_batches(tx.counters.n_duels, tx.details_between))


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
    ArchivedTable(
        "arms",
        lambda tx: map(list, tx.arms_since(-1)),
        lambda tx, lines: tx.add_arms([ArmRow(*line) for line in lines]),
    ),
    ArchivedTable(
        "contexts",
        lambda tx: map(list, tx.contexts_since(-1)),
        lambda tx, lines: tx.put_contexts([ContextRow(*line) for line in lines]),
    ),
    ArchivedTable("features", _read_features, _write_features),
    ArchivedTable("raters", lambda tx: map(list, tx.raters()), _write_raters),
    ArchivedTable("duels", _read_duels, lambda tx, lines: tx.add_duels([_duel(line) for line in lines])),
    ArchivedTable("leases", _read_leases, lambda tx, lines: tx.add_leases([_lease(line) for line in lines])),
    ArchivedTable("votes", _read_votes, lambda tx, lines: tx.add_votes([_vote(line) for line in lines])),
    ArchivedTable("details", _read_details, lambda tx, lines: tx.add_details([DetailRow(*line) for line in lines])),
    ArchivedTable("staged", _read_staged, _write_staged),
    ArchivedTable("snapshots", _read_snapshots, _write_snapshots),
    ArchivedTable("media", _read_media, _write_media, batch_size=1),
)


# -- writing -----------------------------------------------------------------------------


def write_archive(tx: Transaction, path: Path) -> Path:
    """Write everything that a transaction sees of its study into one file, all or nothing."""
    study = tx.study()
    parts: dict[str, Any] = {}
    with atomic_write(path, private=True) as file, zipfile.ZipFile(file, "w") as archive:
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
    member = zipfile.ZipInfo(name, _TIME)
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


# -- reading -----------------------------------------------------------------------------


class Manifest(NamedTuple):
    """The manifest of an archive."""

    name: str
    state: StudyState
    created_at: int
    settings: StudySettings
    counters: Counters
    parts: dict[str, dict[str, Any]]


def read_manifest(path: str | Path) -> Manifest:
    """Return the manifest of an archive: name, state, settings and sizes of its study."""
    with _opened(Path(path)) as archive:
        return _manifest(archive, Path(path))


def restore_archive(path: Path, storage: Storage, name: str | None) -> str:
    """Restore an archived study into a storage, all or nothing, under its own name or another; return that name."""
    with _opened(path) as archive:
        manifest = _manifest(archive, path)
        _check_parts(archive, manifest, path)
        new_name = manifest.name if name is None else name
        with storage.restoring(new_name, manifest.settings, manifest.created_at) as tx, _reporting_damage(path):
            for table in TABLES:
                _restore_table(archive, table, tx)
            tx.put_study(new_name, manifest.settings, manifest.state)
            tx.counters = manifest.counters
            _check_snapshots(tx, manifest.settings, path)
    return new_name


def _restore_table(archive: zipfile.ZipFile, table: ArchivedTable, tx: Transaction) -> None:
    lines: list[Line] = []
    with archive.open(f"{table.name}.jsonl") as part:
        for line in part:
            lines.append(json.loads(line))
            if len(lines) == table.batch_size:
                table.write(tx, lines)
                lines = []
    if lines:
        table.write(tx, lines)


def _check_snapshots(tx: Transaction, settings: StudySettings, path: Path) -> None:
    """Raise InvalidArchive if a snapshot is not of the study's policy; one that is not registered is checked when it is used."""
    if not is_registered(settings.policy):
        return
    new = new_policy(settings)
    for sequence in tx.snapshot_sequences():
        found = tx.snapshot_before(sequence + 1)
        try:
            restored_policy(b"" if found is None else found[1], new)
        except (ValueError, zlib.error) as error:
            raise InvalidArchive(
                f"The snapshot after row {sequence} in archive {str(path)!r} cannot be used ({error}).",
                "Use another copy.",
            ) from error


def _check_parts(archive: zipfile.ZipFile, manifest: Manifest, path: Path) -> None:
    """Check every member before anything is written."""
    for table in TABLES:
        expected = manifest.parts.get(table.name)
        if expected is None:
            raise InvalidArchive(f"Archive {str(path)!r} is incomplete: it has no {table.name}.", "Use another copy.")
        count, digest = 0, hashlib.sha256()
        with _reporting_damage(path), archive.open(f"{table.name}.jsonl") as part:
            for line in part:
                digest.update(line)
                count += 1
        if {"lines": count, "sha256": digest.hexdigest()} != expected:
            raise InvalidArchive(
                f"Archive {str(path)!r} is damaged: the checksum of its {table.name} is wrong.", "Use another copy."
            )


def _manifest(archive: zipfile.ZipFile, path: Path) -> Manifest:
    with _reporting_damage(path):
        body = json.loads(archive.read(_MANIFEST))
        if body["format"] != FORMAT:
            raise InvalidArchive(f"{str(path)!r} is not a study archive.", "Give a file to which a study was saved.")
        if body["version"] != VERSION:
            raise InvalidArchive(
                f"Archive {str(path)!r} has version {body['version']}; this release reads version {VERSION}.",
                "Restore it with the release that made it.",
            )
        if body.pop("sha256") != _digest(body):
            raise InvalidArchive(
                f"Archive {str(path)!r} is damaged: the checksum of its manifest is wrong.", "Use another copy."
            )
        return Manifest(
            body["name"],
            StudyState(body["state"]),
            body["created_at"],
            archived_settings(body["settings"]),
            Counters(**body["counters"]),
            body["parts"],
        )


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    if not path.is_file():
        raise InvalidArchive(f"There is no file {str(path)!r}.", "Give the path of an archive.")
    with _reporting_damage(path):
        archive = zipfile.ZipFile(path)
    with archive:
        yield archive


@contextmanager
def _reporting_damage(path: Path) -> Iterator[None]:
    """Raise InvalidArchive for errors inside the block that come from the file's content."""
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
        # A damaged zip directory may point before the start of the file (EINVAL), and damaged compression gives an OSError without a
        # number; other OSErrors are not about the content.
        if isinstance(error, DuelistError) or (isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)):
            raise
        raise InvalidArchive(
            f"{str(path)!r} is damaged or not a study archive ({error}).", "Give a complete study archive."
        ) from error
