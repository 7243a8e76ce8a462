"""The layout: private modules stay in their folder, names are defined once, files are short and folders small."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "duelist"
FILES = sorted(PACKAGE.rglob("*.py"))
NATIVE = PACKAGE.parents[1] / "native"
MOST_FILES = 12
LARGER_FOLDERS = {
    "core": "a file per kind of value; each is used by several rooms",
    "model": "a file per part of one model, which refer to each other",
    "native/policies": "a header per algorithm",
    "policies/linear": "a file per algorithm",
    "reference": "a file per algorithm",
    "simulation/environments": "a file per environment",
    "study": "a study, and what its folders share",
}
"""Folders with more than `MOST_FILES` files, and why."""


def imported(path: Path) -> Iterator[str]:
    """Every module, or name of a module, that a file imports from the package."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("duelist."))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("duelist"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_there_are_rooms() -> None:
    assert len(FILES) > 100


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_private_modules_are_used_in_their_own_room(path: Path) -> None:
    room = ".".join(("duelist", *path.relative_to(PACKAGE).parts[:-1]))
    for name in imported(path):
        parts = name.split(".")
        private = next((k for k, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")), None)
        if private is not None:
            owner = ".".join(parts[:private])
            assert room == owner or room.startswith(f"{owner}."), f"{name} is private to {owner}"


def test_array_types_are_defined_in_one_place() -> None:
    defined = [p for p in FILES if re.search(r"^(Floats|Ints) = NDArray", p.read_text(), flags=re.MULTILINE)]
    assert [p.relative_to(PACKAGE).as_posix() for p in defined if "reference" not in p.parts] == ["core/arrays.py"]


def test_a_class_name_has_one_meaning() -> None:
    defined: dict[str, list[str]] = {}
    for path in FILES:
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] != "reference":  # the references bear the names of what they check
            for name in re.findall(r"^class (\w+)", path.read_text(), flags=re.MULTILINE):
                defined.setdefault(name, []).append(relative.as_posix())
    assert {name: files for name, files in defined.items() if len(files) > 1} == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_stays_under_500_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500


def files_of(folder: Path) -> set[str]:
    """Return the files of a folder; a header and its source count as one."""
    found = {path.stem for path in folder.iterdir() if path.suffix in (".py", ".hpp", ".cpp", ".js")}
    return found - {"__init__", "__main__"}


def test_a_folder_has_at_most_a_dozen_files_or_a_reason() -> None:
    folders = {path for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__"} | {PACKAGE}
    sizes = {path.relative_to(PACKAGE).as_posix(): len(files_of(path)) for path in folders}
    sizes |= {f"native/{path.name}": len(files_of(path)) for path in NATIVE.iterdir() if path.is_dir()}
    assert {name for name, size in sizes.items() if size > MOST_FILES} == set(LARGER_FOLDERS)


def test_nothing_is_loose_at_the_top() -> None:
    names = {path.name for path in PACKAGE.iterdir() if path.is_file() and path.suffix != ".so"}
    assert names == {"__init__.py", "native.pyi", "py.typed"}


OTHER_TEST_FOLDERS = {
    "benchmarks": "tests of benchmarks/",
    "consumers": "other programs that open exported files",
    "docs": "the code of the documentation",
    "examples": "runs of examples/",
    "fuzzing": "generated input for every reader of files",
    "helpers": "what tests of several rooms share",
    "install": "install lines in empty environments",
    "policies/engine": "subjects of native/, which has no Python folders",
    "server/attacks": "requests that once hurt a server",
    "server/proxy": "the files of deploy/",
}
"""Folders of tests that are not folders of the package, and what they test."""


def test_tests_mirror_the_package() -> None:
    tests = Path(__file__).parent
    folders = {path.parent.relative_to(tests).as_posix() for path in tests.rglob("*.py")} - {"."}
    unknown = {name for name in folders if not (PACKAGE / name).is_dir()}
    assert {
        name for name in unknown if not any(f"{name}/".startswith(f"{each}/") for each in OTHER_TEST_FOLDERS)
    } == set()
