"""What votes are judged by, against computations of its own; and what the shell prints of it."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binomtest, kendalltau
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.simulation.environments import FixedArms, Hypercube, PreferenceMatrix, RandomArms
from duelist.simulation.evaluation import evaluate, kendall_tau, recommended, top_share, wilson


def test_orders_are_compared_as_kendall_does():
    rng = np.random.default_rng(0)
    for n in (2, 5, 30):
        found, truth = rng.normal(size=(2, n))
        assert kendall_tau(found, truth) == pytest.approx(kendalltau(found, truth).statistic)
    assert kendall_tau(np.zeros(3), np.arange(3.0)) == 0.0
    assert kendall_tau(np.array([2.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])) == 1.0, "equals have no order to find"
    assert top_share(np.array([4.0, 3.0, 2.0, 1.0]), np.array([4.0, 1.0, 3.0, 2.0]), 2) == 0.5


def test_arms_that_are_level_share_their_places():
    """Whatever their order in the list: on average over all ways to settle the ties."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        found, truth = rng.integers(3, size=(2, 5)).astype(float)
        for places in (1, 2, 4):
            least = np.sort(truth)[-places]
            tops = [
                np.mean([truth[k] >= least for k in order[:places]])
                for order in permutations(range(5))
                if all(found[a] >= found[b] for a, b in pairwise(order))
            ]
            assert top_share(found, truth, places) == pytest.approx(np.mean(tops))
        first = np.flatnonzero(found == found.max())
        regret, right = recommended(found, truth)
        assert regret == pytest.approx(np.mean(truth.max() - truth[first]))
        assert right == pytest.approx(np.mean(truth[first] == truth.max()))
    third = np.array([0.1, 0.2, 0.3]).cumsum()[2]
    assert third != 0.6, "level in truth, but for rounding"
    assert kendall_tau(np.array([0.0, 1.0, 2.0]), np.array([third, 0.6, 1.0])) == 1.0
    assert top_share(np.array([0.0, 2.0, 3.0]), np.array([third, 0.6, 1.0]), 2) == 1.0


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
def test_what_the_judge_foretells_does_not_take_his_model_for_another(link):
    """He fits a logistic model, whatever makes the votes: with many of them he is nearly right about all of these."""
    world = Hypercube(dim=3, link=link)
    runs = dl.simulate(dl.UniformPair(link=link), world, horizon=20_000, runs=3, distinct=True)
    _, above = evaluate(runs, world, "learn").rows["UniformPair"]
    assert 0.0 <= above.mean < 0.005


def test_the_order_of_a_table_is_that_of_all_its_chances():
    """Not of the chances against the best arm alone, by which the last three come the other way round."""
    chances = [[0.5, 0.6, 0.55, 0.52], [0.4, 0.5, 0.9, 0.95], [0.45, 0.1, 0.5, 0.9], [0.48, 0.05, 0.1, 0.5]]
    world = PreferenceMatrix(chances)
    runs = dl.simulate(dl.UniformPair(), world, horizon=5000, runs=4, distinct=True)
    tau, _ = evaluate(runs, world, "rank").rows["UniformPair"]
    assert tau.mean == 1.0


def test_rounds_in_which_an_arm_met_itself_are_no_votes():
    world = Hypercube(dim=3)
    runs = dl.simulate([dl.VACDB(horizon=500), dl.UniformPair()], world, horizon=500, runs=4)
    found = evaluate(runs, world, "best")
    for label in runs.labels:
        first, second = runs.duels(label)
        assert found.votes[label] == np.mean((first != second).sum(axis=1))
    assert found.votes["VACDB"] < 500 == found.rounds
    assert "after 500 rounds" in str(found)
    assert f"{found.votes['VACDB']:.0f}" in str(found)
    apart = evaluate(dl.simulate([dl.UniformPair()], world, horizon=50, runs=2, distinct=True), world, "best")
    assert "after 50 votes" in str(apart)


@pytest.mark.parametrize(("right", "runs"), [(0, 7), (7, 7), (3, 10), (99, 128)])
def test_shares_have_wilsons_interval(right, runs):
    known = binomtest(right, runs).proportion_ci(0.9, method="wilson")
    assert wilson(right, runs, 0.9) == pytest.approx((known.low, known.high), abs=1e-12)


def fitted(arms, first, second, won, ridge):
    z = arms[first] - arms[second]

    def loss(theta):
        u = z @ theta
        return 0.5 * ridge @ theta**2 + np.logaddexp(0.0, np.where(won == 1, -u, u)).sum()

    return arms @ minimize(loss, np.zeros(arms.shape[1]), method="BFGS", options={"gtol": 1e-9}).x


def test_best_and_rank_are_judged_by_a_fit_to_the_votes():
    rng = np.random.default_rng(4)
    arms, theta = rng.normal(size=(8, 3)), np.array([1.0, -0.5, 0.2])
    world = FixedArms(arms, theta=theta)
    runs = dl.simulate(dl.UniformPair(), world, horizon=60, runs=6, distinct=True)
    first, second = runs.duels("UniformPair")
    won, utility = runs.outcomes("UniformPair"), arms @ theta
    middle = arms - arms.mean(axis=0)
    found = [fitted(middle, *run, middle.var(axis=0)) for run in zip(first, second, won, strict=True)]
    regret = np.array([utility.max() - utility[np.argmax(u)] for u in found])
    simple, right = evaluate(runs, world, "best").rows["UniformPair"]
    assert simple.mean == pytest.approx(regret.mean(), abs=1e-9)
    assert right.mean == np.mean(regret == 0.0)
    tau, top = evaluate(runs, world, "rank", top=3).rows["UniformPair"]
    assert tau.mean == pytest.approx(np.mean([kendalltau(u, utility).statistic for u in found]))
    truly = set(np.argsort(-utility)[:3])
    assert top.name == "right top 3"
    assert top.mean == pytest.approx(np.mean([len(truly & set(np.argsort(-u)[:3])) / 3 for u in found]))
    low, high = tau.interval
    assert -1.0 <= low <= tau.mean <= high <= 1.0


def test_learning_is_judged_by_votes_on_other_pairs():
    coin = Hypercube(dim=2, scale=0.0)  # nobody foretells a coin
    loss, above = evaluate(dl.simulate(dl.UniformPair(), coin, 50, runs=4, distinct=True), coin, "learn").rows[
        "UniformPair"
    ]
    assert loss.mean - above.mean == pytest.approx(np.log(2.0))
    assert above.mean >= 0.0
    table = [[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]]
    votes = PreferenceMatrix(table)
    runs = dl.simulate(dl.UniformPair(), votes, 4000, runs=3, distinct=True)
    loss, above = evaluate(runs, votes, "learn").rows["UniformPair"]
    chances = np.array([0.8, 0.9, 0.7])
    least = -(chances * np.log(chances) + (1 - chances) * np.log(1 - chances)).mean()
    assert loss.mean - above.mean == pytest.approx(least)
    assert 0.0 <= above.mean < 0.01
    assert loss.mean > least


def test_new_arms_are_new():
    world = RandomArms(dim=3, n_arms=(3, 5), theta=[2.0, 0.0, 0.0])
    few, many = (
        evaluate(dl.simulate(dl.UniformPair(), world, horizon, runs=6, distinct=True), world, "learn").rows[
            "UniformPair"
        ]
        for horizon in (20, 2000)
    )
    assert many[1].mean < few[1].mean
    assert many[0].mean - many[1].mean == pytest.approx(few[0].mean - few[1].mean), "the same test pairs"


def test_what_cannot_be_judged_is_refused():
    world = RandomArms(dim=3, n_arms=4)
    runs = dl.simulate(dl.UniformPair(), world, 10, runs=2)
    with pytest.raises(dl.InvalidInput, match="the arms of RandomArms change in every round: there is no order"):
        evaluate(runs, world, "rank")
    with pytest.raises(dl.InvalidInput, match="goal is 'serve'"):
        evaluate(runs, world, "serve")
    with pytest.raises(dl.InvalidInput, match="These runs have environment"):
        evaluate(runs, Hypercube(dim=2), "best")
    with pytest.raises(dl.InvalidInput, match="confidence is 2"):
        evaluate(runs, world, "learn", confidence=2)
    with pytest.raises(dl.InvalidInput, match="confidence is 'a'"):
        evaluate(runs, world, "learn", confidence="a")
    for alone in (RandomArms(dim=2, n_arms=1), FixedArms([[1.0, 2.0]])):
        with pytest.raises(dl.InvalidInput, match="one arm: there is nothing to compare"):
            evaluate(dl.simulate(dl.UniformPair(), alone, 10, runs=2), alone, "learn")
    curves = dl.simulate(dl.UniformPair(), Hypercube(dim=2), 10, runs=2, keep="curves")
    with pytest.raises(dl.InvalidInput, match="keep='duels'"):
        evaluate(curves, Hypercube(dim=2), "best")


# -- the shell ---------------------------------------------------------------------------


def shell(*words, code=0):
    told = CliRunner().invoke(app, ["simulate", "-t", "60", "-r", "3", "-e", "Hypercube:dim=3", *words])
    assert told.exit_code == code, told.output
    return told.output


@pytest.mark.parametrize(
    ("goal", "policy", "said"),
    [
        ("best", "BestArmPair", ["simple regret", "P(right)"]),
        ("rank", "RankingPair", ["Kendall's tau", "right top 4"]),
        ("learn", "RewardDesign", ["held-out log-loss", "above the least"]),
        ("serve", "LocalPairUCB", ["average regret after 60 rounds"]),
    ],
)
def test_the_shell_prints_what_the_job_is_judged_by(goal, policy, said):
    output = shell("UniformPair", "--goal", goal)
    for words in (policy, "UniformPair", "95% intervals", *said):
        assert words in output
    assert ("average regret" in output) == (goal == "serve")


def test_several_goals_have_a_table_each():
    output = shell("--goal", "rank", "--goal", "serve", "--top", "2")
    assert "right top 2" in output
    assert "RankingPair:top=2" in output
    assert "average regret" in output


def test_serving_is_judged_by_the_published_rules_whatever_else_is_wanted():
    alone = [line for line in shell("--goal", "serve").splitlines() if line.startswith("LocalPairUCB")]
    beside = [line for line in shell("--goal", "serve", "--goal", "best").splitlines() if "LocalPairUCB" in line]
    assert alone[0] in beside


def test_the_shell_refuses_before_it_plays():
    said = shell("--goal", "best", "-t", "21000", "-r", "2000", "-e", "Hypercube:dim=1", code=2)
    assert "2000 runs of 21000 rounds are more duels than are kept" in " ".join(said.split())
    assert "Give at most 1966 runs" in " ".join(said.split())
    assert "only the goal 'rank' has places" in shell("--goal", "best", "--top", "2", code=2)
    assert "there is no best arm" in shell("--goal", "best", "-e", "RandomArms:dim=2,n_arms=3", code=2)


def table_of(output):
    return [line for line in output.splitlines() if "[" in line]


def test_runs_under_other_rules_are_other_runs(tmp_path):
    file = str(tmp_path / "runs.npz")
    alone = shell("UniformPair", "--goal", "rank")
    shell("UniformPair", "--out", file)  # arms may meet themselves here
    assert table_of(shell("UniformPair", "--goal", "rank", "--out", file)) == table_of(alone)
    again = shell("UniformPair", "--goal", "rank", "--out", file)
    assert table_of(again) == table_of(alone)
    assert "left" not in again, "nothing was played"
