"""How results show themselves: tables in a notebook, data frames, and plots."""

import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from duelist.core.errors import InvalidInput, MissingExtra
from duelist.core.figures import line_labels
from duelist.core.tables import shortened
from duelist.study import create_study
from duelist.study.analysis import (
    calibration,
    draw_calibration,
    draw_history,
    draw_leaderboard,
    draw_raters,
    draw_win_matrix,
    estimated_regret,
    history,
    leaderboard,
    progress,
    rater_statistics,
    win_chances,
    win_matrix,
)
from duelist.study.analysis.plots.lettering import Lettering
from duelist.study.records import ChosenBy
from tests.helpers.model_votes import davidson_votes, names

STRANGE = [
    "日本語の説明", "$\\alpha$ for $5", "عنوان", "Привет", "_private", "<b>bold</b>&amp;", "line\nbreak\ttab", "🙂", "x" * 300, "हिन्दी",
    "", " ",
]  # fmt: skip


def some_votes(arms=6, n=400, seed=0):
    votes = davidson_votes(np.random.default_rng(seed), np.linspace(1, -1, arms), n, 0.5, raters=4)
    return [replace(v, chosen_by=ChosenBy.RANDOM) if k % 2 else v for k, v in enumerate(votes)]


def everything(votes, arms):
    return {
        "leaderboard": leaderboard(votes, arms),
        "progress": progress(votes, arms),
        "win_matrix": win_matrix(votes, arms),
        "win_chances": win_chances(votes, arms),
        "calibration": calibration(votes, arms),
        "raters": rater_statistics(votes, arms),
        "history": history(votes, arms, points=3),
        "regret": estimated_regret(votes, arms),
    }


def renamed(votes, arms):
    """The same votes, with other names for arms and raters."""
    return [
        replace(v, first=arms[int(v.first[1:])], second=arms[int(v.second[1:])], rater=arms[int((v.rater or "r0")[1:])])
        for v in votes
    ]


class Cells(HTMLParser):
    """The cells of a table, and whatever else is no tag of a table."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.others = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag not in ("table", "thead", "tbody", "div"):
            self.others.append(tag)

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("name", everything(some_votes(), names(6)))
def test_every_reading_is_a_table_in_a_notebook_and_a_data_frame(name):
    shown = everything(renamed(some_votes(12), STRANGE), STRANGE)[name]
    cells = Cells(shown._repr_html_())
    assert cells.others == []  # names are escaped
    assert len({len(row) for row in cells.rows}) == 1
    assert len(cells.rows) > 1
    frame = shown.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) > 0


def test_a_data_frame_holds_what_the_reading_does():
    votes = some_votes()
    board = leaderboard(votes, names(6))
    frame = board.to_pandas()
    assert frame["arm"].tolist() == [s.arm for s in board.standings]
    assert frame["utility"].tolist() == [s.utility for s in board.standings]
    pairs = win_matrix(votes, names(6)).to_pandas()
    assert pairs[["wins", "losses", "ties", "both_bad"]].to_numpy().sum() == 400
    past = history(votes, names(6), points=4).to_pandas()
    assert past.groupby("votes")["chance_best"].sum().tolist() == pytest.approx([1.0] * 5)


def test_many_rows_are_counted_in_a_notebook():
    board = leaderboard(some_votes(260, 2000), names(260))
    assert board._repr_html_().count("<tr>") == 201
    assert "60 more rows are not shown" in board._repr_html_()


def test_without_pandas_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pip install 'duelist\[pandas\]'"):
        progress(some_votes(), names(6)).to_pandas()


def test_nothing_that_draws_is_loaded_to_read():
    """matplotlib and pandas are heavy: neither is there after a leaderboard in words."""
    code = (
        "import sys, numpy as np, duelist as dl; s = dl.create_study('s', storage='memory', policy='MaxInP');"
        "s.add_arms(['a', 'b'], np.eye(2)); s.tell(s.ask('r').id, 'first', 'r'); str(s.leaderboard());"
        "assert not {'matplotlib', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- pictures ----------------------------------------------------------------------------


@pytest.mark.parametrize(("arms", "votes"), [(STRANGE, 600), ([f"{k:03d}" + "-long" * 30 for k in range(800)], 8000)])
def test_pictures_survive_any_names_and_many_arms(arms, votes, tmp_path):
    given = some_votes(len(arms), votes)
    given = [
        replace(v, first=arms[int(v.first[1:])], second=arms[int(v.second[1:])], rater=STRANGE[int(v.rater[1:])])
        for v in given
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        board = leaderboard(given, arms)
        pictures = {
            "board": draw_leaderboard(board),
            "whole board": draw_leaderboard(board, None),
            "matrix": draw_win_matrix(win_matrix(given, arms)),
            "history": draw_history(history(given, arms, points=3)),
            "calibration": draw_calibration(calibration(given, arms)),
            "raters": draw_raters(rater_statistics(given, arms)),
        }
        for name, figure in pictures.items():
            figure.savefig(tmp_path / f"{name}.png", dpi=40)
            assert max(figure.get_size_inches()) < 20
    shown = [label.get_text() for label in pictures["board"].axes[0].get_yticklabels()]
    assert len(shown) == min(len(arms), 40)
    assert max(map(len, shown)) <= 40
    assert len(pictures["matrix"].axes[0].get_yticklabels()) <= 80


def test_a_history_names_the_arms_that_end_highest():
    found = history(some_votes(12), names(12), points=5)
    figure = draw_history(found, most=3)
    best = np.argsort(-found.chance_best[-1], kind="stable")[:3]
    assert line_labels(figure.axes[0]) == [f"a{k}" for k in best]
    named = figure.axes[0].lines[-3:]
    for line, k in zip(named, best, strict=True):
        assert np.array_equal(line.get_ydata(), found.chance_best[:, k])


def test_raters_are_drawn_with_their_numbers():
    found = rater_statistics(some_votes(), names(6))
    agree, side, _ = draw_raters(found).axes
    assert np.asarray(agree.collections[0].get_offsets())[:, 0].tolist() == [row.agreement_model for row in found.rows]
    assert np.asarray(side.collections[0].get_offsets())[:, 0].tolist() == [row.first_share for row in found.rows]
    assert [label.get_text() for label in agree.get_yticklabels()] == [row.rater for row in found.rows]


def test_nothing_to_draw_is_drawn():
    for figure in (
        draw_leaderboard(leaderboard([], [])),
        draw_history(history([], names(3))),
        draw_raters(rater_statistics([], names(2))),
        draw_win_matrix(win_matrix([], names(2))),
    ):
        figure.canvas.draw()


def test_letters_that_no_font_has_become_boxes():
    letters = Lettering(["plain", "\U0003fffd"])
    assert letters("plain \U0003fffd") == "plain □"
    assert shortened("a" * 50 + "end", 20) == "a" * 10 + "…" + "a" * 6 + "end"
    assert shortened("two\nlines", 20) == "two lines"


def test_a_study_and_its_verdict_show_themselves():
    study = create_study("<s>", storage="memory", policy="MaxInP")
    study.add_arms(["<a>", "b"], np.eye(2))
    study.tell(study.ask("ana").id, "first", "ana")
    cells = Cells(study._repr_html_())
    assert cells.others == ["b"]
    assert cells.rows == [["policy", "MaxInP"], ["arms", "2"], ["duels", "1"], ["votes", "1"]]
    assert "&lt;s&gt;" in study._repr_html_()
    assert "<a>" not in study.recommend()._repr_html_()


def test_a_study_draws_itself(tmp_path):
    study = create_study("s", storage="memory", policy="MaxInP", repeat_pairs=0)
    study.add_arms(["a", "b", "c"], np.eye(3))
    for k in range(30):
        duel = study.ask("ana")
        study.tell(duel.id, ["first", "tie", "second"][k % 3], "ana")
    for name in ("leaderboard", "win_matrix", "history", "calibration", "raters"):
        path = tmp_path / "new" / f"{name}.svg"
        figure = getattr(study, f"plot_{name}")(path=path)
        assert figure.axes
        assert path.read_text().startswith("<?xml")
    with pytest.raises(InvalidInput, match=r"ends in one of \.eps"):
        study.plot_leaderboard(path=tmp_path / "board.docx")
