"""Arrays of every library, dtype and layout give the same values, in the library of `pred`."""

import math
import sys
import types

import numpy as np
import pytest

import naive
from exacta import ExactaError, functional
from exacta.functional import dice, evaluate, hd95

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
RNG = np.random.default_rng(7)
PRED, TARGET = RNG.integers(0, 3, (2, 3, 4, 5)), RNG.integers(0, 3, (2, 3, 4, 5))
HOT_PRED, HOT_TARGET = RNG.integers(0, 2, (2, 2, 3, 4, 5)), RNG.integers(0, 2, (2, 2, 3, 4, 5))
EXPECTED = naive.measure("dice", PRED, TARGET, num_classes=3)
HOT_EXPECTED = naive.measure("dice", HOT_PRED, HOT_TARGET, input_format="one-hot")


def same(result, expected):
    assert type(result) is np.ndarray
    assert result.dtype == np.float64
    assert result.flags.writeable
    assert result.flags.owndata or result.base is not None
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("order", ["=", ">", "<"])
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_numpy_dtypes(dtype, order):
    dtype = np.dtype(dtype).newbyteorder(order)
    same(dice(PRED.astype(dtype), TARGET, num_classes=3), EXPECTED)
    same(dice(PRED, TARGET.astype(dtype), num_classes=3), EXPECTED)
    same(dice(HOT_PRED.astype(dtype), HOT_TARGET.astype(dtype), input_format="one-hot"), HOT_EXPECTED)


@pytest.mark.parametrize("dtype", ["bool", "complex64", "complex128", ">c8"])
def test_numpy_dtypes_of_masks(dtype):
    same(dice(HOT_PRED.astype(dtype), HOT_TARGET, input_format="one-hot"), HOT_EXPECTED)
    same(dice(HOT_PRED, HOT_TARGET.astype(dtype), input_format="one-hot"), HOT_EXPECTED)


def test_c_long_and_long_long():
    same(dice(PRED.astype(np.longlong), TARGET.astype(np.dtype("l")), num_classes=3), EXPECTED)
    same(dice(PRED.astype(np.ulonglong), TARGET.astype(np.dtype("L")), num_classes=3), EXPECTED)


def layouts(x):
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    yield "fortran", np.asfortranarray(x)
    yield "reversed", np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    yield "all reversed", np.ascontiguousarray(x[::-1, ::-1, ::-1])[::-1, ::-1, ::-1]
    yield "transposed", np.ascontiguousarray(x.swapaxes(1, -1)).swapaxes(1, -1)
    yield "every other", wide[..., ::2]
    frozen = x.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    record = np.zeros(x.shape, [("a", "u1"), ("x", x.dtype)])
    record["x"] = x
    yield "unaligned", record["x"]
    yield "recarray", x.view(np.recarray)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32"])
@pytest.mark.parametrize("k", range(8))
def test_numpy_layouts(k, dtype):
    name, pred = list(layouts(PRED.astype(dtype)))[k]
    _, hot = list(layouts(HOT_TARGET.astype(dtype)))[k]
    same(dice(pred, TARGET, num_classes=3), EXPECTED)
    same(dice(TARGET, pred, num_classes=3), EXPECTED)
    same(dice(HOT_PRED, hot, input_format="one-hot"), HOT_EXPECTED)
    same(hd95(pred, TARGET, num_classes=3, spacing=1), naive.measure("hd95", PRED, TARGET, num_classes=3))
    assert name


def test_broadcast_arrays():
    flat = np.broadcast_to(PRED[:, :1], PRED.shape)
    same(dice(flat, TARGET, num_classes=3), naive.measure("dice", flat, TARGET, num_classes=3))


def test_memmap(tmp_path):
    stored = np.memmap(tmp_path / "labels", dtype="uint8", mode="w+", shape=PRED.shape)
    stored[...] = PRED
    same(dice(stored, TARGET, num_classes=3), EXPECTED)


def test_inputs_are_not_copied_where_they_can_be_read(monkeypatch):
    seen = []
    from exacta import _inputs

    real = _inputs._native.evaluate
    spy = types.SimpleNamespace(evaluate=lambda p, t, *a, **k: (seen.append((p, t)), real(p, t, *a, **k))[1])
    monkeypatch.setattr(_inputs, "_native", spy)
    for dtype in ("uint8", "uint16", "float32"):
        for name, pred in layouts(PRED.astype(dtype)):
            dice(pred, TARGET, num_classes=3)
            if name != "unaligned":
                assert np.shares_memory(seen[-1][0], pred), (dtype, name)
            assert np.shares_memory(seen[-1][1], TARGET)
    half = HOT_PRED.astype("float16")
    dice(half, half, input_format="one-hot")
    assert np.shares_memory(seen[-1][0], half)


def test_lists_and_scalars_of_other_kinds():
    same(dice(PRED.tolist(), TARGET, num_classes=3), EXPECTED)
    same(dice(tuple(PRED.astype(float).tolist()), list(TARGET), num_classes=3), EXPECTED)
    same(dice([[[False, True]]], [[[True, True]]], num_classes=2), [[0.0, 2 / 3]])


class OnlyArray:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


class OnlyInterface:
    def __init__(self, x):
        self.x = x
        self.__array_interface__ = x.__array_interface__


class OnlyDLPack:
    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("wrap", [OnlyArray, OnlyInterface, OnlyDLPack, memoryview])
def test_objects_with_a_protocol(wrap):
    same(dice(wrap(PRED), TARGET, num_classes=3), EXPECTED)
    same(dice(PRED, wrap(TARGET), num_classes=3, mask=wrap(np.ones(PRED.shape, np.uint8))), EXPECTED)


class OnAnotherDevice(OnlyDLPack):
    """What a device library exports: it copies to the host only when asked to."""

    def __dlpack__(self, *, dl_device=None, **options):
        if dl_device != (1, 0):
            raise BufferError("not on the CPU")
        return self.x.__dlpack__(dl_device=dl_device, **options)

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.skipif(int(np.__version__.split(".")[0]) < 2, reason="NumPy 1 cannot ask for a copy to the host")
def test_devices_are_compared():
    away = OnAnotherDevice(PRED)
    same(dice(away, OnAnotherDevice(TARGET), num_classes=3), EXPECTED)
    for pred, target, mask in ((away, TARGET, None), (TARGET, away, None), (PRED, TARGET, OnAnotherDevice(PRED > 0))):
        with pytest.raises(ValueError, match="device") as caught:
            dice(pred, target, num_classes=3, mask=mask)
        assert isinstance(caught.value, ExactaError)


# ---------------------------------------------------------------- PyTorch


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def same_torch(torch, result, expected):
    assert type(result) is torch.Tensor
    assert (result.dtype, result.device.type, result.requires_grad) == (torch.float64, "cpu", False)
    result += 0  # writable
    np.testing.assert_array_equal(result.numpy(), expected)


def test_torch_dtypes(torch):
    names = [*INTEGERS, *FLOATS, "bfloat16", "float8_e4m3fn"]
    for dtype in (getattr(torch, name) for name in names if hasattr(torch, name)):
        pred, target = torch.tensor(PRED).to(dtype), torch.tensor(TARGET).to(dtype)
        same_torch(torch, dice(pred, target, num_classes=3), EXPECTED)
        pred, target = torch.tensor(HOT_PRED).to(dtype), torch.tensor(HOT_TARGET).to(dtype)
        same_torch(torch, dice(pred, target, input_format="one-hot"), HOT_EXPECTED)
    for dtype in (torch.bool, torch.complex64, torch.complex128):
        pred = torch.tensor(HOT_PRED).to(dtype)
        same_torch(torch, dice(pred, torch.tensor(HOT_TARGET), input_format="one-hot"), HOT_EXPECTED)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
def test_torch_layouts(torch, dtype):
    pred = torch.tensor(HOT_PRED).to(getattr(torch, dtype))
    other = [
        pred.transpose(1, -1).contiguous().transpose(1, -1),
        pred.contiguous(memory_format=torch.channels_last_3d),
        torch.cat([pred, pred], -1)[..., :5],
        torch.stack([pred, pred], -1)[..., 0],
    ]
    if pred.is_floating_point():
        other += [pred.clone().requires_grad_(), pred.clone().requires_grad_() * 1, torch.nn.Parameter(pred)]
    for x in other:
        same_torch(torch, dice(x, torch.tensor(HOT_TARGET), input_format="one-hot"), HOT_EXPECTED)
    flat = pred[:, :1].expand(-1, 2, -1, -1, -1)
    expected = naive.measure("dice", flat.float().numpy(), HOT_TARGET, input_format="one-hot")
    same_torch(torch, dice(flat, HOT_TARGET, input_format="one-hot"), expected)


def test_torch_conjugate_negative_and_subclass(torch):
    class Labelled(torch.Tensor):
        pass

    x = torch.tensor(HOT_PRED).to(torch.complex64)
    target = torch.tensor(HOT_TARGET)
    assert x.conj().is_conj()
    same_torch(torch, dice(x.conj(), target, input_format="one-hot"), HOT_EXPECTED)
    negative = torch.complex(torch.zeros(x.shape), -x.real).conj().imag
    assert negative.is_neg()
    same_torch(torch, dice(negative, target, input_format="one-hot"), HOT_EXPECTED)
    for subclass in (torch.tensor(HOT_PRED).as_subclass(Labelled), torch.tensor(HOT_PRED).half().as_subclass(Labelled)):
        same_torch(torch, dice(subclass, target, input_format="one-hot"), HOT_EXPECTED)


def test_torch_is_refused_clearly(torch):
    plain = torch.tensor(PRED)
    bad = {
        "sparse": (plain.to_sparse(), TypeError, "to_dense"),
        "meta": (plain.to("meta"), ValueError, "meta"),
        "nested": (torch.nested.nested_tensor([torch.ones(2, 2)] * 2, layout=torch.jagged), TypeError, "nested"),
    }
    for x, error, message in bad.values():
        for pred, target in ((x, x), (x, plain), (plain, x)):
            with pytest.raises(error, match=message) as caught:
                dice(pred, target, num_classes=3)
            assert isinstance(caught.value, ExactaError)
    with pytest.raises(TypeError, match="pred"):
        torch.func.vmap(lambda x: dice(x, plain, num_classes=3))(plain[None])


@pytest.mark.filterwarnings("ignore")
def test_torch_quantised_is_refused(torch):
    try:
        x = torch.quantize_per_tensor(torch.ones(1, 2, 2), 1.0, 0, torch.quint8)
    except (AttributeError, RuntimeError, NotImplementedError):
        pytest.skip("this PyTorch has no quantised tensors")
    with pytest.raises(TypeError, match="quantised"):
        dice(x, x, num_classes=2)


def test_torch_on_a_gpu(torch):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    pred, target = torch.tensor(PRED).cuda(), torch.tensor(TARGET).cuda()
    result = dice(pred, target, num_classes=3)
    assert result.device == pred.device
    same_torch(torch, result.cpu(), EXPECTED)
    with pytest.raises(ValueError, match="device"):
        dice(pred, target.cpu(), num_classes=3)
    spacing = torch.ones(3, device="cuda", requires_grad=True)
    assert hd95(pred, target, num_classes=3, spacing=spacing).is_cuda


# ---------------------------------------------------------------- JAX, array API, mixtures


@pytest.mark.parametrize("x64", [False, True])
def test_jax(x64):
    jax = pytest.importorskip("jax")
    mode = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", x64)
    try:
        # Where JAX sees a GPU it would put `pred` there, apart from a NumPy target.
        jax.config.update("jax_default_device", jax.devices("cpu")[0])
        for dtype in ("uint8", "int32", "float32", "bfloat16", "float16"):
            pred = jax.numpy.asarray(PRED.astype("int32")).astype(dtype)
            result = dice(pred, TARGET, num_classes=3)
            assert isinstance(result, jax.Array)
            assert result.dtype == np.float64
            assert result.devices() == pred.devices()
            np.testing.assert_array_equal(np.asarray(result), EXPECTED)
            hot = jax.numpy.asarray(HOT_PRED.astype("int32")).astype(dtype)
            result = dice(hot, HOT_TARGET, input_format="one-hot")
            np.testing.assert_array_equal(np.asarray(result), HOT_EXPECTED)
        assert jax.config.jax_enable_x64 == x64
        assert jax.numpy.ones(1).dtype == (np.float64 if x64 else np.float32)
        with pytest.raises(TypeError, match="pred"):
            jax.jit(lambda x: dice(x, x, num_classes=3))(pred)
    finally:
        jax.config.update("jax_default_device", None)
        jax.config.update("jax_enable_x64", mode)


def test_array_api_strict():
    strict = pytest.importorskip("array_api_strict")
    pred = strict.asarray(PRED)
    for target in (strict.asarray(TARGET), TARGET):
        result = dice(pred, target, num_classes=3, mask=strict.asarray(np.ones(PRED.shape, bool)))
        assert type(result) is type(pred)
        assert result.dtype == strict.float64
        np.testing.assert_array_equal(np.from_dlpack(result), EXPECTED)
    if hasattr(strict, "Device"):
        device = strict.Device("device1")
        there = strict.asarray(PRED, device=device)
        result = dice(there, strict.asarray(TARGET, device=device), num_classes=3)
        assert result.device == device


def test_cupy(monkeypatch):
    """A stand-in with the parts of CuPy that are used: recognised by the module, read by get(), made by asarray."""
    entered = []

    class Device:
        id = 1

        def __enter__(self):
            entered.append(self.id)

        def __exit__(self, *exception):
            pass

    class ndarray:  # noqa: N801
        device = Device()

        def __init__(self, x):
            self.x = x

        def get(self):
            return self.x.copy()

    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(ndarray=ndarray, asarray=ndarray))
    result = dice(ndarray(PRED), ndarray(TARGET), num_classes=3, mask=ndarray(np.ones(PRED.shape, bool)))
    assert type(result) is ndarray
    assert entered == [1]
    same(result.x, EXPECTED)
    for other in ({"target": TARGET}, {"target": ndarray(TARGET), "mask": np.ones(PRED.shape, bool)}):
        with pytest.raises(ValueError, match="device"):
            dice(ndarray(PRED), num_classes=3, **other)


class AnArray:
    """A library with a namespace of its own that takes nothing but DLPack."""

    def __init__(self, x):
        self.x = x

    __dlpack__ = OnlyDLPack.__dlpack__
    __dlpack_device__ = OnlyDLPack.__dlpack_device__

    def __array_namespace__(self):
        def asarray(x, **options):
            raise TypeError

        return types.SimpleNamespace(asarray=asarray, from_dlpack=AnArray, float64=float)


def test_any_namespace():
    result = dice(AnArray(PRED), TARGET, num_classes=3)
    assert type(result) is AnArray
    same(result.x, EXPECTED)


def test_pred_decides_the_library(torch):
    tensor = torch.tensor(PRED)
    same_torch(torch, dice(tensor, TARGET, num_classes=3, mask=np.ones(PRED.shape, bool).tolist()), EXPECTED)
    same(dice(PRED, torch.tensor(TARGET), num_classes=3, mask=torch.ones(PRED.shape, dtype=torch.bool)), EXPECTED)
    same(dice(PRED.tolist(), torch.tensor(TARGET), num_classes=3), EXPECTED)
    results = evaluate(tensor, TARGET, num_classes=3, metrics=["dice", "iou", "hd95"], spacing=torch.ones(3))
    assert {type(value) for value in results.values()} == {torch.Tensor}


def test_results_are_independent_arrays(labels):
    results = evaluate(*labels, num_classes=3, metrics=["dice", "iou"])
    assert not np.shares_memory(results["dice"], results["iou"])
    results["dice"][...] = math.nan
    assert functional.dice(*labels, num_classes=3)[0, 0] == 1.0
