"""Figures show the results of studies, complete or partial, with any style."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from scipy.cluster.hierarchy import leaves_list

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, decision_landscape, experiment, smoothing_study
from napari_shape_ensembles.studies import figures
from napari_shape_ensembles.studies.superplot import draw_groups, figures_of

SETTINGS = Settings(permutations=99, significance=0.05)


@pytest.fixture(autouse=True)
def no_screen():
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def landscapes():
    """Every partial landscape, from empty to complete."""
    a, b = (Ensemble(list(blobs(25, 60, seed=seed, roughness=0.15 + 0.04 * seed))) for seed in (1, 2))
    grid = {"ranks": [2, 5, 9, 30, 40], "landmarks": [16, 32, 60]}
    steps = []
    decision_landscape(a, b, settings=SETTINGS, progress=steps.append, **grid)
    return [step.result for step in steps]


@pytest.fixture(scope="module")
def study():
    rows, columns = np.mgrid[:200, :200]
    waves = np.sin(rows / 6) * np.sin(columns / (5 + rows / 90))
    return smoothing_study(
        waves > 0.2, waves.T > 0.4, sigmas=[0, 1, 2, 200], ranks=[3, 8], landmarks=[24, 32], settings=SETTINGS
    )


def offsets(ax):
    """Positions of the marks on an axes: crosses, rings."""
    crosses, rings = (np.asarray(found.get_offsets()) for found in ax.collections[:2])
    return crosses, rings


@pytest.mark.parametrize("test", ["undulation", "scale", "product", "coarse form", "roughness"])
def test_every_cell_has_one_mark_for_its_decision(landscapes, test):
    landscape = landscapes[-1]
    decisions = landscape.test(test)
    crosses, rings = offsets(landscape.plot(test=test))
    assert {(i, j) for j, i in crosses.astype(int)} == set(zip(*np.nonzero(decisions.rejected), strict=True))
    kept = decisions.computed & ~decisions.rejected
    assert {(i, j) for j, i in rings.astype(int)} == set(zip(*np.nonzero(kept), strict=True))


def test_the_mean_and_its_band_are_drawn_over_the_ranks(landscapes):
    ax = figures.plot_mmd(landscapes[-1])
    mean = next(line for line in ax.lines if line.get_label() == "mean over n")
    np.testing.assert_allclose(mean.get_ydata(), landscapes[-1].undulation.mean_mmd)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "5", "9", "30", "40"]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["n = 16", "n = 60", "mean over n"]


def test_the_grid_shows_the_mmd_and_frames_the_settings_in_use(landscapes):
    ax = landscapes[-1].plot(current=(32, 9))
    np.testing.assert_array_equal(ax.images[0].get_array().filled(np.nan), landscapes[-1].mmd)
    assert ax.patches[0].get_xy() == (1.5, 0.5)
    assert ax.patches[0].get_linestyle() == "-"
    near = landscapes[-1].plot(current=(500, 29)).patches[0]
    assert near.get_xy() == (2.5, 1.5)
    assert near.get_linestyle() == ":"


def test_ambiguity_is_drawn_as_stems(landscapes):
    ax = figures.plot_ambiguity(landscapes[-1])
    markers = ax.containers[0].markerline
    np.testing.assert_allclose(markers.get_ydata(), landscapes[-1].ambiguity)


def test_landscapes_can_be_drawn_at_every_step(landscapes):
    for landscape in landscapes[::5]:
        figure = plt.figure(layout="constrained")
        assert len(figures.plot_landscape(landscape, figure)) == 3
        figure.draw_without_rendering()
        plt.close(figure)


def test_colors_follow_the_current_style(landscapes):
    with mpl.rc_context({"text.color": "#abcdef"}):
        ax = figures.plot_mmd(landscapes[-1])
    mean = next(line for line in ax.lines if line.get_label() == "mean over n")
    assert to_rgba(mean.get_color()) == to_rgba("#abcdef")


def test_a_study_is_drawn_with_its_recommended_range(study):
    mmd, ambiguity, sizes = figures.plot_study(study, current=1.0)
    np.testing.assert_allclose(sizes.lines[0].get_ydata(), study.sizes[:, 0])
    np.testing.assert_allclose(ambiguity.lines[0].get_ydata(), study.mean_ambiguity())
    np.testing.assert_allclose(mmd.lines[0].get_ydata(), study.mean_mmd())
    assert any(list(line.get_xdata()) == [1.0, 1.0] for line in mmd.lines)
    found = study.recommended
    assert found is not None
    assert mmd.patches[0].get_x() == found.low
    assert mmd.patches[0].get_width() == found.high - found.low
    mmd.figure.canvas.draw()


def test_pairs_are_drawn_in_the_order_of_the_tree():
    images = [Ensemble(list(blobs(20, 40, seed=s) * size), name=f"n{s}") for s, size in ((1, 1), (2, 3), (3, 1))]
    design = pd.DataFrame({"group": [one.name for one in images]})
    pairs = experiment(images, design, Settings(landmarks=30, rank=8, significance=0.05))
    _, matrix = draw_groups(pairs, plt.figure())
    names = [text.get_text() for text in matrix.get_yticklabels()]
    assert names == [pairs.design.groups[place] for place in leaves_list(pairs.linkage)]
    assert names in (["n2", "n1", "n3"], ["n2", "n3", "n1"], ["n1", "n3", "n2"], ["n3", "n1", "n2"])
    shown = {tuple(names[int(place)] for place in text.get_position()): text.get_text() for text in matrix.texts}
    for a, b, differs in pairs.table[["a", "b", "differs"]].itertuples(index=False):
        assert shown[a, b] == shown[b, a] == differs


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_landmark_counts_contrast_with_the_background(landscapes, style):
    with mpl.style.context(style):
        figures.plot_mmd(landscapes[-1], ax := plt.figure().subplots())
        background = np.mean(to_rgba(ax.get_facecolor())[:3])
        for line in ax.lines:
            if line.get_marker() == "s":
                assert abs(np.mean(to_rgba(line.get_color())[:3]) - background) > 0.35


def test_long_group_names_leave_room_for_the_panels():
    names = ["wild type, untreated, 24 h", "_$\\frac{a}$", "knock-out of lamin A, 48 h"]
    ensembles = [Ensemble(list(blobs(8, 60, seed=seed)), name=f"image {seed}") for seed in range(6)]
    design = pd.DataFrame({"group": np.repeat(names, 2), "$x_1 \\frac{": [0, 1, 2, 3, 5, 8]})
    found = experiment(ensembles, design, Settings(landmarks=50, rank=10, permutations=99))
    drawn = figures_of(found)
    assert list(drawn) == ["SuperPlot", "Trend with $x_1 \\frac{", "Distances"]
    for draw in drawn.values():
        draw(figure := plt.figure(figsize=(4.2, 3), layout="constrained"))
        figure.canvas.draw()  # warns if no space is left for the panels
        texts = [text.get_text() for text in figure.findobj(mpl.text.Text)]
        assert {"wild type, u…eated, 24 h", "_$\\frac{a}$", "knock-out of…min A, 48 h"} <= set(texts)
