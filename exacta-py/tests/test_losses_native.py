"""The kernels against the operators of PyTorch: values and gradients of every dtype, layout and exclusion."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import exacta  # noqa: E402
from exacta import losses  # noqa: E402
from losses_common import CASES, MATRIX, inputs, keywords, made, step  # noqa: E402

# Both compute in the dtype of the logits and add in float64 or by halves; what remains is the rounding of exp and log,
# a
# few units in the last place of each voxel, and of half gradients one rounding.
BOUNDS = {torch.float64: 1e-13, torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def same(name, logits, target, **more):
    options = {key: more.pop(key) for key in ("ignore_index", "target_format") if key in more}
    more.update(keywords(name))
    value, gradient = step(made(name, "native", **options), logits, target, **more)
    wanted, slope = step(made(name, "torch", **options), logits, target, **more)
    bound = BOUNDS[logits.dtype]
    single = min(bound, BOUNDS[torch.float32])  # of halves the value is float32
    assert value.dtype is wanted.dtype
    torch.testing.assert_close(value, wanted, rtol=single, atol=single, equal_nan=True)
    assert gradient.dtype is logits.dtype
    scale = max(slope.abs().max().item(), 1e-30)
    torch.testing.assert_close(gradient.double() / scale, slope.double() / scale, rtol=0, atol=4 * bound)
    return value, gradient


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", BOUNDS)
def test_dtypes(name, dtype):
    same(name, *inputs(dtype, (2, 3, 9, 11)))


@pytest.mark.parametrize("name", CASES)
def test_labels_of_any_dtype(name):
    logits, labels = inputs(shape=(2, 3, 6, 7))
    value, gradient = same(name, logits, labels)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.uint16, torch.float32, torch.float16):
        found, slope = step(made(name), logits, labels.to(dtype), **keywords(name))
        assert torch.equal(found, value)
        assert torch.equal(slope, gradient)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("boundary", "hausdorff", "cldice")])
@pytest.mark.parametrize("shape", [(3, 3, 17), (2, 3, 4, 5, 6), (1, 3, 2, 3, 4, 3), (2, 3, 70, 61)])
def test_what_is_left_out(name, shape):
    logits, labels = inputs(shape=shape, seed=2)
    mask = torch.rand(labels.shape, generator=torch.Generator().manual_seed(3)) < 0.7
    mask[0] = False
    value, _ = same(name, logits, labels, mask=mask)
    assert torch.equal(same(name, logits, labels, mask=mask.unsqueeze(1))[0], value)
    # what is left out may hold anything
    hidden = torch.where(mask.unsqueeze(1), logits, torch.nan)
    elsewhere = torch.where(mask, labels, 99)
    found, gradient = same(name, hidden, elsewhere, mask=mask)
    assert torch.equal(found, value)
    assert not gradient[~mask.unsqueeze(1).expand_as(gradient)].any()
    infinite = torch.where(mask.unsqueeze(1), logits, -torch.inf)
    assert torch.equal(same(name, infinite, torch.where(mask, labels, -5), ignore_index=-5)[0], value)
    same(name, logits, torch.where(mask, labels, 1), ignore_index=1, mask=~mask | (labels > 0))
    nothing, gradient = same(name, logits, labels, mask=torch.zeros_like(mask))
    assert nothing.item() == 0.0
    assert not gradient.any()


@pytest.mark.parametrize("name", CASES)
def test_layouts(name):
    logits, labels = inputs(shape=(2, 3, 8, 10))
    value, gradient = same(name, logits, labels)
    last = logits.contiguous(memory_format=torch.channels_last)
    found, slope = step(made(name), last, labels, **keywords(name))
    assert slope.is_contiguous(memory_format=torch.channels_last)
    for view, target in (
        (logits.transpose(2, 3).contiguous().transpose(2, 3), labels),
        (torch.cat([logits, logits], 3)[..., :10], torch.cat([labels, labels], 2)[..., 10:]),
        (torch.stack([logits, logits], 4)[..., 1], labels),
        (torch.cat([logits, logits], 1)[:, 3:], labels.flip(1).flip(1)),
    ):
        other, other_slope = step(made(name), view, target, **keywords(name))
        assert torch.equal(other, value)
        assert torch.equal(other_slope, gradient)
    assert torch.equal(found, value)
    assert torch.equal(slope, gradient)


@pytest.mark.parametrize("name", CASES)
def test_threads(name):
    logits, labels = inputs(torch.float32, (2, 3, 130, 131))
    results = []
    for threads in (1, 2, 5):
        exacta.set_num_threads(threads)
        results.append(step(made(name), logits, labels, **keywords(name)))
    for value, gradient in results[1:]:
        assert torch.equal(value, results[0][0])
        assert torch.equal(gradient, results[0][1])


@pytest.mark.parametrize("activation", ["softmax", "sigmoid", "none"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64])
def test_one_hot(activation, dtype):
    logits, labels = inputs(shape=(2, 3, 6, 7))
    hot = torch.nn.functional.one_hot(labels, 3).movedim(-1, 1).to(dtype)
    if activation == "none":
        logits = torch.softmax(logits, 1)
    for name, (kind, _) in CASES.items():
        if "one-hot" in str(kind.__doc__) and not ((activation == "none" and "ce" in name) or name[:5] == "focal"):
            if activation == "none" and (issubclass(kind, (losses.DiceCELoss, losses.FocalLoss))):
                continue
            options = {"activation": activation} if "sigmoid" not in name else {}
            value, gradient = step(made(name, target_format="one-hot", **options), logits, hot, **keywords(name))
            wanted, slope = step(made(name, "torch", target_format="one-hot", **options), logits, hot, **keywords(name))
            torch.testing.assert_close(value, wanted, rtol=1e-13, atol=1e-13)
            torch.testing.assert_close(gradient, slope, rtol=1e-12, atol=1e-14)


def test_soft_targets():
    logits, _ = inputs(shape=(2, 3, 6, 7))
    soft = torch.softmax(inputs(shape=(2, 3, 6, 7), seed=5)[0], 1)
    for name in (
        "dice",
        "dice squared",
        "tversky",
        "focal tversky",
        "generalized",
        "focal",
        "focal sigmoid",
        "dice ce weighted",
    ):
        same(name, logits, soft, target_format="one-hot")
        same(name, logits, soft.float(), target_format="one-hot", mask=torch.rand(2, 6, 7) < 0.5)
        hidden = soft.clone()
        hidden[:, :, 2] = torch.nan
        mask = torch.ones(2, 6, 7, dtype=torch.bool)
        mask[:, 2] = False
        assert torch.isfinite(same(name, logits, hidden, target_format="one-hot", mask=mask)[0])


@pytest.mark.parametrize(
    "options", [{"reduction": "none"}, {"reduction": "sum"}, {"smooth": 0, "weighting_mode": "GDL"}]
)
def test_wasserstein_reductions(options):
    logits, labels = inputs(shape=(3, 3, 6, 7))
    labels[1] = -1
    for backend in ("native", "torch"):
        loss = losses.GeneralizedWassersteinDiceLoss(MATRIX, ignore_index=-1, backend=backend, **options)
        leaf = logits.clone().requires_grad_()
        value = loss(leaf, labels)
        (value * torch.arange(1.0, value.numel() + 1).reshape(value.shape)).sum().backward()
        if backend == "native":
            first, slope = value.detach(), leaf.grad
    torch.testing.assert_close(first, value.detach(), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(slope, leaf.grad, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("per_image", [False, True])
def test_hinge(multilabel, per_image):
    logits = inputs(shape=(3, 2 if multilabel else 1, 6, 7))[0]
    target = torch.rand(logits.shape if multilabel else (3, 6, 7), generator=torch.Generator().manual_seed(1)) < 0.3
    for given in (target, target.to(torch.uint8), target.double()):
        for mask in (None, torch.rand(3, 6, 7, generator=torch.Generator().manual_seed(2)) < 0.6):
            results = []
            for backend in ("native", "torch"):
                loss = losses.LovaszHingeLoss(multilabel=multilabel, per_image=per_image, backend=backend)
                results.append(step(loss, logits, given, mask=mask))
            torch.testing.assert_close(*[value for value, _ in results], rtol=1e-13, atol=1e-13)
            torch.testing.assert_close(*[slope for _, slope in results], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [200.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CASES)
def test_extreme_logits(name, scale, dtype):
    """Saturated probabilities: everything stays finite, and both backends agree."""
    logits, labels = inputs(torch.float64, (2, 3, 6, 7), seed=4)
    extreme = (torch.sign(logits) * scale * (1 + logits.abs().round(decimals=1) / 10)).to(dtype)
    results = [step(made(name, backend), extreme, labels, **keywords(name)) for backend in ("native", "torch")]
    for value, gradient in results:
        assert torch.isfinite(value).all()
        assert torch.isfinite(gradient).all()
    bound = 1e-12 if dtype is torch.float64 else 1e-5
    torch.testing.assert_close(results[0][0], results[1][0], rtol=bound, atol=bound)
    torch.testing.assert_close(results[0][1], results[1][1], rtol=bound, atol=bound)


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("hausdorff", "cldice")])
def test_infinite_logits_where_left_out(name, dtype, backend):
    """Infinities of both signs at masked voxels, saturated logits elsewhere: nothing of them is seen."""
    logits, labels = inputs(torch.float64, (2, 3, 6, 7), seed=6)
    mask = torch.rand(labels.shape, generator=torch.Generator().manual_seed(7)) < 0.6
    extreme = (torch.sign(logits) * 1e4).to(dtype)
    infinite = torch.where(mask.unsqueeze(1), extreme, torch.sign(logits).to(dtype) * torch.inf)
    wanted, slope = step(made(name, backend), extreme, labels, mask=mask, **keywords(name))
    value, gradient = step(made(name, backend), infinite, labels, mask=mask, **keywords(name))
    assert torch.isfinite(value).all()
    assert torch.isfinite(gradient).all()
    assert torch.equal(value, wanted)
    assert torch.equal(gradient, slope)
    assert not gradient[~mask.unsqueeze(1).expand_as(gradient)].any()


def test_incoming_gradient_is_applied_before_rounding():
    """A scaler of float16 training works only if small gradients are scaled before they are rounded."""
    logits, labels = inputs(torch.float16, (1, 2, 300, 300))
    leaf = logits.clone().requires_grad_()
    (losses.DiceCELoss()(leaf, labels % 2) * 2.0**14).backward()
    exact = logits.double().requires_grad_()
    losses.DiceCELoss()(exact, labels % 2).backward()
    np.testing.assert_allclose(leaf.grad.double() / 2**14, exact.grad, atol=1e-3 * exact.grad.abs().max().item())
    assert (leaf.grad != 0).double().mean() > 0.99
