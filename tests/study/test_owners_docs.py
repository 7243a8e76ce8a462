"""docs/guides/owners.md: its tables say what the code does."""

import re
from pathlib import Path

from duelist.study import GOALS, StudyState

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "owners.md").read_text()


def test_the_table_of_goals_is_theirs() -> None:
    for goal in GOALS.values():
        assert f"| `{goal.name}` | {goal.when} | {goal.policy} |" in PAGE


def test_every_state_has_its_row() -> None:
    rows = re.findall(r"^\| `study\.(\w+)\(\)` \| `duelist study ([\w-]+)` \| (\w+) \|", PAGE, flags=re.MULTILINE)
    assert [state for *_, state in rows] == [state.value for state in StudyState]
    assert all(python.replace("_", "-") == shell for python, shell, _ in rows)
