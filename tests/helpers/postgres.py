"""A PostgreSQL server for the tests: the one of $DUELIST_TEST_POSTGRES, or one of our own in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa


def binary(name: str) -> str:
    """The path of one of PostgreSQL's programs; its absence is a failure."""
    found = shutil.which(name) or max(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), default=None)
    if found is None:
        raise RuntimeError(
            f"the tests need PostgreSQL, and there is no {name}; run scripts/install-postgres, or set "
            "DUELIST_TEST_POSTGRES to the URL of a server on which databases may be created"
        )
    return os.path.realpath(found)


def _user() -> str | None:
    """PostgreSQL refuses to run as root; then it runs as its own user, or as nobody."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def server() -> Iterator[sa.URL]:
    """A running server."""
    given = os.environ.get("DUELIST_TEST_POSTGRES")
    if given:
        yield sa.make_url(given)
        return
    with own_server() as url:
        yield url


def restart(server: sa.URL) -> None:
    """Restart a server of `own_server` as after a crash: connections end at once, and it recovers from its log."""
    folder = server.query["host"]
    command = [binary("pg_ctl"), "-D", f"{folder}/data", "-l", f"{folder}/log", "-m", "immediate", "-w", "restart"]
    subprocess.run(command, user=_user(), cwd=folder, stdout=subprocess.DEVNULL, check=True)


@contextmanager
def own_server(durable: bool = False) -> Iterator[sa.URL]:
    """A running server in a temporary folder of this machine; one that waits for the disk if it shall be `durable`."""
    initdb, pg_ctl = binary("initdb"), binary("pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="duelist-pg-"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    data, log = folder / "data", folder / "log"

    def run(*command: str) -> None:
        done = subprocess.run(command, user=user, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(command)} failed: {done.stdout}{done.stderr}{log.read_text() if log.exists() else ''}"
            )

    run(initdb, "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions")
    # No port to fight over: the server listens on a socket in the folder only. The machine is not cut from its power
    # in these tests, so the server need not wait for the disk; benchmarks want it to.
    fsync = "on" if durable else "off"
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync={fsync} -c max_connections=120"
    run(pg_ctl, "-D", str(data), "-l", str(log), "-w", "-o", options, "start")
    try:
        yield sa.URL.create("postgresql+psycopg", "postgres", database="postgres", query={"host": str(folder)})
    finally:
        run(pg_ctl, "-D", str(data), "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def database(url: sa.URL) -> Iterator[str]:
    """A new, empty database on the server, dropped at the end."""
    name = f"duelist_{uuid.uuid4().hex}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
