"""Distance transforms: SciPy's values, the definition, and what users of other tools ran into."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import exacta
from exacta import edt

inf = math.inf
FIXTURES = Path(__file__).parent / "fixtures"
MASKS = json.loads((FIXTURES / "edt.json").read_text())
ULP = np.finfo(np.float64).eps


@pytest.mark.parametrize("name", MASKS)
def test_scipy_values(name):
    """SciPy's transform to an ulp, and never below the minimum but by rounding of the root."""
    stored, case = np.load(FIXTURES / "edt.npz"), MASKS[name]
    mask = stored[f"mask/{name}"]
    found = edt.distance_transform(mask, spacing=case["spacing"])
    assert found.dtype == np.float64
    if not case["defined"]:
        assert (found == inf).all()
        return
    if f"edt/{name}" in stored:
        wanted = stored[f"edt/{name}"]
    else:
        found, wanted = found.ravel()[stored[f"edt/{name}:index"]], stored[f"edt/{name}:value"]
    np.testing.assert_allclose(found, wanted, rtol=2 * ULP, atol=0)
    assert (found <= wanted).all()
    assert (found == wanted).mean() > 0.97


def brute(mask, spacing, is_feature):
    grid = np.stack(np.meshgrid(*map(np.arange, mask.shape), indexing="ij"), -1).reshape(-1, mask.ndim)
    flat = mask.ravel()
    out = np.full(len(flat), inf)
    for i, q in enumerate(grid):
        points = grid[is_feature(flat[i], flat)]
        total = np.zeros(len(points))
        for axis, h in enumerate(spacing):
            total = total + (h * (q[axis] - points[:, axis])) ** 2
        out[i] = total.min(initial=inf)
    return out.reshape(mask.shape)


@pytest.mark.parametrize("shape", [(40,), (9, 17), (5, 6, 19)])
@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (1.5, 0.8, 0.8), (0.3, 0.6, 0.9)])
@pytest.mark.parametrize("threads", [1, 4])
def test_definition(shape, spacing, threads):
    rng = np.random.default_rng(len(shape))
    exacta.set_num_threads(threads)
    labels = rng.integers(0, 3, shape)
    spacing = spacing[: len(shape)]
    options = {"spacing": spacing, "squared": True}
    for features, rule in (
        ("zeros", lambda here, there: there == 0),
        ("nonzeros", lambda here, there: there != 0),
        ("other-labels", lambda here, there: (there != here) | (here == 0)),
    ):
        wanted = brute(labels, spacing, rule)
        for array in (labels, np.asfortranarray(labels), labels.astype(np.uint8), labels.astype(np.float32)):
            np.testing.assert_array_equal(edt.distance_transform(array, features=features, **options), wanted)
    sides = np.sqrt(brute(labels, spacing, lambda here, there: (there != 0) != (here != 0)))
    np.testing.assert_array_equal(edt.signed_distance(labels, spacing=spacing), np.where(labels != 0, -sides, sides))


def test_worked_examples():
    features = np.array([[0, 0, 0], [0, 0, 1]])
    found = edt.distance_transform(features, spacing=(1.5, 0.8), squared=True, features="nonzeros")
    wanted = [[4.8100000000000005, 2.89, 2.25], [2.5600000000000005, 0.6400000000000001, 0.0]]
    np.testing.assert_array_equal(found, wanted)
    found = edt.distance_transform([[1, 0, 0], [0, 0, 0]], spacing=2, squared=True, features="nonzeros", batch_axes=1)
    np.testing.assert_array_equal(found, [[0, 4, 16], [inf, inf, inf]])
    found = edt.distance_transform([1, 0, 0, 0], spacing=0.1, squared=True, features="nonzeros")
    np.testing.assert_array_equal(found, [0.0, 0.010000000000000002, 0.04000000000000001, 0.09000000000000002])


def test_p4_small_spacing():
    found = edt.distance_transform([[1, 1], [1, 0]], spacing=(0.5, 0.5))
    np.testing.assert_array_equal(found, [[math.sqrt(0.5), 0.5], [0.5, 0.0]])
    assert (edt.distance_transform([[1, 1], [1, 0]], spacing=1e-100)[0] > 0).all()


def test_p5_spacing_unlike():
    mask = np.ones((3, 4))
    mask[0, 0] = 0
    found = edt.distance_transform(mask, spacing=(50000, 1))
    np.testing.assert_array_equal(found[0], [0, 1, 2, 3])
    np.testing.assert_allclose([found[1, 3], found[2, 3]], [50000.00009, 100000.000045], rtol=1e-9)


def test_p13_p69_edges():
    ones = np.ones((3, 3), bool)
    found = edt.distance_transform(ones, border="background")
    np.testing.assert_array_equal(found, [[1, 1, 1], [1, 2, 1], [1, 1, 1]])
    assert (edt.distance_transform(ones) == inf).all()
    assert (edt.signed_distance(ones) == -inf).all()
    assert (edt.signed_distance(~ones) == inf).all()
    assert (edt.nearest(ones) == -1).all()


def test_p22_two_discs():
    y, x = np.ogrid[:800, :800]
    mask = ((y - 400) ** 2 + (x - 400) ** 2 < 200**2) | ((y - 200) ** 2 + (x - 200) ** 2 < 200**2)
    assert mask.sum() == 228_413
    found = edt.distance_transform(mask)
    assert found.max() == found[200, 200] == 200.0


def test_p24_views_behave_as_copies():
    x = np.zeros((128, 128), bool)
    x[10:40, 40:90] = True
    found = edt.distance_transform(x)
    assert (found.max(), found[10, 40], found[25, 45]) == (15.0, 1.0, 6.0)
    for view in (x.T, x[::-1], x[::2], x[:, ::-3], np.asfortranarray(x)):
        np.testing.assert_array_equal(edt.distance_transform(view), edt.distance_transform(view.copy("C")))
    np.testing.assert_array_equal(edt.distance_transform(x.T), found.T)
    assert edt.distance_transform(x.T).flags.f_contiguous


def test_p70_p71_long_ways():
    mask = np.ones((1200, 1200), np.uint8)
    mask[0, 0] = 0
    found = edt.distance_transform(mask)
    row, column = np.mgrid[:1200, :1200]
    np.testing.assert_array_equal(found, np.sqrt(row**2 + column**2))
    mask = np.ones((65536, 2), np.uint8)
    mask[0, 0] = 0
    np.testing.assert_array_equal(edt.distance_transform(mask)[:, 0], np.arange(65536))


def test_nearest_is_nearest():
    mask = np.random.default_rng(3).random((3, 8, 9, 10)) < 0.9
    spacing = (1.5, 0.8, 0.8)
    index = edt.nearest(mask, spacing=spacing, batch_axes=1)
    assert index.shape == (3, *mask.shape)
    assert index.dtype == np.int64
    batch = np.arange(3)[:, None, None, None]
    assert not mask[(batch, *index)].any()
    way = [h * (g - i) for h, g, i in zip(spacing, np.indices(mask.shape)[1:], index, strict=True)]
    wanted = edt.distance_transform(mask, spacing=spacing, squared=True, batch_axes=1)
    np.testing.assert_array_equal((way[0] ** 2 + way[1] ** 2) + way[2] ** 2, wanted)


def test_empty_arrays():
    for shape in ((0,), (0, 3), (2, 0, 4)):
        assert edt.distance_transform(np.ones(shape)).shape == shape
        assert edt.signed_distance(np.ones(shape)).shape == shape
        assert edt.nearest(np.ones(shape)).shape == (len(shape), *shape)
    assert edt.distance_transform(np.ones((0, 4, 4)), batch_axes=1).shape == (0, 4, 4)


def test_torch_in_torch_out():
    torch = pytest.importorskip("torch")
    mask = torch.tensor([[1, 1, 0]], dtype=torch.bfloat16)
    found = edt.distance_transform(mask)
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.float64
    assert found.tolist() == [[2.0, 1.0, 0.0]]
    index = edt.nearest(mask)
    assert index.dtype == torch.int64
    assert index.tolist() == [[[0, 0, 0]], [[2, 2, 2]]]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"mask": np.ones((2, 2, 2, 2))}, ValueError, "batch_axes"),
        ({"mask": 1}, ValueError, "1 to 3 spatial axes"),
        ({"batch_axes": 2}, ValueError, "1 to 3 spatial axes"),
        ({"batch_axes": -1}, ValueError, "1 to 3 spatial axes"),
        ({"batch_axes": 0.5}, TypeError, "batch_axes must be an integer"),
        ({"mask": np.ones((2, 2), complex)}, TypeError, "mask != 0"),
        ({"mask": "mask"}, TypeError, "mask must be"),
        ({"spacing": (1, 1, 1)}, ValueError, "each of the 2 spatial axes"),
        ({"spacing": (1, 0)}, ValueError, "above 0"),
        ({"spacing": float("nan")}, ValueError, "above 0"),
        ({"spacing": None}, TypeError, "spacing"),
        ({"border": "closed"}, ValueError, "border must be one of"),
        ({"features": "edges"}, ValueError, "features must be one of"),
    ],
)
def test_errors(arguments, error, words):
    arguments = {"mask": np.ones((2, 2)), **arguments}
    with pytest.raises(error, match=words):
        edt.distance_transform(arguments.pop("mask"), **arguments)
