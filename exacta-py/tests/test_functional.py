"""Values: worked examples, random arrays against the naive implementation, and one pass for several metrics."""

import inspect
import types

import numpy as np
import pytest

import naive
from exacta import _inputs, _native, functional
from exacta.functional import assd, dice, evaluate, hausdorff_distance, hd95, masd, nsd

nan, inf = np.nan, np.inf
A = ([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]])
A3 = ([[[[0, 1], [1, 2]]]], [[[[0, 1], [2, 2]]]])


def exact(result, expected):
    assert type(result) is np.ndarray
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("name", "pair", "options", "expected"),
    [
        ("dice", A, {}, [[1.0, 0.6666666666666666, 0.6666666666666666]]),
        ("iou", A, {}, [[1.0, 0.5, 0.5]]),
        ("sensitivity", A, {}, [[1.0, 1.0, 0.5]]),
        ("precision", A, {}, [[1.0, 0.5, 1.0]]),
        ("specificity", A, {}, [[1.0, 0.6666666666666666, 1.0]]),
        ("volume_similarity", A, {}, [[1.0, 0.6666666666666667, 0.6666666666666667]]),
        ("volume_similarity", A, {"convention": "itk"}, [[0.0, 0.6666666666666666, -0.6666666666666666]]),
        ("relative_volume_difference", A, {}, [[0.0, 1.0, -0.5]]),
        ("relative_volume_difference", A, {"absolute": True}, [[0.0, 1.0, 0.5]]),
        ("sensitivity", A, {"num_classes": 4, "zero_division": 0.0}, [[1.0, 1.0, 0.5, 0.0]]),
        ("predicted_volume", A3, {"spacing": (2, 1, 0.5)}, [[1.0, 2.0, 1.0]]),
        ("target_volume", A3, {"spacing": (2, 1, 0.5)}, [[1.0, 1.0, 2.0]]),
        ("volume_error", A3, {"spacing": (2, 1, 0.5)}, [[0.0, 1.0, -1.0]]),
        ("volume_error", A3, {"spacing": (2, 1, 0.5), "absolute": 1}, [[0.0, 1.0, 1.0]]),
        ("predicted_volume", A3, {"spacing": 10, "unit": "ml"}, [[1.0, 2.0, 1.0]]),
        (
            "predicted_volume",
            A3,
            {"spacing": (0.1, 0.2, 0.3)},
            [[0.006000000000000001, 0.012000000000000002, 0.006000000000000001]],
        ),
        (
            "predicted_volume",
            A3,
            {"spacing": (0.1, 0.2, 0.3), "unit": "ml"},
            [[6.000000000000001e-06, 1.2000000000000002e-05, 6.000000000000001e-06]],
        ),
        (
            "predicted_volume",
            A3,
            {"spacing": 1e-100, "unit": "ml"},
            [[1.0000000000000001e-303, 2.0000000000000002e-303, 1.0000000000000001e-303]],
        ),
        ("predicted_area", A, {"spacing": (2, 3)}, [[6, 12, 6]]),
        ("predicted_area", A, {"spacing": (2, 3), "unit": "cm2"}, [[0.06, 0.12, 0.06]]),
        ("target_area", A, {"spacing": (2, 3)}, [[6, 6, 12]]),
        ("area_error", A, {"spacing": (2, 3)}, [[0.0, 6.0, -6.0]]),
        ("hd95", A, {"spacing": 1}, [[0.0, 1.3435028842544403, 0.95]]),
    ],
)
def test_worked_examples(name, pair, options, expected):
    exact(getattr(functional, name)(*pair, **{"num_classes": 3, **options}), expected)


E1 = ([[[0, 1, 1, 0, 0]]], [[[0, 0, 1, 1, 0]]])
E2 = np.zeros((2, 1, 6, 6), np.uint8)
E2[0, :, 1:4, 1:4] = E2[1, :, 1:5, 1:5] = E2[1, :, 5, 5] = 1
E3 = np.zeros((2, 1, 4, 4, 4), np.uint8)
E3[0, :, 1:3, 1:3, 1:3] = E3[1, :, 1:3, 1:3, 1:4] = 1
E4 = np.zeros((2, 1, 3, 3, 4), np.uint8)
E4[0, 0, 1, 1, 1] = E4[1, 0, 1, 1, 2] = 1
E6 = np.zeros((2, 1, 5, 5), np.uint8)
E6[0, :, 1:4, 1:4] = E6[1, :, 2, 2] = 1


@pytest.mark.parametrize(
    ("pair", "spacing", "hd", "hd95_", "assd_", "nsds"),
    [
        (E1, 1, 1.0, 0.95, 0.5, {0: 0.5, 1: 1.0}),
        (E1, (1, 2), 2.0, 1.9, 1.0, {0: 0.5, 1: 0.5}),
        (
            E2,
            1,
            (2.8284271247461903, 1.9142135623730951, 2.8284271247461903),
            (1.9798989873223312, 1.4899494936611655, 1.4142135623730951),
            (0.7878954374707141, 0.581447718735357, 0.6306019374818707),
            {0: 0.47619047619047616, 1: 0.9047619047619048, 1.5: 0.9523809523809523},
        ),
        (E3, 1, 1.0, 1.0, 0.2, {0.8: 0.8}),
        (E3, (1.5, 0.8, 0.8), 0.8, 0.8, 0.16, {0.8: 1.0}),
        (E4, (2, 1, 3), 3.0, 3.0, 3.0, {0: 0, 1: 0}),
        (E4, 1, 1.0, 1.0, 1.0, {0: 0, 0.5: 0, 1: 1}),
        (E6, 1, 2**0.5, None, 1.18409492, {}),
        (E6[:, :, None], 1, 2**0.5, None, 0.96568542, {}),
    ],
)
def test_distances_of_worked_examples(pair, spacing, hd, hd95_, assd_, nsds):
    options = {"num_classes": 2, "include_background": False, "spacing": spacing}
    for function, expected in ((hausdorff_distance, hd), (hd95, hd95_), (assd, assd_)):
        if isinstance(expected, tuple):
            values = [function(*pair, **options, combine=c).item() for c in ("max", "mean", "pooled")]
            np.testing.assert_allclose(values, expected, rtol=1e-15)
        elif expected is not None:
            tolerance = 1e-8 if function is assd and len(str(expected)) < 12 else 1e-15
            np.testing.assert_allclose(function(*pair, **options), [[expected]], rtol=tolerance)
    for tolerance, expected in nsds.items():
        exact(nsd(*pair, **options, tolerance=tolerance), [[expected]])


def test_classes_and_cases_of_a_batch():
    pred = [[[0, 1, 1, 2, 2, 0]], [[0, 0, 0, 0, 3, 0]]]
    target = [[[0, 1, 1, 1, 2, 2]], [[0, 1, 0, 0, 3, 0]]]
    options = {"num_classes": 4, "include_background": False, "spacing": [[1, 1], [1, 2]]}
    exact(hausdorff_distance(pred, target, **options), [[1, 1, nan], [inf, nan, 0]])
    exact(nsd(pred, target, **options, tolerance=[0, 1, 2]), [[0.8, 1, nan], [0, nan, 1]])
    twice = np.concatenate([E3, E3], axis=1)
    options = {"num_classes": 2, "include_background": False, "spacing": [[1, 1, 1], [1, 1, 3]]}
    exact(hd95(*twice, **options), [[1], [3]])


def test_a_distance_equal_to_the_tolerance_is_within():
    pred, target = np.zeros((2, 1, 2, 2), int)
    pred[0, 0, 0] = target[0, 1, 1] = 1
    options = {"num_classes": 2, "include_background": False, "spacing": 0.7}
    distance = hausdorff_distance(pred, target, **options).item()
    assert distance == 0.9899494936611665
    exact(nsd(pred, target, **options, tolerance=distance), [[1]])
    exact(nsd(pred, target, **options, tolerance=np.nextafter(distance, 0)), [[0]])


def test_percentiles_interpolate():
    pred, target = np.zeros((2, 1, 5, 9), np.uint8)
    pred[0, 1:4, 1:3] = target[0, 1:4, 5:8] = 1
    options = {"num_classes": 2, "include_background": False, "spacing": 1}
    for percentile, expected in ((0, 3), (50, 4), (95, 5), (100, 5), (np.array(95), 5), (True, 3)):
        exact(hausdorff_distance(pred, target, **options, percentile=percentile), [[expected]])
    pred, target = np.zeros((2, 1, 20, 30), np.uint8)
    pred[0, 5:15, 5:15] = target[0, 5:15, 5:15] = target[0, 10, 15:21] = 1
    for percentile, expected in ((100, 6.0), (99, 5.6), (95, 4.0), (90, 2.0)):
        result = hausdorff_distance(pred, target, **options, percentile=percentile).item()
        assert result == pytest.approx(expected)
    assert hd95(pred, target, **options, combine="pooled").item() == pytest.approx(2.2)


def test_masd_is_the_mean_of_the_directed_means():
    pred, target = np.zeros((2, 1, 8, 12), np.uint8)
    pred[0, 1:7, 1:7] = target[0, 1:7, 1:11] = 1
    options = {"num_classes": 2, "include_background": False, "spacing": 1}
    assert assd(pred, target, **options).item() == pytest.approx(0.875)
    assert masd(pred, target, **options).item() == pytest.approx(0.7928571428571428)
    exact(masd(pred, target, **options), assd(pred, target, **options, combine="mean"))
    for value in (masd(pred, target * 0, **options), masd(pred * 0, target, **options)):
        exact(value, [[inf]])
    exact(masd(pred * 0, target * 0, **options, both_empty=3), [[3]])


# ---------------------------------------------------------------- random arrays


def blobs(rng, shape, classes):
    """Label maps of boxes and noise, some of them empty."""
    x = np.zeros(shape, int)
    for case in x:
        for c in range(1, classes):
            low = [int(rng.integers(0, n)) for n in case.shape]
            high = [int(rng.integers(a, n)) + 1 for a, n in zip(low, case.shape, strict=True)]
            case[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = c
        noise = rng.random(case.shape) < rng.choice([0, 0, 0.1, 0.5])
        case[noise] = rng.integers(0, classes, int(noise.sum()))
    return x


def one_hot(labels, classes):
    return np.stack([labels == c for c in range(classes)], axis=1)


def draw(seed):
    """Arrays, what describes them, and a spacing."""
    rng = np.random.default_rng(seed)
    ndim, batch, classes = int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    shape = (batch, *(int(n) for n in rng.integers(1, 9 if ndim == 2 else 7, ndim)))
    pred, target = blobs(rng, shape, classes), blobs(rng, shape, classes)
    if rng.random() < 0.3:
        pred = np.roll(target, 1, -1)
    options = {"include_background": classes == 1 or bool(rng.integers(2))}
    if rng.integers(2):
        dtype = rng.choice(["bool", "uint8", "int64", "float16", "float32"])
        pred, target = one_hot(pred, classes).astype(dtype), one_hot(target, classes)
        if rng.integers(2):
            pred = (rng.random(pred.shape) < 0.3).astype(dtype)
        options["input_format"] = "one-hot"
    else:
        pred = pred.astype(rng.choice(["uint8", "int16", "uint32", "int64", "float64"]))
        options["num_classes"] = classes
    if rng.integers(2):
        pred, target = np.asfortranarray(pred), target[..., ::-1]
    k = classes - (not options["include_background"])
    spacing = rng.choice([0.5, 0.8, 1.0, 1.5, 3.0], (batch, ndim) if rng.integers(2) else ndim)
    return rng, pred, target, options, spacing, ndim, batch, k


@pytest.mark.parametrize("seed", range(40))
def test_counts_equal_naive(seed):
    rng, pred, target, options, spacing, ndim, batch, _ = draw(seed)
    if rng.integers(2):
        options["mask"] = rng.random((batch, *pred.shape[-ndim:])) < 0.7
    if "num_classes" in options and rng.integers(2):
        options["ignore_index"] = int(rng.choice([0, 1, -1]))
        if options["ignore_index"] < 0:
            target = np.where(rng.random(target.shape) < 0.2, -1, target)
    fill, absolute = float(rng.choice([nan, 0.0, 1.0])), bool(rng.integers(2))
    for name in naive.OVERLAP:
        extra = {"both_empty" if name in ("dice", "iou") else "zero_division": fill}
        if name == "volume_similarity":
            extra["convention"] = str(rng.choice(["taha", "itk"]))
        if name == "relative_volume_difference":
            extra["absolute"] = absolute
        exact(
            getattr(functional, name)(pred, target, **options, **extra),
            naive.measure(name, pred, target, **options, **extra),
        )
    for name in (n for n in naive.SIZE if ("area" in n) == (ndim == 2)):
        extra = {"spacing": spacing, "unit": str(rng.choice(["mm2", "cm2"] if ndim == 2 else ["mm3", "ml"]))}
        if "error" in name:
            extra["absolute"] = absolute
        exact(
            getattr(functional, name)(pred, target, **options, **extra),
            naive.measure(name, pred, target, **options, **extra),
        )


@pytest.mark.parametrize("seed", range(40, 80))
def test_distances_equal_naive(seed):
    rng, pred, target, options, spacing, _, _, k = draw(seed)
    fills = {"both_empty": float(rng.choice([nan, 0.0])), "one_empty": float(rng.choice([inf, nan, 373.0]))}
    percentile = float(rng.choice([100, 95, 50, 0, 99.5]))
    tolerance = [float(t) for t in rng.choice([0, 0.5, 0.8, 1, 1.5, 2.0], k)]
    for name, extra in (
        ("hausdorff_distance", {"percentile": percentile, "combine": str(rng.choice(["max", "mean", "pooled"]))}),
        ("hd95", {"combine": str(rng.choice(["max", "mean", "pooled"]))}),
        ("nsd", {"tolerance": tolerance}),
        ("assd", {"combine": str(rng.choice(["max", "mean", "pooled"]))}),
        ("masd", {}),
    ):
        extra = {**extra, **fills, "spacing": spacing}
        result = getattr(functional, name)(pred, target, **options, **extra)
        expected = naive.measure(name, pred, target, **options, **extra)
        # Sums are taken in another order, and squares of coordinates times spacing round differently.
        np.testing.assert_allclose(result, expected, rtol=1e-13 if name != "nsd" else 0)


@pytest.mark.parametrize("seed", range(80, 90))
def test_swapping_the_arrays(seed):
    _, pred, target, options, spacing, ndim, batch, k = draw(seed)
    for info in _native.METRICS:
        if not info["symmetric"]:
            continue
        extra = {} if info["family"] in ("overlap", "topology") else {"spacing": spacing}
        extra |= {"tolerance": 1.0} if info["name"] == "nsd" else {}
        function = getattr(functional, info["name"])
        if (("area" in info["name"]) and ndim == 3) or (info["name"].endswith("_volume") and ndim == 2):
            continue
        there, back = function(pred, target, **options, **extra), function(target, pred, **options, **extra)
        assert there.shape == (batch, k)
        # Sums of distances are taken in the order of the arguments.
        np.testing.assert_allclose(there, back, rtol=1e-14 if info["unit"] == "mm" else 0)


# ---------------------------------------------------------------- evaluate


def test_the_registry_and_the_functions_have_the_same_options():
    assert [info["name"] for info in _native.METRICS if not hasattr(functional, info["name"])] == []
    names = {info["name"] for info in _native.METRICS + _native.SCORE_METRICS}
    records = {
        "RankingCurve",
        "RankingResult",
        "ReliabilityDiagram",
        "evaluate",
        "reliability_diagram",
        "skeletonize",
        "voxel_ranking",
    }
    assert set(functional.__all__) - records == names
    common = {"pred", "target", "input_format", "num_classes", "include_background", "ignore_index", "mask"}
    for info in _native.METRICS:
        parameters = inspect.signature(getattr(functional, info["name"])).parameters
        common |= {"spacing", "backend", "pred_skeleton", "target_skeleton"}
        own = {name: p for name, p in parameters.items() if name not in common}
        assert set(own) == set(info["options"]), info["name"]
        for name, default in info["options"].items():
            if own[name].default is not inspect.Parameter.empty:
                np.testing.assert_equal(own[name].default, default)
        assert ("spacing" in parameters) == (info["family"] in ("size", "surface"))
        assert ("mask" in parameters) == (info["family"] in ("overlap", "size"))


def test_evaluate_equals_the_functions_in_one_native_call(monkeypatch):
    calls = []
    real = _native.evaluate

    def spy(*args, **kwargs):
        calls.append([name for name, _ in args[2]])
        return real(*args, **kwargs)

    monkeypatch.setattr(_inputs, "_native", types.SimpleNamespace(evaluate=spy))
    metrics = {
        "nsd": {"tolerance": [1.0, 0.0, 2.0]},
        "dice": {},
        "hausdorff_distance": {"percentile": 50.0, "combine": "pooled"},
        "predicted_area": {"unit": "cm2"},
        "volume_similarity": {"convention": "itk"},
        "masd": {},
        "relative_volume_difference": {"absolute": True, "zero_division": -1},
        "hd95": {"one_empty": 5},
        "area_error": {"absolute": True},
        "cldice": {"both_empty": 1.0},
        "specificity": {},
    }
    results = evaluate(*A, num_classes=3, spacing=(1, 2), metrics=metrics)
    assert list(results) == list(metrics)
    assert calls == [list(metrics)]
    for name, options in metrics.items():
        spacing = {"spacing": (1, 2)} if name in naive.SURFACE or "area" in name else {}
        exact(getattr(functional, name)(*A, num_classes=3, **spacing, **options), results[name])
    assert len(calls) == 1 + len(metrics)


def test_evaluate_of_names():
    results = evaluate(*A, num_classes=3, spacing=1, metrics=("hd95", "dice", "predicted_area"))
    assert list(results) == ["hd95", "dice", "predicted_area"]
    exact(results["hd95"], [[0.0, 1.3435028842544403, 0.95]])
    exact(results["predicted_area"], [[1, 2, 1]])
    mask = [[[True, False], [True, True]]]
    results = evaluate(*A, num_classes=3, spacing=1, metrics=["dice", "predicted_area"], mask=mask)
    exact(results["dice"], [[1, 0, 2 / 3]])
    exact(results["predicted_area"], [[1, 1, 1]])
    pair = np.repeat(np.array(A), 2, axis=1)
    results = evaluate(*pair, num_classes=3, spacing=[[1, 1], [2, 2]], metrics=["predicted_area", "hd95"])
    exact(results["predicted_area"], [[1, 2, 1], [4, 8, 4]])
    exact(results["hd95"][1], 2 * results["hd95"][0])


def test_options_are_not_changed():
    metrics = {"nsd": {"tolerance": 1}, "dice": {}}
    evaluate(*A, num_classes=3, spacing=1, metrics=metrics)
    assert metrics == {"nsd": {"tolerance": 1}, "dice": {}}


# ---------------------------------------------------------------- what users run into


def test_counts_do_not_use_the_dtype_of_the_mask():
    for dtype in ("uint8", "int8", "bool"):
        ones = np.ones((1, 16, 17), dtype)
        exact(dice(ones, ones, num_classes=2), [[nan, 1]])
        exact(functional.predicted_area(ones, ones, num_classes=2, spacing=1), [[0, 272]])


def test_labels_at_the_end_of_a_dtype():
    x = np.zeros((1, 3, 3), np.uint8)
    x[0, 1, 1] = 255
    exact(dice(x, x, num_classes=256)[:, [0, 254, 255]], [[1, nan, 1]])


def test_absent_classes_are_nan():
    x = np.array([[[0, 1], [1, 0]]])
    exact(functional.iou(x, x, num_classes=3), [[1, 1, nan]])
    exact(dice(x * 0, x * 0, num_classes=2, both_empty=1), [[1, 1]])


def test_index_and_one_hot_agree():
    maps = np.broadcast_to(np.array([0, 0, 1, 1]), (5, 4, 4))
    exact(functional.iou(maps, maps, num_classes=2), np.ones((5, 2)))
    hot = one_hot(maps, 2)
    exact(functional.iou(hot, hot, input_format="one-hot"), np.ones((5, 2)))


def test_size_one_axes_are_kept():
    pred, target = np.zeros((2, 1, 12, 12), np.uint8)
    pred[0, 2:10, 2:10] = target[0, 3:10, 2:11] = 1
    options = {"num_classes": 2, "include_background": False, "spacing": 1}
    assert assd(pred, target, **options).item() == pytest.approx(0.4642857142857143)
    assert assd(pred[:, None], target[:, None], **options).item() == pytest.approx(0.1181102362204724)


def test_threads_do_not_matter():
    import exacta

    _, pred, target, options, spacing, *_ = draw(3)
    results = []
    for n in (1, 64):
        exacta.set_num_threads(n)
        results.append(assd(pred, target, **options, spacing=spacing))
    np.testing.assert_array_equal(*results)
