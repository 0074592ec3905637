"""Run by the Python of another environment, without this package: an image in, labels out.

Usage: external_worker.py PACKAGE MODEL IMAGE.npy LABELS.npy, or external_worker.py PACKAGE to print its version.
"""

import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any


def cellpose(image: Any, model: str) -> Any:
    """Cells by Cellpose; see https://cellpose.readthedocs.io."""
    named = {"pretrained_model": model} if model else {}
    return import_module("cellpose.models").CellposeModel(gpu=False, **named).eval(image)[0]


def stardist(image: Any, model: str) -> Any:
    """Star-convex objects by StarDist; see https://github.com/stardist/stardist."""
    normalized = import_module("csbdeep.utils").normalize(image)
    segmenter = import_module("stardist.models").StarDist2D.from_pretrained(model or "2D_versatile_fluo")
    return segmenter.predict_instances(normalized)[0]


def micro_sam(image: Any, model: str) -> Any:
    """Objects by Segment Anything for Microscopy; see https://computational-cell-analytics.github.io/micro-sam."""
    automatic = import_module("micro_sam.automatic_segmentation")
    predictor, segmenter = automatic.get_predictor_and_segmenter(model_type=model or "vit_b_lm")
    return automatic.automatic_instance_segmentation(predictor, segmenter, image, ndim=2)


def main(package: str, model: str = "", image: str = "", labels: str = "") -> None:
    """Print the version of the package, or write the labels of the image."""
    if not image:
        print(version(package))
        return
    numpy = import_module("numpy")
    segmenters = {"cellpose": cellpose, "stardist": stardist, "micro-sam": micro_sam}
    numpy.save(labels, numpy.asarray(segmenters[package](numpy.load(image), model)))


if __name__ == "__main__":
    main(*sys.argv[1:])
