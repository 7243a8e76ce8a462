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
from duelist.study.administration.archive_rows import RowChecker, checked_value, parse_counters, parse_row
from duelist.study.records import StudySettings, StudyState
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
MAX_MANIFEST: Final = 2**24
"""Bytes."""
MAX_RATIO: Final = 200
"""How much smaller than its content a member of more than `MAX_MANIFEST` bytes may be; real studies reach a tenth of it."""
MAX_LINE: Final = 2**28
"""Bytes per line; the longest are media files."""
_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every zip member; the time of writing would make archives of equal studies differ."""

Line = list[Any]
Row = TypeVar("Row")


class ArchivedTable(NamedTuple):
    """A member of an archive: how to read its lines from a study, parse them into rows, and write these into a study."""

    name: str
    read: Callable[[Transaction], Iterator[Line]]
    parse: Callable[[Line], Any]
    write: Callable[[Transaction, list[Any]], None]
    batch_size: int = _BATCH
    """Rows in memory at a time."""


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


def _features(line: Line) -> FeatureChunk:
    first_row, count, arms, vectors = line
    return FeatureChunk(int(first_row), np.frombuffer(_bytes(arms), "<i8"), decode_vectors(_bytes(vectors), int(count)))


def _write_features(tx: Transaction, rows: list[FeatureChunk]) -> None:
    for row in rows:
        tx.add_features(row)


def _read_duels(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_batches(tx.counters.n_duels, tx.duels_between))


def _read_leases(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_batches(tx.counters.n_duels, tx.leases_between))


def _read_votes(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_batches(tx.counters.n_votes, tx.votes_between))


def _read_details(tx: Transaction) -> Iterator[Line]:
    return map(list, _in_batches(tx.counters.n_duels, tx.details_between))


def _read_snapshots(tx: Transaction) -> Iterator[Line]:
    for sequence in tx.snapshot_sequences():
        found = tx.snapshot_before(sequence + 1)
        if found is not None:
            yield [sequence, _text(found[1])]


class _Snapshot(NamedTuple):
    sequence: int
    body: bytes


def _write_snapshots(tx: Transaction, rows: list[_Snapshot]) -> None:
    for row in rows:
        tx.put_snapshot(row.sequence, row.body)


def _write_raters(tx: Transaction, rows: list[RaterRow]) -> None:
    for row in rows:
        tx.put_rater(row)


def _read_staged(tx: Transaction) -> Iterator[Line]:
    return ([row.number, row.since, _text(row.body)] for row in tx.staged())


def _read_media(tx: Transaction) -> Iterator[Line]:
    for key in tx.media_keys():
        row = tx.media(key)
        if row is not None:
            yield [row.key, row.name, row.type, _text(row.body)]


def _rows_of(kind: type[Any]) -> Callable[[Line], Any]:
    return lambda line: parse_row(kind, line)


def _ending_in_bytes(kind: type[Any]) -> Callable[[Line], Any]:
    return lambda line: parse_row(kind, [*line[:-1], _bytes(line[-1])])


TABLES: Final = (
    ArchivedTable(
        "arms", lambda tx: map(list, tx.arms_since(-1)), _rows_of(ArmRow), lambda tx, rows: tx.add_arms(rows)
    ),
    ArchivedTable(
        "contexts",
        lambda tx: map(list, tx.contexts_since(-1)),
        _rows_of(ContextRow),
        lambda tx, rows: tx.put_contexts(rows),
    ),
    ArchivedTable("features", _read_features, _features, _write_features),
    ArchivedTable("raters", lambda tx: map(list, tx.raters()), _rows_of(RaterRow), _write_raters),
    ArchivedTable("duels", _read_duels, _rows_of(DuelRow), lambda tx, rows: tx.add_duels(rows)),
    ArchivedTable("leases", _read_leases, _rows_of(LeaseRow), lambda tx, rows: tx.add_leases(rows)),
    ArchivedTable("votes", _read_votes, _rows_of(VoteRow), lambda tx, rows: tx.add_votes(rows)),
    ArchivedTable("details", _read_details, _rows_of(DetailRow), lambda tx, rows: tx.add_details(rows)),
    ArchivedTable("staged", _read_staged, _ending_in_bytes(StagedRow), lambda tx, rows: tx.add_staged(rows)),
    ArchivedTable("snapshots", _read_snapshots, _ending_in_bytes(_Snapshot), _write_snapshots),
    ArchivedTable("media", _read_media, _ending_in_bytes(MediaRow), lambda tx, rows: tx.add_media(rows), batch_size=1),
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
            checker = RowChecker(manifest.counters, {arm for gold in manifest.settings.gold for arm in gold[:2]})
            for table in TABLES:
                _restore_table(archive, table, tx, checker)
            checker.finish()
            tx.put_study(new_name, manifest.settings, manifest.state)
            tx.counters = manifest.counters
            _check_snapshots(tx, manifest.settings, path)
    return new_name


def _restore_table(archive: zipfile.ZipFile, table: ArchivedTable, tx: Transaction, checker: RowChecker) -> None:
    rows: list[Any] = []
    with archive.open(f"{table.name}.jsonl") as part:
        for line in _lines(part):
            rows.append(table.parse(json.loads(line)))
            checker.check(rows[-1])
            if len(rows) == table.batch_size:
                table.write(tx, rows)
                rows = []
    if rows:
        table.write(tx, rows)


def _lines(part: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a member; raise ValueError for one that is too long to be held in memory."""
    while line := part.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise ValueError(f"a line is longer than {MAX_LINE} bytes")
        yield line


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
                f"The snapshot after row {sequence} in archive {path.name!r} cannot be used ({error}).",
                "Use another copy.",
            ) from error


def _check_parts(archive: zipfile.ZipFile, manifest: Manifest, path: Path) -> None:
    """Check every member before anything is written."""
    for table in TABLES:
        expected = manifest.parts.get(table.name)
        if expected is None:
            raise InvalidArchive(f"Archive {path.name!r} is incomplete: it has no {table.name}.", "Use another copy.")
        count, digest = 0, hashlib.sha256()
        with _reporting_damage(path), archive.open(f"{table.name}.jsonl") as part:
            for line in _lines(part):
                digest.update(line)
                count += 1
        if {"lines": count, "sha256": digest.hexdigest()} != expected:
            raise InvalidArchive(
                f"Archive {path.name!r} is damaged: the checksum of its {table.name} is wrong.", "Use another copy."
            )


def _manifest(archive: zipfile.ZipFile, path: Path) -> Manifest:
    with _reporting_damage(path):
        body = json.loads(archive.read(_MANIFEST))
        if body["format"] != FORMAT:
            raise InvalidArchive(f"{path.name!r} is not a study archive.", "Give a file to which a study was saved.")
        if body["version"] != VERSION:
            raise InvalidArchive(
                f"Archive {path.name!r} has version {body['version']}; this release reads version {VERSION}.",
                "Restore it with the release that made it.",
            )
        if body.pop("sha256") != _digest(body):
            raise InvalidArchive(
                f"Archive {path.name!r} is damaged: the checksum of its manifest is wrong.", "Use another copy."
            )
        return Manifest(
            checked_value("name", str, body["name"]),
            StudyState(body["state"]),
            checked_value("created_at", int, body["created_at"]),
            archived_settings(dict(body["settings"])),
            parse_counters(body["counters"]),
            body["parts"],
        )


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    if not path.is_file():
        raise InvalidArchive(f"There is no file {str(path)!r}.", "Give the path of an archive.")
    with _reporting_damage(path):
        archive = zipfile.ZipFile(path)
    with archive:
        for member in archive.infolist():
            is_packed = member.file_size > MAX_MANIFEST and member.file_size > MAX_RATIO * member.compress_size
            if is_packed or (member.filename == _MANIFEST and member.file_size > MAX_MANIFEST):
                raise InvalidArchive(
                    f"{member.filename!r} in {path.name!r} has {member.file_size // 2**20} MiB when it is unpacked.",
                    "Give an archive that duelist has written.",
                )
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
        OverflowError,
        RuntimeError,
        OSError,
    ) as error:
        # A damaged zip directory may point before the start of the file (EINVAL), and damaged compression gives an OSError without a
        # number; other OSErrors are not about the content.
        if isinstance(error, DuelistError) or (isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)):
            raise
        raise InvalidArchive(
            f"{path.name!r} is damaged or not a study archive ({error}).", "Give a complete study archive."
        ) from error
