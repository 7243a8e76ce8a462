"""The evaluation of the goal *rank*, and the peers that it compares."""

import numpy as np
import pytest
from benchmarks.quality.goals import ordering, rank, rank_peers
from benchmarks.quality.goals.ordering import OrderEvaluator, votes_to
from benchmarks.quality.goals.problems import GoalWorld
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import kendalltau, norm

import duelist as dl
from duelist.model.fit import fit_mle


def world(seed, n=12, dim=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, dim)) * 7.0 if dim else None
    utilities = rng.normal(size=n) * 1.5 if features is None else features @ rng.normal(size=dim) / 7.0
    return GoalWorld(utilities, expit(utilities[:, None] - utilities)[None], features)


@pytest.mark.parametrize("dim", [0, 3])
def test_the_evaluator_fits_all_votes_and_counts_pairs_in_order(dim):
    problem, rng = world(1, dim=dim), np.random.default_rng(2)
    evaluator, rows, outcomes = OrderEvaluator(problem), [], []
    arms = np.eye(problem.n) if dim == 0 else problem.features
    for number in range(150):
        first, second = rng.choice(problem.n, 2, replace=False)
        outcome = problem.vote(first, second, number, rng)
        evaluator.count(first, second, outcome)
        rows.append(arms[first] - arms[second])
        outcomes.append(outcome)
    ridge = np.ones(problem.n) if dim == 0 else arms.var(axis=0)
    theta = fit_mle(np.array(rows), np.array(outcomes), ridge=ridge).theta
    fitted = arms @ theta
    np.testing.assert_allclose(np.diff(evaluator.utilities()), np.diff(fitted), atol=1e-6)
    tau, first = evaluator.look()
    assert tau == pytest.approx(kendalltau(fitted, problem.utilities).statistic)
    best = [set(np.argsort(-u)[: ordering.TOP].tolist()) for u in (fitted, problem.utilities)]
    assert first == len(best[0] & best[1]) / ordering.TOP


def test_votes_to_a_level_lie_between_two_looks():
    votes = np.array([10, 20, 40])
    curves = np.array([[0.1, 0.5, 0.9], [0.3, 0.5, 0.9]])  # mean 0.2, 0.5, 0.9
    assert votes_to(0.35, votes, curves) == pytest.approx(15.0)
    assert votes_to(0.7, votes, curves) == pytest.approx(30.0)
    assert votes_to(0.1, votes, curves) == 10.0
    assert np.isnan(votes_to(0.95, votes, curves))


def test_looks_do_not_stop_before_the_last_votes():
    for n in (5, 30, 64, 1000):
        votes = ordering.looks(n)
        last = min(ordering.VOTES_AN_ARM * n, ordering.MOST_VOTES)
        assert last / ordering.GROWTH - 1 <= votes[-1] <= last
        assert (np.diff(votes) > 0).all()


@pytest.mark.parametrize("dim", [0, 3])
def test_peers_know_what_the_one_pass_estimator_knows(dim):
    problem, rng = world(4, dim=dim), np.random.default_rng(5)
    peer = rank_peers.DOptimal(0)
    fixed = {"ridge": 1.0} if dim == 0 else {}  # peers do not choose the variance of arm effects
    policy = dl.UniformPair(estimator="online", **fixed)
    table = problem.table()
    peer.initialize(table)
    policy.initialize(table)
    for _ in range(60):
        first, second = (int(k) for k in rng.choice(problem.n, 2, replace=False))
        outcome = float(rng.integers(2))
        peer.tell(dl.Duel(first, second, 0), outcome)
        policy.learn(table[[first, second]], outcome)
    if dim == 0:
        seen = policy.posterior(table, range(problem.n))
        np.testing.assert_allclose(peer.mean, seen.utilities, atol=1e-9)
        np.testing.assert_allclose(peer.covariance, seen.covariances, atol=1e-9)
    else:
        np.testing.assert_allclose(np.diff(peer.mean), np.diff(table @ policy.theta_), atol=1e-6)


def test_information_gain_is_the_mutual_information(monkeypatch):
    """Against an integral: entropy of the outcome minus its mean entropy once the difference is known."""
    peer = rank_peers.InformationGain(0)
    peer.initialize(dl.ArmTable(3))
    peer.mean = np.array([1.0, 0.0, -0.7])
    seen = []

    def noted(worth):
        seen.append(worth)
        return 0, 1

    monkeypatch.setattr(peer, "best", noted)
    peer.pair()
    for worth, gap in zip(seen[0], peer.gaps(), strict=True):
        spread = norm(gap, np.sqrt(2.0))
        mean = quad(lambda d, s=spread: s.pdf(d) * expit(d), -15, 15)[0]
        after = quad(lambda d, s=spread: s.pdf(d) * float(rank_peers.entropy(expit(d))), -15, 15)[0]
        assert worth == pytest.approx(float(rank_peers.entropy(np.array(mean))) - after, abs=1e-3)


@pytest.mark.parametrize("n", [6, 7])
def test_in_a_swiss_round_everybody_plays_once(n):
    peer, table = rank_peers.Swiss(0), dl.ArmTable(n)
    for _ in range(5):
        duels = []
        for _ in range(n // 2):
            duels.append(peer.ask(table))
            peer.tell(duels[-1], 1.0)
        assert len({k for duel in duels for k in duel}) == 2 * (n // 2)


@pytest.fixture
def _few_votes(monkeypatch):
    monkeypatch.setattr(ordering, "MOST_VOTES", 60)
    rank.votes_of.cache_clear()
    yield
    rank.votes_of.cache_clear()


@pytest.mark.usefixtures("_few_votes")
def test_the_page_has_every_problem_and_level(tmp_path, monkeypatch):
    monkeypatch.setattr(rank, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(rank, "SIZES", rank.SIZES[:1])
    monkeypatch.setattr(rank, "RESAMPLES", 20)
    monkeypatch.setattr(
        "sys.argv", ["rank", "--runs", "2", "--problems", "no features", "--page", str(tmp_path / "rank.md")]
    )
    rank.main()
    page = (tmp_path / "rank.md").read_text()
    assert page.count("| no features |") == len(rank.LEVELS) + 1 + len(rank.FOUND)
    assert "tau 0.7" in page or "not reached" in page
    assert (tmp_path / rank.PICTURE).stat().st_size > 1000
