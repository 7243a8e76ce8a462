"""What a simulation returns: regret, summaries with paired intervals, plots, and files that hold it all."""

import json
import zipfile

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

import duelist as dl
from duelist.core.figures import line_labels
from duelist.simulation.environments import Hypercube, Noiseless, RandomArms
from duelist.simulation.run_log import DuelLog
from duelist.simulation.runs import Runs, interval

LABELS = ("VACDB", "CoLSTIM", "UniformPair")
KINDS = ("average", "weak", "strong")


@pytest.fixture(scope="module")
def runs():
    policies = (dl.VACDB(horizon=200), dl.CoLSTIM(horizon=200), dl.UniformPair())
    return dl.simulate(policies, RandomArms(3, n_arms=(2, 5)), horizon=200, runs=12, seed=7)


@pytest.fixture
def pyplot():
    """Matplotlib without a screen, left without open figures."""
    with mpl.rc_context({"backend": "agg"}):
        from matplotlib import pyplot as plt

        plt.switch_backend("agg")
        plt.close("all")  # what other tests left open is theirs
        yield plt
        plt.close("all")


def single():
    return dl.simulate([dl.UniformPair(), dl.MaxInP()], Hypercube(2), horizon=20, runs=1)


# -- regret ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", LABELS)
def test_regret_adds_up_to_the_final_one(runs, label, kind):
    each = runs.regret(label, kind, cumulative=False)
    assert each.shape == (12, 200)
    np.testing.assert_allclose(runs.regret(label, kind), each.cumsum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(runs.final(label, kind), runs.regret(label, kind)[:, -1], rtol=1e-12)


@pytest.mark.parametrize("label", LABELS)
def test_regret_comes_from_the_logged_gaps(runs, label):
    log = runs.log(label)
    gaps = np.stack([log.first_gap, log.second_gap])
    np.testing.assert_allclose(runs.regret(label, "average", cumulative=False), gaps.mean(axis=0), rtol=1e-14)
    np.testing.assert_array_equal(runs.regret(label, "weak", cumulative=False), gaps.min(axis=0))
    np.testing.assert_array_equal(runs.regret(label, "strong", cumulative=False), gaps.max(axis=0))


@pytest.mark.parametrize("ask", [Runs.log, Runs.regret, Runs.final, Runs.duels, Runs.outcomes, Runs.layers])
def test_an_unknown_label_is_named_with_the_known_ones(runs, ask):
    with pytest.raises(dl.InvalidInput, match=r"'Thompson'.*VACDB, CoLSTIM, UniformPair"):
        ask(runs, "Thompson")


def test_an_unknown_kind_is_named(runs):
    with pytest.raises(dl.InvalidInput, match="'total'"):
        runs.regret("VACDB", "total")
    with pytest.raises(dl.InvalidInput, match="'total'"):
        runs.summary("total")


# -- summary -----------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reference", LABELS)
def test_summary_is_what_scipy_says(runs, kind, reference, confidence):
    summary = runs.summary(kind, reference, confidence)
    assert (summary.kind, summary.reference, summary.confidence) == (kind, reference, confidence)
    assert (summary.runs, summary.horizon) == (12, 200)
    assert [row.label for row in summary.rows] == list(LABELS)
    base = runs.regret(reference, kind)[:, -1]
    for row in summary.rows:
        final = runs.regret(row.label, kind)[:, -1]
        assert row.mean == pytest.approx(np.mean(final))
        assert row.sd == pytest.approx(np.std(final, ddof=1))
        assert row.median == pytest.approx(np.median(final))
        assert row.worst == pytest.approx(np.max(final))
        expected = stats.ttest_1samp(final, 0.0).confidence_interval(confidence)
        assert row.interval == pytest.approx((expected.low, expected.high))
        assert row.difference == pytest.approx(np.mean(final) - np.mean(base), abs=1e-9)
        if row.label == reference:
            assert row.difference_interval == (0.0, 0.0)
        else:
            expected = stats.ttest_rel(final, base).confidence_interval(confidence)
            assert row.difference_interval == pytest.approx((expected.low, expected.high))


def test_summary_compares_with_the_first_policy_by_default(runs):
    assert runs.summary() == runs.summary("average", "VACDB", 0.95)


def test_an_interval_covers_the_mean_as_often_as_it_says():
    """Coverage over 2,000 normal samples of 5 is binomial with the confidence: six sigma."""
    samples = np.random.default_rng(0).standard_normal((2000, 5)) + 3.0
    covered = np.mean([low <= 3.0 <= high for low, high in (interval(s, 0.8) for s in samples)])
    assert covered == pytest.approx(0.8, abs=6 * np.sqrt(0.8 * 0.2 / 2000))


def test_a_single_run_has_no_interval():
    summary = single().summary()
    for row in summary.rows:
        assert row.interval == (-np.inf, np.inf)
        assert row.sd == 0.0
    assert "inf" in str(summary)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95, np.nan])
def test_a_bad_confidence_is_named(runs, confidence):
    with pytest.raises(dl.InvalidInput, match=f"confidence is {confidence}"):
        runs.summary(confidence=confidence)


def test_an_unknown_reference_is_named(runs):
    with pytest.raises(dl.InvalidInput, match="'Thompson'"):
        runs.summary(reference="Thompson")


def test_a_summary_prints_as_a_table(runs):
    summary = runs.summary("weak", "CoLSTIM", 0.9)
    head, columns, *lines = str(summary).splitlines()
    assert head == "weak regret after 200 rounds, 12 runs, 90% intervals"
    assert "minus CoLSTIM" in columns
    assert [line.split()[0] for line in lines] == list(LABELS)
    for line, row in zip(lines, summary.rows, strict=True):
        assert f" {row.mean:.1f} " in line
        assert f" {row.sd:.1f} " in line
        assert (f" {row.difference:+.1f} " in line) == (row.label != "CoLSTIM")
        assert line == line.rstrip()
    means = [f" {row.mean:.1f}" for row in summary.rows]
    assert len({line.index(mean) + len(mean) for line, mean in zip(lines, means, strict=True)}) == 1  # right-aligned


@pytest.mark.parametrize(("confidence", "written"), [(0.5, "50%"), (0.95, "95%"), (0.995, "99.5%"), (0.999, "99.9%")])
def test_a_summary_does_not_round_its_confidence_to_certainty(runs, confidence, written):
    assert f", {written} intervals" in str(runs.summary(confidence=confidence)).splitlines()[0]


# -- plot --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_plot_draws_mean_curves_on_the_given_axes(runs, pyplot, kind):
    _, ax = pyplot.subplots()
    assert runs.plot(ax, kind) is ax
    assert [line.get_label() for line in ax.get_lines()] == list(LABELS)
    assert line_labels(ax) == list(LABELS)
    assert ax.get_xlabel() == "round"
    assert ax.get_ylabel() == f"cumulative {kind} regret (lower is better)"
    assert ax.get_ylim()[0] == 0.0
    for line in ax.get_lines():
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 201))
        np.testing.assert_allclose(line.get_ydata(), runs.regret(line.get_label(), kind).mean(axis=0))
    assert len(pyplot.get_fignums()) == 1


def band_edges(ax, which):
    """Lower and upper edge of a band, read back from the drawn polygon."""
    corners = ax.collections[which].get_paths()[0].vertices
    return tuple(np.array([pick(corners[corners[:, 0] == t, 1]) for t in range(1, 201)]) for pick in (np.min, np.max))


def expected_band(curves, band):
    mean, sd = curves.mean(axis=0), curves.std(axis=0, ddof=1)
    if band == "sd":
        return np.maximum(mean - sd, 0.0), mean + sd
    if band == "quantile":
        return np.quantile(curves, 0.1, axis=0), np.quantile(curves, 0.9, axis=0)
    half = stats.t.ppf(0.975, len(curves) - 1) * stats.sem(curves, axis=0)
    return mean - half, mean + half


def test_plot_draws_intervals_of_the_mean_as_bars_beside_each_other(runs, pyplot):
    ax = runs.plot(pyplot.subplots()[1])
    places = []
    for which, label in enumerate(LABELS):
        low, high = expected_band(runs.regret(label), "interval")
        bars = np.array(ax.collections[which].get_segments())
        at = bars[:, 0, 0].astype(int)
        places.append(at)
        np.testing.assert_allclose(bars[:, 0, 1], low[at - 1], atol=1e-9)
        np.testing.assert_allclose(bars[:, 1, 1], high[at - 1], atol=1e-9)
    assert places[-1].tolist() == [50, 100, 150, 200]
    assert len(np.unique(places)) == 4 * len(LABELS)


@pytest.mark.parametrize("band", ["sd", "quantile"])
def test_plot_draws_the_band_it_is_asked_for(runs, pyplot, band):
    ax = runs.plot(pyplot.subplots()[1], band=band)
    for which, label in enumerate(LABELS):
        low, high = expected_band(runs.regret(label), band)
        drawn_low, drawn_high = band_edges(ax, which)
        np.testing.assert_allclose(drawn_low, low, atol=1e-9)
        np.testing.assert_allclose(drawn_high, high, atol=1e-9)


@pytest.mark.parametrize("band", ["sd", "interval", "quantile"])
def test_plot_of_a_single_run_has_bands_without_width(pyplot, band):
    result = single()
    ax = result.plot(band=band)
    assert len(ax.get_lines()) == 2
    ax.figure.canvas.draw()


def test_plot_makes_axes_where_none_are_given(runs, pyplot):
    ax = runs.plot()
    assert pyplot.get_fignums() == [ax.figure.number]


def test_plot_refuses_an_unknown_band_by_name_and_leaves_no_figure(runs, pyplot):
    with pytest.raises(dl.InvalidInput, match=r"band is 'se'. Choose one of interval, sd, quantile"):
        runs.plot(band="se")
    assert not pyplot.get_fignums()


# -- parts and sums ----------------------------------------------------------------------


def assert_equal_runs(a, b):
    assert a.labels == b.labels
    assert a.settings == b.settings
    for label in a.labels:
        for mine, theirs in zip(a.log(label), b.log(label), strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


def test_only_and_joined_take_runs_apart_and_together(runs):
    parts = runs.only(["UniformPair"]), runs.only(["VACDB", "CoLSTIM"])
    assert parts[0].labels == ["UniformPair"]
    assert_equal_runs(parts[1].merge(parts[0]), runs)


def test_only_refuses_an_unknown_label(runs):
    with pytest.raises(dl.InvalidInput, match="'Thompson'"):
        runs.only(["VACDB", "Thompson"])


@pytest.mark.parametrize(
    "other", [{"seed": 8}, {"horizon": 199}, {"runs": 11}, {"environment": RandomArms(3, n_arms=(2, 6))}]
)
def test_runs_of_different_worlds_cannot_be_joined(runs, other):
    settings = {"environment": RandomArms(3, n_arms=(2, 5)), "horizon": 200, "runs": 12, "seed": 7, **other}
    stranger = dl.simulate(dl.MaxInP(), **settings)
    with pytest.raises(dl.InvalidInput, match=next(iter(other))):
        runs.merge(stranger)


def test_a_noiseless_world_is_another_world(runs):
    stranger = dl.simulate(dl.MaxInP(), Noiseless(RandomArms(3, n_arms=(2, 5))), horizon=200, runs=12, seed=7)
    with pytest.raises(dl.InvalidInput, match="environment"):
        runs.merge(stranger)


# -- files -------------------------------------------------------------------------------


def test_saved_runs_come_back_equal(runs, tmp_path):
    path = tmp_path / "runs.npz"
    assert runs.save(path) == path
    assert_equal_runs(Runs.load(path), runs)
    assert str(Runs.load(str(path)).summary()) == str(runs.summary())
    assert [p.name for p in tmp_path.iterdir()] == ["runs.npz"]


@pytest.mark.parametrize("name", ["plain", "dotted.name", "with space.npz"])
def test_runs_are_saved_under_exactly_the_name_given(runs, tmp_path, name):
    runs.save(str(tmp_path / name))
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert_equal_runs(Runs.load(tmp_path / name), runs)


def test_any_label_survives_a_file(tmp_path):
    policies = {"a/b": dl.UniformPair(), "VACDB(scale=2)": dl.MaxInP(), "Sta’D ✓": dl.CoLSTIM(), "meta": dl.StaD()}
    result = dl.simulate(policies, Noiseless(Hypercube(2)), horizon=10, runs=2)
    assert_equal_runs(Runs.load(result.save(tmp_path / "r.npz")), result)


def test_saving_replaces_an_older_file(runs, tmp_path):
    path = tmp_path / "runs.npz"
    path.write_bytes(b"old")
    runs.save(path)
    assert_equal_runs(Runs.load(path), runs)


def test_a_failed_save_leaves_the_older_file_and_nothing_else(runs, tmp_path, monkeypatch):
    path = runs.save(tmp_path / "runs.npz")
    before = path.read_bytes()

    def full(file, **_):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="disk full"):
        runs.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["runs.npz"]


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.npz"):
        Runs.load(tmp_path / "nothing.npz")


def small_file(tmp_path):
    result = dl.simulate(dl.UniformPair(), Hypercube(2), horizon=30, runs=2)
    return result, result.save(tmp_path / "small.npz")


def rewrite(path, **changes):
    """The file again with other members; None leaves one out."""
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    meta = json.loads(str(arrays["meta"]))
    meta.update(changes.pop("meta", {}))
    arrays["meta"] = np.array(json.dumps(meta))
    arrays.update(changes)
    np.savez_compressed(path, **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize("meta", [{"version": 3}, {"version": None}, {"format": "duelist.policy"}])
def test_another_version_is_refused_by_number(tmp_path, meta):
    _, path = small_file(tmp_path)
    rewrite(path, meta=meta)
    with pytest.raises(dl.InvalidInput, match=rf"small.npz holds .*{next(iter(meta.values()))}.*version 1"):
        Runs.load(path)


@pytest.mark.parametrize("change", [{"0/outcome": None}, {"meta": {"labels": ["a", "b"]}}])
def test_a_file_that_lacks_something_is_refused(tmp_path, change):
    _, path = small_file(tmp_path)
    rewrite(path, **change)
    with pytest.raises(dl.InvalidInput, match=r"small\.npz"):
        Runs.load(path)


def test_a_file_that_lacks_its_settings_is_refused(tmp_path):
    _, path = small_file(tmp_path)
    meta = {"format": "duelist.simulation.runs", "version": 1, "labels": ["UniformPair"]}
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files if name != "meta"}
    np.savez_compressed(path, meta=np.array(json.dumps(meta)), **arrays)
    with pytest.raises(dl.InvalidInput, match=r"small\.npz"):
        Runs.load(path)


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 cut short"])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(dl.InvalidInput, match=r"other\.npz"):
        Runs.load(path)


def test_an_array_file_of_numpy_is_refused(tmp_path):
    path = tmp_path / "array.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(dl.InvalidInput, match=r"array\.npy"):
        Runs.load(path)


def test_an_archive_of_something_else_is_refused(tmp_path):
    path = tmp_path / "archive.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(dl.InvalidInput, match=r"archive\.npz"):
        Runs.load(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_file_cut_short_is_refused(tmp_path, share):
    _, path = small_file(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(dl.InvalidInput, match=r"small\.npz"):
        Runs.load(path)


def test_a_damaged_byte_is_refused_or_harmless(tmp_path):
    """Every 5th byte turned over in three ways: the same runs, or InvalidInput, and nothing else."""
    result, path = small_file(tmp_path)
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), 5):
        for flip in (0x01, 0x20, 0xFF):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
            try:
                loaded = Runs.load(path)
            except dl.InvalidInput:
                refused += 1
            else:
                assert_equal_runs(loaded, result)
    assert refused > 100


def test_a_directory_is_refused(tmp_path):
    with pytest.raises((dl.InvalidInput, IsADirectoryError)):
        Runs.load(tmp_path)


def test_logs_are_compact(runs):
    types = {name: getattr(runs.log("VACDB"), name).dtype.name for name in DuelLog._fields}
    assert types == {
        "first": "int32",
        "second": "int32",
        "layer": "int8",
        "outcome": "uint8",
        "first_gap": "float64",
        "second_gap": "float64",
    }
