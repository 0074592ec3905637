"""Corrections of labels: every change is logged and undone exactly, and only what changed is traced again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from napari_shape_ensembles import Outlines
from napari_shape_ensembles.inspection import CorrectedLabels
from napari_shape_ensembles.inspection.correcting import CorrectedStack


def discs(dtype=np.uint16):
    rows, columns = np.indices((90, 120))
    labels = (np.hypot(rows % 30 - 15, columns % 30 - 15) < 11) * (rows // 30 * 4 + columns // 30 + 1)
    return labels.astype(dtype)


def test_each_correction():
    labels = discs()
    labels[13:16, 13:16] = 0
    labels[15:17, 45:47] = 9  # another object in the hole of object 2
    corrected = CorrectedLabels(labels, by="Ada")
    assert corrected.fill_holes(1).pixels == 9
    with pytest.raises(ValueError, match="label 2 has no hole"):
        corrected.fill_holes(2)
    split = corrected.split(3, [(0, 75), (30, 75)])
    assert split.labels == (3, 13)
    assert abs(int((corrected.labels == 3).sum()) - int((corrected.labels == 13).sum())) < 30
    assert (np.isin(corrected.labels, (3, 13)) == (labels == 3)).all()
    merged = corrected.merge(3, 13)
    assert merged.labels == (3, 13)
    assert ((corrected.labels == 3) == (labels == 3)).all()
    corrected.delete(4)
    assert not (corrected.labels == 4).any()
    drawn = np.zeros(labels.shape, bool)
    drawn[40:50, 10:40] = True
    corrected.redraw(5, drawn)
    assert ((corrected.labels == 5) <= drawn).all()
    assert ((corrected.labels == 6) == (labels == 6)).all()
    new = corrected.redraw(0, [(1, 100), (1, 119), (3, 119), (3, 100)])
    assert new.labels == (13,) or new.labels == (14,)
    log = corrected.log
    assert log["action"].tolist() == ["fill holes", "split", "merge", "delete", "redraw", "add"]
    assert (log["by"] == "Ada").all()
    assert log["when"].str.endswith("+00:00").all()
    assert corrected.labels.dtype == labels.dtype
    assert (corrected.original == labels).all()


def test_the_hole_of_an_object_in_a_hole_is_not_filled_with_the_outer_label():
    labels = np.zeros((20, 20), np.uint8)
    labels[1:19, 1:19], labels[4:16, 4:16], labels[6:14, 6:14], labels[9:11, 9:11] = 1, 0, 2, 0
    corrected = CorrectedLabels(labels)
    assert corrected.fill_holes(1).pixels == 12**2 - 8**2
    assert (corrected.labels[9:11, 9:11] == 0).all()
    with pytest.raises(ValueError, match="label 1 has no hole"):
        corrected.fill_holes(1)
    assert corrected.fill_holes(2).pixels == 4


def test_a_hole_is_filled_even_if_a_label_in_it_encloses_the_object():
    labels = np.zeros((20, 20), np.uint8)
    labels[2:18, 2:18], labels[3:17, 3:17] = 2, 0
    labels[5:15, 5:15], labels[7:13, 7:13], labels[9:11, 9:11] = 1, 0, 2
    labels[0, 0] = labels[19, 19] = 1  # further components, so that its surroundings are within the bounding box
    assert CorrectedLabels(labels).fill_holes(1).pixels == 6**2 - 2**2


def test_a_dumbbell_is_split_at_its_neck():
    rows, columns = np.indices((60, 100))
    near = [np.hypot(rows - 30, columns - at) < 18 for at in (30, 62)]
    corrected = CorrectedLabels((near[0] | near[1]).astype(np.uint8))
    corrected.split(1)
    assert set(np.unique(corrected.labels)) == {0, 1, 2}
    for number, own in zip(sorted((1, 2), key=lambda n: columns[corrected.labels == n].mean()), near, strict=True):
        overlap = ((corrected.labels == number) & own).sum() / ((corrected.labels == number) | own).sum()
        assert overlap > 0.93
    disc = CorrectedLabels(near[0].astype(np.uint8))
    with pytest.raises(ValueError, match="no neck: draw the line"):
        disc.split(1)


def test_a_split_that_cuts_off_a_bump_is_to_be_confirmed():
    rows, columns = np.indices((60, 100))
    bump = np.hypot(rows - 30, columns - 60) < 7
    mask = (np.hypot(rows - 30, columns - 30) < 25) | bump
    corrected = CorrectedLabels(mask.astype(np.uint8))
    with pytest.raises(ValueError, match=r"cuts off only \d % of it: split it again to cut there"):
        corrected.split(1)
    assert (corrected.labels == mask).all()
    corrected.split(1, unequal=True)
    assert 0 < (corrected.labels == 2).sum() < 0.1 * mask.sum()


def test_a_merge_closes_only_the_gap():
    labels = np.zeros((40, 60), np.int32)
    labels[10:30, 10:29], labels[10:30, 30:50] = 4, 7
    corrected = CorrectedLabels(labels)
    corrected.merge(4, 7)
    expected = np.zeros_like(labels)
    expected[10:30, 10:50] = 4
    np.testing.assert_array_equal(corrected.labels, expected)


@given(st.lists(st.sampled_from(["delete", "merge", "split", "redraw"]), max_size=8), st.integers(0, 99))
def test_undoing_everything_restores_the_original(actions, seed):
    rng = np.random.default_rng(seed)
    corrected = CorrectedLabels(discs())
    for action in actions:
        there = np.unique(corrected.labels)[1:]
        one, other = rng.choice(there, 2, replace=False).tolist()
        if action == "delete":
            corrected.delete(one)
        elif action == "merge":
            corrected.merge(one, other)
        elif action == "split":
            rows, columns = np.nonzero(corrected.labels == one)
            line = [(rows.min() - 2, columns.mean()), (rows.max() + 2, columns.mean())]
            try:
                corrected.split(one, line)
            except ValueError:
                continue
        else:
            corrected.redraw(one, rng.random(corrected.labels.shape) < 0.3)
    while corrected.changes:
        corrected.undo()
    np.testing.assert_array_equal(corrected.labels, corrected.original)
    assert corrected.touched == ()
    with pytest.raises(ValueError, match="no correction to undo"):
        corrected.undo()


def test_only_changed_objects_are_traced_again():
    recipe = Outlines(outline_smoothing=1, keep_border=False)
    labels = discs()
    labels[0, 0:5] = 99
    before = recipe.trace(labels, scale=(0.5, 0.5), unit="µm", name="field")
    corrected = CorrectedLabels(labels)
    corrected.split(6, [(30, 45), (60, 45)])
    corrected.delete(99)
    assert corrected.touched == (6, 100, 99) or set(corrected.touched) == {6, 99, 100}
    after = corrected.retrace(before, recipe)
    whole = recipe.trace(corrected.labels, scale=(0.5, 0.5), unit="µm", name="field")
    assert after.ids.tolist() == whole.ids.tolist()
    for one, other in zip(after.curves, whole.curves, strict=True):
        np.testing.assert_array_equal(one, other)
    assert after.dropped == whole.dropped
    assert (after.unit, after.name, after.pixel_size) == ("µm", "field", (0.5, 0.5))


@pytest.mark.parametrize("holes", [False, True])
def test_a_single_label_in_two_pieces_keeps_its_number(holes):
    labels, recipe = discs(), Outlines(holes=holes)
    labels[labels == 7] = 0
    labels[18:23, 18:23] = 0  # two of them have holes, one of which remains
    labels[58:63, 58:63] = 0
    corrected = CorrectedLabels(labels)
    corrected.merge(2, int(labels.max()))  # far away: the touched region has one label now
    after, whole = corrected.retrace(recipe.trace(labels), recipe), recipe.trace(corrected.labels)
    assert sorted(after.ids.tolist()) == sorted(whole.ids.tolist())
    assert after.dropped == whole.dropped


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_the_dtype_of_labels_is_kept(dtype):
    corrected = CorrectedLabels(discs(dtype))
    corrected.delete(1)
    assert corrected.labels.dtype == dtype


def test_impossible_corrections_are_rejected():
    corrected = CorrectedLabels(discs())
    with pytest.raises(ValueError, match="no label 77"):
        corrected.delete(77)
    with pytest.raises(ValueError, match="two or more different labels"):
        corrected.merge(1, 1)
    with pytest.raises(ValueError, match="does not cut label 1"):
        corrected.split(1, [(0, 0), (0, 5)])
    full = discs(np.uint8)
    full[0, 0] = 255
    with pytest.raises(ValueError, match="wider type"):
        CorrectedLabels(full).split(1, [(0, 15), (30, 15)])
    with pytest.raises(ValueError, match="plane of integers"):
        CorrectedLabels(np.zeros((3, 4, 5), int))
    with pytest.raises(ValueError, match="no free pixel"):
        corrected.redraw(1, corrected.labels == 2)
    with pytest.raises(ValueError, match="no label 77"):
        corrected.redraw(77, corrected.labels == 0)
    for outline in ([(1, 1), (5, 5)], [(1, 1), (np.nan, 5), (5, 5)], corrected.labels):
        with pytest.raises(ValueError, match="three or more vertices"):
            corrected.redraw(1, outline)
    with pytest.raises(ValueError, match="finite rows and columns"):
        corrected.split(1, [(0, 15), (np.nan, 15)])
    assert not corrected.changes


@pytest.mark.parametrize("value", [300, -1, 1.5, np.nan])
def test_values_beyond_the_dtype_are_not_painted(value):
    corrected = CorrectedLabels(discs(np.uint8))
    with pytest.raises(ValueError, match="cannot hold the values of"):
        corrected.paint(np.where(corrected.labels == 1, value, corrected.labels.astype(np.float64)))
    assert not corrected.changes


def test_new_labels_use_the_whole_range_of_the_dtype():
    labels = np.zeros((30, 30), np.uint8)
    labels[3:9, 3:9], labels[20, 20] = 1, 254
    corrected = CorrectedLabels(labels)
    corrected.split(1, [(0, 6), (30, 6)])
    assert np.unique(corrected.labels).tolist() == [0, 1, 254, 255]
    labels[15:18, 3:9] = labels[25:28, 3:9] = 1
    with pytest.raises(ValueError, match="uint8 labels cannot hold 256"):
        CorrectedLabels(labels).split(1)


def stack_of(*planes):
    return np.stack([np.asarray(plane, np.uint8) for plane in planes])


def test_a_plane_along_any_axes_is_corrected_within_its_stack():
    whole = stack_of(discs(), 0 * discs(), discs())
    stack = CorrectedStack(whole, by="Ada")
    stack.plane(0).delete(1)
    crossing = stack.plane(45, axes=(0, 2))
    number = int(crossing.labels.max())
    crossing.delete(number)
    turned = stack.plane(2, axes=(2, 1))
    there = whole[2].T.copy()
    there[:, 45][there[:, 45] == number] = 0  # corrected in the plane that crosses
    np.testing.assert_array_equal(turned.labels, there)
    np.testing.assert_array_equal(turned.original, whole[2].T)
    turned.delete(1)
    now = stack.labels
    assert now.dtype == whole.dtype
    assert not (now[0] == 1).any()
    assert not (now[2] == 1).any()
    assert not (now[:, 45] == number).any()
    untouched = (whole != 1) & (whole != number)
    np.testing.assert_array_equal(now[untouched], whole[untouched])
    assert stack.log["plane"].tolist() == ["axis 0 = 0", "axis 1 = 45", "axis 0 = 2"]
    stack.plane(0).delete(2)  # in chronological order, in any plane and within one second
    assert stack.log["plane"].tolist() == ["axis 0 = 0", "axis 1 = 45", "axis 0 = 2", "axis 0 = 0"]
    stack.plane(0).undo()
    stack.plane(0).undo()
    assert (stack.labels[0] == 1).any()
    assert stack.log["plane"].tolist() == ["axis 1 = 45", "axis 0 = 2"]


class OnDisk:
    """Array-like as in xarray or Zarr: without NumPy's methods, and read on indexing."""

    def __init__(self, values):
        self._values, self.read = values, 0
        self.shape, self.ndim, self.dtype = values.shape, values.ndim, values.dtype

    def transpose(self, *names):
        raise TypeError("axes have names here")

    def __getitem__(self, place):
        self.read += self._values[place].size
        return self._values[place]

    def __array__(self, dtype=None, copy=None):
        return self[:]


@pytest.mark.parametrize(("axes", "expected"), [((1, 2), 0), ((2, 0), 1)])
def test_only_the_corrected_plane_of_a_stack_on_disk_is_read(axes, expected):
    whole = stack_of(discs(), 0 * discs(), discs())
    stack = CorrectedStack(OnDisk(whole))
    plane = stack.plane(45 * expected, axes=axes).labels
    np.testing.assert_array_equal(plane, (whole[0], whole[:, 45].T)[expected])
    assert stack.original.read == plane.size


def test_crossing_planes_share_corrections_and_undo():
    whole = np.zeros((6, 7, 8), np.uint8)
    whole[1:5, 1:5, 1:5] = 3
    stack = CorrectedStack(whole)
    flat, upright = stack.plane(2), stack.plane(3, axes=(0, 2))
    flat.delete(3)
    assert not upright.labels[2].any()
    aside = stack.plane(4, axes=(1, 0))  # started later, with its own axes for rows and columns
    assert not aside.labels[:, 2].any()
    aside.redraw(0, np.arange(7 * 6).reshape(7, 6) == 3 * 6 + 2)
    assert upright.labels[2, 4] == flat.labels[3, 4] == stack.labels[2, 3, 4] == 4
    upright.delete(4)
    assert not stack.labels[2].any()
    upright.undo()
    aside.undo()
    assert not flat.labels.any()
    flat.undo()
    for plane, now in ((flat, whole[2]), (upright, whole[:, 3]), (aside, whole[:, :, 4].T)):
        np.testing.assert_array_equal(plane.labels, now)
    np.testing.assert_array_equal(stack.labels, whole)


def test_a_stack_of_masks_is_corrected_as_labels():
    pieces = np.zeros((20, 40), bool)
    pieces[5:15, 2:12] = pieces[5:15, 20:30] = True
    stack = CorrectedStack(np.stack([pieces, pieces, pieces & False]))
    assert [np.unique(plane).tolist() for plane in stack.labels] == [[0, 1, 2], [0, 1, 2], [0]]
    stack.plane(0).delete(1)
    assert [np.unique(plane).tolist() for plane in stack.labels] == [[0, 2], [0, 1, 2], [0]]
    assert stack.labels.dtype.kind == "i"


def test_new_labels_are_unique_in_the_whole_stack():
    plane = np.zeros((20, 40), np.uint8)
    plane[5:15, 5:35] = 2
    stack = CorrectedStack(np.stack([plane, np.where(plane > 0, 32, 0)]))
    first, second = stack.plane(0), stack.plane(1)
    assert first.split(2, [(0, 20), (20, 20)]).labels == (2, 33)
    assert second.split(32, [(0, 20), (20, 20)]).labels == (32, 34)  # 33 is another object by now
    assert [np.unique(plane).tolist() for plane in stack.labels] == [[0, 2, 33], [0, 32, 34]]


def test_a_negative_plane_index_is_the_same_plane():
    stack = CorrectedStack(stack_of(discs(), discs(), discs()))
    stack.plane(-1).delete(1)
    assert stack.plane(2) is stack.plane(-1) is stack.plane(np.int64(2), axes=(1, 2))
    assert stack.log["plane"].tolist() == ["axis 0 = 2"]


@pytest.mark.parametrize(
    ("place", "axes"), [((3,), (1, 2)), ((), (1, 2)), ((0, 0), (1, 2)), ((0,), (1, 1)), ((0,), (1, 3))]
)
def test_a_plane_index_out_of_range_is_rejected(place, axes):
    stack = CorrectedStack(stack_of(discs(), discs(), discs()))
    with pytest.raises(ValueError, match=r"there is no plane|two of 3 axes"):
        stack.plane(*place, axes=axes)


def test_pieces_of_a_label_keep_it_and_pieces_of_a_mask_are_numbered_in_all_planes():
    pieces = np.zeros((20, 40), np.uint8)
    pieces[5:15, 2:12] = pieces[5:15, 20:30] = 7
    others = np.where(pieces > 0, 9, 0)
    others[0:2] = 1
    stack = CorrectedStack(stack_of(pieces, others))
    assert sorted(np.unique(stack.plane(0).labels)) == [0, 1, 2]  # as they are inspected
    stack.plane(0).redraw(1, stack.plane(0).labels == 0)
    np.testing.assert_array_equal(stack.labels[0], 7 * (stack.plane(0).labels > 0))
    mask = CorrectedStack(stack_of(pieces, pieces, 0 * pieces) // 7 * 255)
    mask.plane(0).delete(1)
    assert [np.unique(plane).tolist() for plane in mask.labels] == [[0, 2], [0, 1, 2], [0]]


def test_a_plane_painted_since_is_started_anew():
    whole = stack_of(discs(), discs())
    stack = CorrectedStack(whole)
    stack.plane(0).delete(1)
    assert len(stack.plane(0).changes) == 1
    whole[0][whole[0] == 2] = 0
    assert stack.plane(0).changes == []
    assert (stack.labels[0] == 1).any()


@pytest.mark.parametrize("labels", [np.zeros((4, 5), int), np.zeros((3, 4, 5))])
def test_invalid_stacks_of_labels_are_rejected(labels):
    with pytest.raises(ValueError, match="three or more axes and integers"):
        CorrectedStack(labels)
