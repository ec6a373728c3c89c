"""What users of other tools ran into with losses; the numbers are those of the list of pitfalls."""

import pytest

torch = pytest.importorskip("torch")

from exacta import losses  # noqa: E402
from losses_common import BACKENDS, step  # noqa: E402

pytestmark = pytest.mark.parametrize("backend", BACKENDS)


def one_hot_loss(kind, backend, **options):
    return kind(activation="none", target_format="one-hot", smooth=0, backend=backend, **options)


def channels(*rows):
    return torch.tensor([rows], dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("gamma", [0, 0.5, 2])
def test_p17_focal_loss_of_large_logits(backend, gamma, dtype):
    loss = losses.FocalLoss(activation="sigmoid", target_format="one-hot", gamma=gamma, backend=backend)
    value, gradient = step(loss, torch.full((1, 1, 1), 1000.0, dtype=dtype), torch.ones(1, 1, 1))
    assert (value.item(), gradient.item()) == (0.0, 0.0)
    value, gradient = step(loss, torch.full((1, 1, 1), -1000.0, dtype=dtype), torch.ones(1, 1, 1))
    assert (value.item(), gradient.item()) == (1000.0, -1.0)
    value, _ = step(loss, torch.full((1, 1, 1), 0.3, dtype=dtype), torch.ones(1, 1, 1))
    assert value.item() == pytest.approx({0: 0.5543552, 0.5: 0.3616324, 2: 0.1003933}[gamma], abs=1e-7)
    # two channels of softmax, one of them 0, are a sigmoid
    two = losses.FocalLoss(gamma=gamma, backend=backend)
    value, gradient = step(two, torch.tensor([[[0.0], [1000.0]]], dtype=dtype), torch.ones(1, 1, dtype=torch.int64))
    assert (value.item(), gradient.abs().max().item()) == (0.0, 0.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_p33_half_precision(backend, dtype):
    ones = torch.ones(1, 1, 512, 512, dtype=dtype)
    loss = losses.DiceLoss(activation="none", target_format="one-hot", backend=backend)
    value, gradient = step(loss, ones, ones)
    assert value.dtype is torch.float32
    assert gradient.dtype is dtype
    assert value.item() == pytest.approx(0.0, abs=1e-6)
    assert torch.isfinite(gradient).all()


def test_p35_p36_values_to_ignore(backend):
    logits = torch.tensor([[2.0, 0], [0, 1], [0.5, 0.5], [3, -1]], dtype=torch.float64).T.unsqueeze(0)
    labels = torch.tensor([[0, 1, 255, 255]], dtype=torch.uint8)
    loss = losses.DiceCELoss(lambda_dice=0, ignore_index=255, backend=backend)
    assert step(loss, logits, labels)[0].item() == pytest.approx(0.2200948, abs=1e-7)
    with pytest.raises(ValueError, match="255"):
        losses.DiceCELoss(backend=backend)(logits, labels)
    # a value that the dtype cannot hold ignores nothing
    with pytest.raises(ValueError, match="255"):
        losses.DiceCELoss(ignore_index=255 + 256, backend=backend)(logits, labels)
    for kind in (losses.DiceLoss, losses.DiceCELoss, losses.FocalLoss, losses.DiceFocalLoss, losses.TopKCELoss):
        value, gradient = step(kind(ignore_index=255, backend=backend), logits, torch.full_like(labels, 255))
        assert value.item() == 0.0
        assert not gradient.any()


@pytest.mark.parametrize(("kind", "value"), [("square", 0.3185988), ("simple", 0.1943574), ("uniform", 0.04)])
def test_p38_generalized_dice_sums_first(backend, kind, value):
    p, g = torch.zeros(1, 3, 103, dtype=torch.float64), torch.zeros(1, 3, 103, dtype=torch.float64)
    for c, (target, predicted, both) in enumerate([(90, 88, 87), (9, 10, 8), (1, 2, 1)]):
        g[0, c, :target] = 1
        p[0, c, target - both : target - both + predicted] = 1
    loss = one_hot_loss(losses.GeneralizedDiceLoss, backend, weight_type=kind)
    assert step(loss, p, g)[0].item() == pytest.approx(value, abs=1e-7)


def test_p39_absent_class(backend):
    p = channels([1.0] * 12 + [0] * 6, [0.0] * 12 + [1] * 3 + [0] * 3)
    g = channels([1.0] * 15 + [0] * 3, [0.0] * 18)
    value, gradient = step(one_hot_loss(losses.GeneralizedDiceLoss, backend), p, g)
    assert value.item() == pytest.approx(0.2)
    assert torch.isfinite(gradient).all()


def test_p40_one_vector_of_weights(backend):
    """The same vector, one weight a channel, goes into every loss, whether the background has a term or not."""
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(2, 3, 7, dtype=torch.float64, generator=generator)
    labels = torch.randint(0, 3, (2, 7), generator=generator)
    weight = [0.2, 1.0, 2.0]
    p = torch.softmax(logits, 1)
    g = torch.nn.functional.one_hot(labels, 3).movedim(-1, 1)
    errors = 1 - 2 * (p * g).sum(2) / (p.sum(2) + g.sum(2))
    dice = ((errors[:, 1] + 2 * errors[:, 2]) / 3).mean()
    w = torch.tensor(weight, dtype=torch.float64)
    entropy = torch.nn.functional.cross_entropy(logits, labels, w)
    common = {"class_weight": weight, "backend": backend}
    found = losses.DiceLoss(include_background=False, smooth=0, **common)(logits, labels)
    assert found.item() == pytest.approx(dice.item())
    terms = w[labels] * torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    plain = losses.DiceLoss(include_background=False, backend=backend)(logits, labels)
    background = {"include_background": False, **common}
    for loss, wanted in (
        (losses.DiceCELoss(lambda_dice=0, **common), entropy),
        (losses.DiceCELoss(**background), plain + entropy),
        (losses.FocalLoss(gamma=0, **common), terms.mean()),
        (losses.DiceFocalLoss(lambda_dice=0, gamma=0, **common), terms.mean()),
        (losses.DiceFocalLoss(gamma=0, **background), plain + terms.mean()),
    ):
        assert loss(logits, labels).item() == pytest.approx(wanted.item())
    hardest = losses.TopKCELoss(fraction=0.5, **common)(logits, labels)
    assert hardest.item() == pytest.approx(terms.flatten().sort(descending=True).values[:7].mean().item())


def test_p41_one_alpha_for_each_class(backend):
    logits, labels = torch.zeros(1, 3, 1), torch.tensor([[2]])
    loss = losses.FocalLoss(alpha=(0.1, 0.3, 0.6), backend=backend)
    assert loss(logits, labels).item() == pytest.approx(0.2929633, abs=1e-7)
    assert losses.FocalLoss(backend=backend)(logits, labels).item() == pytest.approx(0.4882721, abs=1e-7)


def test_p46_single_channel(backend, monkeypatch):
    loss = losses.DiceCELoss(
        lambda_dice=0, activation="sigmoid", target_format="one-hot", include_background=True, backend=backend
    )
    logits = torch.full((1, 1, 1), 0.3, dtype=torch.float64)
    assert loss(logits, torch.ones(1, 1, 1)).item() == pytest.approx(0.5543552, abs=1e-7)
    assert loss(logits, torch.zeros(1, 1, 1)).item() == pytest.approx(0.8543552, abs=1e-7)
    monkeypatch.setattr("exacta.losses._fused._warned", False)
    softmax = losses.DiceLoss(backend=backend)
    with pytest.warns(UserWarning, match="sigmoid") as caught:
        assert softmax(logits, torch.zeros(1, 1, dtype=torch.int64)).item() == 0.0
    assert caught[0].filename == __file__
    softmax(logits, torch.zeros(1, 1, dtype=torch.int64))  # once is enough: a warning is an error here


def test_p60_tversky_alpha_is_of_false_positives(backend):
    loss = one_hot_loss(losses.TverskyLoss, backend, alpha=0.3, beta=0.7)
    target = channels([0, 1, 0, 1, 1, 1])
    assert step(loss, torch.ones_like(target), target)[0].item() == pytest.approx(0.1304348, abs=1e-7)
    assert step(loss, channels([0, 1, 0, 1, 0, 0]), target)[0].item() == pytest.approx(0.4117647, abs=1e-7)


@pytest.mark.parametrize("iterations", [0, 1, 3, 10])
def test_p64_skeleton_of_a_line(backend, iterations):
    line = torch.zeros(1, 1, 9, 15)
    line[..., 4:5, 2:13] = 1
    assert torch.equal(losses.soft_skeletonize(line, iterations=iterations, backend=backend), line)


def test_p65_skeleton_on_every_axis(backend):
    bar = torch.zeros(1, 1, 9, 9, 19)
    bar[..., 2:7, 2:7, 2:17] = 1
    skeleton = losses.soft_skeletonize(bar, iterations=4, backend=backend)
    assert skeleton.sum() > 0
    for axes in ((0, 1, 4, 2, 3), (0, 1, 3, 4, 2)):
        turned = losses.soft_skeletonize(bar.permute(axes), iterations=4, backend=backend)
        assert torch.equal(turned, skeleton.permute(axes))


def test_p66_mask_after_activation(backend):
    loss = losses.DiceLoss(activation="sigmoid", target_format="one-hot", smooth=0, backend=backend)
    logits, target = channels([2.0, -1, 3, 0.5]), channels([1, 0, 0, 1])
    mask = torch.tensor([[True, True, False, False]])
    value, gradient = step(loss, logits, target, mask=mask)
    assert value.item() == pytest.approx(0.1805542, abs=1e-7)
    assert not gradient[0, 0, 2:].any()
    assert losses.DiceLoss(activation="sigmoid", target_format="one-hot", smooth=0, backend=backend)(
        logits, target, mask=mask.to(torch.uint8)
    ) == pytest.approx(value.item())


def test_p67_two_smoothing_constants(backend):
    """Given apart, 0 and 0 count as a loss of 0; one number 0 is NaN as documented."""
    zeros = torch.zeros(1, 1, 4, 4)
    for smooth, wanted in (((1, 1), 0.0), ((0, 1), 1.0), ((0, 0), 0.0), (1, 0.0)):
        loss = losses.DiceLoss(activation="none", target_format="one-hot", smooth=smooth, backend=backend)
        assert loss(zeros, zeros).item() == wanted
    assert torch.isnan(one_hot_loss(losses.DiceLoss, backend)(zeros, zeros))


def test_p68_batch_is_the_mean_of_its_cases(backend):
    p = torch.tensor([[0.9, 0.2, 0.6], [0.3, 0.8, 0.1]], dtype=torch.float64)
    logits, labels = torch.stack([1 - p, p], 1).log(), torch.tensor([[1, 0, 1], [1, 1, 0]])
    for reduction, wanted in (("none", [0.1891892, 0.3125]), ("mean", 0.2508446), ("sum", 0.5016892)):
        loss = losses.GeneralizedWassersteinDiceLoss([[0, 1], [1, 0]], smooth=0, reduction=reduction, backend=backend)
        assert loss(logits, labels).tolist() == pytest.approx(wanted, abs=1e-7)
