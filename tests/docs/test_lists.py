"""README.md is short, and pages list every policy and every kind of features."""

from pathlib import Path

from duelist.policies import POLICIES
from duelist.study.items.features import FEATURE_KINDS

ROOT = Path(__file__).parents[2]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def test_every_policy_is_listed():
    page = (ROOT / "docs" / "algorithms" / "index.md").read_text()
    assert not [name for name in POLICIES if f"`{name}`" not in page]


def test_the_guide_names_every_kind_of_features():
    page = (ROOT / "docs" / "guides" / "server.md").read_text()
    section = page[page.index("**Features** (") : page.index("## Access")]
    named = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
    assert named == [kind.kind for kind in FEATURE_KINDS]
