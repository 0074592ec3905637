"""Recipes proposed for an image, or for all images of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .outlines import Outlines
from .proposals import Proposal, ranked_proposals


def propose(image: ArrayLike | Sequence[ArrayLike], recipe: Any = None) -> list[Proposal]:
    """Try several recipes on a part of an image, or of each of several, and rank them without a reference.

    Methods, bright and dark objects, and ways to split them are tried on the window of the image with the strongest
    edges. Preferred are objects that are closed, round, of even gray levels, and found by other recipes too. The
    objects of the first recipe are refined by learning from the best of them (`Outlines.refine`) unless it is expected
    to be good.

    Parameters
    ----------
    image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A); or a list of such arrays
        All images of a study, in a list, to find one recipe for all of them. Of more than six, six from the first to
        the last are tried.
    recipe : Outlines, optional
        Its parameters of tracing, cleaning up and pixel size are kept in the proposals.

    Returns
    -------
    list of Proposal
        The best first, without duplicates.

    Raises
    ------
    ValueError
        For an image that cannot be segmented, identifying it if there are several; see `segment`.

    Notes
    -----
    The weights of the score are a ridge regression of F1, at an intersection over union of 0.5, on images of nuclei, of
    steel and of particles with manual labels. Parts that are not image are left out; see `Outlines.ignore`. For a
    study, propose for all images together and use one recipe: a choice per image can create a spurious difference
    between groups.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import propose
    >>> rows, columns = np.indices((120, 120)) % 40
    >>> image = 200 - 100.0 * (np.hypot(rows - 20, columns - 20) < 12)
    >>> best = propose(image)[0]
    >>> best.recipe.objects, int(best.labels.max()), best.recipe(image)
    ('dark', 9, Ensemble('': 9 curves in pixel))
    >>> propose([image, image + 50])[0].recipe.objects
    'dark'
    """
    several = isinstance(image, list | tuple) and image and all(len(np.shape(one)) > 1 for one in image)
    images: Any = image if several else [image]
    return ranked_proposals(images, Outlines() if recipe is None else recipe)
