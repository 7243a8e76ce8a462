"""Changed study archives whose checksums are right, as somebody writes them who means harm."""

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
    with zipfile.ZipFile(source) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        tables = {
            table.name: [json.loads(line) for line in archive.read(f"{table.name}.jsonl").splitlines()]
            for table in TABLES
        }
    change(manifest, tables)
    bodies = {name: "".join(json.dumps(line) + "\n" for line in lines).encode() for name, lines in tables.items()}
    parts = {
        name: {"lines": len(tables[name]), "sha256": hashlib.sha256(body).hexdigest()} for name, body in bodies.items()
    }
    manifest = {**manifest, "parts": parts}
    manifest.pop("sha256", None)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in bodies.items():
            archive.writestr(f"{name}.jsonl", body)
        archive.writestr("manifest.json", json.dumps({**manifest, "sha256": _digest(manifest)}))
    return target
