"""Loaders of public votes, on small files written as the sources write them."""

import numpy as np
import pytest

import duelist as dl
from duelist.research.datasets import (
    load_arguments,
    load_candy,
    load_cuisines,
    load_football,
    load_humour,
    load_movies,
    load_sushi,
    load_tennis,
    matches,
    pair_wins,
    tastes,
)

LOADERS = {
    "arguments": load_arguments,
    "candy": load_candy,
    "cuisines": load_cuisines,
    "football": load_football,
    "humour": load_humour,
    "movies": load_movies,
    "sushi": load_sushi,
    "tennis": load_tennis,
}


def write(folder, path, text, encoding="utf-8"):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding=encoding)


@pytest.mark.parametrize("name", LOADERS)
def test_a_missing_file_is_named_with_the_page_that_says_where_it_is(name, tmp_path, monkeypatch):
    with pytest.raises(dl.InvalidInput, match=r"is not there.*docs/guides/data\.md"):
        LOADERS[name](tmp_path)
    monkeypatch.delenv("DUELIST_PUBLIC", raising=False)
    with pytest.raises(dl.InvalidInput, match="DUELIST_PUBLIC is not set"):
        LOADERS[name]()


def test_the_variable_names_the_folder(tmp_path, monkeypatch):
    write(tmp_path, "acl2019-GPPL-humour-metaphor/data/pl-humor-full/pairs.csv", "7,3\n3,9\n")
    monkeypatch.setenv("DUELIST_PUBLIC", str(tmp_path))
    assert load_humour().tolist() == [[1, 0], [0, 2]]


def test_seasons_of_tennis_are_those_of_ten_years(tmp_path):
    for year, row in (("2009", "Old,Older"), ("2010", "Ana,Bo"), ("2019", "Bo,Ana")):
        write(tmp_path, f"tennis_atp/atp_matches_{year}.csv", f"winner_name,loser_name\n{row}\n")
    write(tmp_path, "tennis_atp/atp_matches_2019.csv", "winner_name,loser_name\nBo,Ana\nBo,Cy\n")
    found = load_tennis(tmp_path)
    assert found.names == ("Bo", "Ana", "Cy")
    assert found.wins.tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_the_items_with_most_votes_are_kept():
    won = [("a", "b", 1.0), ("a", "b", 1.0), ("b", "a", 1.0), ("c", "a", 1.0), ("d", "e", 1.0)]
    found = matches.most_played(won, 3)
    assert found.names == ("a", "b", "c")
    assert found.wins.tolist() == [[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_draws_are_ties_and_matches_to_come_are_left_out(tmp_path):
    rows = "1989-12-31,A,B,9,0", "1990-01-01,A,B,1,1", "2000-01-01,B,A,0,2", "2030-01-01,A,B,NA,NA"
    header = "date,home_team,away_team,home_score,away_score"
    write(tmp_path, "international_results/results.csv", "\n".join([header, *rows]) + "\n")
    found = load_football(tmp_path)
    assert found.names == ("A", "B")
    assert found.wins.tolist() == [[0.0, 1.5], [0.5, 0.0]]


def test_a_score_that_is_no_number_is_named_with_its_line(tmp_path):
    header = "date,home_team,away_team,home_score,away_score"
    write(tmp_path, "international_results/results.csv", f"{header}\n2000-01-01,A,B,x,1\n")
    with pytest.raises(dl.InvalidInput, match=r"results\.csv, line 2: 'x' is not a number"):
        load_football(tmp_path)


SUSHI_ITEMS = (
    "0\tebi\t1\t0\t6\t2.5\t2\t1.8\t0.84\n1\tanago\t1\t0\t3\t0.9\t1.9\t1.9\t0.88\n2\tika\t1\t0\t5\t1\t1\t1\t1\n"
)


def test_an_earlier_sushi_in_an_order_wins_against_each_later_one(tmp_path):
    write(tmp_path, "sushi3-2016/sushi3.idata", SUSHI_ITEMS)
    write(tmp_path, "sushi3-2016/sushi3b.5000.10.order", "3 1\n0 3 2 0 1\n0 2 2 1\n")
    found = load_sushi(tmp_path)
    assert found.names == ("ebi", "anago", "ika")
    assert found.wins.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 0.0]]
    assert found.features[0].tolist() == [1.0, 0.0, 6.0, 2.5, 2.0, 1.8, 0.84]
    assert len(found.feature_names) == found.features.shape[1]


def test_an_order_with_an_unknown_sushi_is_refused(tmp_path):
    write(tmp_path, "sushi3-2016/sushi3.idata", SUSHI_ITEMS)
    write(tmp_path, "sushi3-2016/sushi3b.5000.10.order", "3 1\n0 2 2 7\n")
    with pytest.raises(dl.InvalidInput, match="line 2 has an item that is not among the 3 kinds"):
        load_sushi(tmp_path)


def movie(number, title, year, genres):
    flags = "|".join(str(int(genre in genres)) for genre in tastes.GENRES)
    return f"{number}|{title}|01-Jan-{year}||http://x|0|{flags}\n"


def test_the_movie_that_a_person_rated_higher_wins(tmp_path):
    write(tmp_path, "ml-100k/u.item", movie(1, "Amélie", 2001, ["Comedy"]) + movie(2, "M", 1931, ["Crime"]), "latin-1")
    ratings = ((1, 1, 5), (1, 2, 3), (2, 1, 4), (2, 2, 4), (3, 2, 1))
    write(tmp_path, "ml-100k/u.data", "".join(f"{u}\t{i}\t{r}\t0\n" for u, i, r in ratings))
    found = load_movies(tmp_path)
    assert found.names == ("M", "Amélie")
    assert found.wins.tolist() == [[0.0, 0.5], [1.5, 0.0]]
    assert found.features[:, 0].tolist() == [1931.0, 2001.0]
    assert found.features[1, 1:].tolist() == [float(genre == "Comedy") for genre in tastes.GENRES]


def test_a_line_with_a_missing_field_is_named(tmp_path):
    write(tmp_path, "ml-100k/u.data", "1\t1\t5\t0\n1\t2\n")
    with pytest.raises(dl.InvalidInput, match="line 2 has 2 fields instead of 4"):
        load_movies(tmp_path)


def test_candy_wins_the_published_share_of_its_duels(tmp_path):
    rows = "a,1,0.5,70\nb,0,0.25,45\nc,0,0.75,35\n"
    write(tmp_path, "candy-power-ranking/candy-data.csv", f"competitorname,chocolate,sugarpercent,winpercent\n{rows}")
    found = load_candy(tmp_path)
    assert found.names == ("a", "b", "c")
    assert found.feature_names == ("chocolate", "sugarpercent")
    assert found.features.tolist() == [[1.0, 0.5], [0.0, 0.25], [0.0, 0.75]]
    votes = found.wins + found.wins.T
    np.testing.assert_allclose(found.wins.sum(axis=1) / votes.sum(axis=1), [0.7, 0.45, 0.35], atol=1e-9)


def test_only_familiar_cuisines_are_rated(tmp_path):
    asked = "Please rate how much you like the traditional cuisine of"
    header = f"RespondentID,Interest,{asked}\xa0Chile:,{asked} the United States.,Gender"
    text = f"{header}\n1,Some,5,3,Female\n2,Some,N/A,3,Male\n3,A lot,2,2,Male\n"
    write(tmp_path, "food-world-cup/food-world-cup-data.csv", text, "mac-roman")
    found = load_cuisines(tmp_path)
    assert found.names == ("Chile", "United States")
    assert found.wins.tolist() == [[0.0, 1.5], [0.5, 0.0]]


def test_votes_on_items_that_are_not_named_are_left_out():
    votes = [("a", "b", 1.0), ("a", "x", 1.0), ("b", "b", 1.0), ("b", "a", 0.5)]
    assert pair_wins.count_wins(votes, ["a", "b"]).tolist() == [[0.0, 1.5], [0.5, 0.0]]


def test_a_topic_of_arguments_is_read(tmp_path):
    values = "".join(
        f"<mTurkAssignment><value>{v}</value></mTurkAssignment>" for v in ("a1", "a1", "equal", "a2", "a1")
    )
    pair = (
        "<annotatedArgumentPair><arg1><text>Yes, it is. Why not?</text><id>b</id></arg1>"
        f"<arg2><text>NO</text><id>a</id></arg2><mTurkAssignments>{values}</mTurkAssignments></annotatedArgumentPair>"
    )
    path = "acl2016-convincing-arguments/data/UKPConvArg1-full-XML/topic.xml"
    write(tmp_path, path, f"<list>{pair}</list>")
    (topic,) = load_arguments(tmp_path)
    assert topic.names == ("a", "b")
    assert topic.wins.tolist() == [[0.0, 1.5], [3.5, 0.0]]
    assert topic.features.tolist() == [[1.0, 2.0, 0.0, 0.0, 0.0, 1.0], [5.0, 13 / 5, 2.0, 1.0, 1.0, 2 / 13]]
