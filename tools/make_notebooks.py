"""Writes the notebooks of docs/notebooks from the cells below, and runs them.

Run as ``python tools/make_notebooks.py``; needs nbformat, nbclient and ipykernel.
"""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"

IMAGES = """
# From two images to a verdict

Two simulated micrographs of nuclei, a sample pair that comes with the plugin. Any two arrays do.
---
from napari_shape_ensembles import Settings, compare, extract_curves, samples, segment

pair = samples.simulated_treatment()
pair.names, pair.a.shape, pair.pixel_size, pair.unit
---
Labels, then outlines in the unit of the image. What is left out is counted.
---
a, b = (
    extract_curves(segment(image), scale=(pair.pixel_size, pair.pixel_size), unit=pair.unit, name=name)
    for image, name in zip((pair.a, pair.b), pair.names)
)
print(a, a.dropped)
print(b, b.dropped)
---
The comparison. In a notebook a result shows itself as the truth table with its row marked.
---
result = compare(a, b, Settings(seed=0))
result
---
Every curve has a distance from the mean shape; the most unusual ones come first.
---
result.distances.sort_values("product", ascending=False).head()
---
The same colors as in napari, drawn by Matplotlib. With a viewer, `result.to_layers(viewer)` adds the two layers.
---
%matplotlib inline
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection

figure, axes = plt.subplots(1, 2, figsize=(10, 5), sharex=True, sharey=True, layout="constrained")
high = np.percentile(result.distances["undulation"], 99)
for ax, side, ensemble in zip(axes, "AB", (result.a, result.b)):
    distance = result.distances.query("source == @side")["undulation"]
    outlines = PolyCollection([curve[:, ::-1] for curve in ensemble.curves], array=distance, clim=(0, high))
    ax.add_collection(outlines)
    ax.set(title=ensemble.name, aspect="equal", xlim=(0, 256), ylim=(256, 0), xlabel="µm")
figure.colorbar(outlines, ax=axes, label="undulation distance from the mean");
---
The whole result as one file, the same to the last digit when it comes back.
---
import tempfile
from pathlib import Path

from napari_shape_ensembles import Comparison

folder = Path(tempfile.mkdtemp())
result.save(folder / "nuclei.comparison.npz")
again = Comparison.load(folder / "nuclei.comparison.npz")
(again.t == result.t).all(), again.summary() == result.summary()
"""

CURVES = """
# Curves from elsewhere

Outlines drawn or found by another program go straight into a comparison: QuPath's GeoJSON, regions of ImageJ, COCO
and VIA annotations, tables, text. Here is an annotation file in COCO's format, made on the spot.
---
import json
import tempfile
from pathlib import Path

import numpy as np

rng = np.random.default_rng(1)
u = 2 * np.pi * np.arange(60) / 60


def outline(lobes):
    waves = rng.normal(size=4) @ np.cos(np.outer([2, 3, 4, 5], u) + rng.uniform(0, 6, (4, 1)))
    radius = 20 * (1 + 0.04 * waves + lobes * np.cos(6 * u))
    return np.ravel(np.stack([radius * np.cos(u), radius * np.sin(u)], axis=-1) + rng.uniform(50, 900, 2)).tolist()


annotations = [
    {"id": number, "image_id": 1, "category_id": 1 + number % 2, "segmentation": [outline(0.06 * (number % 2))]}
    for number in range(160)
]
content = {
    "images": [{"id": 1, "file_name": "leaves.png"}],
    "categories": [{"id": 1, "name": "smooth"}, {"id": 2, "name": "lobed"}],
    "annotations": annotations,
}
folder = Path(tempfile.mkdtemp())
(folder / "leaves.json").write_text(json.dumps(content));
---
Read it. Image and category of each outline become features.
---
from napari_shape_ensembles.io import read_curves

table = read_curves(folder / "leaves.json")
print(table.ensemble)
table.features.head(3)
---
Two categories are two samples.
---
from napari_shape_ensembles import compare

lobed = (table.features["category"] == "lobed").to_numpy()
result = compare(table.ensemble.subset(~lobed), table.ensemble.subset(lobed))
result
---
Out again, with the distances as features: as GeoJSON for QuPath, as regions for ImageJ, as a table for R.
---
from napari_shape_ensembles.io import CurveTable, write_curves

distances = result.distances.query("source == 'B'").drop(columns=["source", "id"]).reset_index(drop=True)
out = CurveTable(result.b, distances, table.scale, {"image": "leaves.png"})
for name in ("lobed.geojson", "lobed.zip", "lobed.curves.csv"):
    write_curves(folder / name, out)
    print(name, read_curves(folder / name).ensemble)
"""

CLUSTER = """
# Studies on a cluster

A study is many comparisons. They run one after the other, on a pool of threads or processes, or on a cluster that Dask
knows; the numbers are the same to the last digit. Here the cluster is two processes of this computer.
---
from distributed import Client, LocalCluster

cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
client = Client(cluster)
len(client.scheduler_info()["workers"])
---
Four simulated micrographs: control and treated nuclei, each drawn twice.
---
from napari_shape_ensembles import Settings, all_pairs, decision_landscape, extract_curves, samples, segment

ensembles = []
for seed in (0, 1):
    pair = samples.simulated_treatment(seed)
    for image, name in zip((pair.a, pair.b), pair.names):
        scale = (pair.pixel_size, pair.pixel_size)
        ensembles.append(extract_curves(segment(image), scale=scale, unit=pair.unit, name=f"{name} {seed}"))
ensembles
---
Does the answer depend on the rank or the number of landmarks? Every cell is a comparison.
---
settings = Settings(permutations=500)
ranks, landmarks = [5, 10, 20, 40, 80, 150], [100, 200, 300]
landscape = decision_landscape(*ensembles[:2], ranks=ranks, landmarks=landmarks, settings=settings, executor=client)
print(landscape.summary())
---
As the paper draws it: MMD over the ranks, the cells with their decisions (× differs, ○ does not), and the ambiguity.
---
%matplotlib inline
from napari_shape_ensembles.studies.figures import plot_landscape

plot_landscape(landscape);
---
The same without a cluster, digit for digit.
---
alone = decision_landscape(*ensembles[:2], ranks=ranks, landmarks=landmarks, settings=settings)
(alone.mmd == landscape.mmd).all(), (alone.p_value == landscape.p_value).all()
---
All pairs of the four, with Holm's correction over the six comparisons.
---
pairs = all_pairs(ensembles, settings, executor=client)
print(pairs.summary())
pairs.table()
---
Finally, close the cluster.
---
client.close()
cluster.close()
"""

NOTEBOOKS = {"images-to-verdict": IMAGES, "curves-from-elsewhere": CURVES, "studies-on-a-cluster": CLUSTER}


def notebook(text: str) -> nbformat.NotebookNode:
    """A notebook of cells parted by lines of ---, text and code taking turns."""
    cells = [cell.strip() for cell in text.strip().split("\n---\n")]
    kinds = (nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell)
    made = nbformat.v4.new_notebook(cells=[kinds[place % 2](cell) for place, cell in enumerate(cells)])
    for place, cell in enumerate(made.cells):
        cell["id"] = f"cell-{place}"  # so that the file changes only where its content does
    return made


def main() -> None:
    """Write and run all notebooks."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in NOTEBOOKS.items():
        done = NotebookClient(notebook(text), timeout=600, record_timing=False).execute()
        done.metadata = {"language_info": {"name": "python"}}
        nbformat.write(done, FOLDER / f"{name}.ipynb")


if __name__ == "__main__":
    main()
