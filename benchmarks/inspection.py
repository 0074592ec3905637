"""Rank labels by how likely they are wrong: in manually corrected masks and automatic segmentations.

Images are split in advance: every second image of the corrected masks in order of names, two images of each type of
the varied images, and half of the others are for development; the rest is for testing. The tables are of test images
only, with the bundled trees, which `tools/train_inspection.py` trains on the development images.

There are three kinds of label sets: masks as first annotated (wrong: modified or deleted later), automatic
segmentations (wrong: best IoU with the reference below 0.7), and references with simulated faults in a tenth of their
objects, for the case of few errors.

Run as ``python benchmarks/inspection.py [--cache FOLDER] [--out docs/results/inspection.json]``, with
``--reasons`` for the reasons given for simulated faults, or ``--alarms`` for those given for the references as drawn.
"""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import ndimage
from skimage.draw import polygon2mask
from skimage.filters import threshold_otsu
from skimage.io import imread
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from napari_shape_ensembles import segment
from napari_shape_ensembles.inspection import suspects
from napari_shape_ensembles.inspection.evidence import evidence, unlabelled
from results_file import DATA, parser_of, printed, record

WRONG_BELOW = 0.7
METHODS = {
    "otsu, distance": {"method": "otsu", "split_touching": "distance"},
    "otsu, intensity": {"method": "otsu", "split_touching": "intensity"},
    "local, distance": {"method": "local", "split_touching": "distance"},
    "local, none": {"method": "local", "split_touching": "none"},
    "li, distance": {"method": "li", "split_touching": "distance"},
}
FAULTS = ("merge", "split", "leak", "cut", "shift", "stray", "erode", "dilate", "hole")
# Faults that each reason stands for; the first one names the trees that confirm it.
NAMED = {
    "hole:": ("hole",),
    "two objects in one": ("merge",),
    "one object in two": ("split",),
    "leak": ("leak", "dilate"),
    "cut": ("cut", "erode"),
    "shifted": ("shift",),
    "stray": ("stray",),
}
Case = tuple[str, np.ndarray, np.ndarray, pd.Series]
Kind = Callable[[Path, set[str] | None], Iterator[Case]]


def main() -> None:
    """Print one group of tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--cache", type=Path, help="folder that keeps the evidence between runs")
    parser.add_argument("--reasons", action="store_true", help="only check the reasons on made faults")
    parser.add_argument("--alarms", action="store_true", help="only count the reasons given for references as drawn")
    options = parser.parse_args()
    if options.reasons:
        record(options.out, **reason_table(DATA))
    elif options.alarms:
        record(options.out, alarms=alarms(DATA))
    else:
        kinds = {"annotated": annotated, "automatic": automatic, "made": made}
        table = measured(DATA, options.cache, test_images(DATA), kinds=kinds)
        record(options.out, **tables(table))


# Label sets -------------------------------------------------------------------------------------------------------


def annotated(data: Path, only: set[str] | None = None) -> Iterator[Case]:
    """Masks as first annotated, and which of them were modified or deleted."""
    folder = data / "mask_corrections"
    masks = pd.read_csv(folder / "masks.csv", dtype={"image": str})
    for name, own in masks.groupby("image"):
        if only is not None and f"c{name}" not in only:
            continue
        wrong = own.set_index("label")["status"].ne("kept").astype(float)
        yield f"c{name}", imread(folder / f"{name}_image.png"), imread(folder / f"{name}_before.png"), wrong


def references(data: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Images with manually drawn labels."""
    folder = data / "mask_corrections"
    for path in sorted(folder.glob("*_image.png")):
        yield f"c{path.name[:2]}", imread(path), numbered(imread(folder / f"{path.name[:2]}_after.png"))
    folder = data / "segmentation"
    for path in sorted(folder.glob("*_image.png")):
        yield f"s{path.name[:2]}", imread(path), numbered(imread(folder / f"{path.name[:2]}_labels.png"))
    folder = data / "dsb_nuclei"
    yield "nuclei", imread(folder / "image.png"), numbered(imread(folder / "labels.png"))
    for path in sorted((data / "uhcs_spheroidite").glob("*_image.png")):
        mask = imread(path.with_name(path.name.replace("_image", "_mask"))) > 0
        yield path.name.removesuffix("_image.png"), imread(path), ndimage.label(mask)[0]
    folder = data / "ampis_powder"
    drawn = np.load(folder / "polygons.npz")
    outlines = np.split(drawn["xy"][:, ::-1].astype(float), drawn["offsets"][1:-1])
    for number in (0, 1):
        image = imread(folder / f"Sc1Tile_001-00{number + 1}-000.png")
        labels = np.zeros(image.shape, dtype=np.int64)
        own = [i for kind in (0, 1) for i in np.flatnonzero((drawn["image"] == number) & (drawn["kind"] == kind))]
        for label, index in enumerate(own, start=1):  # satellites lie on particles
            labels[polygon2mask(image.shape, outlines[index])] = label
        yield f"powder {number}", image, labels


def automatic(data: Path, only: set[str] | None = None) -> Iterator[Case]:
    """Automatic segmentations, with given polarity, and the best IoU of each object with the reference."""
    for name, image, reference in references(data):
        if only is None or name in only:
            few = 3 if name[0] == "c" else len(METHODS)
            yield from segmented(name, image, reference, dict(list(METHODS.items())[:few]))


def segmented(
    name: str, image: np.ndarray, reference: np.ndarray, methods: dict[str, dict[str, object]]
) -> Iterator[Case]:
    """Segmentations of one image by several recipes."""
    grey = image[..., :3].mean(axis=-1) if image.ndim == 3 else image.astype(float)
    dark = grey[reference > 0].mean() < grey[reference == 0].mean()
    ground, otsu = np.median(grey[reference == 0]), threshold_otsu(grey)
    sizes = np.bincount(reference.ravel())[1:]
    radius = np.sqrt(np.median(sizes[sizes > 0]) / np.pi)
    window = max(51, 2 * int(3 * radius) + 1)
    for method, choices in methods.items():
        known = {key: value for key, value in choices.items() if key != "at"}
        if "at" in choices:
            known["threshold"] = float(ground + choices["at"] * (otsu - ground))
        labels = segment(image, objects="dark" if dark else "bright", window=window, **known)
        if 5 <= labels.max() <= 1500:
            yield f"{name}/{method}", image, labels, best_iou(labels, reference)


def made(data: Path, only: set[str] | None = None) -> Iterator[Case]:
    """References with simulated faults in a tenth of their objects, and each object's best IoU with the reference."""
    for name, image, reference in references(data):
        if only is not None and name not in only:
            continue
        labels, _ = with_faults(reference, np.random.default_rng(zlib.crc32(name.encode())))
        yield f"{name}/made", image, labels, best_iou(labels, reference)


def numbered(labels: np.ndarray) -> np.ndarray:
    """Renumber labels consecutively."""
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def best_iou(labels: np.ndarray, reference: np.ndarray) -> pd.Series:
    """Best IoU of each label with any object of the reference."""
    count = int(labels.max()) + 1, int(reference.max()) + 1
    both = np.bincount((labels.astype(np.int64) * count[1] + reference).ravel(), minlength=count[0] * count[1])
    both = both.reshape(count).astype(float)
    iou = both / (both.sum(axis=1, keepdims=True) + both.sum(axis=0, keepdims=True) - both + 1e-9)
    iou[:, 0] = 0
    own = np.unique(labels[labels > 0])
    return pd.Series(iou.max(axis=1)[own], index=own)


def with_faults(
    reference: np.ndarray, rng: np.random.Generator, share: float = 0.1, kinds: tuple[str, ...] = FAULTS
) -> tuple[np.ndarray, dict[int, str]]:
    """Insert faults of some kinds into a fraction of a reference's objects; returns also the fault of each label."""
    found, number, concerned = reference.copy(), int(reference.max()) + 1, dict[int, str]()
    rows, columns = np.indices(reference.shape)
    objects = np.unique(reference[reference > 0])
    for label in rng.permutation(objects)[: max(3, int(share * len(objects)))]:
        own = found == label
        if own.sum() < 12:
            continue
        fault, radius, angle = rng.choice(kinds), np.sqrt(own.sum() / np.pi), rng.uniform(0, 2 * np.pi)
        row, column = (places.mean() for places in np.nonzero(own))
        side = (rows - row) * np.cos(angle) + (columns - column) * np.sin(angle)
        free, before, first = found == 0, found.copy(), number
        if fault == "merge":
            near = np.unique(found[ndimage.binary_dilation(own, iterations=3)])
            near = near[(near > 0) & (near != label)]
            if len(near):
                other = rng.choice(near)
                both = ndimage.binary_closing(np.pad(own | (found == other), 6), iterations=3)[6:-6, 6:-6]
                found[(both & free) | (found == other)] = label
        elif fault == "split":
            found[own & (side > rng.uniform(-0.3, 0.3) * radius)] = number
            number += 1
        elif fault == "cut":
            found[own & (side > rng.uniform(-0.2, 0.5) * radius)] = 0
        elif fault == "leak":
            off = np.hypot(rows - row - 1.2 * radius * np.cos(angle), columns - column - 1.2 * radius * np.sin(angle))
            found[(off < radius * rng.uniform(0.5, 1.1)) & free] = label
        elif fault in ("shift", "stray"):
            by = radius * rng.uniform(0.4, 1.0) * np.array([np.cos(angle), np.sin(angle)])
            if fault == "stray":
                by = rng.uniform((0, 0), reference.shape) - (row, column)
            moved = ndimage.shift(own.astype(float), by, order=0) > 0.5
            if fault == "shift":
                found[own] = 0
                found[moved & (found == 0)] = label
            elif (moved & free & (reference == 0)).sum() > 20:
                found[moved & free & (reference == 0)] = number
                number += 1
        elif fault == "erode":
            found[own & (ndimage.distance_transform_edt(own) <= radius * rng.uniform(0.15, 0.4))] = 0
        elif fault == "dilate":
            found[free & (ndimage.distance_transform_edt(~own) < radius * rng.uniform(0.2, 0.5))] = label
        else:
            found[np.hypot(rows - row, columns - column) < max(1, radius * rng.uniform(0.1, 0.4))] = 0
        changed = found != before
        if changed.any():
            new = [first] if number > first else []
            concerned |= dict.fromkeys({"split": [label, *new], "stray": new}.get(fault, [label]), str(fault))
            # An object that lost pixels to the fault is no longer the same object.
            lost = np.unique(before[changed])
            concerned |= {int(n): "other" for n in lost[lost > 0] if n not in concerned}
    return found, concerned


def test_images(data: Path) -> set[str]:
    """Images not used for any choice."""
    masks = pd.read_csv(data / "mask_corrections" / "masks.csv", dtype={"image": str})
    corrected = sorted(f"c{name}" for name in masks["image"].unique())
    varied = [f"s{index:02}" for index in range(21) if index % 3 == 2]
    return {*corrected[1::2], *varied, "nuclei", "800C-24H-Q-4", "800C-24H-Q-6", "800C-85H-Q-6", "powder 1"}


def measured(
    data: Path, cache: Path | None, only: set[str] | None = None, *, kinds: Mapping[str, Kind]
) -> pd.DataFrame:
    """Evidence for all label sets, one row per label, with kind, set, source (the image), target, wrong, soft.

    With a cache, an interrupted run resumes with the next label set.
    """
    tables = [measured_set(kind, *case, cache) for kind, cases in kinds.items() for case in cases(data, only)]
    return labelled(pd.concat(tables, ignore_index=True))


def measured_set(
    kind: str, name: str, image: np.ndarray, labels: np.ndarray, target: pd.Series, cache: Path | None
) -> pd.DataFrame:
    """Evidence for one label set, from the cache if available."""
    kept = cache / (re.sub(r"\W+", "-", f"{kind} {name}") + ".pkl") if cache else None
    if kept and kept.exists():
        return pd.read_pickle(kept)
    found = evidence(labels, image).rename_axis("label").reset_index()
    found = found.assign(set=name, kind=kind, target=target.reindex(found["label"]).to_numpy())
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        found.to_pickle(kept)
    return found


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """Evidence with the image of each label, whether it is wrong, and with what certainty."""
    table = table.dropna(subset="target")
    annotations = table["kind"].isin(["annotated", "slips", "faults"])
    table["source"] = table["set"].str.split("/").str[0]
    table["wrong"] = np.where(annotations, table["target"] > 0.5, table["target"] < WRONG_BELOW)
    # An IoU of 0.69 is hardly worse than one of 0.71.
    table["soft"] = np.where(annotations, table["target"], 1 / (1 + np.exp((table["target"] - WRONG_BELOW) / 0.06)))
    return table.reset_index(drop=True)


def relative(table: pd.DataFrame, spread: dict[str, float]) -> pd.DataFrame:
    """Ranks of labels relative to their set, as used by `rank_suspects`."""
    sets = [suspects.relative_evidence(own, spread) for _, own in table.groupby(["kind", "set"], sort=False)]
    return pd.concat(sets).loc[table.index]


# Tables -----------------------------------------------------------------------------------------------------------


def tables(table: pd.DataFrame) -> dict[str, object]:
    """AUC within label sets, precision of flagged labels, recall of the first fifth, and effect of verdicts."""
    trees = suspects.trees_of("image")
    rows = relative(table, dict(trees.spread))
    broken = ((table["holes"] > 0) | (table["pieces"] > 1)).to_numpy()
    ranked, flagged = ranked_as_shipped(table, rows, trees, "image")
    masks = suspects.trees_of("labels")
    blind, _ = ranked_as_shipped(table, relative(table, dict(masks.spread)), masks, "labels")
    methods = {"`rank_suspects`": ranked, "the same without the image": blind, **baselines(table)}
    annotations, automatics = (table["kind"] == name for name in ("annotated", "automatic"))
    shares = table.groupby(["kind", "set"])["wrong"].transform("mean")
    parts = {
        "corrected masks": annotations,
        "of these without holes": annotations & ~broken,
        "automatic": automatics,
        "3 or more right and wrong": automatics & several(table, 3),
        "made faults": table["kind"] == "made",
        "at most a tenth wrong": ~annotations & (shares <= 0.1),
    }
    counts = {words: str(len(within(table[part], ranked))) for words, part in parts.items()}
    areas = [printed(**{"ranked by": "label sets"}, **counts)]
    for name, score in methods.items():
        own = {words: f"{within(table[part], score).mean():.3f}" for words, part in parts.items()}
        areas.append(printed(**{"ranked by": name}, **own))
    few = table[parts["at most a tenth wrong"]]
    found = [share_found(own, ranked, 0.2) for _, own in few.groupby(["kind", "set"]) if own["wrong"].any()]
    chosen = few.index[flagged[few.index]]
    numbers = {
        "first fifth": float(np.mean(found)),
        "wrong with a reason": float(few.loc[chosen, "wrong"].mean()),
        "wrong": float(few["wrong"].mean()),
    }
    print(numbers, flush=True)
    score = 1 / (1 + np.exp(-(trees.slope * ranked + trees.offset)))
    edges = [0, 0.05, 0.2, 0.5, 0.8, 0.95, 1]
    names = ["below 0.05", "to 0.2", "to 0.5", "to 0.8", "to 0.95", "above"]
    calibration = []
    for words in ("automatic", "corrected masks", "made faults"):
        part = parts[words].to_numpy()
        place = np.clip(np.digitize(score[part], edges) - 1, 0, len(names) - 1)
        wrong = table["wrong"].to_numpy()[part]
        cells = {
            name: f"{wrong[place == k].mean():.2f} ({score[part][place == k].mean():.2f})" if (place == k).any() else ""
            for k, name in enumerate(names)
        }
        calibration.append(printed(labels=words, **cells))
    return {
        "areas": areas,
        "numbers": numbers,
        "calibration": calibration,
        "ticks": ticks_table(table, rows.assign(odds=ranked), ranked),
    }


def ticks_table(table: pd.DataFrame, rows: pd.DataFrame, odds: np.ndarray) -> list[dict[str, object]]:
    """AUC before and after verdicts in review order: of all labels, and of the remaining ones only."""
    found, sets, trees = [], learnable(table), suspects.trees_of("image")
    for ticks in (5, 10, 20):
        means = np.nanmean([after_ticks(own, rows, odds, ticks, trees) for own in sets], axis=0)
        names = ("before", "after", "others before", "others after")
        cells = {name: f"{mean:.3f}" for name, mean in zip(names, means, strict=True)}
        found.append(printed(ticks=ticks, sets=len(sets), **cells))
    return found


def reason_table(data: Path, share: float = 0.25, most: int = 400_000) -> dict[str, object]:
    """Accuracy of the reasons for simulated faults, and recall of removed objects.

    Test images of at most `most` pixels, with faults in a fraction of the objects.
    """
    rows, missed, test = [], np.zeros(4, dtype=int), test_images(data)
    for name, image, reference in references(data):
        if name not in test or reference.size > most:
            continue
        labels, concerned = with_faults(reference, np.random.default_rng(zlib.crc32(name.encode())), share)
        measured = evidence(labels, image)
        said = suspects.reasons(measured, suspects.relative_evidence(measured, suspects.trees_of("image").spread))
        rows += [(name, concerned.get(label, ""), words) for label, words in zip(measured.index, said, strict=True)]
        missed += found_missing(image, reference)
    table = pd.DataFrame(rows, columns=["image", "fault", "said"])
    whole, count = table["fault"] == "", table["image"].nunique()
    found = []
    for reason, faults in NAMED.items():
        given, own = table["said"].str.contains(reason), table["fault"].isin(faults)
        among = given & ~whole & (table["fault"] != "other")
        shares = [given[own].mean(), (table["said"][own] != "").mean(), own[among].mean()]
        named, any_reason, right = (f"{share:.0%}".replace("%", " %") for share in shares)
        cells = {"faults made": own.sum(), "named so": named, "with any reason": any_reason}
        cells |= {"given to made faults": among.sum(), "right there": right, "given to untouched": given[whole].sum()}
        plain = {words: str(cell) for words, cell in cells.items()}
        found.append(printed(reason=reason.removesuffix(":"), **plain))
    taken, again, listed, right_places = (int(number) for number in missed)
    numbers = {"images": int(count), "labels": len(table), "untouched": int(whole.sum()), "taken away": taken}
    numbers |= {"found": again / taken, "listed": listed, "right": right_places / listed}
    print(numbers)
    return {"reasons": found, "reasons numbers": numbers}


def alarms(data: Path) -> list[dict[str, object]]:
    """Percentage of the labels of all references for which a reason is given, with the image and without."""
    names = {"c": "corrected masks", "s": "varied images", "n": "nuclei", "8": "carbides", "p": "powder"}
    given = {words: [list[bool](), list[bool]()] for words in names.values()}
    for name, image, reference in references(data):
        for seen, flagged in zip((image, None), given[names[name[0]]], strict=True):
            measured = evidence(reference, seen)
            spread = suspects.trees_of("image").spread
            said = suspects.reasons(measured, None if seen is None else suspects.relative_evidence(measured, spread))
            flagged += [bool(words) for words in said]
    return [
        printed(
            references=words,
            labels=str(len(flagged[0])),
            **{
                "with a reason": f"{100 * np.mean(flagged[0]):.1f} %",
                "without the image": f"{100 * np.mean(flagged[1]):.1f} %",
            },
        )
        for words, flagged in given.items()
    ]


def found_missing(image: np.ndarray, reference: np.ndarray, share: float = 0.1) -> np.ndarray:
    """Counts of removed objects, of those found, of all listed positions, and of those in a removed object (4,).

    A position does not count if most of it is listed for the whole reference already.
    """
    own = np.unique(reference[reference > 0])
    taken = np.random.default_rng(0).permutation(own)[: max(1, int(share * len(own)))]
    gone = np.where(np.isin(reference, taken), reference, 0)
    (_, places), (_, before) = (unlabelled(one, image) for one in (reference - gone, reference))
    found, listed, right = set(), 0, 0
    for place in range(1, places.max() + 1):
        here = places == place
        if (before[here] > 0).mean() > 0.5:
            continue
        listed += 1
        inside = gone[here][gone[here] > 0]
        if len(inside) > 0.5 * here.sum():
            right += 1
            found.add(int(np.bincount(inside).argmax()))
    return np.array([len(taken), len(found), listed, right])


def ranked_as_shipped(
    table: pd.DataFrame,
    rows: pd.DataFrame,
    trees: suspects.Trees,
    kind: str,
    named: dict[str, suspects.Trees] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds by which `rank_suspects` sorts, and whether a reason is given."""
    odds, flagged = suspects.log_odds(rows, trees), np.zeros(len(table), dtype=bool)
    for _, own in table.groupby(["kind", "set"]):
        seen = rows.loc[own.index] if kind == "image" else None
        words = suspects.reasons(own.select_dtypes("number"), seen, named)
        odds[own.index] += suspects.log_odds_offset(rows.loc[own.index], words, kind == "image")
        flagged[own.index] = [bool(said) for said in words]
    return odds, flagged


def baselines(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Simple baseline scores, higher for more suspicious labels."""
    by_set = table.groupby(["kind", "set"])
    size = np.log(table["area"]) - np.log(by_set["area"].transform("median"))

    def rank(values: pd.Series) -> pd.Series:
        return values.groupby([table["kind"], table["set"]]).rank(pct=True)

    def z(values: pd.Series) -> pd.Series:
        groups = values.groupby([table["kind"], table["set"]])
        return ((values - groups.transform("mean")) / (groups.transform("std") + 1e-9)).abs()

    eccentricity = np.sqrt(1 - 1 / np.maximum(table["elongation"], 1) ** 2)
    props = pd.DataFrame({"area": table["area"], "eccentricity": eccentricity})
    names = ["perimeter", "solidity", "circularity", *(["level"] if "level" in table else [])]
    props[names] = table[names]
    forest = np.zeros(len(table))
    for _, own in by_set:
        forest[own.index] = (
            -IsolationForest(random_state=0).fit(props.loc[own.index]).score_samples(props.loc[own.index])
        )
    return {
        "hole or pieces, then circularity": 10 * ((table["holes"] > 0) | (table["pieces"] > 1)) - table["circularity"],
        "three ranks": rank(-table["solidity"]) + rank(size.abs()) + rank(-table["sharpness"]),
        "z of area, form factor, eccentricity": pd.concat(
            [z(table["area"]), z(table["circularity"]), z(eccentricity)], axis=1
        ).max(axis=1),
        "isolation forest on region properties": forest,
    }


def within(table: pd.DataFrame, score: np.ndarray | pd.Series) -> pd.Series:
    """AUC in every label set with both classes."""
    values = pd.Series(np.asarray(score), dtype=float)
    sets = table.groupby(["kind", "set"])
    return pd.Series(
        {name: roc_auc_score(own["wrong"], values[own.index]) for name, own in sets if own["wrong"].nunique() == 2}
    )


def several(table: pd.DataFrame, least: int) -> pd.Series:
    """Whether the set of each label has at least these numbers of wrong and of right labels."""
    groups = table.groupby(["kind", "set"])["wrong"]
    wrong, count = groups.transform("sum"), groups.transform("size")
    return (wrong >= least) & (count - wrong >= least)


def learnable(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Automatic label sets in which twenty verdicts leave labels to rank."""
    chosen = table[(table["kind"] == "automatic") & several(table, 5)]
    return [own for _, own in chosen.groupby("set") if len(own) >= 40]


def share_found(own: pd.DataFrame, score: np.ndarray, share: float) -> float:
    """Fraction of the wrong labels of a set among the top of the list."""
    order = np.argsort(-np.asarray(score, dtype=float)[own.index], kind="stable")
    wrong = own["wrong"].to_numpy()[order]
    return wrong[: int(np.ceil(share * len(own)))].sum() / wrong.sum()


def after_ticks(
    own: pd.DataFrame, rows: pd.DataFrame, odds: np.ndarray, ticks: int, trees: suspects.Trees
) -> tuple[float, float, float, float]:
    """AUC of a set before and after verdicts, for all and the remaining labels."""
    before, wrong = np.asarray(odds)[own.index], own["wrong"].to_numpy()
    order = np.argsort(-before, kind="stable")
    score = 1 / (1 + np.exp(-(trees.slope * before[order] + trees.offset)))
    first = order[np.argsort(np.abs(score - 0.5), kind="stable")[:ticks]]  # the most uncertain teach most
    here = rows.loc[own.index].reset_index(drop=True)
    after = before + suspects.odds_of_corrections(here, here.loc[first].assign(wrong=wrong[first]), trees)
    others = np.setdiff1d(np.arange(len(own)), first)
    settled = after.copy()
    settled[first] = np.where(wrong[first], np.inf, -np.inf)
    both = len(set(wrong[others])) == 2
    apart = [roc_auc_score(wrong[others], score[others]) if both else np.nan for score in (before, after)]
    areas = roc_auc_score(wrong, before), roc_auc_score(wrong, np.nan_to_num(settled, posinf=1e9, neginf=-1e9))
    return *areas, *apart


if __name__ == "__main__":
    main()
