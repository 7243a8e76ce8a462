"""The same bits, whichever vector unit runs and in how many threads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from duelist import native
from tests.policies.engine.everything import everything

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def expected():
    """What the version gives that this machine would choose."""
    return everything(threads=1)


@pytest.fixture
def vectors(request):
    """One version of the kernels."""
    before = native.vector_extension()
    native.use_vector_extension(request.param)
    yield request.param
    native.use_vector_extension(before)


def differing(found, expected):
    assert len(found) > 200
    return [name for name in expected if found[name] != expected[name]]


def test_there_is_something_to_compare():
    assert native.vector_extensions()[-1] == "baseline"
    assert native.vector_extension() in native.vector_extensions()


@pytest.mark.parametrize("vectors", native.vector_extensions(), indirect=True)
def test_every_version_of_the_kernels_gives_the_same_bits(vectors, expected):
    assert native.vector_extension() == vectors
    assert differing(everything(threads=1), expected) == []


@pytest.mark.parametrize("threads", [2, 3])
def test_every_number_of_threads_gives_the_same_bits(threads, expected):
    assert differing(everything(threads), expected) == []


def test_the_version_that_is_asked_for_before_loading_runs_and_gives_the_same_bits(expected):
    environment = os.environ | {"DUELIST_VECTORS": "baseline"}
    program = (
        "import json; from duelist import native; from tests.policies.engine.everything import everything; "
        "print(json.dumps([native.vector_extension(), everything(2)]))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    vectors, found = json.loads(told.stdout)
    assert vectors == "baseline"
    assert differing(found, expected) == []


def test_vectors_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="sse9"):
        native.use_vector_extension("sse9")
