"""Ask, tell, revise, undo; leases and the clock."""

from datetime import timedelta

import numpy as np
import pytest

from duelist.core.errors import InvalidInput, NothingToAsk, UnknownDuel, VoteConflict
from duelist.study import ChosenBy, Outcome, Source, Study, create_study, current_votes, load_study
from tests.helpers.policy_state import policy_of
from tests.study.conftest import Clock, features, filled


def with_clock(study: Study, clock: Clock) -> Study:
    study._clock = clock
    return study


def pair(duel) -> frozenset[str]:
    return frozenset((duel.first.id, duel.second.id))


# -- ask ---------------------------------------------------------------------------------


def test_the_same_rater_gets_the_same_duel(url: str) -> None:
    study = filled(storage=url)
    duel = study.ask("ana")
    assert study.ask("ana") == duel
    assert load_study("study", url).ask("ana") == duel
    assert study.pending() == [duel]
    study.tell(duel.id, "tie", "ana")
    assert study.pending() == []
    assert study.ask("ana").id != duel.id


def test_raters_get_different_pairs_until_none_is_left() -> None:
    study = filled(n_arms=4)
    duels = [study.ask(f"rater {k}") for k in range(6)]
    assert len({pair(duel) for duel in duels}) == 6
    assert all(len(pair(duel)) == 2 for duel in duels)
    with pytest.raises(NothingToAsk, match="All 6 pairs of the 4 candidates are pending"):
        study.ask("one too many")
    study.tell(duels[3].id, "skip", "rater 3")
    assert pair(study.ask("one too many")) == pair(duels[3])


def test_pending_duels_count() -> None:
    """Concurrent raters are asked other things than one rater would be, though nothing is known of the answers."""
    study = filled(n_arms=10)
    first, second = study.ask("ana"), study.ask("ben")
    assert pair(first) != pair(second)
    alone = filled(n_arms=10)
    duel = alone.ask("ana")
    assert pair(duel) == pair(first)
    alone.tell(duel.id, "skip", "ana")
    assert pair(alone.ask("ana")) == pair(first)  # a skip teaches nothing, and nothing is pending


def test_sides_are_shuffled_and_recorded() -> None:
    study = filled(n_arms=30)
    swapped = []
    for _ in range(200):
        duel = study.ask("ana")
        swapped.append(duel.swapped)
        study.tell(duel.id, "tie", "ana")
    # Binomial(200, 1/2): five standard deviations are 35.
    assert abs(sum(swapped) - 100) <= 35


def test_two_studies_of_one_seed_ask_the_same_and_of_another_seed_do_not() -> None:
    def asked(seed: int) -> list[tuple[str, str]]:
        study = filled(seed=seed, n_arms=12, random_share=0.5)
        rows = []
        for _ in range(20):
            duel = study.ask("ana")
            rows.append((duel.first.id, duel.second.id))
            study.tell(duel.id, "first", "ana")
        return rows

    assert asked(1) == asked(1)
    assert asked(1) != asked(2)


def test_a_share_of_random_duels() -> None:
    study = filled(n_arms=5, random_share=0.3)
    chosen = []
    for _ in range(300):
        duel = study.ask("ana")
        chosen.append(duel.chosen_by)
        assert duel.propensity == (pytest.approx(0.3 / 10) if duel.chosen_by is ChosenBy.RANDOM else None)
        study.tell(duel.id, "first", "ana")
    count = chosen.count(ChosenBy.RANDOM)
    assert abs(count - 90) <= 5 * np.sqrt(300 * 0.3 * 0.7)
    assert [vote.chosen_by for vote in study.votes()] == chosen


def test_random_duels_are_uniform_over_what_is_not_out() -> None:
    study = filled(n_arms=4, random_share=1.0)
    held = pair(study.ask("holder"))
    counts: dict[frozenset[str], int] = {}
    for _ in range(500):
        duel = study.ask("ana")
        assert duel.propensity == pytest.approx(1 / 5)
        counts[pair(duel)] = counts.get(pair(duel), 0) + 1
        study.tell(duel.id, "skip", "ana")
    assert held not in counts
    assert len(counts) == 5
    assert max(abs(count - 100) for count in counts.values()) <= 5 * np.sqrt(500 * 0.2 * 0.8)


def test_the_chance_of_a_pair_counts_the_draw_of_its_context() -> None:
    study = create_study("s", "memory", policy="MaxInP", random_share=1.0)
    for prompt, size in (("p", 3), ("q", 4)):
        study.add_arms([f"{prompt}{k}" for k in range(size)], features(size), contexts=prompt)
    duels = [study.ask(f"rater {k}") for k in range(9)]
    free = {"p": 3, "q": 6}
    for duel in duels:
        open_ones = sum(count > 0 for count in free.values())
        assert duel.propensity == pytest.approx(1 / open_ones / free[duel.context])
        free[duel.context] -= 1
    study.tell(duels[0].id, "skip", "rater 0")
    assert study.ask("ana", context=duels[0].context).propensity == pytest.approx(1.0)


def test_several_raters_per_duel() -> None:
    study = filled(raters_per_duel=3)
    duels = [study.ask(name) for name in ("ana", "ben", "cleo", "dora")]
    assert [duel.id for duel in duels] == [1, 1, 1, 2]
    for name, outcome in (("ana", "first"), ("ben", "second"), ("cleo", "first")):
        study.tell(1, outcome, name)
    assert study.ask("ana").id == 2  # not the one she has told
    assert [(vote.rater, vote.outcome) for vote in study.votes()] == [
        ("ana", "first"),
        ("ben", "second"),
        ("cleo", "first"),
    ]


# -- tell --------------------------------------------------------------------------------


def test_a_vote_is_written_as_it_was_given(url: str, clock: Clock) -> None:
    study = with_clock(filled(storage=url), clock)
    duel = study.ask("ana")
    clock.seconds += 2.5
    vote = study.tell(duel.id, "both_bad", "ana", source="model")
    assert (vote.sequence, vote.duel_id, vote.outcome, vote.rater) == (1, duel.id, Outcome.BOTH_BAD, "ana")
    assert (vote.first, vote.second, vote.source) == (duel.first.id, duel.second.id, Source.MODEL)
    assert (vote.response_seconds, vote.late, vote.revises) == (2.5, False, None)
    assert vote.voted_at == duel.asked_at + timedelta(seconds=2.5)
    assert load_study("study", url).votes() == [vote]


def test_the_same_vote_again_is_a_no_op(url: str) -> None:
    study = filled(storage=url)
    duel = study.ask("ana")
    vote = study.tell(duel.id, "first", "ana")
    assert study.tell(duel.id, "first", "ana") == vote
    assert load_study("study", url).tell(duel.id, Outcome.FIRST, "ana", revise=True) == vote
    assert len(study) == 1


def test_a_different_vote_is_refused_and_changes_nothing(url: str) -> None:
    study = filled(storage=url)
    duel = study.ask("ana")
    study.tell(duel.id, "first", "ana")
    with pytest.raises(VoteConflict, match=r"voted 'first' .* 'second'\. .*revise=True"):
        study.tell(duel.id, "second", "ana")
    assert len(study) == 1
    revised = study.tell(duel.id, "second", "ana", revise=True)
    assert (revised.sequence, revised.revises) == (2, 1)
    assert study.tell(duel.id, "second", "ana") == revised
    assert [vote.outcome for vote in current_votes(study.votes())] == ["second"]


def test_undo_puts_the_duel_back_in_the_hands_of_the_rater() -> None:
    study = filled()
    duel = study.ask("ana")
    study.tell(duel.id, "first", "ana")
    undone = study.undo(duel.id, "ana")
    assert (undone.outcome, undone.revises) == (None, 1)
    assert study.undo(duel.id, "ana") == undone
    assert current_votes(study.votes()) == []
    assert study.ask("ana").id == duel.id
    again = study.tell(duel.id, "second", "ana")
    assert (again.sequence, again.revises) == (3, 2)
    assert [vote.outcome for vote in current_votes(study.votes())] == ["second"]
    assert study.ask("ana").id != duel.id


def test_undo_does_not_put_a_pair_out_twice() -> None:
    study = filled(n_arms=2)
    duel = study.ask("ana")
    study.tell(duel.id, "first", "ana")
    other = study.ask("ben")
    assert pair(other) == pair(duel)
    study.undo(duel.id, "ana")
    assert [out.id for out in study.pending()] == [other.id]
    study.tell(other.id, "tie", "ben")
    assert study.ask("cleo").id == duel.id  # it is still owed an answer


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((99, "first", "ana"), UnknownDuel, "Duel 99"),
        ((2**70, "first", "ana"), UnknownDuel, "never asked"),
        ((-1, "first", "ana"), UnknownDuel, "Duel -1"),
        ((1, "left", "ana"), InvalidInput, "outcome is 'left'. Choose one of first, second"),
        ((1, "first", ""), InvalidInput, "rater is ''"),
        ((1, "first", "ben"), VoteConflict, "not asked of 'ben'"),
        (("1", "first", "ana"), InvalidInput, "duel is '1'"),
        ((1, "first", "ana", False, "alien"), InvalidInput, "source is 'alien'"),
        ((1, "first", "ana", False, "human", -1.0), InvalidInput, "response_seconds is -1"),
    ],
)
def test_what_cannot_be_told(arguments: tuple, error: type[Exception], match: str) -> None:
    study = filled()
    duel = study.ask("ana")
    with pytest.raises(error, match=match):
        study.tell(*arguments)
    assert study.pending() == [duel]
    assert study.votes() == []


def test_nothing_to_undo() -> None:
    study = filled()
    study.ask("ana")
    with pytest.raises(VoteConflict, match="nothing to undo"):
        study.undo(1, "ana")
    with pytest.raises(UnknownDuel):
        study.undo(2, "ana")


# -- leases and the clock ----------------------------------------------------------------


def test_an_expired_duel_goes_to_the_next_rater_and_a_late_vote_counts(url: str, clock: Clock) -> None:
    study = with_clock(filled(storage=url, lease_seconds=60.0), clock)
    duel = study.ask("ana")
    assert duel.deadline == duel.asked_at + timedelta(seconds=60)
    clock.seconds += 59.9
    assert study.ask("ana").id == duel.id
    assert study.ask("ben").id == 2
    clock.seconds += 0.2
    assert [out.id for out in study.pending()] == [2]
    assert study.ask("cleo").id == duel.id
    late = study.tell(duel.id, "first", "ana")
    assert late.late
    assert late.response_seconds == pytest.approx(60.1)
    assert study.tell(duel.id, "second", "cleo").late is False
    assert [vote.rater for vote in study.votes()] == ["ana", "cleo"]


def test_a_rater_who_comes_back_has_the_duel_again(clock: Clock) -> None:
    study = with_clock(filled(lease_seconds=60.0), clock)
    duel = study.ask("ana")
    clock.seconds += 1000
    again = study.ask("ana")
    assert (again.id, again.asked_at) == (duel.id, duel.asked_at + timedelta(seconds=1000))
    clock.seconds += 1
    vote = study.tell(duel.id, "tie", "ana")
    assert (vote.late, vote.response_seconds) == (False, 1.0)
    assert study.ask("ana").id == 2


def test_a_late_vote_fills_the_place_it_had_left(clock: Clock) -> None:
    study = with_clock(filled(lease_seconds=60.0), clock)
    duel = study.ask("ana")
    clock.seconds += 100
    study.ask("ben")  # gets ana's
    study.tell(duel.id, "first", "ben")
    study.tell(duel.id, "first", "ana")
    clock.seconds += 1
    assert study.ask("cleo").id == 2


def test_an_expired_duel_of_a_retired_arm_is_not_asked_again(clock: Clock) -> None:
    study = with_clock(filled(lease_seconds=60.0), clock)
    duel = study.ask("ana")
    study.retire([duel.first.id])
    clock.seconds += 100
    assert duel.first.id not in pair(study.ask("ben"))


def test_a_clock_that_goes_back(clock: Clock) -> None:
    """Times in the log never go back, no response takes less than no time, and leases from the future end."""
    study = with_clock(filled(lease_seconds=60.0), clock)
    first = study.ask("ana")
    clock.seconds += 10
    one = study.tell(first.id, "first", "ana")
    second = study.ask("ana")
    clock.seconds -= 30  # less than a lease: ana keeps her duel
    assert study.ask("ana") == second
    two = study.tell(second.id, "first", "ana")
    assert two.voted_at == one.voted_at
    assert (two.response_seconds, two.late) == (None, False)
    third = study.ask("ana")
    clock.seconds -= 86_400  # a day: that lease would last a day, so it has ended
    assert study.pending() == []
    assert study.ask("ben").id == third.id
    three = study.tell(third.id, "tie", "ana")
    assert three.voted_at >= two.voted_at
    assert three.response_seconds is None
    assert three.late
    assert [vote.sequence for vote in study.votes()] == [1, 2, 3]


# -- settings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"policy": "nonsense"}, "policy is 'nonsense'"),
        ({"policy_settings": {"horizons": 3}}, "no setting 'horizons'"),
        ({"policy_settings": {"kappa": {1, 2}}}, "not JSON"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"lease_seconds": 0}, "lease_seconds is 0"),
        ({"raters_per_duel": 0}, "raters_per_duel is 0"),
        ({"random_share": 1.1}, "random_share is 1.1"),
        ({"random_share": float("nan")}, "random_share is nan"),
        ({"colour": "red"}, "no setting 'colour'"),
        ({"policy": 7}, "policy is 7. Give a policy or its name"),
        ({"policy_settings": None}, "policy_settings is None. Give a mapping"),
    ],
)
def test_bad_settings_make_no_study(settings: dict, match: str, sqlite_url: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        create_study("s", sqlite_url, **settings)


@pytest.mark.parametrize("rater", ["", None, 3, "a\x00b", "\udfff"])
def test_bad_raters(rater: object) -> None:
    with pytest.raises(InvalidInput, match="rater is"):
        filled().ask(rater)


@pytest.mark.parametrize("policy", ["VACDB", "MaxInP", "CoLSTIM", "StaD", "UniformPair"])
def test_policies_of_every_kind_can_hold_a_study(policy: str) -> None:
    """With layers, with a radius, with perturbations, in stages, and without an estimate."""
    study = filled(policy=policy, n_arms=5)
    for outcome in ("first", "second", "tie", "both_bad", "skip") * 3:
        duel = study.ask("ana")
        study.tell(duel.id, outcome, "ana")
    assert len(study) == 15
    assert policy_of(study).dim_ == features(5).shape[1]
