"""Errors: every class travels between processes, every code has its class, and every interface has its own hints."""

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import NamedTuple

import pytest

import duelist
from duelist.cli.hints import HINTS as SHELL
from duelist.core import errors
from duelist.core.errors import DuelistError, LimitReached, MissingExtra, StudyNotOpen, UnknownArm, error_class
from duelist.server.errors import HINTS as HTTP

SOURCE = Path(duelist.__file__).parent
CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DuelistError)]
REACHED = ("core", "study")
"""Where errors are made that both the shell and the server show."""
PYTHON = re.compile(r"`|\b(None|True|False)\b|\b\w+=|--\w")
"""Words of one interface: calls, arguments and values of Python, and options of the shell."""
ANYWHERE = re.compile(r"`(duelist|pip) [^`]*`|NAME:key=value,key=value")
"""What every interface says alike: something to run in a shell, and how settings are written."""


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_travels_whole(kind):
    error = kind("The value is 3.", "Give 4.", code=f"{kind.code}.finer", field="value", study="a; b", most=4)
    for other in (
        pickle.loads(pickle.dumps(error)),
        copy.copy(error),
        copy.deepcopy(error),
        error.replace(),
        DuelistError.from_dict(error.to_dict()),
    ):
        assert type(other) is kind
        assert other.to_dict() == error.to_dict()
        assert str(other) == "The value is 3. Give 4."


@pytest.mark.parametrize("kind", CLASSES)
def test_a_code_has_one_class(kind):
    assert "code" in vars(kind)
    assert error_class(kind.code) is kind
    assert error_class(f"{kind.code}.finer") is kind
    assert "." not in kind.code


def test_an_unknown_code_has_no_class():
    assert error_class("teapot") is None
    unknown = {"code": "teapot.small", "message": "No.", "hint": "", "field": None}
    assert type(DuelistError.from_dict(unknown)) is DuelistError


def test_a_cause_is_kept():
    def fail() -> None:
        try:
            raise KeyError("a")
        except KeyError as cause:
            raise UnknownArm("Arm 'a' is not in this study.") from cause

    with pytest.raises(KeyError) as caught:
        fail()
    assert isinstance(caught.value.__cause__, KeyError)
    assert str(caught.value) == "Arm 'a' is not in this study."
    assert caught.value.args == ("Arm 'a' is not in this study.", "")


def test_an_import_error_prints_plainly():
    assert str(MissingExtra("pandas is missing.", "Install it.")) == "pandas is missing. Install it."


def test_a_hint_is_filled_from_details():
    error = LimitReached("Full.", "Raise it.", code="limit_reached.total", study="{x}; y")
    assert error.hint_from({"limit_reached.total": "See {study}."}) == "See {x}; y."
    assert error.hint_from({"limit_reached.total": "See {study}."}, repr) == "See '{x}; y'."
    assert error.hint_from({"limit_reached.total": "See {rater}."}) == "Raise it.", "a detail is missing"
    assert error.hint_from({"limit_reached": "See."}) == "Raise it.", "another code"
    assert StudyNotOpen("Closed.").hint_from({"study_not_open": "Open it."}) == "Open it."


class Site(NamedTuple):
    """A place in the code that makes an error."""

    place: str
    hints: list[str]
    code: str
    details: set[str]


def _text(node: ast.expr | None) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _sites() -> Iterator[Site]:
    kinds = {kind.__name__: kind for kind in CLASSES}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        named: dict[str, list[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    named.setdefault(ast.unparse(target), []).append(_text(node.value))
        for node in ast.walk(tree):
            name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name in kinds:
                given = {keyword.arg or "": keyword.value for keyword in node.keywords}
                hint = node.args[1] if len(node.args) > 1 else given.get("hint")
                hints = named.get(hint.id, []) if isinstance(hint, ast.Name) else [_text(hint)]
                code = _text(given.get("code")) or kinds[name].code
                yield Site(f"{path}:{node.lineno}", hints, code, set(given) - {"code", "field", "hint"})


SITES = list(_sites())


def _is_reached(site: Site) -> bool:
    return Path(site.place).relative_to(SOURCE).parts[0] in REACHED


def _entries(table: dict[str, str], code: str) -> list[str]:
    """The entries of a code, one of whose parts may be a variable."""
    start, variable, _ = code.partition("{}")
    return [each for each in table if each == code or (variable and each.startswith(start))]


def test_every_error_is_made_of_sentences():
    assert len(SITES) > 500
    assert not [site.place for site in SITES for hint in site.hints if hint and hint[-1] not in ".!?}`)"]


def test_a_hint_in_the_words_of_python_has_one_in_those_of_shell_and_server():
    found = [
        site
        for site in SITES
        if _is_reached(site) and any(PYTHON.search(ANYWHERE.sub("", hint)) for hint in site.hints)
    ]
    assert len(found) > 20
    missing = [
        f"{each.place}: {each.hints}" for each in found if not all(_entries(t, each.code) for t in (SHELL, HTTP))
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("table", [SHELL, HTTP], ids=["shell", "http"])
def test_every_entry_is_used_and_can_be_filled(table):
    for code, template in table.items():
        sites = [site for site in SITES if code in _entries(table, site.code)]
        assert sites, f"no error has the code {code}"
        wanted = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
        assert all(wanted <= site.details for site in sites), code
        assert error_class(code) is not None
