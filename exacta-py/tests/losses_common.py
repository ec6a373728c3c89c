"""What the tests of losses share: every loss with inputs that it takes, and the inputs of the worked examples."""

import torch

from exacta import losses

BACKENDS = ("auto", "torch")
"""The kernels where there are any, and the operators of PyTorch."""

MATRIX = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.5], [1.0, 0.5, 0.0]]

CASES = {
    "dice": (losses.DiceLoss, {}),
    "dice squared": (losses.DiceLoss, {"squared_pred": True, "include_background": False}),
    "dice weighted batch": (losses.DiceLoss, {"batch_dice": True, "class_weight": [0.2, 1.0, 2.0]}),
    "tversky": (losses.TverskyLoss, {"alpha": 0.3, "beta": 0.7}),
    "focal tversky": (losses.FocalTverskyLoss, {"include_background": False}),
    "generalized": (losses.GeneralizedDiceLoss, {}),
    "generalized simple": (losses.GeneralizedDiceLoss, {"weight_type": "simple", "batch_dice": True}),
    "focal": (losses.FocalLoss, {}),
    "focal alpha": (losses.FocalLoss, {"gamma": 1.5, "alpha": (0.1, 0.3, 0.6)}),
    "focal sigmoid": (losses.FocalLoss, {"activation": "sigmoid", "alpha": 0.25}),
    "dice ce": (losses.DiceCELoss, {}),
    "dice ce weighted": (losses.DiceCELoss, {"class_weight": [0.2, 1.0, 2.0], "lambda_dice": 0.5}),
    "dice ce sigmoid": (losses.DiceCELoss, {"activation": "sigmoid"}),
    "generalized ce": (losses.GeneralizedDiceCELoss, {"include_background": False}),
    "dice focal": (losses.DiceFocalLoss, {"lambda_focal": 0.5}),
    "top-k": (losses.TopKCELoss, {"fraction": 0.3}),
    "dice top-k": (losses.DiceTopKCELoss, {"fraction": 0.3}),
    "lovasz": (losses.LovaszSoftmaxLoss, {}),
    "lovasz per image": (losses.LovaszSoftmaxLoss, {"per_image": True, "classes": "all"}),
    "wasserstein": (losses.GeneralizedWassersteinDiceLoss, {"dist_matrix": MATRIX}),
    "wasserstein gdl": (losses.GeneralizedWassersteinDiceLoss, {"dist_matrix": MATRIX, "weighting_mode": "GDL"}),
    "boundary": (losses.BoundaryLoss, {}),
    "hausdorff": (losses.HausdorffDTLoss, {}),
    "cldice": (losses.SoftClDiceLoss, {"iterations": 2}),
}
"""Losses of three classes and index targets."""

SPACED = ("boundary", "hausdorff")
POOLED = ("distributed", "boundary", "hausdorff", "cldice")


def keywords(name):
    return {"spacing": (2.0, 1.0)} if name in SPACED else {}


def made(name, backend="auto", **more):
    kind, options = CASES[name]
    return kind(**options, **more, backend=backend)


def inputs(dtype=torch.float64, shape=(2, 3, 5, 6), seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(shape, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, shape[1], (shape[0], *shape[2:]), generator=generator)
    return logits.to(dtype), labels


def step(loss, logits, target, **keywords):
    """Return value and gradient."""
    leaf = logits.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    value = loss(leaf, target, **keywords)
    value.sum().backward()
    return value.detach(), leaf.grad
