"""A bad value for every parameter gives an error of exacta that names the parameter, and never anything else."""

import decimal
import inspect

import numpy as np
import pytest

import exacta
from exacta import _native, functional
from exacta.functional import dice, evaluate

A = np.array([[[0, 1], [1, 2]]])
A3 = A[None]
HOT = np.array([[[[1, 0], [0, 1]], [[0, 1], [1, 0]]]])
V, T = ValueError, TypeError
NAMES = [info["name"] for info in _native.METRICS]


def parameters_of(name):
    return inspect.signature(getattr(functional, name)).parameters


def valid(name):
    """Arguments with which the function works."""
    x = A3 if "volume" in name and name not in ("volume_similarity", "relative_volume_difference") else A
    options = {"num_classes": 3}
    parameters = parameters_of(name)
    if "spacing" in parameters:
        options["spacing"] = 1.0
    if "tolerance" in parameters:
        options["tolerance"] = 1.0
    return (x, x), options


BAD_ARRAYS = [
    (None, T),
    ("labels", T),
    (b"labels", T),
    ({"a": 1}, T),
    ({1, 2}, T),
    ((i for i in range(3)), T),
    (object(), T),
    (3, V),
    (2.5, V),
    (np.int64(3), V),
    ([1, 2], V),
    ([[[0, 1], [1]]], V),
    ([[[0, None], [1, 2]]], T),
    ([[["a", "b"], ["c", "d"]]], T),
    ([[[0, decimal.Decimal(1)], [1, 2]]], T),
    ([[[0, 10**30], [1, 2]]], T),
    (A.astype(object), T),
    (A.astype(np.longdouble), T),
    (A.astype(np.clongdouble), T),
    (A.astype(str), T),
    (A.astype(bytes), T),
    (A.astype("datetime64[s]"), T),
    (A.astype([("label", "i4")]), T),
    (np.ma.masked_array(A), T),
    (A[0], V),
    (A[None, None], V),
    (A.astype(np.complex64), T),
    (A.astype(complex), T),
    (A + 0.5, T),
    (np.where(A == 2, np.nan, A), T),
    (A + 1, V),
    (A - 1, V),
    (A + 2.0, V),
    (A.astype(np.uint16) + 9, V),
    (A.astype(np.uint32) + 9, V),
    (A.astype(np.uint64) + np.uint64(2**63), V),
    (A + 2**40, V),
    (A.astype(np.float16) + 9, V),
]
BAD = {
    "input_format": [("onehot", V), ("Index", V), (None, V), (1, V), (["index"], V), (np.array(["index"]), V)],
    "num_classes": [
        (None, V), (0, V), (-1, V), (False, V), (0.0, V), (-2.0, V), (2**70, V), ("3", T), (3.0, T), (True, T),
        (np.nan, T), ([3], T), (np.bool_(True), T), (object(), T),
    ],
    "ignore_index": [
        (True, T), (1.0, T), ("1", T), ([1], T), (np.array(1), T), (np.bool_(True), T), (np.float64(1), T),
        (2**63, V), (-(2**63) - 1, V),
    ],
    "mask": [
        (1, T), ("x", T), ({}, T), (np.ones(A.shape), T), (np.ones(A.shape, int), T), (np.ones(A.shape, np.int8), T),
        (np.full(A.shape, 2, np.uint8), T), (np.ones(A.shape, complex), T), (np.ones(A.shape, np.float16), T),
        (A.astype(object), T), (np.ma.masked_array(A > 0), T), (True, V), (np.ones((2, 2), bool), V),
        (np.ones((1, 3, 2, 2), bool), V), (np.ones((1, 2, 1), bool), V), (np.ones((2, 2, 2), bool), V),
    ],
    "both_empty": [(None, T), ([1], T), (np.array(1.0), T), (1j, T), (np.complex64(1), T), ({}, T), (object(), T)],
    "one_empty": [(None, T), ([1], T), (np.array(1.0), T), (1j, T), (np.complex64(1), T), ({}, T), ("x", V)],
    "zero_division": [(None, T), ("0", T), ([1], T), (np.array([1.0]), T), (1j, T), ({}, T)],
    "convention": [("Taha", V), (None, V), (1, V), (["taha"], V), (np.array(["taha"]), V)],
    "unit": [("mL", V), ("cm3", V), ("litre", V), (None, V), (1, V), ([], V)],
    "percentile": [
        (101, V), (-1e-9, V), (np.nan, V), (np.inf, V), (np.array(101.0), V), ([95], T), (np.array([95.0]), T),
        ("95", T), (None, T), (1j, T),
    ],
    "combine": [("sum", V), (None, V), (1, V), ([], V)],
    "thinning": [("zhang", V), ("Lee", V), (None, V), (1, V), ([], V)],
    "surface": [("triangles", V), ("Mesh", V), ([], V), (None, V), (1, V)],
    "backend": [("triton", V), ("torch", V), ("cuda", V), (None, V), (1, V)],
    "tolerance": [
        (-1.0, V), (np.nan, V), (np.inf, V), ([1.0], V), ([1.0, 2.0], V), ([1.0, 1.0, -1.0], V),
        ([[1.0, 1.0, 1.0]], V), (["a", "b", "c"], V), ([1.0, [2.0]], V), (None, T), ("1", T), (1j, T), ({}, T),
        ([1j, 1, 1], T), ([None] * 3, T),
    ],
    "spacing": [
        (None, V), (0, V), (0.0, V), (-1, V), (np.nan, V), (np.inf, V), (1.01e100, V), (0.9e-100, V), (10**400, V),
        ([1.0], V), ([1.0] * 4, V), ([], V), (np.ones((2, 2)), V), (np.ones((1, 1)), V), (np.ones((1, 2, 2)), V),
        (["a", "b"], V), (["1", "1"], V), ([1.0, [1.0]], V), ("1", T), (b"1", T), ({}, T), ({1.0}, T), (1j, T),
        ([1j, 1.0], T), (np.array([1j, 1]), T), (object(), T), ([None, None], T), (np.array(["1", "1"]), T),
        (np.ma.masked_array([1.0, 1.0]), T),
    ],
}  # fmt: skip


METRIC_OPTIONS = set(BAD) - {"backend", "num_classes", "input_format", "mask", "ignore_index", "spacing"}


def refused(error, argument, function, *args, **kwargs):
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    assert isinstance(caught.value, exacta.ExactaError)
    text = str(caught.value)
    assert argument in text
    assert "\n" not in text
    assert not text.endswith(".")


@pytest.mark.parametrize(("value", "error"), BAD_ARRAYS)
def test_bad_arrays(value, error):
    other = value if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) else A
    refused(error, "pred", dice, value, other, num_classes=3)
    with pytest.raises(error) as caught:
        dice(A, value, num_classes=3)
    assert isinstance(caught.value, exacta.ExactaError)
    assert "target" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, argument) for name in NAMES for argument in BAD if argument in parameters_of(name)],
)
def test_bad_options(name, argument):
    function = getattr(functional, name)
    arrays, options = valid(name)
    assert function(*arrays, **options).shape == (1, 3)
    for value, error in BAD[argument]:
        if isinstance(value, np.ndarray) and value.dtype == bool and arrays[0].ndim == 4 and value.ndim == 4:
            continue  # the right shape for a volume
        refused(error, argument, function, *arrays, **{**options, argument: value})


@pytest.mark.parametrize("name", ["hausdorff_distance", "hd95", "assd", "masd", "nsd"])
@pytest.mark.parametrize("argument", ["both_empty", "one_empty"])
def test_text_as_fill_of_distances(name, argument):
    arrays, options = valid(name)
    refused(V, argument, getattr(functional, name), *arrays, **options, **{argument: "nan"})
    refused(T, "both_empty", dice, A, A, num_classes=3, both_empty="nan")


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    function = getattr(functional, name)
    arrays, options = valid(name)
    parameters = parameters_of(name)
    kinds = [p.kind for p in parameters.values()]
    assert list(parameters)[:2] == ["pred", "target"]
    assert set(kinds[2:]) == {inspect.Parameter.KEYWORD_ONLY}
    for call in (
        lambda: function(*arrays, 3, **options),
        lambda: function(arrays[0], **options),
        lambda: function(*arrays, **options, unknown=1),
        lambda: function(*arrays, **options, **{"zero_division" if "both_empty" in parameters else "both_empty": 1.0}),
    ):
        with pytest.raises(TypeError):
            call()
    for required in ("spacing", "tolerance"):
        if required in parameters:
            with pytest.raises(TypeError, match=required):
                function(*arrays, **{k: v for k, v in options.items() if k != required})
    if name == "hd95":
        with pytest.raises(TypeError, match="percentile"):
            function(*arrays, **options, percentile=95.0)


@pytest.mark.parametrize(
    "value",
    [0.5, 2, -1, np.nan, np.inf, 1 + 1e-12, np.nextafter(1, 0), 5e-324, 2.0**53 + 2, 1j, 1 + 1j, complex(1, np.nan)],
)
@pytest.mark.parametrize("channel", [0, 1])
def test_bad_one_hot_values(value, channel):
    bad = HOT.astype(np.asarray(value).dtype)
    bad[0, channel, 1, 1] = value
    options = {"input_format": "one-hot", "include_background": False}
    refused(V, "pred", dice, bad, HOT, **options)
    refused(V, "pred", dice, bad, bad, **options)
    refused(V, "target", dice, HOT, bad, **options)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint64", "float16", "float32"])
def test_bad_one_hot_values_of_small_dtypes(dtype):
    bad = HOT.astype(dtype)
    bad[0, 0, 0, 0] = 2
    refused(V, "pred", dice, bad, HOT, input_format="one-hot")


@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (1, 2, 2), (1, 2, 2, 2, 2, 2)])
def test_ranks_of_one_hot(shape):
    refused(V, "pred", dice, np.zeros(shape), np.zeros(shape), input_format="one-hot")


@pytest.mark.parametrize("classes", [0, 1, 3, "2", None.__class__, [2], np.array([2, 2])])
def test_channels_and_num_classes(classes):
    refused(V, "num_classes", dice, HOT, HOT, input_format="one-hot", num_classes=classes)
    refused(V, "num_classes", dice, HOT * 7, HOT, input_format="one-hot", num_classes=3)


def test_one_class_without_background():
    refused(V, "include_background", dice, A * 0, A * 0, num_classes=1, include_background=False)
    refused(V, "include_background", dice, HOT[:, :1], HOT[:, :1], input_format="one-hot", include_background=False)


def test_ignored_label_in_the_prediction():
    pred, target = np.array([[[0, 255], [1, 2]]]), np.array([[[0, 1], [1, 2]]])
    refused(V, "pred", dice, pred, target, num_classes=3, ignore_index=255)
    refused(V, "255", dice, target, pred, num_classes=3)
    refused(V, "255", dice, np.uint8(target), np.uint8(pred), num_classes=3, ignore_index=-1)


@pytest.mark.parametrize(
    ("metrics", "error"),
    [
        ("dice", T), (b"dice", T), ({"dice"}, T), ((n for n in ["dice"]), T), (None, T), (3, T),
        ({"dice": {}}.keys(), T), ([], V), ({}, V), ((), V), (["dise"], V), ([3], V), ([None], V),
        (["dice", "dice"], V), ([["dice"]], T), ([{}], T), ({"dice": None}, T), ({"dice": []}, T),
        ({"dice": {"zero_division": 1.0}}, T), ({"dice": {3: 1}}, T), ({"hd95": {"percentile": 95}}, T),
        ({"masd": {"combine": "max"}}, T), ({"brier_score": {}}, V), ({"nsd": {}}, V), (["nsd"], V),
        ({"nsd": {"tolerance": None}}, V), (["predicted_area", "predicted_volume"], V),
    ],
)  # fmt: skip
def test_bad_selections(metrics, error):
    with pytest.raises(error) as caught:
        evaluate(A, A, num_classes=3, spacing=1.0, metrics=metrics)
    assert isinstance(caught.value, exacta.ExactaError)


@pytest.mark.parametrize("name", NAMES)
def test_bad_options_of_evaluate(name):
    arrays, options = valid(name)
    options.pop("tolerance", None)
    for argument in METRIC_OPTIONS & set(parameters_of(name)):
        fixed = {"tolerance": 1.0} if name == "nsd" else {}
        for value, error in BAD[argument]:
            if argument == "tolerance" and value is None:
                error = V  # there the default that stands for "not given"
            refused(error, argument, evaluate, *arrays, **options, metrics={name: {**fixed, argument: value}})


@pytest.mark.parametrize("name", ["hausdorff_distance", "hd95", "assd", "masd", "nsd"])
def test_distances_take_no_removed_voxels(name):
    for removed in ({"mask": np.ones(A.shape, bool)}, {"ignore_index": 7}):
        refused(V, next(iter(removed)), evaluate, A, A, num_classes=3, spacing=1, metrics=["dice", name], **removed)
        arrays, options = valid(name)
        with pytest.raises(TypeError):
            getattr(functional, name)(*arrays, **options, **removed)


def test_classes_of_errors():
    assert issubclass(exacta.ExactaValueError, (exacta.ExactaError, ValueError))
    assert issubclass(exacta.ExactaTypeError, TypeError)
    assert issubclass(exacta.ExactaRuntimeError, RuntimeError)
    assert all(issubclass(getattr(exacta, n), exacta.ExactaError) for n in exacta.__all__ if n.startswith("Exacta"))
