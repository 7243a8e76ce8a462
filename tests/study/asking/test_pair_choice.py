"""Which pairs are asked: none that is out, none twice of one rater, each side as often; and what chance chose says so."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from duelist.core.errors import InvalidInput, NoPairsLeft, NothingToAsk
from duelist.study import ChosenBy, Study, create_study, load_study
from duelist.study.asking.pairs import among, code, codes, count_free, random_free, split
from duelist.study.records import DuelKind
from duelist.study.storage import Transaction
from tests.helpers.policy_state import policy_of
from tests.study.conftest import features, filled


def pair(duel) -> frozenset[str]:
    return frozenset((duel.first.id, duel.second.id))


def strict(**settings: object) -> Study:
    """A study with the setting that studies have unless told otherwise."""
    return filled(**{"repeat_pairs": "never", **settings})


def answer(study: Study, rater: str, outcome: str = "first"):
    duel = study.ask(rater)
    study.tell(duel.id, outcome, rater)
    return duel


# -- pairs that are out ------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["LocalPairUCB", "MaxInP", "VACDB", "CoLSTIM"])
@pytest.mark.parametrize("out", [12, 64])
def test_with_many_duels_out_the_policy_still_chooses(policy: str, out: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred arms, of which few matter: no pair is out twice, and none of them was left to chance."""

    def chance(*_: object) -> None:
        raise RuntimeError("a pair was left to chance")

    monkeypatch.setattr("duelist.study.asking.pair_choice.random_free", chance)
    study = strict(n_arms=100, policy=policy)
    for k in range(60):
        answer(study, f"early {k % 7}", ("first", "second")[k % 2])
    duels = [study.ask(f"holder {k}") for k in range(out)]
    assert len({pair(duel) for duel in duels}) == out
    assert {duel.chosen_by for duel in duels} == {ChosenBy.POLICY}
    assert {duel.propensity for duel in duels} == {None}


@pytest.mark.parametrize("policy", ["LocalPairUCB", "UniformPair"])
def test_all_but_one_pair_out(policy: str) -> None:
    """What is asked is the pair that is left, and where it was chance that found it, its chance is 1."""
    study = strict(n_arms=12, policy=policy)
    held = [study.ask(f"holder {k}") for k in range(65)]
    last = study.ask("last")
    assert {pair(duel) for duel in (*held, last)} == {
        frozenset(p) for p in combinations([f"a{k}" for k in range(12)], 2)
    }
    assert (last.chosen_by, last.propensity) in ((ChosenBy.POLICY, None), (ChosenBy.RANDOM, 1.0))
    with pytest.raises(NothingToAsk, match="All 66 pairs of the 12 candidates are pending"):
        study.ask("one too many")


def test_what_is_left_to_chance_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many arms the policy looks at two, whose pair is out: chance finds another, with its chance."""
    monkeypatch.setattr("duelist.study.asking.pair_choice.max_candidates", lambda _: 2)
    study = strict(n_arms=3)
    duels = [study.ask(f"rater {k}") for k in range(3)]
    assert len({pair(duel) for duel in duels}) == 3
    by_chance = [(k, duel.propensity) for k, duel in enumerate(duels) if duel.chosen_by is ChosenBy.RANDOM]
    assert by_chance
    assert all(chance == pytest.approx(1 / (3 - k)) for k, chance in by_chance)


# -- pairs that a rater has answered -----------------------------------------------------


def test_a_rater_answers_every_pair_once_and_is_through(url: str) -> None:
    study = create_study("study", url, policy="MaxInP")
    study.add_arms([f"a{k}" for k in range(5)], features(5))
    asked = [pair(answer(study, "ana", ("first", "skip")[k % 2])) for k in range(10)]
    assert len(set(asked)) == 10
    told = r"'ana' has voted on all 10 pairs of the 5 candidates\. .*\(the setting repeat_pairs is 'never'\)"
    for again in (study, load_study("study", url)):
        with pytest.raises(NoPairsLeft, match=told):
            again.ask("ana")
    assert pair(study.ask("ben")) in asked
    study.add_arms(["new"], features(1))
    assert "new" in pair(study.ask("ana"))


def test_what_others_hold_is_not_what_a_rater_has_answered() -> None:
    study = strict(n_arms=3)
    for _ in range(2):
        answer(study, "ana")
    study.ask("ben")
    held = study.ask("cleo"), study.ask("dora")
    assert len({pair(duel) for duel in held}) == 2
    with pytest.raises(
        NothingToAsk, match="Of the 3 pairs of the 3 candidates, 'ana' has voted on 2, and the others are pending"
    ) as e:
        study.ask("ana")
    assert not isinstance(e.value, NoPairsLeft)


def test_a_context_that_a_rater_is_through_with_is_left_alone() -> None:
    study = create_study("s", "memory", policy="MaxInP")
    for prompt, size in (("p", 2), ("q", 4)):
        study.add_arms([f"{prompt}{k}" for k in range(size)], features(size), contexts=prompt)
    contexts = Counter(answer(study, "ana").context for _ in range(7))
    assert contexts == {"p": 1, "q": 6}
    with pytest.raises(NoPairsLeft, match="'ana' has voted on all 7 pairs of the 6 candidates"):
        study.ask("ana")
    with pytest.raises(NoPairsLeft, match="'ana' has voted on all 1 pairs of the 2 candidates"):
        study.ask("ana", context="p")


def test_a_vote_that_was_undone_was_not_answered() -> None:
    study = strict(n_arms=3)
    duels = [answer(study, "ana") for _ in range(3)]
    study.undo(duels[1].id, "ana")
    again = study.ask("ana")
    assert again.id == duels[1].id
    study.tell(again.id, "second", "ana")
    study.tell(again.id, "first", "ana", revise=True)
    with pytest.raises(NoPairsLeft):
        study.ask("ana")


def test_a_duel_that_others_left_is_not_given_to_who_has_answered_its_pair() -> None:
    study = strict(n_arms=2, raters_per_duel=2, repeat_pairs="never")
    answer(study, "ana")
    with pytest.raises(NoPairsLeft):
        study.ask("ana")
    assert answer(study, "ben").id == 1
    other = study.ask("cleo")
    assert other.id == 2
    with pytest.raises(NothingToAsk):
        study.ask("ana")


def test_after_so_many_duels() -> None:
    study = strict(n_arms=5, repeat_pairs=4)
    asked = [pair(answer(study, "ana")) for _ in range(40)]
    apart = [later - earlier for earlier, later in combinations(range(40), 2) if asked[earlier] == asked[later]]
    assert min(apart) == 5


def test_imported_votes_are_answers_too() -> None:
    study = strict(n_arms=3)
    votes = [answer(study, "ana") for _ in range(2)]
    other = strict(name="other", n_arms=3)
    other.add_votes(study.votes())
    assert pair(other.ask("ana")) not in {pair(vote) for vote in votes}


def test_a_share_of_repeats_as_a_check() -> None:
    """Pairs of the rater's own past, not the newest, at the rate that was asked for; with their chance."""
    study = strict(n_arms=40, repeat_pairs=0.25)
    duels = [answer(study, "ana") for _ in range(400)]
    kinds = [duel.kind for duel in duels]
    repeats = kinds.count(DuelKind.REPEAT)
    assert abs(repeats - 100) <= 5 * np.sqrt(400 * 0.25 * 0.75) + 1  # none can be the first
    seen: dict[frozenset[str], int] = {}
    for k, duel in enumerate(duels):
        if duel.kind is DuelKind.REPEAT:
            assert k - seen[pair(duel)] > min(10, k // 2)
            assert duel.chosen_by is ChosenBy.RANDOM
            assert 0.0 < duel.propensity <= 0.25
        else:
            assert pair(duel) not in seen
        seen[pair(duel)] = k
    policy = policy_of(study)
    assert policy.rounds_ == 400 - repeats  # what is asked to learn about a rater teaches nothing about arms


@pytest.mark.parametrize("value", ["always", -1, 1.0, 0.0, 1.5, True, None, float("nan")])
def test_settings_that_mean_nothing(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"repeat_pairs is .*. Give \"never\", a whole number"):
        create_study("s", "memory", repeat_pairs=value)


def test_only_what_is_new_is_read_of_a_rater(monkeypatch: pytest.MonkeyPatch) -> None:
    study = strict(n_arms=60)
    read: list[int] = []
    original = type_of_transaction(study).votes_of

    def counted(self: Transaction, rater: str, sequence: int):
        found = original(self, rater, sequence)
        read.append(len(found))
        return found

    monkeypatch.setattr(type_of_transaction(study), "votes_of", counted)
    for k in range(50):
        answer(study, f"rater {k % 2}")
    assert sum(read) < 50
    assert max(read) <= 1


def type_of_transaction(study: Study) -> type[Transaction]:
    with study._reading() as tx:
        return type(tx)


# -- sides -------------------------------------------------------------------------------


def test_two_arms_have_each_side_once_in_two_duels() -> None:
    study = strict(n_arms=2, repeat_pairs=0)
    lefts = [answer(study, "ana").first.id for _ in range(20)]
    assert all(lefts[k] != lefts[k + 1] for k in range(0, 20, 2))


def test_sides_are_balanced_for_each_rater_and_each_arm() -> None:
    """By a count of our own. A coin would leave about sqrt(n) between left and right: here no arm has more than a few."""
    study = strict(n_arms=12, repeat_pairs=0, policy="UniformPair")
    lean: dict[tuple[str, str], int] = {}
    times: Counter[tuple[str, str]] = Counter()
    for k in range(600):
        rater = f"rater {k % 3}"
        duel = answer(study, rater)
        for arm, side in ((duel.first.id, 1), (duel.second.id, -1)):
            for who in (rater, "all"):
                lean[who, arm] = lean.get((who, arm), 0) + side
                times[who, arm] += 1
    # 36 arms and raters, 33 duels each: the mean absolute lean of coins would be sqrt(2 * 33 / pi) = 4.6.
    own = [abs(value) for (who, _), value in lean.items() if who != "all"]
    assert np.mean(own) < 1.5
    assert max(own) <= 4
    assert max(abs(value) for (who, _), value in lean.items() if who == "all") <= 12


def test_new_raters_see_each_arm_on_both_sides() -> None:
    """Nobody has a past, so that of the arms decides: it stays near zero over raters who answer once."""
    study = strict(n_arms=6, policy="UniformPair")
    lean: Counter[str] = Counter()
    for k in range(300):
        duel = answer(study, f"rater {k}")
        lean[duel.first.id] += 1
        lean[duel.second.id] -= 1
    # A coin would leave sqrt(100) = 10 at each of the six arms.
    assert max(map(abs, lean.values())) <= 3


def test_sides_come_from_the_log_not_from_the_process(url: str) -> None:
    def sides(fresh: bool) -> list[tuple[str, str]]:
        study = create_study(f"study {fresh}", url, policy="MaxInP", repeat_pairs=3)
        study.add_arms([f"a{k}" for k in range(6)], features(6))
        shown = []
        for k in range(30):
            view = load_study(f"study {fresh}", url) if fresh and k % 5 == 0 else study
            duel = answer(view, f"rater {k % 2}")
            shown.append((duel.first.id, duel.second.id))
        return shown

    assert sides(False) == sides(True)


# -- pairs as numbers --------------------------------------------------------------------


def test_pairs_as_numbers() -> None:
    numbers = codes([(3, 1), (1, 3), (0, 7)])
    assert [tuple(map(int, p)) for p in zip(*split(numbers), strict=True)] == [(0, 7), (1, 3)]
    assert code(5, 2) == code(2, 5) != code(2, 6)
    positions = among(numbers, np.array([7, 3, 0]), 8)
    assert [tuple(map(int, p)) for p in zip(*split(positions), strict=True)] == [(0, 2)]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.95])
def test_a_random_pair_is_uniform_over_those_that_are_free(share: float) -> None:
    n, draws = 8, 4000
    rng = np.random.default_rng(0)
    every = list(combinations(range(n), 2))
    taken = codes(p for p in every if rng.random() < share)
    free = [p for p in every if code(*p) not in set(taken.tolist())]
    assert count_free(n, taken) == len(free)
    drawn = [random_free(n, taken, rng) for _ in range(draws)]
    counts = Counter(tuple(sorted(p)) for p in drawn)
    assert set(counts) == set(free)
    expected = draws / len(free)
    assert max(abs(count - expected) for count in counts.values()) <= 5 * np.sqrt(expected) + 1
    assert abs(sum(a < b for a, b in drawn) - draws / 2) <= 5 * np.sqrt(draws) / 2
