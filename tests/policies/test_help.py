"""`help` of a policy describes every parameter, and `random_state` takes what NumPy's users give."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.policies import BUILTIN_POLICIES


@pytest.mark.parametrize("name", BUILTIN_POLICIES)
def test_every_parameter_is_described_once(name):
    cls = BUILTIN_POLICIES[name]
    section = cls.__doc__.partition("Parameters\n----------\n")[2]
    described = [each for line in re.findall(r"^([a-z][\w, ]*)\n    \S", section, re.M) for each in line.split(", ")]
    assert sorted(described) == sorted(inspect.signature(cls).parameters)


@pytest.mark.parametrize("name", ["VACDB", "RUCB", "FGTS"])
def test_a_generator_is_a_random_state(name):
    cls: Any = BUILTIN_POLICIES[name]
    one, same = (cls(random_state=np.random.default_rng(3)) for _ in range(2))
    assert one.random_state == same.random_state
    rng = np.random.default_rng(3)
    first, second = cls(random_state=rng), cls(random_state=rng)
    assert one.random_state == first.random_state != second.random_state
    assert type(first).restore(first.snapshot()).snapshot() == first.snapshot()


def test_a_class_of_your_own_inherits_descriptions():
    class Mine(dl.VACDB):
        """One more."""

    assert "theta_bound" in Mine.__doc__
    assert Mine.__doc__.startswith("One more.\n\nParameters\n")


@pytest.mark.parametrize("name", dl.__all__)
def test_help_begins_with_a_sentence(name):
    described = getattr(dl, name)
    if not (inspect.isclass(described) or inspect.isfunction(described)):
        return
    first = (inspect.getdoc(described) or "").partition("\n")[0]
    assert first.endswith((".", ":")), first
