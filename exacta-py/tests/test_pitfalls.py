"""Mistakes that users of segmentation metrics have met in practice, one test each, with the right value.

Each runs for NumPy arrays and, where torch is installed, for tensors. The numbers are those of the list of pitfalls;
what is missing here belongs to other parts of the library:

- distance transforms: P5, P13, P22, P69 (P4, P70 and P71 are here as far as they concern surface distances)
- components and labels: P15, P25, P53, P54 and the component half of P30 are in `test_components.py`; that of P31
- lesions and instances: P10, P18, P23, P29, P55, P56, P57, P58, P61
- losses: P17, P20, P33, P38 to P41, P46, P60, P66, P67, P68; the loss half of P36
- skeletons: P63, P64, P65
- stateful metrics: P32, P42, P43, and the pooled mean of P52
- memory: P19 is in `test_memory.py`

The half of P49 with surface elements is in `test_surfels.py`.
"""

import importlib.util
import math

import numpy as np
import pytest

from exacta import functional

nan, inf = math.nan, math.inf


class NumPy:
    array = staticmethod(np.asarray)
    numpy = staticmethod(np.asarray)
    plain = staticmethod(np.asarray)


class Torch:
    @staticmethod
    def array(values):
        import torch

        return torch.from_numpy(np.ascontiguousarray(values))

    @staticmethod
    def plain(tensor):
        return tensor.numpy()

    @staticmethod
    def numpy(values):
        """A result, which is a float64 tensor."""
        import torch

        assert isinstance(values, torch.Tensor)
        assert values.dtype == torch.float64
        return values.numpy()


LIBRARIES = [NumPy, Torch] if importlib.util.find_spec("torch") else [NumPy]


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.__name__.lower())
def library(request):
    return request.param


def box(shape, *bounds):
    out = np.zeros(shape, np.uint8)
    out[tuple(slice(a, b) for a, b in bounds)] = 1
    return out


def plus(mask, *where):
    out = mask.copy()
    out[where] = 1
    return out


def score(library, function, pred, target, **options):
    """All classes of one case given without its batch axis."""
    options = {"num_classes": 2, **options}
    pred, target = library.array(np.asarray(pred)[None]), library.array(np.asarray(target)[None])
    return library.numpy(getattr(functional, function)(pred, target, **options))[0]


def foreground(library, function, pred, target, **options):
    """Class 1 of a binary case; distances have spacing 1 unless said otherwise."""
    if function in ("hausdorff_distance", "hd95", "assd", "masd", "nsd"):
        options = {"spacing": 1, **options}
    return score(library, function, pred, target, **options)[1].item()


def close(value):
    """As many digits as the list of pitfalls prints."""
    return pytest.approx(value, rel=0, abs=5e-8 * max(1.0, 10.0 ** math.floor(math.log10(abs(value) or 1.0))))


def test_p01_spacing_in_array_axis_order(library):
    p = plus(np.zeros((3, 3, 3), np.uint8), 0, 0, 0)
    for where, want in (((1, 0, 0), 5.0), ((0, 0, 1), 1.0)):
        t = plus(np.zeros((3, 3, 3), np.uint8), *where)
        assert foreground(library, "hausdorff_distance", p, t, spacing=(5, 1, 1)) == want


def test_p02_spacing_of_wrong_length_is_an_error(library):
    for shape, spacing in (((4, 4, 4), (1, 1)), ((4, 4), (1, 1, 1))):
        mask = np.ones(shape, np.uint8)
        with pytest.raises(ValueError, match="spacing") as error:
            foreground(library, "hd95", mask, mask, spacing=spacing)
        assert str(len(shape)) in str(error.value)
        assert str(len(spacing)) in str(error.value)
    p, t = box((5, 5), (1, 2), (1, 2)), box((5, 5), (3, 4), (1, 2))
    for spacing in (2, 2.0, (2, 2)):
        assert foreground(library, "hausdorff_distance", p, t, spacing=spacing) == 4.0


def test_p03_anisotropy(library):
    p = box((12, 12, 12), (2, 6), (2, 6), (2, 6))
    t = box((12, 12, 12), (4, 8), (3, 7), (5, 9))
    for spacing, want in (((1, 1, 1), 3.7416574), ((3, 1, 1), 6.7823300), ((1, 1, 3), 9.2736185)):
        assert foreground(library, "hausdorff_distance", p, t, spacing=spacing) == close(want)


def test_p04_small_spacing(library):
    p, t = plus(np.zeros((2, 2), np.uint8), 0, 0), plus(np.zeros((2, 2), np.uint8), 1, 1)
    assert foreground(library, "hausdorff_distance", p, t, spacing=(0.5, 0.5)) == close(0.70710678)
    for spacing in (1e-3, 1e-30, 1e-100):
        got = foreground(library, "hausdorff_distance", p, t, spacing=(spacing, 1.0))
        assert got == math.sqrt(1.0 + spacing * spacing)


def test_p06_missed_structure_is_infinitely_far(library):
    t = box((64, 64), (20, 28), (20, 28))
    p = np.zeros_like(t)
    values = [foreground(library, "hausdorff_distance", p, t, percentile=q) for q in (50, 95, 99, 100)]
    assert values == [inf] * 4
    assert foreground(library, "hd95", p, t) == inf
    # A mean over cases counts this one.
    assert np.mean([foreground(library, "hd95", t, t), values[1]]) == inf
    assert foreground(library, "hd95", p, t, one_empty=90.5) == 90.5


@pytest.mark.parametrize(
    ("function", "worst"), [("hausdorff_distance", inf), ("hd95", inf), ("assd", inf), ("masd", inf), ("nsd", 0.0)]
)
def test_p07_one_empty_and_both_empty_differ(library, function, worst):
    t, none = box((8, 8), (2, 5), (2, 5)), np.zeros((8, 8), np.uint8)
    options = {"tolerance": 1.0} if function == "nsd" else {}
    for p, q in ((none, t), (t, none)):
        assert foreground(library, function, p, q, **options) == worst
        # The value for two empty masks never applies to one.
        assert foreground(library, function, p, q, both_empty=0.0, **options) == worst
        assert foreground(library, function, p, q, one_empty=300.0, **options) == 300.0
    assert math.isnan(foreground(library, function, none, none, **options))
    assert math.isnan(foreground(library, function, none, none, one_empty=300.0, **options))
    assert foreground(library, function, none, none, both_empty=-1.0, **options) == -1.0


def test_p08_classes_of_a_data_set(library):
    target = np.zeros((10, 4, 4), np.uint8)
    target[0, 1, 1] = 1
    pred = np.zeros_like(target)
    values = library.numpy(functional.dice(library.array(pred), library.array(target), num_classes=3))
    a, b = values[:, 1], values[:, 2]
    assert np.nanmean(a) == 0.0
    assert np.isnan(a).sum() == 9
    assert np.isnan(b).all()


def test_p09_absent_class_is_nan(library):
    labels = [[0, 1], [1, 0]]
    values = score(library, "iou", labels, labels, num_classes=3)
    np.testing.assert_array_equal(values, [1, 1, nan])
    assert np.nanmean(values) == 1.0


@pytest.mark.parametrize("function", ["dice", "iou"])
def test_p11_two_empty_masks_are_what_the_caller_says(library, function):
    none = np.zeros((4, 4), np.uint8)
    assert math.isnan(foreground(library, function, none, none))
    for value in (1.0, 0.0):
        assert foreground(library, function, none, none, both_empty=value) == value


def test_p12_outside_is_background(library):
    p, t = np.ones((4, 4), np.uint8), box((4, 4), (1, 3), (1, 3))
    assert foreground(library, "hausdorff_distance", p, t) == close(1.4142136)
    assert foreground(library, "assd", p, t) == close(1.1035534)
    # 12 and 4 surface pixels: one of them against all is 2 / (n + 1) at tolerance 0.
    for mask, surface in ((p, 12), (t, 4)):
        first = plus(np.zeros_like(mask), *np.argwhere(mask)[0])
        assert foreground(library, "nsd", mask, first, tolerance=0) == 2 / (surface + 1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_])
def test_p14_counts_do_not_wrap(library, dtype):
    ones = np.ones((16, 17), dtype)
    assert foreground(library, "predicted_area", ones, ones, spacing=1) == 272.0
    assert foreground(library, "dice", ones, ones) == 1.0
    assert foreground(library, "iou", ones, ones) == 1.0


@pytest.mark.parametrize("label", [254, 255])
def test_p16_largest_label_of_a_dtype(library, label):
    labels = np.zeros((5, 6), np.uint8)
    labels[2, 3] = label
    sizes = score(library, "predicted_area", labels, labels, num_classes=256, spacing=1)
    want = np.zeros(256)
    want[0], want[label] = 29, 1
    np.testing.assert_array_equal(sizes, want)
    assert score(library, "hausdorff_distance", labels, labels, num_classes=256, spacing=1)[label] == 0.0


def test_p21_more_than_2_24_distances(library):
    """The distances 0, 1, ..., 2^24: a row of voxels against its first one."""
    n = 2**24 + 1
    p, t = np.ones((1, n), np.uint8), np.zeros((1, n), np.uint8)
    t[0, 0] = 1
    got = foreground(library, "hd95", p, t)
    assert got == pytest.approx(15938355.2, rel=1e-15)


VIEWS = {
    "transposed": lambda m: m.T,
    "reversed": lambda m: m[::-1],
    "every second": lambda m: m[::2],
    "Fortran order": np.asfortranarray,
}
TORCH_VIEWS = {
    "transposed": lambda m: m.T,
    "every second": lambda m: m[::2],
    "column-major": lambda m: m.T.contiguous().T,
}


@pytest.mark.parametrize("function", ["dice", "hausdorff_distance", "hd95", "assd"])
def test_p24_views_behave_as_copies(library, function):
    def measure(p, t):
        spacing = {} if function == "dice" else {"spacing": 1}
        return library.numpy(getattr(functional, function)(p[None], t[None], num_classes=2, **spacing))[0, 1].item()

    p = library.array(box((128, 128), (10, 40), (40, 90)))
    t = library.array(box((128, 128), (12, 47), (38, 90)))
    whole = measure(p, t)
    for name, view in (TORCH_VIEWS if library is Torch else VIEWS).items():
        seen_p, seen_t = view(p), view(t)
        copied = measure(*(library.array(np.ascontiguousarray(library.plain(m))) for m in (seen_p, seen_t)))
        assert measure(seen_p, seen_t) == copied, name
        if name != "every second":
            # The same image, its axes named or walked otherwise; a sum of distances is then another order of additions.
            assert copied == pytest.approx(whole, rel=1e-14 if function == "assd" else 0, abs=0), name


def test_p26_percentile_zero_is_a_value(library):
    p, t = box((5, 9), (1, 4), (1, 3)), box((5, 9), (1, 4), (5, 8))
    for q, want in ((0, 3.0), (50, 4.0), (95, 5.0), (100, 5.0)):
        assert foreground(library, "hausdorff_distance", p, t, percentile=q) == want


def test_p27_hd95_is_the_larger_direction(library):
    p = box((7, 24), (2, 5), (2, 6))
    t = plus(p, 3, 16)
    assert foreground(library, "hd95", p, t) == close(5.5)
    assert foreground(library, "hd95", p, t, combine="pooled") == 0.0
    assert foreground(library, "hausdorff_distance", p, t) == 11.0


def test_p28_percentiles_are_ordered(library):
    p = box((20, 30), (5, 15), (5, 15))
    t = plus(p, 10, slice(15, 21))
    for q, want in ((100, 6.0), (99, 5.6), (95, 4.0), (90, 2.0)):
        assert foreground(library, "hausdorff_distance", p, t, percentile=q) == close(want)
    assert foreground(library, "hd95", p, t, combine="pooled") == close(2.2)
    for combine in ("max", "mean", "pooled"):
        options = {"combine": combine}
        values = [foreground(library, "hausdorff_distance", p, t, percentile=q, **options) for q in range(101)]
        assert values == sorted(values)


def test_p30_labels_are_not_truncated(library):
    dtypes = [np.int64] if library is Torch else [np.int64, np.uint64]
    for dtype in dtypes:
        for label in (7112614941, 2**32, 2**32 + 1, 2**40, 2**63 - 1):
            labels = np.zeros((10, 10, 10), dtype)
            labels[1, 2, 3] = label
            zeros = np.zeros_like(labels)
            for p, t in ((labels, zeros), (zeros, labels)):
                with pytest.raises(ValueError, match=str(label)):
                    score(library, "dice", p, t)
    labels = np.zeros((10, 10, 10), np.int64)
    labels[1, 2, 3] = 7112614941
    # As an ignored label, its 64 bits count: the low 32 are another number.
    low = 7112614941 % 2**32
    keep = score(library, "predicted_volume", np.zeros_like(labels), labels, spacing=1, ignore_index=7112614941)
    np.testing.assert_array_equal(keep, [999, 0])
    with pytest.raises(ValueError, match="7112614941"):
        score(library, "dice", np.zeros_like(labels), labels, ignore_index=low)


def test_p31_more_than_2_31_voxels(library):
    """Counts and flat indices have 64 bits. The arrays are one voxel seen from everywhere, so they take no memory."""
    shape = (1, 1291, 1291, 1290)
    voxels = 1291 * 1291 * 1290
    assert voxels > 2**31
    ones = np.broadcast_to(np.ones((), np.uint8), shape)
    if library is Torch:
        import torch

        ones = torch.ones((), dtype=torch.uint8).expand(shape)
    options = {"num_classes": 2, "spacing": 1}
    got = functional.evaluate(ones, ones, metrics=["predicted_volume", "target_volume", "dice"], **options)
    np.testing.assert_array_equal(library.numpy(got["predicted_volume"]), [[0, voxels]])
    np.testing.assert_array_equal(library.numpy(got["target_volume"]), [[0, voxels]])
    np.testing.assert_array_equal(library.numpy(got["dice"]), [[nan, 1]])


def test_p34_counts_are_exact_integers(library):
    n = 16_777_218
    p, t = np.ones((1, 1, n), np.uint8), np.ones((1, 1, n), np.uint8)
    t[..., -1] = 0
    assert foreground(library, "predicted_volume", p, t, spacing=1) == n
    assert foreground(library, "target_volume", p, t, spacing=1) == n - 1
    assert foreground(library, "volume_error", p, t, spacing=1) == 1.0
    assert foreground(library, "sensitivity", p, t) == 1.0
    assert foreground(library, "precision", p, t) == (n - 1) / n
    assert foreground(library, "dice", p, t) == 2 * (n - 1) / (2 * (n - 1) + 1)
    assert foreground(library, "specificity", p, t) == 0.0


def test_p35_ignored_label_outside_the_classes(library):
    p, t = np.array([[0, 1], [1, 0]]), np.array([[0, 1], [255, 255]])
    np.testing.assert_array_equal(score(library, "dice", p, t, ignore_index=255), [1, 1])
    with pytest.raises(ValueError, match="255"):
        score(library, "dice", p, t)


@pytest.mark.parametrize("function", ["dice", "iou", "sensitivity", "precision", "specificity", "volume_similarity"])
def test_p36_all_voxels_ignored(library, function):
    p, t = np.array([[0, 1], [1, 0]]), np.full((2, 2), 255)
    np.testing.assert_array_equal(score(library, function, p, t, ignore_index=255), [nan, nan])


def test_p37_ignored_voxels_leave_both_masks(library):
    t, p = box((10, 6), (2, 5), (1, 5)), box((10, 6), (2, 10), (1, 5))
    t[5:] = 255
    assert foreground(library, "dice", p, t, ignore_index=255) == 1.0
    with pytest.raises(ValueError, match="ignore_index"):
        functional.evaluate(
            library.array(p[None]),
            library.array(t[None]),
            metrics=["hausdorff_distance"],
            spacing=1,
            num_classes=2,
            ignore_index=255,
        )


def test_p44_one_hot_is_index(library):
    labels = np.tile(np.array([0, 0, 1, 1]), (5, 4, 1))
    one_hot = np.stack([labels == 0, labels == 1], axis=1)
    for given, options in ((labels, {"num_classes": 2}), (one_hot, {"input_format": "one-hot"})):
        given = library.array(given)
        np.testing.assert_array_equal(library.numpy(functional.iou(given, given, **options)), np.ones((5, 2)))


def test_p45_number_of_classes_is_the_callers(library):
    labels = [[0, 1], [1, 0]]
    for function in ("dice", "iou"):
        values = score(library, function, labels, labels, num_classes=5)
        np.testing.assert_array_equal(values, [1, 1, nan, nan, nan])
    with pytest.raises(ValueError, match="num_classes"):
        score(library, "iou", labels, labels, num_classes=None)


def test_p47_axes_are_never_dropped(library):
    p, t = box((12, 12), (2, 10), (2, 10)), box((12, 12), (3, 10), (2, 11))
    assert foreground(library, "assd", p, t) == close(0.4642857)
    assert foreground(library, "assd", p[None], t[None]) == close(0.1181102)


def test_p48_assd_and_masd(library):
    p, t = box((8, 12), (1, 7), (1, 7)), box((8, 12), (1, 7), (1, 11))
    assert foreground(library, "assd", p, t) == close(0.875)
    assert foreground(library, "masd", p, t) == close(0.7928571)
    assert foreground(library, "assd", p, t, combine="mean") == foreground(library, "masd", p, t)
    # The directed means are 0.3 and 1.2857143.
    assert foreground(library, "assd", p, t, combine="max") == close(1.2857143)
    assert 2 * foreground(library, "masd", p, t) - 1.2857143 == close(0.3)


def test_p49_surface_dice_counts_surface_voxels(library):
    p, t = box((12, 12), (2, 8), (2, 8)), box((12, 12), (2, 8), (4, 10))
    for tolerance, want in ((0, 0.4), (1, 0.6), (2, 1.0)):
        assert foreground(library, "nsd", p, t, tolerance=tolerance) == close(want)
        assert foreground(library, "nsd", p, t, tolerance=tolerance, surface="voxels") == close(want)
    # A distance equal to the tolerance is within it.
    assert foreground(library, "nsd", p, t, tolerance=np.nextafter(2.0, 0.0)) < 1.0


def test_p50_surface_voxels_have_a_face_on_background(library):
    p = box((9, 9), (1, 8), (1, 8))
    t = p.copy()
    t[4, 4] = 0
    # 28 surface pixels: with a full neighbourhood it would be 32 and an ASSD of 0.2857143.
    assert foreground(library, "assd", p, t) == close(0.1538462)
    assert foreground(library, "hausdorff_distance", p, t) == 2.0
    first = plus(np.zeros_like(t), 1, 1)
    assert foreground(library, "nsd", t, first, tolerance=0) == 2 / 29


def test_p51_distances_are_between_surfaces(library):
    p = box((9, 9), (1, 8), (1, 8))
    t = p.copy()
    t[3:6, 3:6] = 0
    assert foreground(library, "hausdorff_distance", p, t) == 1.0


def test_p52_mean_over_cases(library):
    p, t = np.zeros((2, 100), np.uint8), np.zeros((2, 100), np.uint8)
    t[0, 0] = 1
    p[1, :99], t[1, :98], t[1, 99] = 1, 1, 1
    got = library.numpy(functional.dice(library.array(p[:, None]), library.array(t[:, None]), num_classes=2))[:, 1]
    np.testing.assert_array_equal(got, [0.0, 196 / 198])
    assert got.mean() == close(0.4949495)
    # Pooled counts: both cases as one image.
    assert foreground(library, "dice", p, t) == close(0.9849246)


def test_p59_rates_have_their_textbook_meaning(library):
    t = [[1, 1, 1, 0, 0, 0, 0, 0, 0, 0]]
    p = [[1, 1, 0, 1, 1, 0, 0, 0, 0, 0]]
    assert 1 - foreground(library, "specificity", p, t) == close(0.2857143)
    assert 1 - foreground(library, "precision", p, t) == close(0.5)
    assert 1 - foreground(library, "sensitivity", p, t) == close(0.3333333)


def test_p62_values_0_and_255_are_refused(library):
    mask = np.array([[0, 255], [255, 0]], np.uint8)
    with pytest.raises(ValueError, match="255"):
        score(library, "dice", mask, mask)
    with pytest.raises(ValueError, match="255"):
        functional.dice(library.array(mask[None, None]), library.array(mask[None, None]), input_format="one-hot")


def test_p70_no_size_limit(library):
    p, t = plus(np.zeros((1200, 1200), np.uint8), 0, 0), plus(np.zeros((1200, 1200), np.uint8), 1199, 1199)
    assert foreground(library, "hausdorff_distance", p, t) == close(1695.6420613)


def test_p71_squared_distances_do_not_overflow(library):
    p = plus(np.zeros((65536, 2), np.uint8), 0, 0)
    for row in (46340, 46341, 65535):
        t = plus(np.zeros_like(p), row, 0)
        assert foreground(library, "hausdorff_distance", p, t) == float(row)
