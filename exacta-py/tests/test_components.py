"""Connected components: SciPy's numbers on random and stored masks, the worked examples, the pitfalls, every error."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import exacta
from exacta import _native, components

nan, inf = float("nan"), float("inf")
FIXTURES = Path(__file__).parent / "fixtures"
STORED = json.loads((FIXTURES / "components.json").read_text())
SHAPES = [
    (1,),
    (130,),
    (5, 7),
    (33, 64),
    (65, 31),
    (1, 20),
    (7, 9, 11),
    (16, 20, 65),
    (40, 13, 64),
    (1, 6, 7),
    (6, 1, 5),
]
LAYOUTS = {
    "C": lambda m: m,
    "Fortran": np.asfortranarray,
    "rolled axes": lambda m: np.moveaxis(np.ascontiguousarray(np.moveaxis(m, 0, -1)), -1, 0),
    "reversed": lambda m: np.ascontiguousarray(m[::-1])[::-1],
    "columns apart": lambda m: np.repeat(m, 2, axis=-1)[..., ::2],
}


def parsed(text):
    return np.array([[int(digit) for digit in row] for row in text.split()])


M = parsed("1001 0101 0000 1101")


class NumPy:
    array = staticmethod(np.asarray)
    numpy = staticmethod(np.asarray)


def libraries():
    yield pytest.param(NumPy, id="numpy")
    if importlib.util.find_spec("torch"):
        import torch

        class Torch:
            array = staticmethod(lambda values: torch.from_numpy(np.ascontiguousarray(values)))
            numpy = staticmethod(lambda tensor: tensor.numpy())

        yield pytest.param(Torch, id="torch")


@pytest.fixture(params=libraries())
def library(request):
    return request.param


def scipy_label(mask, connectivity):
    ndimage = pytest.importorskip("scipy.ndimage")
    return ndimage.label(mask, ndimage.generate_binary_structure(mask.ndim, connectivity))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("density", [0.05, 0.2, 0.3, 0.4, 0.5, 0.6])
def test_numbers_are_those_of_scipy(shape, density):
    rng = np.random.default_rng([*shape, int(100 * density)])
    mask = rng.random(shape) < density
    for connectivity in range(1, mask.ndim + 1):
        want, count = scipy_label(mask, connectivity)
        sizes = np.bincount(want.ravel(), minlength=count + 1)[1:]
        for name, layout in LAYOUTS.items():
            labels, found = components.label(layout(mask), connectivity=connectivity)
            assert labels.dtype == np.int32
            assert type(found) is int
            assert found == count
            assert np.array_equal(labels, want), (name, connectivity)
            kept = components.remove_small(layout(mask), 3, connectivity=connectivity)
            assert kept.dtype == bool
            assert np.array_equal(kept, np.isin(want, 1 + np.flatnonzero(sizes >= 3)))
            largest = components.largest(layout(mask), connectivity=connectivity)
            assert np.array_equal(largest, want == 1 + np.argmax(sizes) if count else np.zeros(shape, bool))


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_no_number_depends_on_threads(threads, monkeypatch):
    mask = np.random.default_rng(3).random((70, 66, 130)) < 0.25
    monkeypatch.setattr(components, "get_num_threads", lambda: threads)
    for connectivity in (1, 2, 3):
        want, count = scipy_label(mask, connectivity)
        for layout in (LAYOUTS["C"], LAYOUTS["Fortran"]):
            labels, found = components.label(layout(mask), connectivity=connectivity)
            assert found == count
            assert np.array_equal(labels, want)
            sizes = components.statistics(layout(mask), connectivity=connectivity).sizes
            assert np.array_equal(sizes, np.bincount(want.ravel())[1:])


@pytest.mark.parametrize("zeroed", [True, False])
def test_arrays_of_zeros_and_of_anything_are_filled(zeroed, monkeypatch):
    monkeypatch.setattr(components, "_MAPPED", 0 if zeroed else 2**60)
    mask = np.random.default_rng(4).random((20, 30, 70)) < 0.3
    want, _ = scipy_label(mask, 2)
    assert np.array_equal(components.label(mask, connectivity=2)[0], want)
    assert np.array_equal(components.remove_small(mask, 0, connectivity=2), mask)
    dirty = np.full(mask.size, -7, np.int32)
    _native.label_components(mask, dirty, connectivity=2)
    assert np.array_equal(dirty.reshape(mask.shape), want)


@pytest.mark.parametrize("name", STORED)
def test_stored_masks(name):
    stored = np.load(FIXTURES / "components.npz")
    mask = stored[f"mask/{name}"]
    for connectivity in range(1, mask.ndim + 1):
        expected = STORED[name][f"connectivity_{connectivity}"]
        labels, count = components.label(mask, connectivity=connectivity)
        assert np.array_equal(labels, stored[f"label/{name}/{connectivity}"])
        assert count == expected["count"]
        assert components.largest(mask, connectivity=connectivity).sum() == expected["largest"]


@pytest.mark.parametrize(
    "dtype", ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16", ">i4", ">f8"]
)
def test_every_dtype(dtype):
    mask = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 1]]).astype(dtype)
    labels, count = components.label(mask, connectivity=1)
    assert labels.tolist() == [[0, 1, 1], [0, 0, 0], [2, 0, 3]]
    assert count == 3


def test_anything_but_zero_is_foreground():
    for values in ([0, nan, 3, 0, -1], [0.0, 1e-310, inf, -0.0, 0.5], [0, 1j, 1, 0, 2]):
        labels, count = components.label(np.array([values]), connectivity=1)
        assert labels.tolist() == [[0, 1, 1, 0, 2]]
        assert count == 2


def test_worked_examples(library):
    for connectivity, want, count in [(1, "1002 0302 0000 4405", 5), (2, "1002 0102 0000 3304", 4)]:
        labels, found = components.label(library.array(M), connectivity=connectivity)
        assert type(labels) is type(library.array(M))
        assert library.numpy(labels).dtype == np.int32
        assert np.array_equal(library.numpy(labels), parsed(want))
        assert found == count
    for connectivity, want in [(1, "0001 0001 0000 0000"), (2, "1000 0100 0000 0000")]:
        kept = components.largest(library.array(M), connectivity=connectivity)
        assert library.numpy(kept).dtype == bool
        assert np.array_equal(library.numpy(kept), parsed(want))
    for connectivity, size, want in [(1, 2, "0001 0001 0000 1100"), (2, 3, "0000 0000 0000 0000"), (1, 0, None)]:
        kept = library.numpy(components.remove_small(library.array(M), size, connectivity=connectivity))
        assert kept.dtype == bool
        assert np.array_equal(kept, M if want is None else parsed(want))
    assert components.label(parsed("101 101 111"), connectivity=1)[1] == 1
    assert components.largest(parsed("011011"), connectivity=1).tolist() == [[False, True, True, False, False, False]]


@pytest.mark.parametrize(
    ("min_size", "kept"),
    [(0, 6), (1, 6), (True, 6), (1.5, 5), (2, 5), (2.0, 5), (2.5, 3), (3.01, 0), (nan, 0), (inf, 0), (2**70, 0)],
)
def test_thresholds_compare_as_numbers(min_size, kept):
    assert components.remove_small([1, 0, 1, 1, 0, 1, 1, 1], min_size, connectivity=1).sum() == kept
    assert components.remove_small([1, 0, 1, 1, 0, 1, 1, 1], np.float64(min_size), connectivity=1).sum() == kept


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_empty_arrays(shape, library):
    mask = library.array(np.zeros(shape, bool))
    labels, count = components.label(mask, connectivity=1)
    assert count == 0
    assert library.numpy(labels).shape == shape
    assert library.numpy(labels).dtype == np.int32
    for kept in (components.largest(mask, connectivity=1), components.remove_small(mask, 2, connectivity=1)):
        assert library.numpy(kept).shape == shape
        assert library.numpy(kept).dtype == bool
    found = components.statistics(mask, connectivity=1)
    assert tuple(found.boxes.shape) == (0, len(shape), 2)


def test_statistics(library):
    mask = np.random.default_rng(5).random((9, 12, 70)) < 0.2
    labels, count = components.label(mask, connectivity=3)
    found = components.statistics(library.array(mask), connectivity=3)
    sizes, centroids, boxes = (library.numpy(values) for values in found)
    assert (sizes.dtype, centroids.dtype, boxes.dtype) == (np.int64, np.float64, np.int64)
    assert len(sizes) == count
    for i in range(count):
        at = np.argwhere(labels == i + 1)
        assert sizes[i] == len(at)
        assert np.array_equal(centroids[i], at.sum(0) / len(at))
        assert np.array_equal(boxes[i], np.stack([at.min(0), at.max(0) + 1], -1))


def test_results_lie_in_memory_as_the_mask():
    mask = np.asfortranarray(np.ones((3, 4, 5)))
    assert components.label(mask, connectivity=1)[0].flags.f_contiguous
    assert components.largest(mask, connectivity=1).flags.f_contiguous
    assert components.label(mask.T, connectivity=1)[0].flags.c_contiguous


# ---------------------------------------------------------------- pitfalls


def test_p15_numbers_do_not_take_the_dtype_of_the_mask(library):
    labels, count = components.label(library.array(np.array([1, 0, 1, 0, 1], bool)), connectivity=1)
    assert library.numpy(labels).tolist() == [1, 0, 2, 0, 3]
    assert count == 3
    grid = np.zeros((40, 40), bool)
    grid[::2, ::2] = True
    labels, count = components.label(library.array(grid), connectivity=1)
    assert count == 400
    assert np.array_equal(np.unique(library.numpy(labels)), np.arange(401))


def test_p25_any_strides_in_place(library):
    mask = np.zeros((4, 5, 6), np.uint8)
    mask[0:2, 0:2, 0:2] = 1
    mask[3:4, 4:5, 3:6] = 1
    transposed = library.array(mask).T if library is NumPy else library.array(mask).permute(2, 1, 0)
    kept = library.numpy(components.largest(transposed, connectivity=1))
    assert kept.shape == (6, 5, 4)
    assert kept.sum() == 8
    assert kept[:2, :2, :2].all()


def test_p30_more_components_than_a_byte_or_a_short_can_count(library):
    mask = np.zeros((513, 513), np.uint8)
    mask[::2, ::2] = 1
    labels, count = components.label(library.array(mask), connectivity=2)
    assert count == 66_049 == int(labels.max())
    big = np.zeros((10, 10, 10), np.uint64)
    big[1, 2, 3] = 7112614941
    assert components.statistics(big, connectivity=1).sizes.tolist() == [1]


def test_p53_neighbourhoods(library):
    for offset in np.ndindex(3, 3, 3):
        mask = np.zeros((3, 3, 3), bool)
        mask[1, 1, 1] = mask[offset] = True
        axes = sum(index != 1 for index in offset)
        for connectivity in (1, 2, 3):
            assert components.label(library.array(mask), connectivity=connectivity)[1] == (
                1 if axes <= connectivity else 2
            )


@pytest.mark.parametrize("columns", [4, 64, 65])
def test_p54_rows_do_not_wrap(columns, library):
    mask = np.zeros((3, columns), bool)
    mask[0, -1] = mask[1, 0] = True
    assert components.label(library.array(mask), connectivity=2)[1] == 2


# ---------------------------------------------------------------- errors

CALLS = {
    "label": components.label,
    "largest": components.largest,
    "remove_small": lambda mask, **keywords: components.remove_small(mask, 2, **keywords),
    "statistics": components.statistics,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_errors(call):
    plane = np.ones((3, 4), bool)
    for mask in (np.ones(()), np.ones((1, 1, 1, 1))):
        with pytest.raises(exacta.ExactaValueError, match="1 to 3 axes"):
            call(mask, connectivity=1)
    for connectivity in (0, 3, -1, 1.0, "1", None, 2**80):
        with pytest.raises(exacta.ExactaValueError, match="connectivity"):
            call(plane, connectivity=connectivity)
    with pytest.raises(exacta.ExactaValueError, match="backend"):
        call(plane, connectivity=1, backend="cuda")
    with pytest.raises(NotImplementedError):
        call(plane, connectivity=1, backend="triton")
    with pytest.raises(exacta.ExactaRuntimeError):
        call(plane, connectivity=1, backend="triton")
    with pytest.raises(TypeError):
        call(plane)
    with pytest.raises(TypeError):
        call(plane, 1)
    with pytest.raises(exacta.ExactaTypeError):
        call("mask", connectivity=1)
    call(plane, connectivity=True, backend="native")
    call(plane, connectivity=np.int64(1))


@pytest.mark.parametrize(
    ("min_size", "kind"),
    [(-1, ValueError), (-0.5, ValueError), ("2", TypeError), (None, TypeError), ([1, 2], TypeError)],
)
def test_wrong_thresholds(min_size, kind):
    with pytest.raises(kind, match="min_size") as raised:
        components.remove_small([0, 1], min_size, connectivity=1)
    assert isinstance(raised.value, exacta.ExactaError)
