"""Conversion of lengths between units."""

import re

# Units come from files, and pint would work out whatever formula stands in the place of one, for ever if need be.
_NAME = re.compile(r"[^\W\d]\w*")
# "px" is a ninety-sixth of an inch to pint, as in style sheets.
_PIXELS = ("px", "pix", "pixel", "pixels")


def unit_name(unit: str) -> str:
    """Return a unit as it is kept: every word for pixels as "pixel", all others as they are without blanks around."""
    return "pixel" if unit.strip().lower() in _PIXELS else unit.strip()


def conversion_factor(source: str, target: str) -> float:
    """Return the number of target units in one source unit.

    Raises
    ------
    ValueError
        Where no factor leads from one unit to the other, such as from pixels to µm.
    """
    source, target = unit_name(source), unit_name(target)
    if source == target:
        return 1.0
    import pint  # heavy, and needed only where two units differ

    registry = pint.get_application_registry()
    try:
        for unit in (source, target):
            if not _NAME.fullmatch(unit):
                raise pint.errors.DefinitionSyntaxError(f"no name of a unit: {unit}")
        return float(registry.Quantity(1.0, source).to(target).magnitude)
    except pint.errors.PintError as error:
        raise ValueError(
            f'lengths in "{source[:40]}" cannot be compared with lengths in "{target[:40]}": give both images a pixel '
            "size in a unit of length (for a napari layer: its scale and units), or neither"
        ) from error
