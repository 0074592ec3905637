"""Why an object or a curve is left out: a key and a limit, of which its sentence is made."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..checks import ContentError, text

# A key without a sentence stands for itself: "open", "holes".
_SENTENCES = {
    "border": "touching the image border",
    "window": "as smaller images would have cut them",
    "small": "smaller than {:g} px²",
    "vertices": "fewer than {:g} vertices",
    "length": "shorter than {:g} px",
    "vanished": "vanished under smoothing",
    "pieces": "extra pieces of a label",
    "negative": "negative labels, taken as background",
    "from zero": "labels -1 and 0, taken as background: where 0 is an object, add 1 to all labels",
    "parts": "extra pieces of an object",
    "loops": "loops cut off self-touching outlines",
    "excluded": "excluded by hand",
    "not finite": "NaN or infinite vertices",
    "huge": "vertices beyond {:g}",
    "tiny": "shorter than {:g}",
    "distinct": "fewer than {:g} distinct vertices",
    "order": "crossing themselves everywhere: the vertices do not follow the outline",
    "several": "several closed outlines under one id",
    "missing points": "points entered as (-1, -1), which are missing",
    "frames": "in other frames or channels, where the same objects are seen again",
    "unreadable": "entries that cannot be read",
    "regions": "annotations and tiles, in which the detections lie",
    "nuclei": "nuclei of cells, whose own outlines are used",
    "ellipses": "ellipses, of which the table holds only the box",
    "masked": "touching a part of the picture that is not image",
    "bar rows": "information bar of {:g} rows",
    "bar columns": "information bar of {:g} columns",
    "frame rows": "frame of {:g} rows",
    "frame columns": "frame of {:g} columns",
    "corners": "corners without data",
    "box": "boxes with letters",
    "no data": "region without data, in all {:g} % of the picture",
    "scale bar": "scale bars",
    "given": "regions given by ignore",
}


class Reason(NamedTuple):
    """Why an object or a curve is left out; `str` makes the sentence.

    Attributes
    ----------
    key : str
        Such as "small" or "border".
    limit : float, optional
        The limit that was not met.
    pixel : str
        The size of the pixels at which an outline was traced again, such as "2 µm"; empty for those of its image.

    Examples
    --------
    >>> from napari_shape_ensembles.outlines import Reason
    >>> str(Reason("small", 16))
    'smaller than 16 px²'
    """

    key: str
    limit: float | None = None
    pixel: str = ""

    def __str__(self) -> str:
        sentence = _SENTENCES.get(self.key, self.key)
        if self.limit is not None and self.key in _SENTENCES:
            sentence = sentence.format(self.limit)
        return f"{sentence} at pixels of {self.pixel}" if self.pixel else sentence

    def __repr__(self) -> str:
        given = [repr(value) for value in self if value not in (None, "")]
        return f"Reason({', '.join(given)})"


AT_BORDER = Reason("border")
MASKED = Reason("masked")
SMALLER_WINDOW = Reason("window")
VANISHED = Reason("vanished")
EXTRA = Reason("pieces")
NEGATIVE = Reason("negative")
# Labels that number objects from 0 have -1 for the background, and would lose the first object.
FROM_ZERO = Reason("from zero")
BY_HAND = Reason("excluded")
# Items of files and of other libraries that are not closed outlines.
NOT_POLYGON, OPEN, HOLES, PARTS = Reason("not a polygon"), Reason("open"), Reason("holes"), Reason("parts")
UNREADABLE = Reason("unreadable")


def too_small(min_area: float) -> Reason:
    """Fewer pixels than the minimum area."""
    return Reason("small", min_area)


def checked_counts(dropped: Mapping[Reason, int]) -> dict[Reason, int]:
    """Return numbers of objects by reason, without zeros.

    Raises
    ------
    ValueError
        For keys that are no reasons, and values that are no numbers of objects.
    """
    for reason, number in dropped.items():
        if not isinstance(reason, Reason):
            raise ValueError(f'dropped must be keyed by reasons, such as Reason("open"), not by {reason!r}')
        text(reason.key, "the key of a reason")
        text(reason.pixel, "the pixel size of a reason")
        if reason.limit is not None and not isfinite(reason.limit):
            raise ValueError(f'the limit of the reason "{reason.key}" must be finite, not {reason.limit!r}')
        if not isinstance(number, int | np.integer) or number < 0:
            raise ValueError(f'dropped must hold numbers of objects, not {number!r} for "{reason}"')
    return {reason: int(number) for reason, number in dropped.items() if number}


def rows_of(dropped: Mapping[Reason, int]) -> list[list[Any]]:
    """Return rows of key, limit, pixel size and count, for JSON."""
    return [[*reason, count] for reason, count in dropped.items()]


def of_rows(rows: Iterable[Any]) -> dict[Reason, int]:
    """Restore what `rows_of` made, or raise a ContentError."""
    try:
        found = {Reason(key, limit, pixel): count for key, limit, pixel, count in rows}
        return checked_counts(found)
    except (TypeError, ValueError) as error:
        raise ContentError(f"the numbers of what was left out are damaged: {error}") from None
