"""Makes a database as the newest schema leaves it. Kept as it is: future releases must read and upgrade it.

    python -m tests.study.databases.make tests/study/databases/schema_0003.db

A new schema gets a new file beside the old ones, which are not made again.
"""

import sys
from pathlib import Path

from duelist.study import Outcome, Source, Vote, create_study
from duelist.study.storage import ContextRow, DetailRow, TokenRow

OUTCOMES = ("first", "second", "tie", "both_bad", "skip")


def main(path: Path) -> None:
    url = f"sqlite:///{path}"
    study = create_study("captions", url, policy="MaxInP", seed=3, raters_per_duel=2, random_share=0.25, repeat_pairs=0)
    seconds = 1_790_000_000.0

    def clock() -> float:
        nonlocal seconds
        seconds += 1.5
        return seconds

    study._clock = clock
    corners = [[x, y] for x in (-1, 0, 1) for y in (-1, 0, 1)]
    study.add_arms([f"arm {k}" for k in range(9)], corners, payloads=[{"text": f"täxt {k}"} for k in range(9)])
    study.add_arms(["p/1", "p/2"], [[2, 1], [1, 2]], contexts="p")
    for k in range(280):
        rater = ("ana", "ben", "cleo")[k % 3]
        duel = study.ask(rater)
        vote = study.tell(duel.id, OUTCOMES[k % 5], rater)
        if k % 50 == 7:
            study.tell(duel.id, "first" if vote.outcome != "first" else "tie", rater, revise=True)
        if k % 60 == 9:
            study.undo(duel.id, rater)
    study.update_features(["arm 4"], [[0.5, 0.5]])
    study.retire(["arm 8"])
    study.ask("dora")
    study.add_gold("arm 0", "arm 1", "second")
    study.change(gold_share=1.0)
    study.tell(study.ask("fay"), "first", "fay", reason="weil")
    study.describe_rater("ana", age=31)
    study.block("ben")
    study.erase_rater("cleo")
    study.add_votes([Vote(1, 1, Outcome.TIE, None, None, "arm 2", "arm 3", source=Source.IMPORT)])
    study.limit(total=10_000, per_rater=500)
    study.pause()
    with study._storage.writing(study._id) as tx:
        tx.put_contexts([ContextRow("p", {"text": "prömpt"}, tx.counters.arms_revision)])
        tx.add_details([DetailRow(1, {"columns": ["x", 1]})])
    study.put_media([("cat.svg", "image/svg+xml", b"<svg/>")])
    study._storage.add_token(
        TokenRow("00ff", "abc", "rater", study.id, "ana", "link", 1_790_000_000_000_000, 1_790_000_000_000_001, None)
    )
    both = create_study("both", url, criteria=["clear", "short"], goal="best", seed=4)
    both._clock = clock
    both.add_arms(["a", "b", "c"], [[1, 0], [0, 1], [1, 1]])
    both.tell_all(both.ask("ana"), {"clear": "first", "short": "tie"}, "ana")
    both.tell(both.ask("ben"), "second", "ben", criterion="short")
    study.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
