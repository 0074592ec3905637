"""Units of length: pixels and microns under all their names, and what pint knows."""

import re

from ..checks import ContentError, text

# Units come from files, and pint would evaluate any formula in place of a unit, without end if need be.
_UNIT_NAME = re.compile(r"[^\W\d]\w*")
# The most common units: recognized as lengths without pint, which is slow to import.
_LENGTH_UNITS = frozenset(("µm", "um", "nm", "mm", "cm", "m"))
# Of pint, "µ" is the symbol of the micron.
_MICRON_UNITS = ("micron", "microns", "µ")
# For pint, "px" is 1/96 inch, as in CSS.
_PIXEL_UNITS = ("px", "pix", "pixel", "pixels")
#: Symbols of units that are not written by name.
UNIT_SYMBOLS = {"pixel": "px"}


def unit_name(unit: str) -> str:
    """Normalize a unit: all names of pixels become "pixel", of microns "µm"; of others, whitespace is removed."""
    name = unit.strip()
    return "pixel" if name.lower() in _PIXEL_UNITS else "µm" if name.lower() in _MICRON_UNITS else name


def length_unit(unit: str) -> str:
    """Normalize a unit; raise unless it is pixels or a length.

    Raises
    ------
    ContentError
        For any other unit.
    """
    name = unit_name(text(unit, "a unit"))
    if name in ("pixel", *_LENGTH_UNITS):
        return name
    try:
        conversion_factor(name, "m")
    except ValueError:
        raise ContentError(
            f'unit must be "pixel" or a unit of length such as "µm", not "{name[:40]}": give the unit of the '
            "coordinates"
        ) from None
    return name


def conversion_factor(source: str, target: str) -> float:
    """Return the number of target units in one source unit.

    Raises
    ------
    ValueError
        If the units cannot be converted, such as pixels to µm.
    """
    source, target = unit_name(source), unit_name(target)
    if source == target:
        return 1.0
    import pint  # slow to import, and needed only if the units differ

    registry = pint.get_application_registry()
    try:
        for unit in (source, target):
            if not _UNIT_NAME.fullmatch(unit):
                raise pint.errors.DefinitionSyntaxError(f"not the name of a unit: {unit}")
        # To 15 digits, as the last one is that of pint's own arithmetic: 1 µm would be 999.9999999999999 nm.
        return float(f"{registry.Quantity(1.0, source).to(target).magnitude:.15g}")
    except pint.errors.PintError as error:
        raise ValueError(
            f'lengths in "{source[:40]}" cannot be compared with lengths in "{target[:40]}": give all images a pixel '
            "size in a unit of length (for a napari layer: its scale and units), or none of them"
        ) from error
