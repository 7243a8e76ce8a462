"""The generated pages of docs/evidence: what each answers, its command, and whether its inputs have changed since.

    python -m benchmarks.evidence check [--strict]    list pages that are older than their inputs
    python -m benchmarks.evidence index               write docs/evidence/index.md

A change of comments or docstrings alone does not count. `--strict` fails if a page or the overview is old; without it only pages
without a row in `PAGES`, rows without a page, and pages without an origin fail.
"""

from __future__ import annotations

import argparse
import ast
import functools
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks import DOCS, ROOT
from duelist.research.origin import Origin, origins

INDEX: Final = DOCS / "index.md"
NAMED: Final = 3
"""Changed inputs that the check names."""
_GENERATED: Final = re.compile(r"^(?:Made|Generated) by `", re.MULTILINE)
ENGINE: Final = ("native",)
POLICIES: Final = ("native", "src/duelist/policies")
RUNS: Final = (*POLICIES, "src/duelist/simulation")
MODEL: Final = ("src/duelist/model",)
STUDY: Final = ("src/duelist/study",)
SERVER: Final = ("src/duelist/server", *STUDY)
PAPER: Final = ("src/duelist/research/paper", "src/duelist/research/experiments")
GOALS: Final = "benchmarks/quality/goals"


class Evidence(NamedTuple):
    """A page, the question that it answers, and the paths that its numbers depend on."""

    page: str
    """Below docs/."""
    command: str
    question: str
    inputs: tuple[str, ...]


PAGES: Final = (
    Evidence("evidence/reproduction.md", "make figures", "Do the paper's claims hold?", (*PAPER, *RUNS)),
    Evidence("evidence/frontier.md", "make frontier", "Which policy has the least regret?", (*PAPER, *RUNS)),
    Evidence(
        "evidence/long-horizons.md",
        "make bench-horizons",
        "How does regret grow up to a million rounds?",
        ("benchmarks/quality/horizons.py", *RUNS),
    ),
    Evidence(
        "evidence/variance.md",
        "make bench-variance",
        "Which policies gain where votes vary less?",
        ("benchmarks/quality/variance.py", *RUNS),
    ),
    Evidence(
        "evidence/radius-coverage.md",
        "make bench-radius",
        "Does the tight radius hold?",
        ("benchmarks/quality/radius.py", *RUNS),
    ),
    Evidence(
        "evidence/bonus.md", "make bench-bonus", "Which bonus should a pair have?", ("benchmarks/quality/bonus.py",)
    ),
    Evidence(
        "evidence/cited.md",
        "make bench-cited",
        "How do the policies of cited papers do?",
        ("benchmarks/quality/cited.py", *RUNS),
    ),
    Evidence(
        "evidence/classic.md",
        "make bench-classic",
        "How do the policies that count wins do?",
        ("benchmarks/quality/classic.py", *RUNS),
    ),
    Evidence(
        "evidence/job-serve.md",
        "make bench-jobs",
        "Which policy shows the best arms, on data that it was not tuned on?",
        ("benchmarks/quality/jobs", GOALS, *POLICIES, *MODEL),
    ),
    Evidence(
        "evidence/job-best.md",
        'make bench-jobs JOBS="--jobs best"',
        "Which policy names the best arm after few votes, on data that it was not tuned on?",
        ("benchmarks/quality/jobs", GOALS, *POLICIES, *MODEL),
    ),
    Evidence(
        "evidence/goal-rank.md",
        "make bench-rank",
        "How many votes does it take to rank the arms?",
        (GOALS, *RUNS, *MODEL),
    ),
    Evidence(
        "evidence/goal-learn.md",
        "make bench-learn",
        "What do designed batches gain for reward models?",
        (GOALS, *RUNS, *MODEL),
    ),
    Evidence(
        "evidence/raw-features.md",
        "make bench-raw-features",
        "What happens on features as people have them?",
        ("benchmarks/quality/raw_features", *RUNS, *MODEL),
    ),
    Evidence(
        "evidence/arm-effects.md",
        "make bench-arm-effects",
        "What do arm effects cost and gain?",
        ("benchmarks/quality/arm_effects.py", *POLICIES, *MODEL),
    ),
    Evidence(
        "evidence/stopping.md",
        "make bench-stopping",
        "How often is a stopping decision wrong where features do not explain the votes?",
        ("benchmarks/quality/stopping.py", "benchmarks/quality/stopping_bound.py", *POLICIES, *MODEL),
    ),
    Evidence(
        "evidence/ties.md",
        "make bench-ties",
        "What do policies gain if they learn ties by Davidson's model?",
        ("benchmarks/quality/ties.py", *POLICIES, *MODEL),
    ),
    Evidence(
        "evidence/published-fits.md",
        "make bench-published-fits",
        "Do other programs get the same estimates from one log?",
        ("benchmarks/quality/published_fits.py", "benchmarks/quality/peer_fits.py", *MODEL),
    ),
    Evidence(
        "evidence/intervals.md",
        "make bench-intervals",
        "Do the leaderboard's intervals hold?",
        ("benchmarks/quality/intervals.py", *MODEL),
    ),
    Evidence(
        "evidence/system-intervals.md",
        "make bench-system-intervals",
        "Do intervals of systems on prompts hold?",
        ("benchmarks/quality/system_intervals.py", *MODEL),
    ),
    Evidence(
        "evidence/systems.md",
        "make bench-systems",
        "How should a study of systems choose pairs and prompts?",
        ("benchmarks/quality/systems.py", *POLICIES, *MODEL, "src/duelist/study/asking"),
    ),
    Evidence(
        "evidence/comparison.md",
        "make bench-comparison",
        "How does duelist compare with other programs?",
        ("benchmarks/comparison", *POLICIES, *MODEL),
    ),
    Evidence(
        "evidence/gallery.md",
        "make gallery",
        "What do the pictures look like?",
        (
            "benchmarks/gallery.py",
            "examples",
            "src/duelist/core/figures.py",
            "src/duelist/simulation/regret_plot.py",
            "src/duelist/study/analysis/plots",
            "src/duelist/study/planning/figure.py",
        ),
    ),
    Evidence(
        "evidence/solvers.md",
        "make bench-solvers",
        "Which solver is fast, and which is exact?",
        ("benchmarks/speed/solvers.py", "native/model", "native/numerics", "src/duelist/model/fit.py"),
    ),
    Evidence(
        "evidence/benchmarks.md",
        "make bench",
        "How fast are policies and simulations?",
        ("benchmarks/__main__.py", "benchmarks/speed", *RUNS),
    ),
    Evidence(
        "evidence/benchmarks-study.md",
        "make bench-study",
        "How fast are ask and tell of a durable study?",
        ("benchmarks/study.py", *POLICIES, *MODEL, *STUDY),
    ),
    Evidence(
        "evidence/benchmarks-analyses.md",
        "make bench-analyses",
        "How fast are analyses of 100,000 votes?",
        ("benchmarks/analyses.py", *MODEL, *STUDY),
    ),
    Evidence(
        "evidence/benchmarks-arena-log.md",
        "make bench-arena-log",
        "How fast is the leaderboard of 1,000,000 votes?",
        ("benchmarks/speed/arena_log.py", *MODEL, *STUDY),
    ),
    Evidence(
        "evidence/benchmarks-files.md",
        "make bench-files",
        "How fast are votes imported and exported?",
        ("benchmarks/files.py", *POLICIES, *STUDY),
    ),
    Evidence(
        "evidence/benchmarks-raters.md",
        "make bench-raters",
        "How long do raters wait for a study in Python?",
        ("benchmarks/raters.py", *POLICIES, *STUDY),
    ),
    Evidence(
        "evidence/benchmarks-server.md",
        "make bench-server",
        "How long do raters wait for the server?",
        ("benchmarks/server.py", *POLICIES, *SERVER),
    ),
    Evidence(
        "evidence/benchmarks-pages.md",
        "make bench-pages",
        "How long does an owner wait for the dashboard?",
        ("benchmarks/pages.py", *SERVER),
    ),
    Evidence(
        "evidence/raters.md",
        "make bench-careless-raters CARELESS='--runs 6 --logs 100 --real llmfao'",
        "What do careless raters cost, and who is flagged?",
        ("benchmarks/quality/careless_raters.py", "src/duelist/study/analysis/raters", *MODEL, *POLICIES),
    ),
    Evidence(
        "evidence/planner.md",
        "make bench-planner",
        "Do studies take as many votes as planned?",
        (
            "benchmarks/quality/planner.py",
            *MODEL,
            *POLICIES,
            "src/duelist/study/planning",
            "src/duelist/study/analysis/fit",
        ),
    ),
    Evidence(
        "evidence/benchmarks-phone.md",
        "make bench-phone",
        "How fast is the rater page on a slow phone?",
        ("benchmarks/phone.py", "src/duelist/server/pages", "src/duelist/server/routes"),
    ),
    Evidence(
        "evidence/benchmarks-scale.md",
        "make bench-scale",
        "What grows with the number of raters, studies and votes?",
        ("benchmarks/scale.py", *POLICIES, *STUDY),
    ),
    Evidence(
        "evidence/benchmarks-cluster.md",
        "make bench-cluster",
        "What happens when parts of a cluster are killed?",
        ("benchmarks/cluster.py", "src/duelist/research/experiments"),
    ),
    Evidence(
        "evidence/security.md",
        "make evidence",
        "What do attacks, crashes and damaged files do?",
        ("src/duelist/server", "src/duelist/study/storage", "src/duelist/study/formats", "tests/fuzzing"),
    ),
    Evidence(
        "evidence/gpu.md",
        "python3 -m benchmarks.speed.gpu --library",
        "How fast is the search for pairs on a GPU?",
        ("benchmarks/speed/gpu.py", "src/duelist/gpu"),
    ),
)


class Status(NamedTuple):
    """The state of a page."""

    evidence: Evidence
    made: tuple[Origin, ...]
    changed: tuple[str, ...]
    """Inputs that have changed since, at most `NAMED` for each commit."""
    problem: str = ""


# -- the check ---------------------------------------------------------------------------


def git(*arguments: str) -> str | None:
    """Return the output of git, or None if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def status(evidence: Evidence) -> Status:
    """Compare the inputs of a page with those at the commits that it names."""
    path = DOCS.parent / evidence.page
    made = tuple(origins(path.read_text())) if path.exists() else ()
    if not made:
        return Status(evidence, (), (), "no origin" if path.exists() else "no page")
    commits = {each.commit.removesuffix("-dirty") for each in made}
    if unknown := sorted(commit for commit in commits if git("cat-file", "-e", f"{commit}^{{commit}}") is None):
        return Status(evidence, made, (), f"unknown commit {', '.join(unknown)}")
    changed = [name for commit in sorted(commits) for name in changes(commit, evidence.inputs)]
    return Status(evidence, made, tuple(dict.fromkeys(changed)))


@functools.cache
def changes(commit: str, inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first few files below `inputs` whose code differs from that of a commit: it takes minutes to compare all."""
    names = (git("diff", "--name-only", "--no-renames", commit, "--", *inputs) or "").splitlines()
    names.sort(key=lambda name: not name.startswith("benchmarks/"))  # the page's own program first
    different = (name for name in names if is_code(name) and code_then(commit, name) != code_now(name))
    return tuple(itertools.islice(different, NAMED))


def is_code(name: str) -> bool:
    return Path(name).suffix in (".py", ".hpp", ".cpp", ".js", ".css", ".html", ".txt", ".md")


@functools.cache
def code_then(commit: str, name: str) -> str:
    return without_comments(git("show", f"{commit}:{name}") or "", name)


@functools.cache
def code_now(name: str) -> str:
    path = ROOT / name
    return without_comments(path.read_text() if path.exists() else "", name)


def without_comments(text: str, name: str) -> str:
    """Return what a file says to a computer: equal for files that differ in comments, docstrings and layout.

    >>> without_comments("x = 1  # one", "a.py") == without_comments("x   = 1", "a.py")
    True
    """
    if name.endswith(".py"):
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                node.body = [each for each in node.body if not _is_text(each)]
        return ast.dump(tree)
    if name.endswith((".hpp", ".cpp", ".js", ".css")):
        text = re.sub(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def unlisted() -> list[str]:
    """Return the generated pages below docs/ that have no row."""
    rows = {each.page for each in PAGES}
    pages = {path.relative_to(DOCS.parent).as_posix(): path for path in DOCS.parent.rglob("*.md") if path != INDEX}
    return sorted(name for name, path in pages.items() if name not in rows and _GENERATED.search(path.read_text()))


def check(strict: bool) -> bool:
    """Print the state of every page; return whether all are acceptable."""
    found = [status(each) for each in PAGES]
    width = max(len(each.evidence.page) for each in found)
    for each in found:
        print(f"{each.evidence.page:{width}}  {said(each)}")
    for name in unlisted():
        print(f"{name}: no row in benchmarks/evidence.py")
    old, broken = sum(bool(each.changed) for each in found), sum(bool(each.problem) for each in found)
    print(
        f"\n{len(found)} pages: {len(found) - old - broken} current, {old} older than their inputs, {broken} unclear."
    )
    if not INDEX.exists() or INDEX.read_text() != index():
        print("docs/evidence/index.md is outdated: run `make evidence-index`.")
        broken += strict
    return not broken and not unlisted() and not (strict and old)


def said(status: Status) -> str:
    """Describe the state of a page."""
    if status.problem:
        return status.problem
    when = f"{oldest(status.made).commit} ({oldest(status.made).date})"
    if not status.changed:
        return f"current, from {when}"
    more = ", ..." if len(status.changed) >= NAMED else ""
    return f"OLD, from {when}; changed since: {', '.join(status.changed[:NAMED])}{more}"


def oldest(made: tuple[Origin, ...]) -> Origin:
    return min(made, key=lambda each: each.date)


# -- the overview ------------------------------------------------------------------------

HEAD: Final = """# Evidence

Every number of the documentation was measured by a command, and every page here is written by one. A page names its command, the
commit of the code, and the date. `make evidence-check` lists the pages whose inputs have changed since; comments do not count.
`make evidence-index` writes this page.

| page | question | command | time | commit | date |
|---|---|---|---|---|---|
"""


def index() -> str:
    """Return the overview."""
    return HEAD + "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    times = times_of_help((ROOT / "Makefile").read_text())
    for each in PAGES:
        path = DOCS.parent / each.page
        if not path.exists():  # its command has not run yet, as the check says
            continue
        text = path.read_text()
        title = text.partition("\n")[0].removeprefix("# ")
        made = tuple(origins(text))
        link = path.name if path.parent == DOCS else f"../{each.page}"
        spent = made[0].seconds if len(made) == 1 else None
        time = times.get(each.command, "") if spent is None else duration(spent)
        first = oldest(made) if made else Origin("", "")
        yield f"| [{title}]({link}) | {each.question} | `{each.command}` | {time} | {first.commit} | {first.date} |"


def times_of_help(makefile: str) -> dict[str, str]:
    """Return the times that the help of targets names.

    >>> times_of_help("bench-ties: for-tests ## Compare fits for ties (10 minutes). Options: RUNS=...")
    {'make bench-ties': '10 minutes'}
    """
    found = re.findall(r"^([a-z-]+):.*? ## .*?\(([^)]*(?:minute|hour)[^)]*)\)", makefile, re.MULTILINE)
    return {f"make {target}": time for target, time in found}


def duration(seconds: int) -> str:
    """Format processor time.

    >>> duration(48), duration(330)
    ('48 CPU seconds', '6 CPU minutes')
    """
    return f"{seconds} CPU seconds" if seconds < 100 else f"{seconds / 60:,.0f} CPU minutes"


def main() -> None:
    """Check the pages, or write their overview."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check")
    checking.add_argument("--strict", action="store_true", help="fail if a page is older than its inputs")
    commands.add_parser("index")
    given = parser.parse_args()
    if given.command == "check":
        sys.exit(not check(given.strict))
    INDEX.write_text(index())


if __name__ == "__main__":
    main()
