"""Loaders of real votes: counts taken from the files another way, and kind words for damaged ones."""

import csv
from collections import Counter

import numpy as np
import pytest

import duelist as dl
from duelist.research.datasets import CRITERIA, GOLD_VOTES, data_folder, load_eventtime, load_llmfao, load_photos
from duelist.simulation.environments import PreferenceMatrix
from duelist.simulation.environments.base import Worlds


@pytest.fixture(scope="module")
def folder(data_folder):
    return data_folder


@pytest.fixture(scope="module")
def events(folder):
    return load_eventtime(folder)


@pytest.fixture(scope="module")
def photos(folder):
    return load_photos(folder)


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# -- where the data lie ------------------------------------------------------------------


def test_the_folder_is_the_argument_then_the_variable_then_the_usual_place(tmp_path, monkeypatch):
    given, named, usual = tmp_path / "given", tmp_path / "named", tmp_path / "shared" / "data"
    work = tmp_path / "work"
    for path in (given, named, usual, work):
        path.mkdir(parents=True)
    monkeypatch.chdir(work)
    monkeypatch.setenv("DUELIST_DATA", str(named))
    assert data_folder(given) == given
    assert data_folder() == named
    monkeypatch.delenv("DUELIST_DATA")
    assert data_folder().resolve() == usual


def test_a_folder_that_is_not_there_is_named_with_the_way_out(tmp_path, monkeypatch):
    with pytest.raises(dl.InvalidInput, match=r"nowhere.*docs/guides/data\.md.*DUELIST_DATA"):
        data_folder(tmp_path / "nowhere")
    monkeypatch.setenv("DUELIST_DATA", str(tmp_path / "gone"))
    with pytest.raises(dl.InvalidInput, match="gone"):
        data_folder()
    monkeypatch.delenv("DUELIST_DATA")
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    with pytest.raises(dl.InvalidInput, match=r"DUELIST_DATA is not set and .*shared"):
        data_folder()


# -- EventTime ---------------------------------------------------------------------------


def test_events_are_the_valid_ones_of_the_hundred(events, folder):
    items = rows_of(folder / "eventtime" / "items.csv")
    chosen = [int(r["event_id"]) for r in items if (r["valid"], r["in_k100"]) == ("1", "1")]
    assert len(chosen) == 100
    np.testing.assert_array_equal(events.events, chosen)


def test_event_counts_are_those_of_the_file_except_on_gold_pairs(events, folder):
    votes = Counter((int(r["winner"]), int(r["loser"])) for r in rows_of(folder / "eventtime" / "comparisons.csv"))
    counts = events.counts
    assert counts.shape == (100, 100)
    other = 0
    gold = []
    for i, a in enumerate(events.events.tolist()):
        for j, b in enumerate(events.events.tolist()):
            both = votes[a, b] + votes[b, a]
            if both >= GOLD_VOTES:
                gold.append((i, j, votes[a, b] / both))
            else:
                assert counts[i, j] == votes[a, b]
                other = max(other, both)
    assert len(gold) == 2  # one pair, both ways round
    for i, j, share in gold:
        assert counts[i, j] == pytest.approx(share * other)


def test_what_was_left_out_of_the_events_adds_up(events, folder):
    items = rows_of(folder / "eventtime" / "items.csv")
    total = len(rows_of(folder / "eventtime" / "comparisons.csv"))
    dropped = events.dropped
    assert dropped["events that are not valid"] + dropped["valid events outside the 100"] + 100 == len(items)
    assert dropped["votes on other events"] + len(events.votes) == total
    assert dropped["gold pairs capped"] == 1
    assert dropped["votes on gold pairs"] == (events.weights < 1.0).sum() == 1192


def test_counts_of_parts_of_the_votes_add_up(events):
    half = np.arange(len(events.votes)) % 2 == 0
    np.testing.assert_allclose(events.counts_of(half) + events.counts_of(~half), events.counts)


# -- photos ------------------------------------------------------------------------------


def test_photo_features_are_those_of_the_file(photos, folder):
    path = folder / "crowdpareto_photos" / "features.csv"
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(photos.photos, table[:, 0])
    np.testing.assert_array_equal(photos.features, table[:, 1:])
    assert photos.features.shape == (100, 23)
    assert list(photos.names) == path.read_text().splitlines()[0].split(",")[1:]
    np.testing.assert_allclose(photos.standardised.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(photos.standardised.std(axis=0), 1.0)


def test_photo_votes_are_those_of_the_file(photos, folder):
    votes = np.loadtxt(folder / "crowdpareto_photos" / "votes.csv", delimiter=",", skiprows=1, dtype=int)
    position = {photo: k for k, photo in enumerate(photos.photos.tolist())}
    i, j = ([position[p] for p in votes[:, c].tolist()] for c in (1, 2))
    expected = np.zeros((len(CRITERIA), 100, 100))
    np.add.at(expected, (votes[:, 0], i, j), (1 + votes[:, 4]) / 2)
    np.add.at(expected, (votes[:, 0], j, i), (1 - votes[:, 4]) / 2)
    np.testing.assert_array_equal(photos.wins, expected)
    assert photos.decided.sum() == (votes[:, 4] != 0).sum()
    assert photos.ties.sum() == 2 * (votes[:, 4] == 0).sum()
    np.testing.assert_array_equal(photos.ties, photos.ties.transpose(0, 2, 1))


def test_photo_shares_are_chances(photos):
    shares = photos.shares
    np.testing.assert_allclose(shares + shares.transpose(0, 2, 1), 1.0)
    total = photos.wins + photos.wins.transpose(0, 2, 1)
    off = ~np.eye(100, dtype=bool)
    assert (total[:, off] >= 4).all()
    np.testing.assert_allclose((shares * total)[:, off], photos.wins[:, off])


# -- small files of our own --------------------------------------------------------------

ITEMS = "event_id,valid,in_k100\n7,1,1\n3,1,1\n5,1,0\n9,0,0\n"
COMPARISONS = "worker,winner,loser\n1,7,3\n2,7,3\n1,3,7\n1,5,7\n1,9,3\n"
FEATURES = "photo,bright,flat\n4,1.0,2.0\n8,3.0,2.0\n"
VOTES = "criterion,photo_i,photo_j,vote_no,vote\n0,4,8,0,1\n0,4,8,1,0\n2,4,8,0,-1\n"


def write(folder, **files):
    for name, text in files.items():
        path = folder / ("eventtime" if name in ("items", "comparisons") else "crowdpareto_photos") / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def test_a_small_set_of_events(tmp_path):
    events = load_eventtime(write(tmp_path, items=ITEMS, comparisons=COMPARISONS))
    assert events.events.tolist() == [7, 3]
    assert events.counts.tolist() == [[0, 2], [1, 0]]
    assert events.dropped["votes on other events"] == 2
    assert events.dropped["gold pairs capped"] == 0


def test_gold_pairs_count_as_the_most_voted_other_pair(tmp_path):
    items = "event_id,valid,in_k100\n" + "".join(f"{k},1,1\n" for k in range(3))
    votes = ["0,1"] * 90 + ["1,0"] * 30 + ["1,2"] * 3 + ["2,1"] + ["0,2"] * 2
    comparisons = "winner,loser\n" + "".join(f"{v}\n" for v in votes)
    events = load_eventtime(write(tmp_path, items=items, comparisons=comparisons))
    np.testing.assert_allclose(events.counts, [[0, 3, 2], [1, 0, 3], [0, 1, 0]])
    assert events.dropped["gold pairs capped"] == 1
    assert events.dropped["votes on gold pairs"] == 120


def test_a_small_set_of_photos(tmp_path):
    photos = load_photos(write(tmp_path, features=FEATURES, votes=VOTES))
    assert photos.names == ("bright", "flat")
    assert photos.standardised.tolist() == [[-1, 0], [1, 0]]
    assert photos.wins[:, 0, 1].tolist() == [1.5, 0, 0]
    assert photos.wins[:, 1, 0].tolist() == [0.5, 0, 1]
    assert photos.shares[:, 0, 1].tolist() == [0.75, 0.5, 0.0]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"items": "event_id,valid\n7,1\n"}, r"items\.csv has no column 'in_k100'. Its columns are event_id, valid"),
        ({"items": ""}, "event_id.*none"),
        ({"items": ITEMS + "7,1,1\n"}, "event_id 7 twice"),
        ({"items": ITEMS + "x,1,1\n"}, r"line 6.*event_id 'x'"),
        ({"comparisons": "worker,winner\n1,7\n"}, "no column 'loser'"),
        ({"comparisons": COMPARISONS + "1,7,99\n"}, "vote 6 is on 7 and 99"),
        ({"comparisons": COMPARISONS + "1,7,7\n"}, "vote 6 compares 7 with itself"),
        ({"comparisons": COMPARISONS + "1,7\n"}, "line 7.*loser None"),
    ],
)
def test_damaged_events_are_refused_by_value(tmp_path, changed, named):
    write(tmp_path, **{"items": ITEMS, "comparisons": COMPARISONS, **changed})
    with pytest.raises(dl.InvalidInput, match=named):
        load_eventtime(tmp_path)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"features": "id,bright\n4,1.0\n"}, "no column 'photo'"),
        ({"features": "photo\n4\n"}, "no features"),
        ({"features": "photo,bright\n"}, "no features"),
        ({"features": FEATURES + "9,dark,1.0\n"}, "line 4.*dark"),
        ({"features": FEATURES + "9,nan,1.0\n"}, "line 4.*not finite"),
        ({"features": FEATURES + "9,1.0\n"}, "line 4"),
        ({"features": FEATURES + "8,1.0,1.0\n"}, "photo 8 twice"),
        ({"votes": "criterion,photo_i,photo_j\n0,4,8\n"}, "no column 'vote'"),
        ({"votes": VOTES + "0,4,5,0,1\n"}, "vote 4 is on 4 and 5"),
        ({"votes": VOTES + "3,4,8,0,1\n"}, "criterion 3 with vote 1"),
        ({"votes": VOTES + "0,4,8,0,2\n"}, "criterion 0 with vote 2"),
    ],
)
def test_damaged_photos_are_refused_by_value(tmp_path, changed, named):
    write(tmp_path, **{"features": FEATURES, "votes": VOTES, **changed})
    with pytest.raises(dl.InvalidInput, match=named):
        load_photos(tmp_path)


ANSWERS = {
    "prompts": "id,text\n8,Why?\n",
    "responses": 'name,prompt,result\na,8,"Because,\nthey say"\nb,8,\n',
    "comparisons": "id,prompt,model_x,model_y,worker,winner,left,right\n7,8,1,2,ana,left,a,b\n9,8,2,1,bo,tie,b,a\n",
}


def write_answers(folder, **changed):
    base = folder / "llmfao"
    base.mkdir()
    for name, text in {**ANSWERS, **changed}.items():
        (base / f"{name}.csv").write_text(text)
    return folder


def test_a_small_set_of_answers(tmp_path):
    first, second = load_llmfao(write_answers(tmp_path))
    assert (first.first, first.second, first.outcome, first.rater, first.context) == ("a", "b", "first", "ana", "8")
    assert (first.prompt, first.payload_first, first.payload_second) == ("Why?", "Because,\nthey say", "")
    assert (second.first, second.outcome, second.extra) == ("b", "tie", {"id": "9"})


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"prompts": "id\n8\n"}, "no column 'text'"),
        ({"prompts": "id,text\n9,Why?\n"}, "line 2 needs prompt 8"),
        ({"responses": "name,prompt,result\na,8,x\n"}, "line 2 needs the answer of 'b' to prompt 8"),
        ({"responses": "name,prompt,result\na,8\n"}, r"responses\.csv, line 2 ends before 'result'"),
        (
            {"comparisons": ANSWERS["comparisons"] + "1,8,1,2,ana,up,a,b\n"},
            "line 4: winner is 'up'. .*left, right, tie",
        ),
    ],
)
def test_damaged_answers_are_refused_by_value(tmp_path, changed, named):
    with pytest.raises(dl.InvalidInput, match=named):
        list(load_llmfao(write_answers(tmp_path, **changed)))


@pytest.mark.parametrize("load", [load_eventtime, load_photos, load_llmfao])
def test_a_file_that_is_not_there_is_named(tmp_path, load):
    with pytest.raises(dl.InvalidInput, match=r"(items|features|prompts)\.csv is not there\. docs/guides/data\.md"):
        list(load(tmp_path))


def test_an_unknown_loader_is_an_unknown_attribute():
    with pytest.raises(AttributeError, match="load_nothing"):
        dl.datasets.load_nothing  # noqa: B018


# -- real votes as a world ---------------------------------------------------------------


def test_a_table_with_features_shows_them_and_keeps_its_regret(photos):
    with_features = PreferenceMatrix(photos.shares[0], winner="borda", arms=photos.standardised)
    without = PreferenceMatrix(photos.shares[0], winner="borda")
    assert (with_features.dim, without.dim) == (23, 100)
    ours, plain = (e.draw_world(np.random.default_rng(0)) for e in (with_features, without))
    np.testing.assert_array_equal(ours.arms, photos.standardised)
    np.testing.assert_array_equal(ours.utilities, plain.utilities)
    assert ours.theta.shape == (23,)
    assert Worlds(with_features, [0, 1], [0, 1]).next_rounds(3).utilities.shape == (2, 1, 100)
    assert with_features.describe()["arms"] == photos.standardised.tolist()
    assert without.describe()["arms"] is None


def test_theta_of_a_table_with_features_is_the_least_squares_fit():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    environment = PreferenceMatrix(np.full((3, 3), 0.5), winner="borda", arms=arms)
    world = environment.draw_world(np.random.default_rng(0))
    np.testing.assert_allclose(arms.T @ (arms @ world.theta - world.utilities), 0.0, atol=1e-12)


def test_a_replay_draws_real_votes(photos):
    """Only pairs that somebody voted for can win: a pair with all votes one way never surprises."""
    shares = photos.shares[0]
    world = PreferenceMatrix(shares, winner="borda", arms=photos.standardised)
    runs = dl.simulate(dl.UniformPair(), world, horizon=2000, runs=8)
    first, second = runs.duels("UniformPair")
    chance, outcome = shares[first, second], runs.outcomes("UniformPair")
    assert (outcome[chance == 1.0] == 1).all()
    assert (outcome[chance == 0.0] == 0).all()
    residual = (outcome - chance) * np.sign(chance - 0.5)
    assert abs(residual.sum()) <= 6.0 * np.sqrt((chance * (1.0 - chance)).sum())


@pytest.mark.parametrize(
    ("arms", "named"),
    [
        ([[1.0]], r"\(1, 1\).*\(2, dim\)"),
        ([1.0, 2.0], r"\(2,\)"),
        ([[], []], r"\(2, 0\)"),
        ([[np.nan], [1.0]], "non-finite"),
        ([[1.0], [1.0, 2.0]], "arms cannot be read"),
        ([["x"], ["y"]], "arms cannot be read"),
    ],
)
def test_bad_features_of_a_table_are_refused_by_value(arms, named):
    with pytest.raises(dl.InvalidInput, match=named):
        PreferenceMatrix([[0.5, 0.6], [0.4, 0.5]], arms=arms)
