"""Storages and studies for the tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from duelist.study import Study, create_study
from tests.helpers import postgres


@pytest.fixture(scope="session")
def server() -> Iterator[sa.URL]:
    with postgres.server() as url:
        yield url


@pytest.fixture(scope="session")
def own_server(request: pytest.FixtureRequest) -> Iterator[sa.URL]:
    """A server whose files and socket are at hand."""
    if "DUELIST_TEST_POSTGRES" not in os.environ:
        yield request.getfixturevalue("server")
        return
    with postgres.own_server() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'studies.db'}"


@pytest.fixture
def postgres_url(server: sa.URL) -> Iterator[str]:
    with postgres.database(server) as url:
        yield url


@pytest.fixture
def own_postgres_url(own_server: sa.URL) -> Iterator[str]:
    with postgres.database(own_server) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Every durable storage."""
    return request.getfixturevalue(f"{request.param}_url")


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def features(n_arms: int, dim: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_arms, dim)).astype(np.float32)


def path_of(url: str) -> Path:
    """The file of an SQLite storage."""
    return Path(sa.make_url(url).database or "")


def filled(name: str = "study", storage: str | None = "memory", n_arms: int = 6, **settings: object) -> Study:
    """A study with arms a0, a1, ... in which one rater may answer a pair as often as a test wants."""
    study = create_study(name, storage, **{"policy": "MaxInP", "repeat_pairs": 0, **settings})
    study.add_arms([f"a{k}" for k in range(n_arms)], features(n_arms))
    return study
