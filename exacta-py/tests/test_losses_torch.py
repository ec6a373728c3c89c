"""Losses as parts of PyTorch programs: derivatives, autocast, copies, state, memory."""

import copy
import gc
import inspect
import pickle
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from exacta import losses  # noqa: E402
from losses_common import BACKENDS, CASES, MATRIX, inputs, keywords, made, step  # noqa: E402


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_gradcheck(name, backend):
    logits, labels = inputs(shape=(2, 3, 2, 3) if name != "cldice" else (1, 3, 2, 3))
    loss = made(name, backend)
    assert torch.autograd.gradcheck(lambda x: loss(x, labels, **keywords(name)), logits.requires_grad_())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_second_derivative(name, backend):
    """`create_graph=True` goes through the operators of PyTorch, whoever computed the value."""
    logits, labels = inputs(shape=(1, 3, 2, 2))
    loss = made(name, backend)
    assert torch.autograd.gradgradcheck(
        lambda x: loss(x, labels, **keywords(name)), logits.requires_grad_(), fast_mode=True
    )


def test_gradient_of_a_soft_target():
    logits, _ = inputs(shape=(2, 3, 5))
    soft = torch.softmax(inputs(shape=(2, 3, 5), seed=1)[0], 1).requires_grad_()
    mask = torch.tensor([[True, True, False, True, True]] * 2)
    for name in (
        "dice",
        "dice squared",
        "tversky",
        "focal tversky",
        "generalized",
        "dice ce weighted",
        "dice ce sigmoid",
    ):
        loss = made(name, target_format="one-hot")
        assert torch.autograd.gradcheck(lambda g, loss=loss: loss(logits, g, mask=mask), soft)
    for options in ({}, {"activation": "sigmoid", "alpha": 0.3}):
        loss = losses.FocalLoss(target_format="one-hot", **options)
        assert torch.autograd.gradcheck(lambda g, loss=loss: loss(logits, g, mask=mask), soft)
    p, g = torch.softmax(logits, 1), soft.detach()
    soft.grad = None
    losses.DiceLoss(target_format="one-hot", smooth=0)(logits, soft).backward()
    denominator = (p + g).sum(2, keepdim=True)
    numerator = 2 * (p * g).sum(2, keepdim=True)
    torch.testing.assert_close(soft.grad, (numerator / denominator**2 - 2 * p / denominator) / 6)


# Forward mode makes PyTorch load decompositions that it writes in its own deprecated language.
@pytest.mark.filterwarnings("ignore:`torch.jit.*:DeprecationWarning", "ignore:`torch.jit.*:FutureWarning")
@pytest.mark.parametrize("name", ["dice", "focal", "dice ce", "lovasz", "top-k"])
def test_function_transforms(name):
    logits, labels = inputs(shape=(2, 3, 4, 5))
    loss = made(name)
    gradient = torch.func.grad(loss)(logits, labels)
    torch.testing.assert_close(gradient, step(loss, logits, labels)[1])
    _, tangent = torch.func.jvp(lambda x: loss(x, labels), (logits,), (torch.ones_like(logits),))
    assert abs(tangent.item()) < 1e-12  # softmax does not see a constant
    stacked = torch.stack([logits, 2 * logits])
    values = torch.vmap(loss)(stacked, torch.stack([labels, labels]))
    torch.testing.assert_close(values[1], loss(2 * logits, labels))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    logits, labels = inputs(torch.float32)
    layer = torch.nn.Conv2d(3, 3, 1)
    for name in CASES:
        with torch.autocast("cpu", dtype):
            half = layer(logits)
            assert half.dtype is dtype
            inside = made(name)(half, labels, **keywords(name))
        outside = made(name)(half.detach(), labels, **keywords(name))
        assert inside.dtype is torch.float32
        assert torch.equal(inside, outside)
        inside.backward()
        assert torch.isfinite(layer.weight.grad).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_empty_batches(backend):
    none, labels = torch.zeros(0, 3, 4, requires_grad=True), torch.zeros(0, 4, dtype=torch.int64)
    options = {"backend": backend}
    for kind in (losses.DiceLoss, losses.TverskyLoss, losses.FocalTverskyLoss, losses.GeneralizedDiceLoss):
        assert torch.isnan(kind(**options)(none, labels))
        assert kind(batch_dice=True, **options)(none, labels) == 0
        assert kind(ignore_index=5, **options)(none, labels) == 0
    assert torch.isnan(losses.DiceLoss(batch_dice=True, smooth=0, **options)(none, labels))
    assert losses.GeneralizedDiceLoss(batch_dice=True, smooth=0, **options)(none, labels) == 0
    assert torch.isnan(losses.FocalLoss(**options)(none, labels))
    assert torch.isnan(losses.DiceCELoss(lambda_dice=0, **options)(none, labels))
    assert losses.DiceCELoss(lambda_dice=0, class_weight=[1, 2, 3], **options)(none, labels) == 0
    assert losses.FocalLoss(**options)(none, labels, mask=labels > 0) == 0
    for loss in (
        losses.TopKCELoss(**options),
        losses.LovaszSoftmaxLoss(**options),
        losses.GeneralizedWassersteinDiceLoss(MATRIX, **options),
    ):
        value = loss(none, labels)
        assert value == 0
        value.backward()
        assert none.grad.shape == none.shape
    assert losses.LovaszHingeLoss(**options)(none[:, :1], labels) == 0
    vector = losses.GeneralizedWassersteinDiceLoss(MATRIX, reduction="none", **options)(none, labels)
    assert vector.shape == (0,)
    one = losses.GeneralizedWassersteinDiceLoss(MATRIX, reduction="none", **options)(*inputs(shape=(1, 3, 4)))
    assert one.shape == (1,)
    with pytest.raises(ValueError, match="empty axis"):
        losses.BoundaryLoss(**options)(none.unsqueeze(3), labels.unsqueeze(2), spacing=1)


@pytest.mark.parametrize("name", CASES)
def test_copies(name):
    logits, labels = inputs()
    loss = made(name)
    wanted = loss(logits, labels, **keywords(name))
    for copied in (copy.deepcopy(loss), copy.copy(loss), pickle.loads(pickle.dumps(loss))):
        assert torch.equal(copied(logits, labels, **keywords(name)), wanted)
    assert not list(loss.parameters())


def test_state():
    weight = torch.tensor([0.2, 1.0, 2.0], requires_grad=True)
    loss = losses.DiceCELoss(class_weight=weight)
    assert list(loss.state_dict()) == ["class_weight"]
    assert loss.class_weight.dtype is torch.float64
    assert not loss.class_weight.requires_grad
    weight.data.zero_()
    assert loss.class_weight.sum() > 3
    assert list(losses.DiceCELoss(class_weight=[0.1]).class_weight) == [0.1]
    other = losses.DiceCELoss(class_weight=[1, 1, 1])
    other.load_state_dict(loss.state_dict())
    assert torch.equal(other.class_weight, loss.class_weight)
    with pytest.raises(RuntimeError, match="class_weight"):
        losses.DiceCELoss().load_state_dict(loss.state_dict())
    for name, keys in (
        ("DiceCELoss", []),
        ("DiceFocalLoss", []),
        ("DiceTopKCELoss", []),
        ("LovaszSoftmaxLoss", []),
        ("BoundaryLoss", []),
    ):
        assert list(getattr(losses, name)().state_dict()) == keys
    assert [name for name, _ in losses.DiceFocalLoss().named_children()] == ["dice", "focal"]
    assert [name for name, _ in losses.DiceTopKCELoss().named_children()] == ["dice", "ce"]
    deep = losses.DeepSupervisionLoss(loss, [1, 0.5])
    assert list(deep.state_dict()) == ["loss.class_weight"]
    assert deep.weights == (1.0, 0.5)
    matrix = losses.GeneralizedWassersteinDiceLoss([[0, 2], [2, 0]])
    assert list(matrix.state_dict()) == ["dist_matrix"]
    assert matrix.dist_matrix.tolist() == [[0, 1], [1, 0]]
    logits, labels = inputs(torch.float32)
    before = loss(logits, labels)
    torch.testing.assert_close(loss.half()(logits, labels), before, rtol=1e-3, atol=0)


def test_inheritance():
    assert issubclass(losses.FocalTverskyLoss, losses.TverskyLoss)
    assert issubclass(losses.GeneralizedDiceCELoss, losses.DiceCELoss)
    assert issubclass(losses.DiceFocalLoss, losses.DiceCELoss)
    assert issubclass(losses.HausdorffDTLoss, losses.BoundaryLoss)
    assert "__repr__" not in vars(losses.DiceLoss)


@pytest.mark.parametrize("backend", BACKENDS)
def test_options_may_change(backend):
    """Options are attributes that are read at each call, those of a term through the sum too."""
    logits, labels = inputs()
    loss = losses.DiceFocalLoss(backend=backend)
    loss(logits, labels)
    loss.lambda_focal, loss.gamma, loss.smooth, loss.include_background = 0.5, 1.0, 0.1, False
    assert (loss.lambda_ce, loss.focal.gamma, loss.dice.smooth) == (0.5, 1.0, 0.1)
    fresh = losses.DiceFocalLoss(lambda_focal=0.5, gamma=1.0, smooth=0.1, include_background=False, backend=backend)
    assert torch.equal(loss(logits, labels), fresh(logits, labels))
    loss = losses.TverskyLoss(backend=backend)
    loss.alpha = 0.9
    assert torch.equal(loss(logits, labels), losses.TverskyLoss(alpha=0.9, backend=backend)(logits, labels))
    loss = losses.DiceTopKCELoss(backend=backend)
    loss.fraction = 0.5
    assert torch.equal(loss(logits, labels), losses.DiceTopKCELoss(fraction=0.5, backend=backend)(logits, labels))


def test_deep_supervision():
    logits, labels = inputs(shape=(2, 3, 4))
    half = logits[..., :2].clone().requires_grad_()
    loss = losses.DeepSupervisionLoss(losses.DiceCELoss(class_weight=[0.2, 1, 2]), [1.0, 0.0, 0.5])
    value = loss([logits, None, half], (labels, None, labels[:, :2]))
    single = losses.DiceCELoss(class_weight=[0.2, 1, 2])
    assert value.item() == pytest.approx((single(logits, labels) + 0.5 * single(half, labels[:, :2])).item())
    value.backward()
    assert half.grad.abs().sum() > 0
    masks = [labels > 0, None, None]
    masked = loss([logits, None, half], (labels, None, labels[:, :2]), masks=masks)
    expected = single(logits, labels, mask=masks[0]) + 0.5 * single(half, labels[:, :2])
    assert masked.item() == pytest.approx(expected.item())
    shapes = losses.DeepSupervisionLoss(losses.SoftClDiceLoss(), [1.0])
    with pytest.raises(TypeError, match="mask"):
        shapes([logits.unsqueeze(3)], [labels.unsqueeze(2)], masks=[None])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["dice ce", "dice focal", "lovasz", "top-k", "hausdorff", "cldice"])
def test_p20_memory_is_constant(name, backend):
    """No object and no tensor outlives its step."""
    logits, labels = inputs(torch.float32, (1, 3, 16, 16))
    leaf = logits.clone().requires_grad_()
    loss = made(name, backend)

    def tensors():
        gc.collect()
        return sum(issubclass(type(item), torch.Tensor) for item in gc.get_objects())

    counts = []
    for number in range(12):
        leaf.grad = None
        loss(leaf, labels, **keywords(name)).backward()
        if number in (1, 11):
            counts.append(tensors())
    assert counts[0] == counts[1]


KEPT = """
import resource, sys, torch
from exacta import losses
torch.set_num_threads(2)
x = torch.randn(2, 4, 64, 64, 64).requires_grad_()
y = torch.randint(0, 4, (2, 64, 64, 64), dtype=torch.uint8)
x.grad = torch.zeros_like(x)
loss = getattr(losses, sys.argv[1])()
small = torch.randn(1, 4, 8, 8, 8, requires_grad=True)
loss(small, y[:1, :8, :8, :8]).backward()
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
spare = torch.empty_like(x); spare.fill_(1); del spare  # room for the gradient
before = peak()
loss(x, y).backward()
print(peak() - before)
"""


@pytest.mark.parametrize("name", ["DiceCELoss", "DiceFocalLoss"])
def test_no_volume_is_kept(name):
    """A step needs, beside its inputs and the gradient, less than 1 MiB; 32 MiB would be one more volume."""
    run = subprocess.run([sys.executable, "-c", KEPT, name], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 2 << 20


def test_signatures():
    """Names and defaults; what comes beyond the reference is by keyword too."""
    shared = [
        "activation",
        "target_format",
        "include_background",
        "batch_dice",
        "distributed",
        "smooth",
        "ignore_index",
        "backend",
    ]
    for name, own in (
        ("DiceLoss", ["squared_pred"]),
        ("TverskyLoss", ["alpha", "beta"]),
        ("FocalTverskyLoss", ["gamma", "alpha", "beta"]),
        ("GeneralizedDiceLoss", ["weight_type", "empty_target"]),
        ("DiceCELoss", ["lambda_dice", "lambda_ce", "class_weight", "squared_pred"]),
        ("GeneralizedDiceCELoss", ["lambda_dice", "lambda_ce", "class_weight", "weight_type", "empty_target"]),
        ("DiceFocalLoss", ["lambda_dice", "lambda_focal", "gamma", "alpha", "squared_pred"]),
    ):
        found = inspect.signature(getattr(losses, name)).parameters
        assert {*shared, *own} <= set(found) <= {*shared, *own, "class_weight"}
        assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in found.values())
    assert list(inspect.signature(losses.DeepSupervisionLoss).parameters) == ["loss", "weights"]
    matrix = inspect.signature(losses.GeneralizedWassersteinDiceLoss).parameters["dist_matrix"]
    assert matrix.kind is matrix.POSITIONAL_OR_KEYWORD


def test_every_loss_is_documented():
    for name in losses.__all__:
        text = getattr(losses, name).__doc__
        for section in ("Parameters", "Returns", "Raises", "References", "Examples"):
            assert f"\n    {section}\n    ---" in text, (name, section)


def test_torch_is_named_where_it_is_missing():
    code = "import sys; sys.modules['torch'] = None; import exacta; exacta.functional; import exacta.losses"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'exacta[torch]'" in run.stderr
