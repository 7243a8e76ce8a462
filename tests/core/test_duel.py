"""The small values every layer speaks."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

import duelist as dl
from duelist.core.duel import check_outcome, check_weight


def short(value):
    return repr(value)[:30]


def test_a_duel_unpacks_in_the_order_asked():
    first, second = dl.Duel(3, 1, id=7)
    assert (first, second) == (3, 1)
    assert tuple(dl.Duel(3, 1)) == (3, 1)


def test_a_duel_is_a_value():
    assert dl.Duel(3, 1, 7) == dl.Duel(3, 1, 7)
    assert len({dl.Duel(3, 1, 7), dl.Duel(3, 1, 7), dl.Duel(1, 3, 7), dl.Duel(3, 1, 8)}) == 3


@pytest.mark.parametrize("name", ["first", "second", "id"])
def test_a_duel_cannot_be_changed(name):
    duel = dl.Duel(3, 1, 7)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(duel, name, 0)
    with pytest.raises((AttributeError, TypeError)):
        setattr(duel, "note", "slots leave no room for this")  # noqa: B010 - mypy knows that there is no such field


def test_a_duel_survives_copying_and_pickling():
    duel = dl.Duel(3, 1, 7)
    for again in (copy.deepcopy(duel), pickle.loads(pickle.dumps(duel)), dataclasses.replace(duel)):
        assert again == duel
    assert repr(duel) == "Duel(first=3, second=1, id=7)"


def test_a_duel_of_no_policy_has_no_id():
    assert dl.Duel(0, 1).id == -1


@pytest.mark.parametrize(("first", "second", "is_self_duel"), [(2, 2, True), (2, 3, False), (0, 0, True)])
def test_self_duel(first, second, is_self_duel):
    assert dl.Duel(first, second).is_self_duel is is_self_duel


def test_names_of_outcomes():
    assert (dl.FIRST_WON, dl.SECOND_WON, dl.TIE) == (1.0, 0.0, 0.5)
    for outcome in (dl.FIRST_WON, dl.SECOND_WON, dl.TIE):
        assert check_outcome(outcome) == outcome


@pytest.mark.parametrize(
    "outcome", [0, 1, 0.0, 1.0, 0.5, 0.25, True, False, np.float32(0.5), np.int8(1), np.bool_(True), np.array(1.0)]
)
def test_outcomes(outcome):
    value = check_outcome(outcome)
    assert type(value) is float
    assert value == outcome


@pytest.mark.parametrize("outcome", [2, -1, 1 + 1e-9, math.nan, math.inf, None, "first", [1], 1j, 10**400], ids=short)
def test_bad_outcomes(outcome):
    with pytest.raises(dl.InvalidInput) as caught:
        check_outcome(outcome)
    assert f"outcome is {outcome!r}. Give a number from 0 to 1" in str(caught.value)


@pytest.mark.parametrize("weight", [1, 2.5, 1e-300, 1e15, True, np.float32(0.5), np.int64(3)])
def test_weights(weight):
    value = check_weight(weight)
    assert type(value) is float
    assert value == weight


@pytest.mark.parametrize("weight", [0, -1, -0.0, math.nan, math.inf, -math.inf, None, "heavy", [1], 10**400], ids=short)
def test_bad_weights(weight):
    with pytest.raises(dl.InvalidInput) as caught:
        check_weight(weight)
    assert f"weight is {weight!r}. Give a positive finite number" in str(caught.value)


@pytest.mark.parametrize("weight", [1.01e15, 1e200, 10**16])
def test_weights_beyond_what_sums_hold(weight):
    with pytest.raises(dl.InvalidInput) as caught:
        check_weight(weight)
    assert str(caught.value) == f"weight is {weight!r}. Give at most 1e+15."


def test_errors_are_what_python_programmers_catch():
    for error, builtin in [
        (dl.InvalidInput, ValueError),
        (dl.InvalidSnapshot, ValueError),
        (dl.UnknownDuel, KeyError),
    ]:
        assert issubclass(error, dl.DuelistError)
        assert issubclass(error, builtin)


def test_unknown_duel_reads_like_a_sentence():
    assert str(dl.UnknownDuel("duel 3 was told already")) == "duel 3 was told already"
