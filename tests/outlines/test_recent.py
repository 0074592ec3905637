"""Labels of an image are computed once for all that need them: previews, comparisons, checks."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from image_makers import spots
from napari_shape_ensembles import Outlines
from napari_shape_ensembles.outlines import outlines as module
from napari_shape_ensembles.outlines.recent import Recent


@pytest.fixture
def computed(monkeypatch):
    """The recipes by which labels were computed."""
    found, compute = [], module.labels_by_method
    monkeypatch.setattr(module, "labels_by_method", lambda *given: found.append(given[1]) or compute(*given))
    return found


def test_labels_are_computed_anew_for_another_image_or_recipe_only(computed):
    image, recipe = spots(71, rows=3), Outlines(smoothing=1.25)
    first = recipe.labels(image)
    again = recipe.labels(image.copy())
    np.testing.assert_array_equal(again, first)
    again[:] = 0  # a copy of its own
    np.testing.assert_array_equal(replace(recipe, outline_smoothing=3, min_area=40).labels(image), first)
    assert len(computed) == 1
    recipe.labels(image + 1)
    replace(recipe, ignore="0:9, 0:9").labels(image)
    assert (replace(recipe, split_touching="none").labels(image) != 0).any()
    assert len(computed) == 4


def test_a_result_is_computed_once_for_threads_that_ask_at_once_and_again_after_an_error():
    recent, image, calls = Recent[int](10, lambda one: 4), np.arange(6), []

    def compute():
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("first")
        return len(calls)

    with pytest.raises(ValueError, match="first"):
        recent.of(compute, image)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: recent.of(compute, image), range(50))) == {2}
    assert [recent.of(lambda: 7, image, about) for about in "abc"] == [7, 7, 7]
    assert recent.of(compute, image) == 3  # only two results of 4 bytes are kept within 10
