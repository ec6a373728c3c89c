"""Memory order and dtype never change a bit: every result equals that of C-contiguous int64 copies.

Rows of 1, 63, 64, 65, 128 and 130 voxels lie below, at and across the 64-bit words and vectors that kernels work in.
"""

import importlib.util
import itertools

import numpy as np
import pytest

from exacta import functional

CLASSES = 4
ROWS = (1, 63, 64, 65, 128, 130)
SHAPES = [(2, 5, n) for n in ROWS] + [(2, 3, 4, n) for n in ROWS]
SPACING = {2: (1.3, 0.7), 3: (2.5, 0.9, 0.7)}
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]

COUNTS = {
    "dice": {},
    "iou": {},
    "sensitivity": {},
    "precision": {},
    "specificity": {},
    "volume_similarity": {},
    "relative_volume_difference": {},
}
SIZES = {
    2: ("predicted_area", "target_area", "area_error"),
    3: ("predicted_volume", "target_volume", "volume_error"),
}
SURFACES = {
    "hausdorff_distance": {"percentile": 99.0},
    "hd95": {"combine": "pooled"},
    "assd": {},
    "masd": {},
    "nsd": {"tolerance": 1.0},
}


def volume(rng, shape, classes=CLASSES):
    """Label maps with blocks and noise; the last class is absent in the first case."""
    out = np.zeros(shape, np.int64)
    for case in out:
        for label in range(1, classes):
            low = [rng.integers(0, n) for n in case.shape]
            case[tuple(slice(a, a + rng.integers(1, n + 1)) for a, n in zip(low, case.shape, strict=True))] = label
    noise = rng.random(shape) < 0.1
    out[noise] = rng.integers(0, classes, noise.sum())
    if classes > 2:
        out[0][out[0] == classes - 1] = 0
    return out


def pair(shape, classes=CLASSES):
    rng = np.random.default_rng([*shape, classes])
    pred, target = volume(rng, shape, classes), volume(rng, shape, classes)
    # Much alike, so that distances are short and long.
    return pred, np.where(rng.random(shape) < 0.5, pred, target)


def measure(pred, target, *, masked=None, **options):
    """Every metric, as one float64 array: counts with and without a mask, sizes, surfaces."""
    ndim = len(pred.shape) - (2 if options.get("input_format") == "one-hot" else 1)
    if "input_format" not in options:
        options.setdefault("num_classes", CLASSES)
    spaced = {**options, "spacing": SPACING[ndim]}
    surfaces = {name: values for name, values in SURFACES.items() if name != "masd"}
    metrics = {**COUNTS, **{name: {} for name in SIZES[ndim]}, **surfaces}
    results = list(functional.evaluate(pred, target, metrics=metrics, **spaced).values())
    results.append(functional.masd(pred, target, **spaced))
    if masked is not None:
        results += functional.evaluate(pred, target, metrics=COUNTS, mask=masked, **options).values()
    return np.stack([np.asarray(result) for result in results])


def same(got, want):
    """Equal numbers, NaN in the same places."""
    np.testing.assert_array_equal(got, want, strict=True)


# Layouts: a view with the values of the array and another memory order.


def fortran(array):
    return np.asfortranarray(array)


def window(array):
    big = np.full([n + 3 for n in array.shape], 1, array.dtype)
    view = big[tuple(slice(2, n + 2) for n in array.shape)]
    view[...] = array
    return view


def unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def field(array):
    """A field of a packed record: strides that are no multiple of the item size."""
    view = np.zeros(array.shape, np.dtype([("gap", "u1"), ("value", array.dtype), ("more", "u1", 2)]))["value"]
    view[...] = array
    return view


def read_only(array):
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def every_second(axis):
    def view(array):
        big = np.full([n * (2 if a == axis % array.ndim else 1) for a, n in enumerate(array.shape)], 1, array.dtype)
        out = big[tuple(slice(None, None, 2 if a == axis % array.ndim else 1) for a in range(array.ndim))]
        out[...] = array
        return out

    return view


def reversed_axes(*axes):
    def view(array):
        chosen = axes or tuple(range(array.ndim))
        return np.flip(np.flip(array, chosen).copy(), chosen)

    return view


def backwards_every_third(array):
    big = np.full((*array.shape[:-1], 3 * array.shape[-1]), 1, array.dtype)
    out = big[..., ::-3]
    out[...] = array
    return out


def permuted(order):
    """Memory order of the axes; the batch axis may be anywhere."""

    def view(array):
        inverse = np.argsort(order)
        return array.transpose(order).copy().transpose(inverse)

    return view


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": fortran,
    "window": window,
    "unaligned": unaligned,
    "field": field,
    "read-only": read_only,
    "every second row voxel": every_second(-1),
    "every second row": every_second(-2),
    "every second case": every_second(0),
    "rows backwards": reversed_axes(-1),
    "axis 1 backwards": reversed_axes(1),
    "all backwards": reversed_axes(),
    "every third backwards": backwards_every_third,
}


def orders(ndim):
    return {f"memory order {order}": permuted(order) for order in itertools.permutations(range(ndim))}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts(shape):
    pred, target = pair(shape)
    mask = np.random.default_rng(1).random(shape) < 0.8
    want = measure(pred, target, masked=mask)
    layouts = {**LAYOUTS, **orders(len(shape))}
    names = list(layouts)
    for i, name in enumerate(names):
        view = layouts[name]
        # Both alike, each with the plain one, and each with another.
        other = layouts[names[(i * 5 + 3) % len(names)]]
        for p, t, m in (
            (view, view, view),
            (view, LAYOUTS["C"], other),
            (LAYOUTS["C"], view, view),
            (view, other, other),
        ):
            for dtype in (np.int64, np.uint8):
                got = measure(p(pred.astype(dtype)), t(target.astype(dtype)), masked=m(mask))
                np.testing.assert_array_equal(got, want, err_msg=name, strict=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts_of_channels(shape):
    labels = pair(shape)
    pred, target = (np.stack([m == c for c in range(CLASSES)], axis=1) for m in labels)
    mask = np.random.default_rng(1).random(shape) < 0.8
    want = measure(*labels, masked=mask)
    for name, view in {**LAYOUTS, **dict(list(orders(len(shape) + 1).items())[::7])}.items():
        for dtype in (np.bool_, np.float32):
            channels = (view(pred.astype(dtype)), view(target.astype(dtype)))
            got = measure(*channels, masked=mask, input_format="one-hot")
            np.testing.assert_array_equal(got, want, err_msg=name, strict=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_broadcast_views(shape):
    """Stride 0, on each axis and on all."""
    pred, target = pair(shape)
    for axis in range(len(shape)):
        repeated = [np.broadcast_to(m.take([0], axis), shape) for m in (pred, target)]
        assert all(m.strides[axis] == 0 or m.shape[axis] == 1 for m in repeated)
        want = measure(*(m.copy() for m in repeated))
        same(measure(*repeated), want)
        same(measure(repeated[0], repeated[1].copy()), want)
    everywhere = [np.broadcast_to(np.int64(label), shape) for label in (1, 1)]
    same(measure(*everywhere), measure(*(m.copy() for m in everywhere)))
    same(measure(everywhere[0], target), measure(everywhere[0].copy(), target))
    mask = np.broadcast_to(np.arange(shape[-1]) % 3 > 0, shape)
    same(measure(pred, target, masked=mask), measure(pred, target, masked=mask.copy()))


@pytest.mark.parametrize("shape", [(2, 5, 65), (2, 3, 4, 65), (1, 2, 3, 128)], ids=str)
def test_integer_dtype_pairs(shape):
    pred, target = pair(shape)
    want = measure(pred, target)
    for a, b in itertools.product([*INTEGERS, *FLOATS], repeat=2):
        np.testing.assert_array_equal(measure(pred.astype(a), target.astype(b)), want, err_msg=f"{a}, {b}", strict=True)


@pytest.mark.parametrize("shape", [(2, 5, 65), (2, 3, 4, 65)], ids=str)
def test_bool_pairs(shape):
    pred, target = pair(shape, classes=2)
    want = measure(pred, target, num_classes=2)
    for other in ["bool", *INTEGERS, *FLOATS]:
        same(measure(pred.astype(bool), target.astype(other), num_classes=2), want)
        same(measure(pred.astype(other), target.astype(bool), num_classes=2), want)


@pytest.mark.parametrize("shape", [(2, 5, 65), (2, 3, 4, 65)], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dtypes_and_layouts(shape, layout):
    pred, target = pair(shape)
    want, view = measure(pred, target), LAYOUTS[layout]
    for dtype in [*INTEGERS, *FLOATS, ">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8"]:
        got = measure(view(pred.astype(dtype)), view(target.astype(dtype)))
        np.testing.assert_array_equal(got, want, err_msg=dtype, strict=True)


@pytest.mark.parametrize("shape", [(2, 5, 65), (2, 3, 4, 65)], ids=str)
def test_channel_dtype_pairs(shape):
    labels = pair(shape)
    pred, target = (np.stack([m == c for c in range(CLASSES)], axis=1) for m in labels)
    want = measure(*labels)
    dtypes = ["bool", *INTEGERS, *FLOATS, ">i2", ">f4", ">f8", ">f2"]
    for a, b in itertools.product(dtypes, repeat=2):
        got = measure(pred.astype(a), target.astype(b), input_format="one-hot")
        np.testing.assert_array_equal(got, want, err_msg=f"{a}, {b}", strict=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_half_precision_channels_and_layouts(layout):
    labels, view = pair((2, 3, 4, 65)), LAYOUTS[layout]
    pred, target = (view(np.stack([m == c for c in range(CLASSES)], axis=1).astype(np.float16)) for m in labels)
    same(measure(pred, target, input_format="one-hot"), measure(*labels))


def test_negative_zero_is_zero():
    labels = pair((2, 3, 4, 65))
    want = measure(*labels)
    for dtype in FLOATS:
        pred, target = (np.stack([m == c for c in range(CLASSES)], axis=1).astype(dtype) for m in labels)
        same(measure(np.where(pred == 0, -pred, pred), target, input_format="one-hot"), want)
        same(measure(np.where(labels[0] == 0, np.array(-0.0, dtype), labels[0].astype(dtype)), labels[1]), want)


if importlib.util.find_spec("torch"):
    import torch

    TORCH = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    TORCH_FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

    def tensors(shape):
        return tuple(torch.from_numpy(m) for m in pair(shape))

    @pytest.mark.parametrize("shape", [(2, 5, 65), (2, 3, 4, 65), (2, 3, 4, 128)], ids=str)
    def test_torch_dtype_pairs(shape):
        want = measure(*pair(shape))
        pred, target = tensors(shape)
        for a, b in itertools.product(TORCH + TORCH_FLOATS, repeat=2):
            np.testing.assert_array_equal(measure(pred.to(a), target.to(b)), want, err_msg=f"{a}, {b}", strict=True)

    @pytest.mark.parametrize("shape", [(2, 5, 65), (2, 3, 4, 65)], ids=str)
    def test_torch_channel_dtype_pairs(shape):
        want = measure(*pair(shape))
        pred, target = (torch.stack([m == c for c in range(CLASSES)], 1) for m in tensors(shape))
        for a, b in itertools.product([torch.bool, *TORCH, *TORCH_FLOATS], repeat=2):
            got = measure(pred.to(a), target.to(b), input_format="one-hot")
            np.testing.assert_array_equal(got, want, err_msg=f"{a}, {b}", strict=True)

    @pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bfloat16], ids=str)
    def test_torch_layouts(dtype):
        shape = (2, 3, 4, 65)
        want = measure(*pair(shape))
        pred, target = (m.to(dtype) for m in tensors(shape))
        views = {
            "permuted": lambda m: m.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0),
            "window": lambda m: torch.nn.functional.pad(m, (1, 2, 1, 1))[:, :, 1:-1, 1:-2],
            "every second": lambda m: m.repeat_interleave(2, -1)[..., ::2],
            "channels last": lambda m: m.to(memory_format=torch.channels_last),
        }
        for name, view in views.items():
            np.testing.assert_array_equal(measure(view(pred), view(target)), want, err_msg=name, strict=True)
        channels = [torch.stack([m == c for c in range(CLASSES)], 1).to(dtype) for m in (pred, target)]
        views = {
            "channels last": lambda m: m.to(memory_format=torch.channels_last_3d),
            "permuted": lambda m: m.permute(4, 1, 0, 3, 2).contiguous().permute(2, 1, 4, 3, 0),
        }
        for name, view in views.items():
            got = measure(*map(view, channels), input_format="one-hot")
            np.testing.assert_array_equal(got, want, err_msg=name, strict=True)

    def test_torch_expanded():
        pred, target = (m[:1].expand(5, -1, -1, -1) for m in tensors((2, 3, 4, 65)))
        want = measure(*(m[:1].repeat(5, 0) for m in pair((2, 3, 4, 65))))
        same(measure(pred, target), want)
