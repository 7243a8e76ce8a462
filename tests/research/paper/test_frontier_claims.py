"""Claims of the new policies on results made up by hand: each can hold, each can fail, and the numbers are told."""

import numpy as np
import pytest

import duelist as dl
from duelist.research.experiments.lab import Lab, Result
from duelist.research.experiments.reports.findings import BEYOND, DOES_NOT_HOLD, HOLDS, Findings
from duelist.research.paper import frontier, frontier_claims
from duelist.research.paper.regret_bound import least_regret
from duelist.research.paper.stopping import Race, race
from duelist.simulation.environments import Hypercube

SCALES = (0.5, 1.0, 2.0, 4.0)
RUNS = 40


def result(mean, worst=None):
    """A result with this mean regret, spread a little over runs; `worst`: the last run over the median."""
    final = mean * (1.0 + 0.02 * np.linspace(-1.0, 1.0, RUNS))
    if worst is not None:
        final[-1] = worst * np.median(final)
    return Result(**{name: final if name == "final" else np.zeros(1) for name in Result.__dataclass_fields__})


def panels(mine, tuned=None, worst=None):
    """LocalPairUCB with these means at the four scales, and two tuned policies."""
    tuned = tuned or {"MaxPairUCB": (100, 100, 100, 100), "MaxInP": (150, 150, 150, 150)}
    return {
        f"scale {s:g}": {
            "LocalPairUCB": result(mine[k], worst),
            **{f"{name}, tuned": result(means[k]) for name, means in tuned.items()},
        }
        for k, s in enumerate(SCALES)
    }


class KnownLab(Lab):
    """A lab that has played every cell already: the result of one is a function of its policy and its world."""

    def __init__(self, folder, known):
        super().__init__(folder)
        self.known, self.seen = known, []

    def run(self, label, cells):
        self.seen += (wanted := list(cells))
        return [self.known(cell) for cell in wanted]


@pytest.fixture
def outcome():
    return Findings("made up", "made up", "made up")


# -- the interval ------------------------------------------------------------------------


def test_a_ratio_of_means_lies_in_its_interval():
    rng = np.random.default_rng(0)
    theirs = rng.gamma(4.0, size=400)
    mine = 0.5 * theirs * rng.uniform(0.8, 1.2, 400)
    ratio, low, high = frontier_claims.ratio_interval(mine, theirs)
    assert ratio == pytest.approx(mine.mean() / theirs.mean(), rel=1e-12)
    assert low < ratio < high
    # The delta method: Var(ratio) ~ Var(mine - ratio theirs) / (n mean^2).
    error = (mine - ratio * theirs).std() / (np.sqrt(400) * theirs.mean())
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1.0, abs=0.15)
    assert frontier_claims.ratio_interval(mine, theirs) == (ratio, low, high)


def test_a_ratio_of_proportional_runs_has_no_width():
    assert frontier_claims.ratio_interval(3.0 * np.arange(1.0, 9.0), np.arange(1.0, 9.0)) == pytest.approx(
        (3.0, 3.0, 3.0)
    )


# -- against the paper's policies --------------------------------------------------------


def test_the_best_tuned_policy_is_best_over_all_scales_in_units_of_each():
    # The regret of B sums to less, but not in units of theta*.
    tuned = {"A": (50, 100, 200, 400), "B": (100, 200, 200, 240)}
    assert frontier_claims.best_tuned(panels((1, 1, 1, 1), tuned)) == "A, tuned"
    assert frontier_claims.best_tuned(panels((1, 1, 1, 1), {"B": tuned["B"], "C": (99, 99, 99, 99)})) == "C, tuned"


@pytest.mark.parametrize("scale", SCALES)
def test_a_default_holds_up_to_the_wanted_share(scale):
    wanted = frontier_claims.WANTED[scale]
    for factor, conclusion in ((0.96, HOLDS), (1.04, DOES_NOT_HOLD)):
        claim = frontier_claims.against_best(panels([100.0 * wanted * factor] * 4), scale)
        assert (claim.section, claim.conclusion) == (BEYOND, conclusion)
        assert f"{wanted * factor:.2f} [" in claim.figure
        assert f"({100 * wanted * factor:.0f} against 100)" in claim.figure
        assert "MaxPairUCB, tuned" in claim.setting
        assert f"at most {wanted:g} of" in claim.claim


@pytest.mark.parametrize("spoiled", [None, *SCALES])
def test_against_the_plain_setting_all_scales_must_hold(tmp_path, spoiled):
    mine = [100.0 * frontier_claims.WANTED[s] * (1.1 if s == spoiled else 0.9) for s in SCALES]
    good = {s: 80.0 * frontier_claims.WANTED[s] for s in SCALES}

    def known(cell):
        bold = isinstance(cell.policy, dl.LocalPairUCB)
        return result(good[cell.environment.scale], worst=7.0) if bold else result(100.0)

    lab = KnownLab(tmp_path, known)
    default, bold = frontier_claims.against_plain(lab, panels(mine))
    assert default.conclusion == (HOLDS if spoiled is None else DOES_NOT_HOLD)
    assert [cell.environment.scale for cell in lab.seen] == 2 * list(SCALES)
    assert {(cell.policy.ridge, cell.seed) for cell in lab.seen[:4]} == {(1.0, frontier_claims.SEED)}
    assert lab.seen[0].policy.radius == pytest.approx(np.sqrt(5 * np.log(4000)))
    assert bold.conclusion == HOLDS
    assert bold.figure.endswith("the worst run is 7.0, 7.0, 7.0, 7.0 times the median")
    assert {(type(cell.policy), cell.policy.scale) for cell in lab.seen[4:]} == {
        (dl.LocalPairUCB, frontier_claims.BOLD)
    }


def test_a_bold_setting_can_fail_too(tmp_path):
    lab = KnownLab(tmp_path, lambda _cell: result(100.0))
    default, bold = frontier_claims.against_plain(lab, panels((10, 10, 10, 10)))
    assert (default.conclusion, bold.conclusion) == (HOLDS, DOES_NOT_HOLD)


# -- the ideal ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "conclusion"),
    [((1.2, 1.2, 9.0, 9.0), HOLDS), ((1.3, 1.1, 1.1, 1.1), DOES_NOT_HOLD), ((1.1, 1.3, 1.1, 1.1), DOES_NOT_HOLD)],
)
def test_near_the_ideal_is_about_the_two_smaller_scales(tmp_path, monkeypatch, outcome, times, conclusion):
    monkeypatch.setattr(frontier_claims, "HORIZON", 12)
    least = {s: least_regret(5, s, 12) for s in SCALES}

    def known(cell):
        scale = cell.environment.scale
        assert (cell.environment.prior, cell.environment.dim, cell.horizon) == ("normal", 5, 12)
        mine = isinstance(cell.policy, dl.LocalPairUCB)
        return result(least[scale] * (times[SCALES.index(scale)] if mine else 2.0))

    tuned = {"MaxPairUCB": lambda horizon: dl.MaxPairUCB(horizon=horizon)}
    claim = frontier_claims.near_the_ideal(KnownLab(tmp_path, known), tuned, "MaxPairUCB, tuned", outcome)
    assert claim.conclusion == conclusion
    table = outcome.tables["ideal"]
    for row, scale, share in zip(table.rows, SCALES, times, strict=True):
        found = dict(zip(table.columns, row, strict=True))
        assert found["scale"] == f"{scale:g}"
        assert found["least possible"] == pytest.approx(least[scale], abs=0.006)
        assert found["LocalPairUCB"] == pytest.approx(share * least[scale], abs=0.006)
        assert found["MaxPairUCB, tuned"] == pytest.approx(2.0 * least[scale], abs=0.006)
        assert found["least / tuned"] == 0.5
        assert f"scale {scale:g}: {share:.2f} times" in claim.figure


# -- tails -------------------------------------------------------------------------------


@pytest.mark.parametrize(("worst", "conclusion"), [(4.9, HOLDS), (5.1, DOES_NOT_HOLD)])
def test_a_tail_is_heavy_from_five_medians_on(tmp_path, worst, conclusion):
    mine = panels((100, 100, 100, 100), worst=worst)
    claim = frontier_claims.tail(mine)
    assert claim.conclusion == conclusion
    assert f"scale 4: {worst:.1f}" in claim.figure
    lab = KnownLab(tmp_path, lambda _cell: result(200.0, worst))
    claim = frontier_claims.cautious(lab, panels((100, 100, 100, 100)))
    assert claim.conclusion == conclusion
    assert f"scale 2: {worst:.1f}, for 2." in claim.figure
    assert {cell.policy.scale for cell in lab.seen} == {frontier_claims.CAUTIOUS}


# -- coverage, flipped votes, stopping ---------------------------------------------------


@pytest.mark.parametrize(("misses", "conclusion"), [(0, HOLDS), (10, HOLDS), (11, DOES_NOT_HOLD)])
def test_coverage_may_miss_once_in_twenty(tmp_path, monkeypatch, misses, conclusion):
    monkeypatch.setattr(frontier_claims, "_largest_error", lambda number: 1.5 if number < misses else 0.5)
    claim = frontier_claims.coverage(Lab(tmp_path))
    assert claim.conclusion == conclusion
    assert f"covered in {1 - misses / 200:.1%}" in claim.figure


def test_an_error_in_units_of_the_radius_is_small_and_reproducible(monkeypatch):
    monkeypatch.setattr(frontier_claims, "COVERAGE_ROUNDS", 40)
    errors = [frontier_claims._largest_error(number) for number in (0, 1, 0)]
    assert errors[0] == errors[2] != errors[1]
    assert all(0.0 < error < 1.0 for error in errors)


@pytest.mark.parametrize(("mine", "conclusion"), [(90.0, HOLDS), (100.0, DOES_NOT_HOLD), (110.0, DOES_NOT_HOLD)])
def test_robust_must_be_surely_less(tmp_path, mine, conclusion):
    lab = KnownLab(tmp_path, lambda cell: result(mine if isinstance(cell.policy, dl.RCDB) else 100.0))
    claim = frontier_claims.robust(lab)
    assert claim.conclusion == conclusion
    assert f"({mine:.0f} against 100)" in claim.figure
    assert [cell.environment.first for cell in lab.seen] == [400, 400]


@pytest.mark.parametrize(
    ("wrong", "share", "conclusion"),
    [(0, 0.3, HOLDS), (50, 0.5, HOLDS), (51, 0.3, DOES_NOT_HOLD), (0, 0.6, DOES_NOT_HOLD)],
)
def test_stopping_must_be_right_and_soon(tmp_path, monkeypatch, outcome, wrong, share, conclusion):
    votes = 16.0 * np.arange(1, frontier_claims.STOP_RUNS + 1)

    def made_up(policies, runs, delta, seed, _report):
        assert (runs, delta, seed) == (frontier_claims.STOP_RUNS, frontier_claims.DELTA, frontier_claims.SEED)
        return {
            name: Race(share * votes, wrong, 2) if name == "BestArmPair" else Race(votes, 7, 1) for name in policies
        }

    monkeypatch.setattr(frontier_claims, "race", made_up)
    claim = frontier_claims.stopping(Lab(tmp_path), outcome)
    assert claim.conclusion == conclusion
    assert f"wrong in {wrong / 1000:.1%} (uniform: 0.7%), {share:.2f} [" in claim.figure
    rows = {row[0]: row[1:] for row in outcome.tables["stopping"].rows}
    assert rows["BestArmPair"][:4] == (1000, wrong, 2, pytest.approx(share * votes.mean(), abs=0.06))
    assert rows["UniformPair"][:3] == (1000, 7, 1)


def test_a_race_is_run_on_the_same_worlds_and_counts_every_run():
    told = []
    lanes = {"a": dl.UniformPair(), "b": dl.UniformPair()}
    found = race(lanes, 3, 0.3, 5, lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    np.testing.assert_array_equal(found["a"].votes, found["b"].votes)
    assert (found["a"].votes >= 16).all()
    assert found["a"].wrong + found["a"].undecided <= 3


# -- all of it ---------------------------------------------------------------------------


def test_all_claims_come_with_a_conclusion_and_their_tables(tmp_path, monkeypatch, outcome):
    monkeypatch.setattr(frontier_claims, "HORIZON", 12)
    monkeypatch.setattr(frontier_claims, "COVERAGE_RUNS", 2)
    monkeypatch.setattr(frontier_claims, "COVERAGE_ROUNDS", 8)
    monkeypatch.setattr(frontier_claims, "STOP_RUNS", 2)
    monkeypatch.setattr(
        frontier_claims, "race", lambda policies, *_rest: {n: Race(np.full(2, 64.0), 0, 0) for n in policies}
    )
    tuned = {name: lambda horizon: dl.MaxPairUCB(horizon=horizon) for name in ("MaxPairUCB", "MaxInP")}
    lab = KnownLab(tmp_path, lambda _cell: result(100.0))
    claims = frontier_claims.claims(lab, panels((70, 70, 70, 70)), tuned, outcome)
    assert len(claims) == 4 + 8
    assert {claim.conclusion for claim in claims} == {HOLDS, DOES_NOT_HOLD}
    assert all(claim.section == BEYOND and claim.figure and claim.setting for claim in claims)
    assert set(outcome.tables) == {"ideal", "stopping"}


# -- the tables of the frontier ----------------------------------------------------------


def test_the_frontier_divides_by_the_best_of_each_problem():
    results = {
        "easy": {"A": result(10.0), "B": result(20.0), "C": result(40.0)},
        "hard": {"A": result(400.0), "B": result(100.0), "C": result(100.0)},
    }
    columns, rows = frontier._relative(results)
    assert columns == ("policy", "geometric mean", "worst", "easy", "hard")
    assert rows == [
        ("B", pytest.approx(1.41), 2.0, 2.0, 1.0),
        *sorted([("A", 2.0, 4.0, 1.0, 4.0), ("C", 2.0, 4.0, 4.0, 1.0)], key=lambda row: rows.index(row)),
    ]


def test_the_frontier_tells_the_worst_run_of_every_policy():
    problem = frontier.FrontierProblem(Hypercube(2), 30, RUNS, {})
    columns, rows = frontier._absolute({"p": {"A": result(10.0, worst=3.0)}}, {"p": problem})
    found = dict(zip(columns, rows[0], strict=True))
    assert (found["problem"], found["rounds"], found["runs"], found["policy"]) == ("p", 30, RUNS, "A")
    final = result(10.0, worst=3.0).final
    assert found["mean"] == round(float(final.mean()), 2)
    assert found["sd"] == round(float(np.std(final, ddof=1)), 2)
    assert found["worst"] == round(float(final.max()), 2)
    assert found["worst / median"] == 3.0


def test_the_frontier_plays_every_policy_there_is():
    assert len(set(frontier.PLAYED)) == len(frontier.PLAYED)
    assert set(frontier.PLAYED) <= set(dl.policies.POLICIES)
    assert set(dl.policies.POLICIES) - set(frontier.PLAYED) <= {"GreedyUniform"}
