"""The layers of an inspection: every curve with its score, its reasons and whether it is excluded."""

import numpy as np
import pandas as pd
from napari.layers import Shapes
from numpy.typing import NDArray

from ..comparison.display import MARK, simplified
from ..inspection import Inspection
from ..outlines import Ensemble
from .inputs import Source
from .layers import claim
from .paints import Paint

_ORDINARY = "#9aa0a6"
_EXCLUDED = "#e0529c"


#: How suspicious curves are filled.
SCORE = Paint("score", lambda result: result.ranking["score"].to_numpy(dtype=np.float64))


def score_limits(result: Inspection) -> tuple[float, float]:
    """Ends of the colour scale of all layers: no suspicion, and the worst score."""
    return SCORE.limits(SCORE.values(result), 100)


def inspected_layers(result: Inspection, sources: tuple[Source, ...]) -> list[Shapes]:
    """One Shapes layer per ensemble, filled by score; not yet in a viewer.

    Feature columns: id and the measures of the curve, score, reasons, excluded.
    """
    _, highest = score_limits(result)
    return [
        _layer(source, ensemble, result.ranking[result.ranking["source"] == side], highest)
        for side, source, ensemble in zip("AB", sources, result.ensembles, strict=False)
    ]


def _layer(source: Source, ensemble: Ensemble, ranking: pd.DataFrame, highest: float) -> Shapes:
    features = ensemble.features.assign(score=0.0, reasons="", excluded=False)
    rows = ranking["index"].to_numpy()
    features.loc[rows, "score"] = ranking["score"].to_numpy()
    features.loc[rows, "reasons"] = ranking["reasons"].to_numpy()
    layer = Shapes(
        simplified([curve / source.scale for curve in ensemble.curves]) or None,
        ndim=2,
        shape_type="polygon",
        name=f"{source.name} inspected",
        features=features if len(features) else None,
        face_color="transparent",
        edge_color=_ORDINARY,
        edge_width=0.5,
        opacity=0.9,
        metadata={MARK: {"highest score": highest}},
        **source.placement,
    )
    layer.editable = False
    claim(layer)
    if len(ensemble):
        repaint(layer)
    return layer


def repaint(layer: Shapes) -> None:
    """Fill suspicious curves by their score; excluded ones are empty, with a line of their own colour."""
    score, excluded = layer.features["score"].to_numpy(dtype=float), excluded_of(layer)
    layer.face_color = _faces(score / layer.metadata[MARK]["highest score"], excluded)
    edges = np.array(layer.edge_color)
    edges[:] = _rgba(_ORDINARY)
    edges[excluded] = _rgba(_EXCLUDED)
    layer.edge_color = edges


def _faces(score: NDArray[np.float64], excluded: NDArray[np.bool_]) -> NDArray[np.float64]:
    faces = SCORE.colormap.map(score).astype(float)
    faces[:, 3] = np.where((score > 0) & ~excluded, 0.6, 0)
    return faces


def _rgba(color: str) -> NDArray[np.float64]:
    return np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] + [1.0])


def excluded_of(layer: Shapes) -> NDArray[np.bool_]:
    """Which curves of a layer are marked as excluded, in its feature column."""
    if "excluded" not in layer.features:
        return np.zeros(len(layer.data), dtype=bool)
    return np.array(layer.features["excluded"], dtype=bool)


def exclude(layer: Shapes, index: int, excluded: bool) -> None:
    """Mark one curve as excluded, or take it in again; nothing is deleted."""
    marks = excluded_of(layer)
    marks[index] = excluded
    layer.features = layer.features.assign(excluded=marks)
    repaint(layer)
