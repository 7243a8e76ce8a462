#!/usr/bin/env python3
"""Check that the sources and the files in dist/ are ready to be published as a release.

    scripts/release_check.py [DIST]        DIST is dist by default; `make wheels` fills it

Prints one line per check, and fails if one is not fulfilled. It publishes nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PLACEHOLDER: Final = "example.org"
PROGRAM: Final = re.compile(r"duelist/native\.[\w.-]*(?:so|pyd)")
PYTHONS: Final = ("cp311-cp311", "cp312-abi3")
"""Wheels of a release, per platform."""


class Check(NamedTuple):
    """A condition of a release, and what is wrong with it."""

    name: str
    problems: list[str]


# -- the sources -------------------------------------------------------------------------


def version(root: Path = ROOT) -> str:
    """Return the version that the package states."""
    found = re.search(r'^__version__ = "(.*)"$', (root / "src/duelist/__init__.py").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("src/duelist/__init__.py states no version.")
    return found[1]


def version_problems(root: Path = ROOT) -> list[str]:
    """Compare the version of the package with the other places that state it."""
    stated = {
        "CITATION.cff": re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(), re.MULTILINE),
        "CHANGELOG.md": re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE),
    }
    wanted = version(root)
    return [
        f"{name} states {found[1] if found else 'no version'}, the package {wanted}."
        for name, found in stated.items()
        if found is None or found[1] != wanted
    ]


def changelog_problems(root: Path = ROOT) -> list[str]:
    """Check that the first entry of the changelog is dated and has a list."""
    text = (root / "CHANGELOG.md").read_text()
    entry = re.search(r"^## \S+ \(([^)\n]*)\)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if entry is None:
        return ["CHANGELOG.md has no entry such as `## 0.1.0 (2026-03-01)`."]
    problems = []
    try:
        date.fromisoformat(entry[1])
    except ValueError:
        problems.append(f"The first entry of CHANGELOG.md is dated '{entry[1]}'. Give the day of the release.")
    return problems if re.search(r"^- ", entry[2], re.MULTILINE) else [*problems, "The first entry lists nothing."]


def address_problems(root: Path = ROOT) -> list[str]:
    """Find addresses that nobody has set yet."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return [
        f"project.urls: {name} is {url}. Set the real address."
        for name, url in project["urls"].items()
        if PLACEHOLDER in url
    ]


def git(*arguments: str) -> str:
    """Return the output of git."""
    return subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def tree_problems() -> list[str]:
    """Check that nothing is uncommitted."""
    return [f"Not committed: {line}" for line in git("status", "--porcelain").splitlines()]


def tag_problems() -> list[str]:
    """Check that the tag of this version is free, or is this commit."""
    tag = f"v{version()}"
    if not git("tag", "--list", tag) or git("rev-list", "-n1", tag) == git("rev-parse", "HEAD"):
        return []
    return [f"The tag {tag} names another commit. Raise the version."]


def evidence_problems() -> list[str]:
    """List the generated pages that are older than their inputs."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.evidence", "check", "--strict"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (done.stdout + done.stderr).strip().splitlines()
    return [] if done.returncode == 0 else [lines[-1] if lines else "The check printed nothing."]


# -- the files of the release ------------------------------------------------------------


def dist_problems(dist: Path) -> list[str]:
    """Check that the source distribution and the wheels of this version are there, and no others."""
    wanted = version()
    names = sorted(path.name for path in dist.glob("*")) if dist.is_dir() else []
    if not names:
        return [f"{dist} is empty. Run `make wheels`."]
    problems = [f"{name} is not of version {wanted}." for name in names if not name.startswith(f"duelist-{wanted}")]
    if f"duelist-{wanted}.tar.gz" not in names:
        problems.append("The source distribution is missing.")
    problems += [f"There is no wheel {python}." for python in PYTHONS if not any(python in name for name in names)]
    return problems + [f"{name} is not a manylinux wheel." for name in names if re.search(r"-linux_\w+\.whl$", name)]


def wheel_problems(wheel: Path, sources: Iterator[str] | list[str]) -> list[str]:
    """Compare the contents of a wheel with the files of the package: all of them, the engine, and nothing else."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in names if not name.endswith("/") and ".dist-info/" not in name}
    wanted = {name.removeprefix("src/") for name in sources}
    engines = {name for name in package if PROGRAM.fullmatch(name)}
    problems = [] if len(engines) == 1 else [f"{wheel.name} has {len(engines)} engines."]
    problems += [f"{wheel.name} lacks {name}." for name in sorted(wanted - package)]
    problems += [
        f"{wheel.name} has {name}, which is no part of the package." for name in sorted(package - wanted - engines)
    ]
    for needed in ("METADATA", "entry_points.txt", "licenses/LICENSE"):
        if not any(name.endswith(f".dist-info/{needed}") for name in names):
            problems.append(f"{wheel.name} lacks {needed}.")
    return problems


def package_files() -> list[str]:
    """Return the files of the package that the repository has."""
    return git("ls-files", "src/duelist").splitlines()


def twine_problems(dist: Path) -> list[str]:
    """Ask twine whether the package index would show the description."""
    files = [str(path) for path in sorted(dist.glob("duelist-*"))]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True, text=True, check=False
    )
    return [] if done.returncode == 0 else (done.stdout + done.stderr).strip().splitlines()[-3:]


def checks(dist: Path) -> Iterator[Check]:
    """Yield all checks."""
    yield Check("versions agree", version_problems())
    yield Check("changelog", changelog_problems())
    yield Check("addresses of the project", address_problems())
    yield Check("clean working tree", tree_problems())
    yield Check(f"tag v{version()}", tag_problems())
    yield Check("pages of evidence", evidence_problems())
    yield Check("files of the release", dist_problems(dist))
    for wheel in sorted(dist.glob("*.whl")):
        yield Check(f"contents of {wheel.name}", wheel_problems(wheel, package_files()))
    if dist.is_dir() and any(dist.glob("duelist-*")):
        yield Check("twine check", twine_problems(dist))


def main(names: list[str]) -> int:
    """Print every check; return how the process ends."""
    failed = 0
    for check in checks(Path(names[0]) if names else ROOT / "dist"):
        print(f"{'TO DO' if check.problems else 'ok   '}  {check.name}")
        for problem in check.problems[:10]:
            print(f"       {problem}")
        if len(check.problems) > 10:
            print(f"       and {len(check.problems) - 10} more")
        failed += bool(check.problems)
    print(f"\n{failed} to do. docs/contributing/releases.md describes the steps." if failed else "\nReady.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
