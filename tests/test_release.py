"""The checks of a release find what they are for, and what is fixed by the sources is in order."""

import re
import zipfile

import pytest
from scripts import release_check

PACKAGE = ["src/duelist/__init__.py", "src/duelist/core/duel.py"]
INFO = "duelist-0.1.0.dist-info"


@pytest.fixture
def sources(tmp_path):
    """The files of a release that is ready."""
    (tmp_path / "src/duelist").mkdir(parents=True)
    (tmp_path / "src/duelist/__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.0 (2026-03-01)\n\n- News.\n\n## 1.1.0 (2026-01-01)\n")
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nSource = "https://duelist.dev/source"\n')
    return tmp_path


def test_the_versions_of_this_tree_agree():
    assert release_check.version_problems() == []


def test_sources_that_are_ready_have_no_problem(sources):
    assert release_check.version_problems(sources) == []
    assert release_check.changelog_problems(sources) == []
    assert release_check.address_problems(sources) == []


@pytest.mark.parametrize("name", ["CITATION.cff", "CHANGELOG.md"])
def test_another_version_is_found(sources, name):
    path = sources / name
    path.write_text(path.read_text().replace("1.2.0", "1.3.0"))
    (problem,) = release_check.version_problems(sources)
    assert problem == f"{name} states 1.3.0, the package 1.2.0."


@pytest.mark.parametrize(
    "entry", ["## 1.2.0\n\n- News.\n", "## 1.2.0 (unreleased)\n\n- News.\n", "## 1.2.0 (2026-03-01)\n"]
)
def test_an_unfinished_changelog_is_found(sources, entry):
    (sources / "CHANGELOG.md").write_text(f"# Changelog\n\n{entry}")
    assert len(release_check.changelog_problems(sources)) == 1


def test_addresses_that_nobody_has_set_are_found(sources):
    (sources / "pyproject.toml").write_text('[project.urls]\nSource = "https://duelist.example.org/source"\n')
    assert len(release_check.address_problems(sources)) == 1


@pytest.fixture
def wheel(tmp_path):
    """Make a wheel with these files."""

    def made(*names):
        path = tmp_path / "duelist-0.1.0-cp312-abi3-manylinux_2_17_x86_64.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "")
        return path

    return made


def test_contents_of_a_wheel(wheel):
    info = [f"{INFO}/METADATA", f"{INFO}/entry_points.txt", f"{INFO}/licenses/LICENSE"]
    good = ["duelist/__init__.py", "duelist/core/duel.py", "duelist/native.abi3.so", *info]

    def problems(*names):
        return release_check.wheel_problems(wheel(*names), PACKAGE)

    assert problems(*good) == []
    (extra,) = problems(*good, "native_testing.abi3.so")
    assert "native_testing.abi3.so, which is no part of the package" in extra
    (missing,) = problems(*[name for name in good if "duel.py" not in name])
    assert "lacks duelist/core/duel.py" in missing
    assert "has 0 engines" in problems(*[name for name in good if "native" not in name])[0]
    assert "lacks licenses/LICENSE" in problems(*good[:-1])[0]


def test_files_of_a_release(tmp_path):
    assert "is empty" in release_check.dist_problems(tmp_path)[0]
    version = release_check.version()
    names = [
        f"duelist-{version}.tar.gz",
        *(f"duelist-{version}-{tag}-manylinux_2_17_x86_64.whl" for tag in release_check.PYTHONS),
    ]
    for name in names:
        (tmp_path / name).write_text("")
    assert release_check.dist_problems(tmp_path) == []
    (tmp_path / "duelist-0.0.9.tar.gz").write_text("")
    assert release_check.dist_problems(tmp_path) == ["duelist-0.0.9.tar.gz is not of version " + version + "."]
    (tmp_path / names[-1]).rename(tmp_path / f"duelist-{version}-cp312-abi3-linux_x86_64.whl")
    assert any("is not a manylinux wheel" in problem for problem in release_check.dist_problems(tmp_path))


def test_the_paper_cites_what_its_bibliography_has():
    paper = (release_check.ROOT / "paper.md").read_text()
    entries = re.findall(r"^@\w+\{(\w+),$", (release_check.ROOT / "paper.bib").read_text(), re.MULTILINE)
    assert set(re.findall(r"\[@(\w+)\]", paper)) == set(entries)
    assert len(entries) == len(set(entries))


def test_commands_of_the_paper_and_of_releases_exist():
    makefile = (release_check.ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE))
    for name in ("paper.md", "docs/contributing/releases.md"):
        named = re.findall(r"`make ([a-z0-9 -]+)`", (release_check.ROOT / name).read_text())
        assert named
        assert {target for words in named for target in words.split()} <= targets
