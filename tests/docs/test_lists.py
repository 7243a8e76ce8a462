"""README.md is short, and docs/algorithms/index.md lists every policy."""

from pathlib import Path

from duelist.policies import POLICIES

ROOT = Path(__file__).parents[2]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def test_every_policy_is_listed():
    page = (ROOT / "docs" / "algorithms" / "index.md").read_text()
    assert not [name for name in POLICIES if f"`{name}`" not in page]
