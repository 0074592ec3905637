"""What is done in the background: compare copied layers; write, read, explain and test a result."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from napari.layers import Shapes

from ..comparison import STEPS as OF_COMPARISON
from ..comparison import ArchetypeSensitivity, Comparison, Settings, archetype_sensitivity, compare, read_view
from ..explanation import STEPS, Explanation, explain
from ..io import CurveTable, write_curves
from ..mmd import DependenceTest, dependence_test
from ..outlines import Outlines
from ..progress import as_part, report
from .color_features import COLOR_FEATURES, witness_values
from .layers import curve_layers, layers_of, painted_data
from .shown import Shown, pixel_size
from .sides import Excluded, Sources, trace_sides

ENDING = ".comparison.npz"
REPORTS = (".html", ".htm", ".pdf")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leads to: a comparison, its layers, not yet in a viewer, and what it was made from."""

    result: Comparison
    layers: list[Shapes]
    sources: Sources


@dataclass(frozen=True, eq=False)
class Opened:
    """A result out of a file, and its layers; whether they are new, or were in the viewer already."""

    shown: Shown
    layers: list[Shapes]
    new: bool = True


@dataclass(frozen=True, eq=False)
class Robustness:
    """How far a result can be trusted beyond its two tests.

    Attributes
    ----------
    dependence : DependenceTest
        Of undulation and scale, within the images.
    sensitivity : ArchetypeSensitivity
    """

    dependence: DependenceTest
    sensitivity: ArchetypeSensitivity

    def sentences(self) -> tuple[str, str]:
        """Both findings in words; a sign before those that speak for the result."""
        test = self.dependence
        if test.rejected:
            words = (
                f"Undulation and scale depend on each other within the images (p = {test.p_value:.2g}): "
                "a difference in one may come with the other, and one in their pairing alone is seen by neither test."
            )
        else:
            words = f"✓ No dependence of undulation and scale was detected within the images (p = {test.p_value:.2g})."
        return words, ("✓ " if self.sensitivity.stable else "") + self.sensitivity.summary()

    def judged(self, shown: Shown) -> Shown:
        """The result with these findings among its notes; without an answer where the row hangs on the archetype."""
        result = replace(shown.result, row_depends_on_archetype=not self.sensitivity.stable)
        witness_values(result)
        return replace(shown, result=result, notes=(*shown.notes, *self.sentences()))


def compared(sources: Sources, recipe: Outlines, settings: Settings, excluded: Excluded = ()) -> Outcome:
    """Go all the way from copied layers to painted curves, without the curves of the excluded ids."""
    tracing = sum({"image": 2, "labels": 1, "shapes": 0}[source.kind] for side in sources for source in side)
    total = tracing + len(OF_COMPARISON) + 2
    with as_part(0, total):
        a, b = trace_sides(sources, recipe, excluded)
    with as_part(tracing, total):
        result = compare(a, b, settings)
    report("finding typical curves", total - 2, total)
    witness_values(result)
    report("drawing curves", total - 1, total)
    return Outcome(result, curve_layers(result, sources), sources)


def opening(path: Path) -> Opened:
    """Read a saved comparison, and make its layers."""
    report(f"opening {path.name}", 0, 3)
    with _named(path, "opened"):
        result, view = Comparison.load(path), read_view(path)
    return restoring(Shown.of_file(result, view, str(path)))


def restoring(shown: Shown, layers: list[Shapes] | None = None) -> Opened:
    """Find what is not in the file of a result, and make its layers where there are none yet."""
    report("finding typical curves", 1, 3)
    witness_values(shown.result)
    report("drawing curves", 2, 3)
    made = layers or layers_of(painted_data(shown.result, shown.view, COLOR_FEATURES))
    return Opened(shown, made, new=not layers)


def saving(shown: Shown, painted: str, path: Path) -> list[Path]:
    """Write a result to one file."""
    report(f"saving {path.name}")
    if path.suffix != ".npz":  # napari would not know it again
        raise ValueError(f"{path.name}: a comparison is saved under a name that ends in {ENDING}")
    with _named(path):
        shown.result.save(path, view=shown.to_view(painted))
    return [path]


def exporting(shown: Shown, path: Path) -> list[Path]:
    """Write the curves of A and of B, each with distances and measures, to a file of their own."""
    paths = list(exported(path))
    for side, place in zip("AB", paths, strict=True):
        report(f"writing {place.name}")
        with _named(place):
            write_curves(place, curve_table(shown, side))
    return paths


def exported(path: Path) -> tuple[Path, Path]:
    """Names of the files of A and of B: pair.csv becomes pair.A.curves.csv, by which napari knows curves again."""
    stem = path.stem.removesuffix(".curves")
    ending = ".curves.csv" if path.suffix.lower() == ".csv" else path.suffix
    a, b = (path.with_name(f"{stem}.{side}{ending}") for side in "AB")
    return a, b


def curve_table(shown: Shown, side: str) -> CurveTable:
    """Curves of A or B with all that curves can be painted by, their side, and where they come from."""
    result = shown.result
    ensemble, other = (result.a, result.b) if side == "A" else (result.b, result.a)
    rows = result.distances["source"].to_numpy() == side
    columns = {name: paint.values(result)[rows] for name, paint in COLOR_FEATURES.items() if paint.numeric}
    measures = ensemble.features.drop(columns="id").reset_index(drop=True)
    features = pd.concat([measures.drop(columns=list(columns), errors="ignore"), pd.DataFrame(columns)], axis=1)
    features.insert(0, "source", side)
    if len(set(ensemble.images.tolist())) > 1:
        features.insert(1, "image", ensemble.images)
    provenance = {"side": side, "compared with": other.name, "answer": result.summary()}
    return CurveTable(ensemble, features, pixel_size(shown.view, side), provenance)


def writing_report(result: Comparison, path: Path) -> list[Path]:
    """Explain a result, and write the report."""
    if path.suffix.lower() not in REPORTS:  # said before the work, not after it
        raise ValueError(f"{path.name}: a report is saved as .html or .pdf")
    if not path.parent.is_dir():
        raise ValueError(f"{path.name} cannot be written: there is no folder {path.parent}")
    with as_part(0, len(STEPS) + 1):
        explanation = explain(result)
    return [saving_report(explanation, path)]


def saving_report(explanation: Explanation, path: Path) -> Path:
    """Write the report of an explanation."""
    from ..explanation.report import save_report  # draws with Matplotlib, which takes its time to load

    report("saving the report", len(STEPS), len(STEPS) + 1)
    with _named(path):
        save_report(explanation, path)
    return path


def checking(result: Comparison, archetypes: int = 5) -> Robustness:
    """Test whether undulation and scale are dependent, and compare again against several archetypes."""
    settings, total = result.settings, archetypes * len(OF_COMPARISON) + 1
    draws = {"permutations": settings.permutations, "seed": settings.seed}
    report("testing dependence", 0, total)
    with as_part(0, total):
        test = dependence_test(result.t, result.l, len(result.a), significance=settings.significance, **draws)
    with as_part(1, total):
        return Robustness(test, archetype_sensitivity(result.a, result.b, settings, archetypes=archetypes))


@contextmanager
def _named(path: Path, done: str = "written") -> Iterator[None]:
    """Failures of the disk, and formats whose library is not installed, as a sentence that names the file."""
    try:
        yield
    except ImportError as error:
        raise ValueError(f"{path.name} cannot be {done}: {error}") from error
    except OSError as error:
        raise ValueError(f"{path.name} cannot be {done}: {error.strerror or error}") from error
