"""Names in words."""

import pytest

from napari_shape_ensembles.words import shortened_apart


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("good", "bad"), ["good", "bad"]),
        (("control, plate 7", "treated, plate 7"), ["contr…te 7", "treat…te 7"]),
        (("Powder, field 1, drawn by hand", "Powder, field 2, drawn by hand"), ["…ld 1, dr…", "…ld 2, dr…"]),
        (("a very long name, one", "a very long name, two"), ["a ver… one", "a ver… two"]),
        (("Powder of the one", "Powder of the other, by the one"), ["…f the one", "…y the one"]),
        (("same long name of all", "same long name of all"), ["same … all"] * 2),
    ],
)
def test_shortened_names_stay_apart(names, shown):
    found = shortened_apart(names, 10)
    assert len(set(found)) == len(set(names))
    assert all(len(one) <= 10 for one in found)
    assert found == shown
