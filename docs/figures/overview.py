"""Draws docs/images/overview-light.png and -dark.png: a real comparison, readable at a width of 680 pixels.

Run as ``python docs/figures/overview.py``. The text in a figure is also stored as its description, which
tools/write_docs.py compares with the stored results.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection

from napari_shape_ensembles import compare, samples

IMAGES = Path(__file__).resolve().parents[1] / "images"
# Background and text colors of both themes of the site.
THEMES = {"light": ("#ffffff", "#1a1c1e"), "dark": ("#131416", "#d0d4d8")}
WORDS = {"0": "differs", "1": "no difference detected"}


def words(case, scale, undulation):
    """Text below the micrographs, from the row and both p-values."""
    form_digit, scale_digit = case.split("∧")
    return (
        f"size and elongation (scale): {WORDS[scale_digit]}, p = {scale:.2g}\n"
        f"form (undulation): {WORDS[form_digit]}, p = {undulation:.2g}\nrow {case}"
    )


def draw(result, pictures, theme):
    """Two micrographs with their outlines filled by distance from the mean shape, and the result below."""
    ground, text = THEMES[theme]
    mpl.rcParams.update({"text.color": text, "axes.labelcolor": text, "ytick.color": text, "font.size": 10})
    figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.95), layout="constrained", facecolor=ground)
    distance = result.distances["distance_from_mean"].to_numpy()
    top = np.quantile(distance, 0.98)
    parts = ((result.a, distance[: len(result.a)]), (result.b, distance[len(result.a) :]))
    for axis, picture, name, (ensemble, values) in zip(axes, pictures, "AB", parts, strict=True):
        axis.imshow(picture, cmap="gray", vmax=picture.max() * 1.3)
        polygons = [curve[:, ::-1] for curve in ensemble.curves]
        filled = PolyCollection(polygons, array=values, clim=(0, top), cmap="viridis", alpha=0.75, ec="w", lw=0.4)
        axis.add_collection(filled)
        axis.set_title(f"{name}: {len(ensemble)} particles", fontsize=11)
        axis.axis("off")
    bar = figure.colorbar(filled, ax=axes, label="distance from the mean shape", shrink=0.85)
    bar.outline.set_visible(False)
    said = words(result.case, result.scale.p_value, result.undulation.p_value)
    figure.supxlabel(said, fontsize=11)
    figure.savefig(IMAGES / f"overview-{theme}.png", dpi=150, facecolor=ground, metadata={"Description": said})
    plt.close(figure)


def main():
    """Compare and draw."""
    result = compare(*samples.powder_outlines().ensembles())
    powder = samples.powder()
    for theme in THEMES:
        draw(result, (powder.a, powder.b), theme)


if __name__ == "__main__":
    main()
