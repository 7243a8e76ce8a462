"""Colors that people with any color vision can tell apart, and labels that do not overlap."""

import itertools

import numpy as np
import pytest
from matplotlib.text import Annotation

from duelist.core.figures import PALETTE, label_lines, line_labels, new_figure, spread
from duelist.simulation.regret_plot import POLICY_COLORS, policy_colors

# Machado, Oliveira, Fernandes 2009, table 1 at severity 1.0, for linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color, vision):
    """Return a color in CIELAB as somebody with that vision sees it."""
    rgb = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(VISION[vision]) @ linear, 0.0, 1.0)
    ratio = XYZ @ seen / (XYZ @ np.ones(3))
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_every_two_colors_differ_for_every_color_vision(vision):
    """A difference of 2.3 in CIELAB is just noticeable; thin lines need several times that."""
    seen = [lab(color, vision) for color in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 9.2


def test_policies_have_colors_of_their_own():
    assert len(set(POLICY_COLORS.values())) == len(POLICY_COLORS)
    colors = policy_colors(["mine", "VACDB", "MaxInP", "yours"])
    assert colors["VACDB"] == POLICY_COLORS["VACDB"]
    assert len(set(colors.values())) == 4


@pytest.mark.parametrize("seed", range(5))
def test_spread_keeps_the_order_and_the_distance(seed):
    rng = np.random.default_rng(seed)
    wanted = rng.uniform(0.0, 100.0, 9)
    found = spread(wanted, 10.0, 0.0, 100.0)
    assert np.diff(np.sort(found)).min() >= 10.0 - 1e-9
    assert found.min() >= 0.0
    assert found.max() <= 100.0
    assert (np.argsort(found) == np.argsort(wanted)).all()


def test_spread_leaves_alone_what_does_not_collide():
    np.testing.assert_array_equal(spread([50.0, 10.0, 90.0], 10.0, 0.0, 100.0), [50.0, 10.0, 90.0])


@pytest.mark.parametrize("log", [False, True])
def test_labels_of_lines_that_end_together_do_not_overlap(log):
    figure = new_figure(6, 4)
    ax = figure.subplots()
    for k in range(7):
        ax.plot([1, 2], [1.0, 5.0 + 0.01 * k], label=f"policy {k}")
    ax.plot([1, 2], [1, 2], label="_without a label")
    ax.plot([1, 2], [1.0, 50.0], label="far above")
    ax.set(xlim=(1, 2), ylim=(0.5, 10.0), yscale="log" if log else "linear")
    label_lines(ax)
    label_lines(ax)
    assert line_labels(ax) == [*(f"policy {k}" for k in range(7)), "far above ↑"]
    figure.draw_without_rendering()
    pixels = figure.dpi / 72.0
    labels = [text for text in ax.texts if isinstance(text, Annotation)]
    heights = sorted(ax.transData.transform(label.xy)[1] + pixels * label.xyann[1] for label in labels)
    assert np.diff(heights).min() > 1.15 * pixels * 9.0  # capital letters and descenders of 9 points
    assert ax.get_tightbbox().x1 <= figure.bbox.x1
