"""Write docs/evidence/security.md from what the long tests have recorded (`make evidence`).

python -m tests.helpers.evidence_page FOLDER PAGE
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from duelist.research.origin import Origin, made_by
from tests.helpers.evidence import read

Lines = list[dict[str, Any]]
HEAD: Final = """# Evidence of security and durability

`make evidence` writes this page from what the tests below recorded; no number was typed. A test records a measurement only after
all of its checks have passed, with the commit that it ran on, and `records/` keeps it, so that a later run can add to it (`KEEP=1`).
Each command takes the size of its run as an option (`make help`).
`SECURITY.md` lists the promises that these tests check, and `make attack` repeats the attacks that once worked.
"""

FINDINGS: Final = (
    (
        "a rater, or a stranger, sends JSON with very many unknown fields or wrong values",
        "explaining each of them stopped the server for seconds",
        "attacks/test_floods.py",
    ),
    (
        "a policy with many features chooses a pair",
        "it held the interpreter's lock, so all other requests waited",
        "policies/engine/test_threads.py",
    ),
    (
        "a rater compares the lengths of the encrypted addresses of pictures",
        "they were as long as the names of the files, and so told whose item it is",
        "attacks/test_raters.py",
    ),
    (
        "a reader, or a person with a shared link of results, reads the settings",
        "they had the completion codes, for which participants are paid",
        "attacks/test_access.py",
    ),
    (
        "a live system sends headers for ever",
        "it held its place among live pairs for longer than its timeout",
        "asking/test_live.py",
    ),
    (
        "a stranger asks for the API description, or for the health, without end",
        "each request encoded it again, or asked database and worker",
        "attacks/test_floods.py",
    ),
    (
        "a form has a broken header",
        "a library wrote lines into the log that were not JSON",
        "attacks/test_bodies.py",
    ),
    (
        "a rater's program answers the questionnaire, or asks live systems, before it has agreed to the consent form",
        "answers were stored, and live pairs given out",
        "participation/test_flow.py, routes/test_live.py",
    ),
)
"""Attack, what happened, and the test that repeats it."""
HELD: Final = (
    "Held: redirects, frames, parameters and completion codes of recruiting; sessions, CSRF and origins; scopes of every endpoint; media "
    "paths; bad HTTP; odd encodings and numbers in every parameter and body; times of raters' pairs by kind; event streams after "
    "revocation; and live systems that answer slowly, with too much, compressed, with redirects, or with something else than JSON."
)


def attacks() -> str:
    rows = [[attack, effect, ", ".join(f"`{each}`" for each in test.split(", "))] for attack, effect, test in FINDINGS]
    return (
        "## Attacks on the finished server\n\nThe finished server was attacked once more from its documentation alone. Each finding was "
        "fixed, and a test that failed before repeats it (`make attack`).\n\n"
        f"{table(['attack', 'what happened', 'test'], rows)}\n\n{HELD}\n"
    )


def total(lines: Lines, name: str) -> str:
    return f"{sum(line[name] for line in lines):,}"


def most(lines: Lines, name: str) -> float:
    return max(line[name] for line in lines)


def table(columns: list[str], rows: list[list[str]]) -> str:
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*head, *("| " + " | ".join(row) + " |" for row in rows)])


def kills(lines: Lines) -> str:
    rows = []
    for database in sorted({line["database"] for line in lines}):
        own = [line for line in lines if line["database"] == database]
        actions = f"{sum(sum(line['actions'].values()) for line in own):,}"
        rows.append(
            [
                database,
                total(own, "kills"),
                total(own, "acknowledged"),
                actions,
                f"{most(own, 'longest_restart'):.1f} s",
            ]
        )
    columns = ["database", "kills", "votes acknowledged", "other actions acknowledged", "longest restart"]
    return (
        "The server is killed with SIGKILL at random moments while eight raters vote, participants go from a recruiting link over consent, "
        "questionnaire and practice to a completion code, and owners import, archive, restore, delete, exclude, reinstate and change the "
        f"flow. No acknowledged vote or action was lost, and none counted twice.\n\n{table(columns, rows)}"
    )


def power_cuts(lines: Lines) -> str:
    return (
        "A simulated disk keeps, drops or tears every write that was not synced, at random points of a recorded run on SQLite. "
        f"In {total(lines, 'cuts')} power cuts within {total(lines, 'calls')} calls, with {total(lines, 'acknowledged')} acknowledgements, "
        "nothing acknowledged was lost."
    )


def failovers(lines: Lines) -> str:
    return (
        f"PostgreSQL was restarted as after a crash {total(lines, 'restarts')} times under a busy server: "
        f"{total(lines, 'acknowledged')} votes were acknowledged and kept; raters were told to wait (503 with Retry-After) "
        f"{total(lines, 'unavailable')} times, and voted again at most {most(lines, 'longest_recovery'):.1f} s after the database."
    )


def api(lines: Lines) -> str:
    last = lines[-1]
    return (
        f"schemathesis sent {last['requests']:,} valid and invalid requests to all {last['operations']} operations of the API except the "
        "endless event streams: no response had a status of 500 or above, and every response was as documented."
    )


def fuzzing(lines: Lines) -> str:
    rows = []
    for target in dict.fromkeys(line["target"] for line in lines):
        own = [line for line in lines if line["target"] == target]
        memory = "not measured" if own[0]["memory"] is None else f"{most(own, 'memory') / 1e6:.0f} MB"
        counts = (total(own, name) for name in ("cases", "accepted", "rejected"))
        rows.append([target, *counts, f"{most(own, 'slowest'):.2f} s", memory])
    columns = ["target", "cases", "accepted", "rejected", "slowest case", "growth of memory"]
    return (
        f"{total(lines, 'cases')} damaged inputs, each accepted or rejected with an error message: no crash, no case over "
        f"5 s of processor time or 500 MB. Cases are counted in pieces of up to 5,000, and a piece only if all of its cases passed: "
        f"what failed at first was fixed and has a test.\n\n{table(columns, rows)}"
    )


def slow_clients(lines: Lines) -> str:
    last = lines[-1]
    during, before = (f"{1000 * last[name]:.0f} ms" for name in ("p99_during", "p99_before"))
    return (
        f"For {last['seconds']} s, 200 slow or half-open connections were kept open ({last['connections']:,} in total, since the server "
        f"closes them) and strangers sent {last['sent'] / 1e6:,.0f} MB in {last['uploads']:,} rejected uploads. All of the "
        f"{last['requests']:,} requests of signed-in raters succeeded; 99 % took at most {during}, and {before} without the attack. "
        f"The machine has {last['processors']} processors, shared with the attack and with other work: its load average was "
        f"{last['load']:.1f}."
    )


SECTIONS: Final[dict[str, tuple[str, Callable[[Lines], str]]]] = {
    "crash-server": ("Killed servers", kills),
    "power-cut": ("Power cuts", power_cuts),
    "failover": ("A database that crashes", failovers),
    "test-api": ("Generated requests", api),
    "fuzz": ("Damaged files and snapshots", fuzzing),
    "slow-clients": ("Slow clients and rejected uploads", slow_clients),
}


def page(folder: Path, before: str) -> str:
    """Return the page. A section without new measurements stays as it was recorded on the page before."""
    parts = [HEAD, attacks()]
    for command, (title, section) in SECTIONS.items():
        lines = read(folder, command)
        new = f"## {title}\n\nNot measured.\n"
        if lines:
            sources = dict.fromkeys(Origin(line["commit"], line["at"][:10]) for line in lines)
            stamps = "\n".join(made_by(f"make {command}", source) for source in sources)
            new = f"## {title}\n\n{section(lines)}\n\n{stamps}\n"
        kept = re.search(rf"^## {title}\n.*?(?=\n## |\Z)", before, re.MULTILINE | re.DOTALL)
        parts.append(kept.group() if kept and not lines else new)
    return "\n".join(parts)


if __name__ == "__main__":
    target = Path(sys.argv[2])
    target.write_text(page(Path(sys.argv[1]), target.read_text()))
