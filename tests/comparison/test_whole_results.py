"""Results as tables, plots and effect sizes, functions that take results, and invalid samples."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from curve_makers import blobs, ragged_blobs, rotation
from napari_shape_ensembles import (
    Ensemble,
    Outlines,
    Quality,
    Settings,
    agreement,
    annotators,
    archetype_sensitivity,
    compare,
    decision_landscape,
    dependence_test,
    experiment,
    explain,
    mmd_test,
    position_dependence,
    quality,
    resynthesis,
    smoothing_study,
)

QUICK = {"landmarks": 40, "rank": 6, "permutations": 99}
NOTEBOOK = Path(__file__).parents[2] / "docs" / "how-to" / "notebook.md"


@pytest.fixture(scope="module")
def result():
    curves = ragged_blobs(50, seed=4, fewest=30, most=60)
    a = Ensemble(curves[:20], name="field 1", unit="µm", metadata={"condition": "control", "well": np.arange(20)})
    b = Ensemble(curves[20:], name="field 2", unit="µm", metadata={"condition": "drug"})
    return compare(a, b, **QUICK)


def test_the_table_holds_everything_known_about_a_curve(result):
    table = result.to_dataframe(coordinates=True)
    assert [*result.to_dataframe()] == [name for name in table if name not in result.space.get_feature_names_out()]
    assert table.columns.tolist()[:5] == ["id", "image", "sample", "condition", "well"]
    np.testing.assert_array_equal(table[["t1", "t6", "l3"]], np.column_stack([result.t[:, [0, 5]], result.l[:, 2]]))
    np.testing.assert_array_equal(table["scale"], result.distances["scale"])
    assert table.groupby("sample")["condition"].unique().map(list).to_dict() == {
        "field 1": ["control"],
        "field 2": ["drug"],
    }
    assert table["well"].isna().sum() == 30
    assert table["area"].tolist() == [*result.a.features["area"], *result.b.features["area"]]


@pytest.mark.filterwarnings("ignore")  # of anndata itself
def test_export_to_other_libraries(result):
    pytest.importorskip("geopandas")
    pytest.importorskip("anndata")
    assert result.to_geodataframe().groupby("sample").size().to_dict() == {"field 1": 20, "field 2": 30}
    data = result.to_anndata()
    assert data.var_names.tolist()[-4:] == ["t6", "l1", "l2", "l3"]
    assert data.uns["shape_ensembles"]["case"] == result.case
    assert (
        Ensemble.from_anndata(data[data.obs["sample"] == "field 2"]).vertices.tobytes() == result.b.vertices.tobytes()
    )
    both = result.a + result.b  # with repeated ids, and one without a well
    for again in (Ensemble.from_anndata(data), Ensemble.from_polygons(result.to_geodataframe())):
        assert again.vertices.tobytes() == both.vertices.tobytes()
        assert [*again.ids] == [*both.ids]
        pd.testing.assert_frame_equal(again.metadata, both.metadata)


def test_explanation_functions_accept_a_result(result):
    pieces = result.t, result.l, len(result.a)
    assert dependence_test(result, permutations=99).p_value == dependence_test(*pieces, permutations=99).p_value
    with pytest.raises(TypeError, match="give a Comparison alone"):
        dependence_test(result.a)
    with pytest.raises(TypeError, match="give a Comparison alone"):
        dependence_test(result.t, result.l)


@pytest.mark.parametrize("seed", [0, 5])
def test_generators_with_one_seed_give_the_same_draws(result, seed):
    calls = (
        lambda draws: mmd_test(result.t[:20], result.t[20:], permutations=99, random_state=draws).null.tolist(),
        lambda draws: dependence_test(result, permutations=99, random_state=draws).null.tolist(),
        lambda draws: [swap.of_form.undulation.mmd for swap in resynthesis(result, random_state=draws)],
    )
    for call in calls:
        assert call(seed) == call(seed)
        assert call(np.random.default_rng(seed)) == call(np.random.default_rng(seed))
        assert call(np.random.RandomState(seed)) == call(np.random.RandomState(seed))
    with pytest.raises(ValueError, match="random_state must be an integer"):
        mmd_test(result.t[:20], result.t[20:], random_state="a")
    assert Settings(random_state=seed) == Settings(seed=seed)
    assert compare(result.a, result.b, random_state=seed, **QUICK).settings.seed == seed


def test_every_result_plots_on_axes_without_pyplot(result):
    images = [side[np.arange(len(side)) % 3 == i] for side in (result.a, result.b) for i in range(3)]
    design = pd.DataFrame({"group": ["a"] * 3 + ["b"] * 3})
    labels, few = np.zeros((60, 60), int), Settings(permutations=19)
    bound = compare(result.a, result.b, null="bound", **QUICK)
    for i, place in enumerate(np.ndindex(4, 4)):
        row, column = 3 + 14 * np.array(place)
        labels[row : row + 7 + i % 3, column : column + 9] = i + 1
    results = {
        "comparison": result,
        "raw": compare(result.a, result.b, coordinates="raw", **QUICK),
        "no permutations": bound,
        "test": result.scale,
        "test without permutations": bound.scale,
        "dependence": dependence_test(result),
        "experiment": experiment(images, design, **QUICK),
        "no replicates": experiment(images[2:4], design[2:4], **QUICK),
        "explanation": explain(result),
        "shares": explain(result).components,
        "landscape": decision_landscape(result.a, result.b, ranks=(2, 4), landmarks=(20, 40), settings=few),
        "smoothing": smoothing_study(labels, labels.T, sigmas=(0.5, 1.0), ranks=(2,), landmarks=(20,), settings=few),
    }
    results |= {
        "sensitivity": archetype_sensitivity(result, 2),
        "position": position_dependence(result),
        "quality": quality(result.a, result.a),
        "quality without findings": Quality(()),
        "agreement": agreement(labels, labels, few),
        "annotators": annotators([labels, labels, np.roll(labels, 1)]),
    }
    figure = Figure()
    for (name, one), ax in zip(results.items(), figure.subplots(6, 3).flat, strict=True):
        assert one.plot(ax) is ax, name
        own = one.plot()
        assert own.figure is not figure
        own.figure.canvas.draw()
    figure.canvas.draw()
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


def test_plots_show_the_results(result):
    found = archetype_sensitivity(result, 3)
    level, *marks = found.plot().lines
    drawn = sorted(x for mark in marks for x in mark.get_xdata())
    assert drawn == sorted(getattr(one, test).p_value for one in found.comparisons for test in ("undulation", "scale"))
    assert level.get_xdata() == [0.025, 0.025]

    position = position_dependence(result).plot()
    assert [label.get_text() for label in position.get_yticklabels()] == ["scale", "form"]

    twice = quality(result.a, result.a)
    axes = twice.plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert {names[int(line.get_ydata()[0])] for line in axes.lines} == {found.check for found in twice.findings}
    assert "1 serious finding (squares)" in axes.get_title("left")
    assert Quality(()).plot().get_title("left") == "nothing found"

    one = np.kron(np.arange(1, 17).reshape(4, 4), np.pad(np.ones((8, 8), int), 3))
    axes = agreement(one, np.where(one == 6, 0, one), Settings(**QUICK)).plot()
    assert "15 matched, 1 only in A" in axes.get_title("left")
    larger = np.kron(np.arange(1, 17).reshape(4, 4), np.pad(np.ones((10, 10), int), 2))
    found = annotators({"Ada": one, "Ben": one, "Cem": larger})
    axes, sizes = found.plot(), found.tendencies[found.tendencies["measure"] == "size"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Cem", "Ben", "Ada"]
    points = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert points == sizes["effect"].tolist()[::-1]


def test_a_table_of_an_experiment_has_one_row_per_outline(result):
    design = pd.DataFrame({"group": ["x", "x", "y", "y"], "dose": [0.0, 0.0, 1.0, 2.0]})
    images = [result.a[:8], result.a[8:], result.b[:9], result.b[9:]]
    found = experiment(images, design, **QUICK)
    table = found.to_dataframe()
    assert table["id"].tolist() == [name for one in images for name in one.ids.tolist()]
    assert table["sample"].tolist() == np.repeat([*"xxyy"], list(map(len, images))).tolist()
    assert table.groupby("replicate")["dose"].first().tolist() == design["dose"].tolist()
    means = np.log(table["size"]).groupby(table["replicate"]).mean()
    np.testing.assert_allclose(means, found.quantities.means["size"])


LABELS = np.zeros((30, 40), np.int32)


@pytest.mark.parametrize(
    ("sides", "kind", "words"),
    [
        ((LABELS, LABELS), ValueError, r"array of shape \(30, 40\): use extract_curves\(labels\) to trace"),
        (([LABELS], [LABELS]), ValueError, r"extract_curves\(labels\) to trace"),
        ((LABELS > 0, LABELS > 0), ValueError, r"extract_curves\(labels\) to trace"),
        ((LABELS / 2, LABELS), ValueError, r"Outlines\(\)\(image\) to trace an image"),
        ((LABELS.astype(np.uint8), LABELS), ValueError, r"Outlines\(\)\(image\) to trace an image"),
        (("a.csv", "b.csv"), ValueError, r"not the path 'a.csv': use io.read_curves\(path\)"),
        ((Path("a.tif"), Path("b.tif")), ValueError, r"not the path 'a.tif'"),
        ((["a.csv"], ["b.csv"]), ValueError, r"not the path 'a.csv'"),
        ((None, None), ValueError, "not NoneType"),
        (({"a": 1}, 3), ValueError, "not dict"),
        ((pd.DataFrame(), 3), ValueError, "not DataFrame"),
    ],
)
def test_invalid_samples_are_rejected_with_the_remedy(sides, kind, words):
    with pytest.raises(kind, match=words):
        compare(*sides)


def test_invalid_arguments_are_rejected_with_the_remedy(result):
    with pytest.raises(ValueError, match=r"not 'a.tif': io.read_image\(path\).pixels reads one"):
        Outlines()("a.tif")
    with pytest.raises(ValueError, match=r"Ensemble.from_labels traces labels, io.read_curves reads a file"):
        Ensemble("a.csv")
    with pytest.raises(TypeError, match="explain takes the Comparison that compare returns, not Ensemble"):
        explain(result.a)


def test_a_third_sample_is_referred_to_experiment(result):
    for third in (result.a, [result.a], {"rank": 3}):
        with pytest.raises(TypeError, match="experiment compares several groups"):
            compare(result.a, result.b, third)
    with pytest.raises(ValueError, match=r"extract_curves\(labels\) to trace"):
        experiment([LABELS, LABELS], pd.DataFrame({"group": ["a", "b"]}))


def steps(left, right):
    """Run the code under "Step by step" in docs/how-to/notebook.md and return its names."""
    section = NOTEBOOK.read_text(encoding="utf-8").split("## Step by step")[1].split("\n## ")[0]
    names = {"left": left, "right": right, "np": np, "compare": compare}
    for block in re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL):
        exec(block, names)
    return names


@settings(max_examples=5)
@given(seed=st.integers(0, 100))
def test_the_step_by_step_example_reproduces_compare(seed):
    """Also if half of one population is rotated by 90 degrees, which is no difference in scale."""
    curves = blobs(60, 80, seed=seed, elongation=2.0)
    turned = [curve @ rotation(np.pi / 2).T for curve in curves[30:]]
    names = steps(Ensemble(list(curves[:30])), Ensemble(turned))
    result = names["result"]
    np.testing.assert_allclose(names["t"], result.t, atol=1e-9)
    np.testing.assert_allclose(names["l"], result.l, atol=1e-9)
    assert names["form_test"].p_value == result.undulation.p_value
    assert names["scale_test"].p_value == result.scale.p_value
    upright = compare(Ensemble(list(curves[:30])), Ensemble(list(curves[30:])), result.settings)
    assert names["scale_test"].p_value == pytest.approx(upright.scale.p_value, abs=0.003)


def test_the_step_by_step_example_starts_from_outlines_at_one_precision():
    """Outlines of whole pixels beside exact ones, which are compared at the precision of the first."""
    curves = blobs(30, 80, seed=1)
    names = steps(Ensemble([np.round(20 * curve) for curve in curves[:15]]), Ensemble([20 * c for c in curves[15:]]))
    assert names["result"].note
    assert names["form_test"].p_value == names["result"].undulation.p_value
    assert names["scale_test"].p_value == names["result"].scale.p_value
