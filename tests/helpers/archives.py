"""Malicious study archives with correct checksums."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from duelist.study.administration.archive import TABLES, _digest

Tables = dict[str, list[Any]]


def rewrite(source: Path, target: Path, change: Callable[[dict[str, Any], Tables], None]) -> Path:
    """Change the manifest and the lines of each table of an archive, and write it again with matching checksums."""
    manifest, tables = read_tables(source)
    change(manifest, tables)
    return write_tables(target, manifest, tables)


def read_tables(source: Path) -> tuple[dict[str, Any], Tables]:
    """Return the manifest of an archive and the lines of each table."""
    with zipfile.ZipFile(source) as archive:
        return json.loads(archive.read("manifest.json")), {
            table.name: [json.loads(line) for line in archive.read(f"{table.name}.jsonl").splitlines()]
            for table in TABLES
        }


def write_tables(
    target: Path, manifest: dict[str, Any], tables: Tables, to_text: Callable[[Any], str] = json.dumps
) -> Path:
    """Write an archive with matching checksums."""
    bodies = {name: "".join(to_text(line) + "\n" for line in lines).encode() for name, lines in tables.items()}
    parts = {
        name: {"lines": len(tables[name]), "sha256": hashlib.sha256(body).hexdigest()} for name, body in bodies.items()
    }
    text = to_text({**manifest, "sha256": None, "parts": parts})
    try:
        digest = _digest({name: value for name, value in json.loads(text).items() if name != "sha256"})
    except (ValueError, RecursionError):
        digest = "of what nobody can read"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in bodies.items():
            archive.writestr(f"{name}.jsonl", body)
        archive.writestr("manifest.json", text.replace('"sha256": null', f'"sha256": "{digest}"', 1))
    return target
