"""Outcomes of many duels at once: the same as one after the other, all or none."""

import numpy as np
import pytest

import duelist as dl
from tests.study.conftest import filled

ARMS = np.random.default_rng(0).normal(size=(6, 3))
POLICIES = {
    "VACDB": lambda: dl.VACDB(horizon=50, random_state=0),
    "RUCB": lambda: dl.counting.RUCB(random_state=0),
    "FGTS": lambda: dl.FGTS(random_state=0),
}


@pytest.fixture(params=POLICIES)
def make(request):
    return POLICIES[request.param]


def test_a_batch_teaches_what_single_calls_teach(make):
    one, many = make(), make()
    duels = [one.ask(ARMS) for _ in range(4)]
    same = [many.ask(ARMS) for _ in range(4)]
    for duel, outcome, weight in zip(duels, (1, 0, 0.5, 1), (1.0, 2.0, 1.0, 3.0), strict=True):
        one.tell(duel, outcome, weight)
    many.tell_batch(same, np.array([1, 0, 0.5, 1]), [1.0, 2.0, 1.0, 3.0])
    assert many.snapshot() == one.snapshot()


@pytest.mark.parametrize(
    ("change", "outcomes", "error"),
    [
        (lambda duels: duels, [1, 2], dl.InvalidInput),
        (lambda duels: duels, [1], dl.InvalidInput),
        (lambda duels: [duels[0], duels[0]], [1, 1], dl.UnknownDuel),
        (lambda duels: [duels[0], dl.Duel(0, 1, 99)], [1, 1], dl.UnknownDuel),
    ],
)
def test_a_batch_with_an_error_teaches_nothing(make, change, outcomes, error):
    policy = make()
    duels = [policy.ask(ARMS) for _ in range(2)]
    before = policy.snapshot()
    with pytest.raises(error):
        policy.tell_batch(change(duels), outcomes)
    assert policy.snapshot() == before


def test_the_batch_of_ask_batch_is_told_as_it_is():
    policy = dl.RewardDesign(random_state=0)
    batch = policy.ask_batch(np.random.default_rng(1).normal(size=(20, 4, 3)), k=5)
    policy.tell_batch(batch, [1] * 5)
    with pytest.raises(dl.UnknownDuel):
        policy.tell(batch.duels[0], 1)


def test_a_study_records_many_votes_in_one_transaction():
    study = filled()
    duels = {rater: study.ask(rater) for rater in ("ana", "ben", "cleo")}
    votes = study.tell_batch([(duel, "first", rater) for rater, duel in duels.items()])
    assert [vote.rater for vote in votes] == list(duels)
    assert len(study) == 3
    assert study.tell_batch([(duel, "first", rater) for rater, duel in duels.items()]) == votes
    later = study.ask("ana")
    with pytest.raises(dl.DuelistError):
        study.tell_batch([(later, "tie", "ana"), (duels["ben"], "second", "ben")])
    assert len(study) == 3
