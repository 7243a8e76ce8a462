"""Studies that owners meddle with: votes of all kinds, and the policy that must come of them."""

import json
import random
import zlib

import numpy as np

from duelist.policies import restore_policy
from duelist.study import Study, current_votes
from duelist.study.records import WIN_SHARES, Vote
from tests.helpers.busy_study import outcome_for

OUTCOMES = ("first", "second", "tie", "both_bad", "skip")


def play(study: Study, votes: int, raters: tuple[str, ...] = ("ana", "ben", "cleo"), seed: int = 0) -> list[Vote]:
    """Votes by turns, some revised, some undone."""
    luck = random.Random(seed)
    told = []
    for k in range(votes):
        rater = raters[k % len(raters)]
        duel = study.ask(rater)
        told.append(study.tell(duel, luck.choice(OUTCOMES), rater))
        if luck.random() < 0.1:
            other = luck.choice([outcome for outcome in OUTCOMES if outcome != told[-1].outcome])
            study.tell(duel, other, rater, revise=True)
        if luck.random() < 0.1:
            study.undo(duel, rater)
    return told


def replayed(study: Study, without: tuple[str, ...] = (), criterion: str | None = None) -> dict:
    """The policy from its first snapshot and the log, by the plainest means, without some raters' votes."""
    with study._storage.reading(study._id) as tx:
        stored = tx.snapshot_before(1)
        duels = {duel.number: duel for duel in tx.duels_since(0)}
    assert stored is not None
    policy = restore_policy(json.loads(zlib.decompress(stored[1])))
    arms = {arm.id: row.astype(np.float64) for arm, row in zip(study.arms(), study.features(), strict=True)}
    for vote in current_votes(study.votes()):
        duel = duels[vote.duel_id]
        taught = vote.rater not in without and duel.kind == "normal" and vote.criterion == criterion
        if taught and vote.outcome in WIN_SHARES:
            shown = np.array([arms[vote.first], arms[vote.second]])
            policy.learn(shown, outcome_for(policy, vote.outcome), layer=duel.layer, share=duel.share)
    return policy.snapshot()
