"""EBSD orientation maps: reading every format, pixel layout, and grain segmentation."""

import gzip

import imageio.v3 as imageio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_shape_ensembles import extract_curves
from napari_shape_ensembles.io.ebsd import CrystalPhase, EBSDMap, laid_out, read_ebsd
from napari_shape_ensembles.io.grains import find_grains, misorientations

h5py = pytest.importorskip("h5py", reason="reads EBSD maps")
pytestmark = pytest.mark.usefixtures("orix")
CUBIC, HEXAGONAL = "Oh", "D6h"


def rotation_quaternions(degrees, axis=(0.0, 0.0, 1.0)):
    """Quaternions of rotations about an axis."""
    half = np.deg2rad(np.asarray(degrees, dtype=float)) / 2
    return np.concatenate([np.cos(half)[..., None], np.sin(half)[..., None] * np.asarray(axis)], axis=-1)


def made(angles, *, phase=1, hexagonal=False, group=CUBIC):
    """A map whose points are rotated by the given angles (R, C), in degrees."""
    from orix.quaternion import symmetry

    angles = np.asarray(angles, dtype=float)
    row, column = (axis.ravel() for axis in np.indices(angles.shape))
    x = 2.0 * column + (row % 2 if hexagonal else 0)
    points, scale, grid = laid_out(x, row * (np.sqrt(3) if hexagonal else 2.0))
    phases = np.broadcast_to(phase, angles.shape).ravel().astype(np.int32)
    own = getattr(symmetry, group)
    crystals = {int(key): CrystalPhase(f"phase {key}", own) for key in np.unique(phases) if key > 0}
    rotations = rotation_quaternions(angles.ravel())
    return EBSDMap(rotations, phases, np.ones(len(phases)), "", points, scale, "µm", grid, crystals, "made")


@pytest.fixture(scope="module")
def steel(real_data, tmp_path_factory):
    path = tmp_path_factory.mktemp("ebsd") / "sdss.ang"
    path.write_bytes(gzip.decompress((real_data / "ebsd_sdss" / "sdss_ferrite_austenite.ang.gz").read_bytes()))
    return path


def test_grains_of_a_real_map_match_the_reference(steel, real_data):
    ebsd = read_ebsd(steel)
    assert (ebsd.points.shape, ebsd.scale, ebsd.unit, ebsd.grid) == ((100, 117), (1.5, 1.5), "µm", "square")
    np.testing.assert_array_equal(ebsd.phase_image, imageio.imread(real_data / "ebsd_sdss" / "phase.png"))
    found, reference = find_grains(ebsd), imageio.imread(real_data / "ebsd_sdss" / "grain_labels.png")
    np.testing.assert_array_equal(found == 0, reference == 0)
    together = np.unique(np.stack([found, reference]).reshape(2, -1), axis=1)
    assert together.shape[1] - 1 == found.max() == reference.max() == 113  # every grain is a grain of the reference


def test_grains_become_curves_in_physical_units(steel):
    ebsd = read_ebsd(steel)
    curves = extract_curves(find_grains(ebsd), scale=ebsd.scale, unit=ebsd.unit, min_area=12)
    assert curves.unit == "µm"
    assert 50 <= len(curves) <= 70


def test_colors_match_orix(steel):
    ebsd = read_ebsd(steel)
    rgb = ebsd.ipf_colours()
    assert (rgb.shape, rgb.dtype) == ((100, 117, 3), np.uint8)
    from orix import io
    from orix.plot import IPFColorKeyTSL

    original = io.load(str(steel), autogen_names=False)
    expected = IPFColorKeyTSL(original.phases[1].point_group.laue).orientation2color(
        original["austenite/austenite"].orientations
    )
    assert np.abs(rgb[ebsd.phase_image == 1] / 255 - expected).max() <= 0.5 / 255 + 1e-9


@pytest.mark.parametrize("name", [CUBIC, HEXAGONAL, "D3d", "C1", "D4h"])
def test_misorientations_are_minimal_over_all_symmetries(name):
    from orix.quaternion import Orientation, Rotation, symmetry

    rotations, group = Rotation.random(40), getattr(symmetry, name)
    pairs = np.stack([np.arange(20), np.arange(20, 40)])
    proper = group.laue_proper_subgroup
    others = [~(t * rotations[20:]) for t in proper]
    angles = [((s * rotations[:20]) * other).angle for s in proper for other in others]
    brute = np.rad2deg(np.min(angles, axis=0))
    found = misorientations(rotations.data, pairs, group)
    np.testing.assert_allclose(found, brute, atol=1e-5)
    with_orix = Orientation(rotations[:20], proper).angle_with(Orientation(rotations[20:], proper), degrees=True)
    np.testing.assert_allclose(found, with_orix, atol=1e-5)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(["Oh", "D6h", "D3d", "D2h"]))
def test_equivalent_orientations_form_one_grain(seed, name):
    from orix.quaternion import Rotation, symmetry

    rng = np.random.default_rng(seed)
    base = Rotation.from_euler(rng.uniform(0, np.pi, 3))
    proper = getattr(symmetry, name).laue_proper_subgroup
    data = (proper[rng.integers(proper.size, size=12)] * base).data.reshape(12, 4)
    ebsd = made(np.zeros((3, 4)), group=name)
    ebsd = EBSDMap(data, *(getattr(ebsd, key) for key in list(vars(ebsd))[1:]))
    assert find_grains(ebsd).max() == 1


@pytest.mark.parametrize(
    ("angle", "threshold", "grains"),
    [(9.9, 10, 1), (10.1, 10, 2), (10.1, 15, 1), (80.1, 10, 1), (89.9, 10, 1), (45, 10, 2)],
)
def test_the_threshold_applies_under_crystal_symmetry(angle, threshold, grains):
    angles = np.zeros((4, 8))
    angles[:, 4:] = angle
    assert find_grains(made(angles), threshold=threshold).max() == grains


def test_sixty_degrees_about_the_c_axis_is_a_hexagonal_symmetry():
    angles = np.zeros((4, 8))
    angles[:, 4:] = 60
    assert find_grains(made(angles, group=HEXAGONAL)).max() == 1
    assert find_grains(made(angles, group=CUBIC)).max() == 2


def test_phases_separate_grains_and_unindexed_points_are_background():
    phase = np.ones((6, 9), dtype=int)
    phase[:, 6:] = 2
    phase[2:4, 2:4] = -1
    labels = find_grains(made(np.zeros((6, 9)), phase=phase))
    assert labels.max() == 2
    np.testing.assert_array_equal(labels == 0, phase < 0)
    assert (labels[phase == 2] == 2).all()
    filled = find_grains(made(np.zeros((6, 9)), phase=phase), fill=True)
    assert (filled[2:4, 2:4] == 1).all()


def test_small_grains_are_background_on_request():
    angles = np.zeros((8, 8))
    angles[2:4, 2:4] = 30
    angles[6, 6] = 20
    assert [find_grains(made(angles), min_points=n).max() for n in (0, 2, 4, 5)] == [3, 2, 2, 1]
    assert (find_grains(made(angles), min_points=5)[2:4, 2:4] == 0).all()
    assert (find_grains(made(angles), min_points=5, fill=True) == 1).all()


def test_a_map_without_indexed_points_is_background():
    assert not find_grains(made(np.zeros((3, 3)), phase=-1), fill=True).any()


def test_hexagonal_grids_have_six_neighbors():
    angles = np.full((5, 6), 40.0)
    centre = (2, 3)
    ring = [(2, 2), (2, 4), (1, 2), (1, 3), (3, 2), (3, 3)]  # of an even row: odd rows are shifted right by half a step
    ebsd = made(angles, hexagonal=True)
    assert ebsd.grid == "hexagonal"
    number = np.arange(30).reshape(5, 6)
    pixels = ebsd.points
    touching = set()
    for axis in (0, 1):
        a, b = (pixels[:-1], pixels[1:]) if axis == 0 else (pixels[:, :-1], pixels[:, 1:])
        for one, other in ((a, b), (b, a)):
            touching |= set(other[one == number[centre]].tolist())
    assert touching - {number[centre], -1} == {number[place] for place in ring}


def test_hexagonal_grids_preserve_areas_and_steps():
    angles = np.zeros((20, 20))
    angles[5:15, 5:15] = 40
    ebsd = made(angles, hexagonal=True)
    np.testing.assert_allclose(ebsd.scale, (np.sqrt(3), 1.0))  # a point is two pixels wide
    labels = find_grains(ebsd)
    assert labels.max() == 2
    cell = 2 * np.sqrt(3)  # a hexagon of width 2
    assert (labels == 2).sum() * np.prod(ebsd.scale) == pytest.approx(100 * cell)
    curves = extract_curves(labels, scale=ebsd.scale, unit="µm", smoothing=0)
    assert curves.features["area"].max() == pytest.approx(100 * cell, rel=0.05)


def test_a_hexagonal_file_with_uneven_rows(tmp_path):
    lines = ["# Phase 1\n# MaterialName iron\n# Symmetry 43\n# LatticeConstants 2.8 2.8 2.8 90 90 90\n"
             "# GRID: HexGrid\n"
             "# XSTEP: 0.5\n# YSTEP: 0.433013\n# NCOLS_ODD: 8\n# NCOLS_EVEN: 7\n# NROWS: 9\n"]  # fmt: skip
    for row in range(9):
        for column in range(8 - row % 2):
            x = 0.5 * column + 0.25 * (row % 2)
            angle = 0.1 if column < 4 else 0.9
            lines.append(f"{angle:.5f} 0.00000 0.00000 {x:.5f} {row * 0.433013:.5f} 50.0 0.9 1 0 1.0\n")
    (tmp_path / "hex.ang").write_text("".join(lines))
    ebsd = read_ebsd(tmp_path / "hex.ang")
    assert ebsd.grid == "hexagonal"
    np.testing.assert_allclose(ebsd.scale, (0.433013, 0.25), rtol=1e-4)
    assert (ebsd.points >= 0).sum() == 2 * len(ebsd.phase)
    assert find_grains(ebsd, min_points=0).max() == 2


def ctf(rows, columns, step=0.5):
    lines = ["Channel Text File", "Prj\tx", "Author\t", "JobMode\tGrid", f"XCells\t{columns}", f"YCells\t{rows}",
             f"XStep\t{step}", f"YStep\t{step}", "AcqE1\t0", "AcqE2\t0", "AcqE3\t0",
             "Euler angles refer to Sample Coordinate system (CS0)!", "Phases\t1",
             "2.866;2.866;2.866\t90;90;90\tIron\t11\t229\t\t\t\t",
             "Phase\tX\tY\tBands\tError\tEuler1\tEuler2\tEuler3\tMAD\tBC\tBS"]  # fmt: skip
    for row in range(rows):
        for column in range(columns):
            phase = 0 if (row, column) == (0, 0) else 1
            angle = 10.0 if column < columns // 2 else 40.0
            lines.append(
                f"{phase}\t{column * step:.4f}\t{row * step:.4f}\t8\t0\t{angle}\t0.0\t0.0\t0.5\t{100 + row}\t200"
            )
    return "\n".join(lines) + "\n"


def test_ctf_with_band_contrast_phases_and_unindexed_points(tmp_path):
    (tmp_path / "x.ctf").write_text(ctf(6, 10))
    ebsd = read_ebsd(tmp_path / "x.ctf")
    assert (ebsd.points.shape, ebsd.scale, ebsd.unit) == ((6, 10), (0.5, 0.5), "µm")
    assert ebsd.quality_name == "BC"
    np.testing.assert_array_equal(ebsd.quality_image, np.broadcast_to(100 + np.arange(6)[:, None], (6, 10)))
    assert ebsd.phase_image[0, 0] == 0
    assert (ebsd.ipf_colours()[0, 0] == 0).all()
    labels = find_grains(ebsd)
    assert labels[0, 0] == 0
    assert labels.max() == 2


def test_headers_in_legacy_encodings_are_read(tmp_path):
    (tmp_path / "x.ctf").write_bytes(ctf(4, 6).replace("Author\t", "Author\tÅsa").encode("latin-1"))
    assert read_ebsd(tmp_path / "x.ctf").points.shape == (4, 6)


def test_hdf5_is_read(tmp_path):
    from orix import io
    from orix.crystal_map import CrystalMap, Phase, PhaseList
    from orix.quaternion import Rotation

    y, x = (axis.ravel() * 2.0 for axis in np.indices((5, 7)))
    rotations = Rotation.from_euler(np.stack([np.where(x < 6, 0.1, 0.9), 0 * x, 0 * x], axis=-1))
    iron = PhaseList(Phase("iron", point_group="m-3m"))
    crystal = CrystalMap(rotations, np.zeros(35, int), x, y, iron, scan_unit="nm", prop={"iq": x})
    io.save(str(tmp_path / "x.h5"), crystal)
    ebsd = read_ebsd(tmp_path / "x.h5")
    assert (ebsd.points.shape, ebsd.scale, ebsd.unit, ebsd.quality_name) == ((5, 7), (2, 2), "nm", "iq")
    assert find_grains(ebsd).max() == 2


def test_bad_maps_are_rejected_with_their_name(tmp_path):
    for name, content in {
        "x.ang": "\n",
        "y.ang": "# nothing\n1 2\n",
        "x.ctf": "Phases\t1\n",
        "x.h5": "no",
        "z.ang": "a b c\n",
    }.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=rf"{name} is damaged, or not a valid orientation map"):
            read_ebsd(tmp_path / name)
    with pytest.raises(ValueError, match="unknown map format"):
        read_ebsd(tmp_path / "x.osc")
    with pytest.raises(FileNotFoundError):
        read_ebsd(tmp_path / "none.ang")


def test_a_header_claiming_a_hundred_gigabytes_is_rejected_unread(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("huge", shape=(10**11,), dtype="u1", chunks=True)
    with pytest.raises(ValueError, match=r"x\.h5: would take .* GiB of memory"):
        read_ebsd(tmp_path / "x.h5")


def test_points_off_a_grid_are_rejected():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"not multiples of a common step|do not lie on a grid"):
        laid_out(rng.uniform(size=200), rng.uniform(size=200))
    with pytest.raises(ValueError, match="NaN or infinite"):
        laid_out(np.array([0.0, np.nan]), np.zeros(2))


@pytest.mark.parametrize("step", [1.5, 0.06, 1e-3, 2 / 3])
def test_rounded_coordinates_are_laid_out(step):
    row, column = (axis.ravel() for axis in np.indices((40, 60)))
    points, scale, grid = laid_out(np.round(column * step, 5), np.round(row * step, 5))
    assert grid == "square"
    np.testing.assert_array_equal(points, np.arange(2400).reshape(40, 60))
    np.testing.assert_allclose(scale, step, rtol=1e-3)


def test_a_line_of_points_is_a_map():
    points, scale, grid = laid_out(np.arange(5) * 0.5, np.zeros(5))
    assert (points.tolist(), scale, grid) == ([[0, 1, 2, 3, 4]], (0.5, 0.5), "square")


@pytest.mark.parametrize(
    ("options", "message"), [({"threshold": 0}, "between 0 and 180"), ({"min_points": -1}, "0 or more")]
)
def test_options_out_of_range_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        find_grains(made(np.zeros((3, 3))), **options)


def test_duplicate_points_are_rejected():
    y, x = (axis.ravel().astype(float) for axis in np.indices((3, 4)))
    with pytest.raises(ValueError, match="12 of 24 points coincide with another"):
        laid_out(np.tile(x, 2), np.tile(y, 2))


def write_oina(path, angles, *, positions=True, maps=1):
    """A map of cubic and hexagonal grains as Oxford Instruments specifies the format."""
    rows, columns = angles.shape
    row, column = (axis.ravel() for axis in np.indices(angles.shape))
    with h5py.File(path, "w") as file:
        file["Format Version"] = np.array([b"5.0"])
        for number in range(1, maps + 1):
            data, header = file.create_group(f"{number}/EBSD/Data"), file.create_group(f"{number}/EBSD/Header")
            euler = np.zeros((angles.size, 3), np.float32)
            euler[:, 0] = np.deg2rad(angles.ravel())
            euler[(row == 0) & (column == 0)] = np.nan  # outside the measured area
            data["Euler"], data["Band Contrast"] = euler, np.arange(angles.size, dtype=np.uint8)[:, None]
            data["Phase"] = np.where(column == columns - 1, 0, 1 + (row > rows // 2)).astype(np.uint8)[:, None]
            data.create_dataset("Processed Patterns", (angles.size, 10**5, 10**5), "u1")  # takes no space on disk
            if positions:
                data["X"], data["Y"] = (column * 0.25)[:, None], (row * 0.5)[:, None]
            for name, value in (("X Cells", columns), ("Y Cells", rows), ("X Step", 0.25), ("Y Step", 0.5)):
                header[name] = np.array([value])
            for key, name, space, symbol in ((1, "Iron bcc", 229, "m-3m"), (2, "Titanium", 0, "6/mmm")):
                phase = header.create_group(f"Phases/{key}")
                phase["Phase Name"], phase["Space Group"] = np.array([name.encode()]), np.array([space])
                phase["Laue Group"] = np.array([9])
                phase["Laue Group"].attrs["Symbol"] = symbol


@pytest.mark.parametrize("positions", [True, False])
def test_maps_of_oxford_instruments_are_read(tmp_path, positions):
    angles = np.zeros((8, 10))
    angles[:, 5:] = 40
    write_oina(tmp_path / "map.h5oina", angles, positions=positions)
    ebsd = read_ebsd(tmp_path / "map.h5oina")
    assert (ebsd.points.shape, ebsd.scale, ebsd.unit, ebsd.name) == ((8, 10), (0.5, 0.25), "µm", "map")
    assert {key: (phase.name, phase.symmetry.name) for key, phase in ebsd.phases.items()} == {
        1: ("Iron bcc", "m-3m"), 2: ("Titanium", "6/mmm"),
    }  # fmt: skip
    assert ebsd.points[0, 0] == -1
    assert (ebsd.phase_image[:, -1] == 0).all()
    assert ebsd.quality_name == "BC"
    grains = find_grains(ebsd)
    assert grains.max() == 4
    assert grains[1, 1] != grains[1, 6]
    assert find_grains(ebsd, threshold=45).max() == 2  # of one phase, turned by 40°
    write_oina(tmp_path / "two.h5oina", angles, maps=2)
    with pytest.raises(ValueError, match=r"two\.h5oina: holds 2 EBSD maps: export each"):
        read_ebsd(tmp_path / "two.h5oina")
    with h5py.File(tmp_path / "eds.h5oina", "w") as file:
        file.create_group("1/EDS")
    with pytest.raises(ValueError, match=r"eds\.h5oina: holds no EBSD map"):
        read_ebsd(tmp_path / "eds.h5oina")
