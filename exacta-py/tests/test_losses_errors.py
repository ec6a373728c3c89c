"""Wrong arguments of losses: which error, in which order, and what it says."""

import pytest

torch = pytest.importorskip("torch")

from exacta import losses  # noqa: E402
from losses_common import BACKENDS, CASES, SPACED, inputs, keywords, made  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:softmax over a single channel")
nan, inf = float("nan"), float("inf")
MAKING = [
    (
        "DiceLoss",
        {"activation": "tanh"},
        ValueError,
        "activation must be one of 'softmax', 'sigmoid', 'none'; got 'tanh'",
    ),
    ("DiceLoss", {"activation": "tanh", "backend": "x"}, ValueError, "activation"),
    (
        "DiceLoss",
        {"backend": "x", "target_format": "x"},
        ValueError,
        "backend must be one of 'auto', 'native', 'torch'",
    ),
    ("DiceLoss", {"backend": "triton"}, ValueError, "kernels of every device are 'native'"),
    ("DiceLoss", {"target_format": "labels", "smooth": -1}, ValueError, "target_format"),
    ("DiceLoss", {"smooth": -1.0}, ValueError, "smooth must be finite, at least 0; got -1.0"),
    ("DiceLoss", {"smooth": nan, "distributed": True}, ValueError, "smooth"),
    ("DiceLoss", {"smooth": "1"}, TypeError, "smooth must be one real number"),
    ("DiceLoss", {"smooth": (1, 2, 3)}, ValueError, "one for numerator and one for denominator"),
    ("DiceLoss", {"smooth": (1, -2)}, ValueError, "smooth"),
    ("DiceLoss", {"distributed": True, "ignore_index": 1.0}, ValueError, "needs batch_dice=True"),
    ("DiceLoss", {"ignore_index": 1.0, "squared_pred": 1}, TypeError, "ignore_index must be an integer or None"),
    ("DiceLoss", {"ignore_index": True}, TypeError, "ignore_index"),
    ("DiceLoss", {"ignore_index": 2**63}, ValueError, "64-bit"),
    ("DiceLoss", {"ignore_index": 1, "target_format": "one-hot"}, ValueError, "mask= leaves voxels out"),
    ("DiceLoss", {"squared_pred": 1}, TypeError, "squared_pred must be True or False"),
    ("DiceLoss", {"class_weight": [[1.0]]}, ValueError, "class_weight must be a vector"),
    ("TverskyLoss", {"alpha": -0.1}, ValueError, "alpha"),
    ("TverskyLoss", {"beta": inf}, ValueError, "beta"),
    ("FocalTverskyLoss", {"gamma": 0.0}, ValueError, "gamma must be finite, above 0"),
    ("GeneralizedDiceLoss", {"weight_type": "cubic"}, ValueError, "weight_type"),
    ("GeneralizedDiceLoss", {"empty_target": "one"}, ValueError, "empty_target"),
    ("FocalLoss", {"activation": "none"}, ValueError, "activation"),
    ("FocalLoss", {"gamma": -1.0, "alpha": 2}, ValueError, "gamma"),
    ("FocalLoss", {"alpha": 1.5}, ValueError, r"alpha must be finite and within \[0, 1\]"),
    ("FocalLoss", {"alpha": (0.5, nan)}, ValueError, "alpha"),
    ("DiceCELoss", {"activation": "none"}, ValueError, "activation must be one of 'softmax', 'sigmoid'"),
    ("DiceCELoss", {"lambda_ce": -1.0}, ValueError, "lambda_ce"),
    ("DiceCELoss", {"lambda_ce": 0, "lambda_dice": 0}, ValueError, "at least one of lambda_dice and lambda_ce"),
    ("DiceCELoss", {"class_weight": [1.0, -2.0]}, ValueError, "class_weight must be finite and at least 0"),
    ("DiceCELoss", {"class_weight": []}, ValueError, "class_weight"),
    ("DiceCELoss", {"class_weight": "1"}, TypeError, "class_weight"),
    ("DiceCELoss", {"class_weight": [1.0, None]}, TypeError, "class_weight"),
    ("DiceCELoss", {"class_weight": [1.0, "a"]}, TypeError, "class_weight"),
    ("DiceFocalLoss", {"lambda_focal": -1.0}, ValueError, "lambda_focal"),
    ("DiceFocalLoss", {"lambda_focal": 0, "lambda_dice": 0}, ValueError, "lambda_focal"),
    ("TopKCELoss", {"fraction": 0.0}, ValueError, "fraction must be finite, above 0 and at most 1"),
    ("TopKCELoss", {"fraction": 1.1}, ValueError, "fraction"),
    ("LovaszSoftmaxLoss", {"classes": "some"}, ValueError, "classes"),
    ("LovaszHingeLoss", {"multilabel": 1}, TypeError, "multilabel"),
    ("LovaszHingeLoss", {"per_image": 1}, TypeError, "per_image"),
    ("LovaszHingeLoss", {"multilabel": True, "ignore_index": 1}, ValueError, "ignore_index"),
    ("HausdorffDTLoss", {"alpha": 0.0}, ValueError, "alpha"),
    ("HausdorffDTLoss", {"threshold": 1.0}, ValueError, "above 0 and below 1"),
    ("SoftClDiceLoss", {"iterations": -1}, ValueError, "iterations"),
    ("SoftClDiceLoss", {"iterations": True}, ValueError, "iterations"),
    ("SoftClDiceLoss", {"smooth": 0.0}, ValueError, "smooth must be finite, above 0"),
    ("GeneralizedWassersteinDiceLoss", {"dist_matrix": [[0.0, 1.0]]}, ValueError, "square"),
    ("GeneralizedWassersteinDiceLoss", {"dist_matrix": [[0.0, 1.0], [0.5, 0.0]]}, ValueError, "symmetric"),
    ("GeneralizedWassersteinDiceLoss", {"dist_matrix": [[1.0, 1.0], [1.0, 0.0]]}, ValueError, "zero diagonal"),
    ("GeneralizedWassersteinDiceLoss", {"dist_matrix": [[0.0, -1.0], [-1.0, 0.0]]}, ValueError, "at least 0"),
    ("GeneralizedWassersteinDiceLoss", {"dist_matrix": [[0.0, 0.0], [0.0, 0.0]]}, ValueError, "above 0"),
    ("GeneralizedWassersteinDiceLoss", {"dist_matrix": torch.eye(2) * 1j}, TypeError, "real"),
    ("GeneralizedWassersteinDiceLoss", {"dist_matrix": None}, TypeError, "dist_matrix"),
    (
        "GeneralizedWassersteinDiceLoss",
        {"dist_matrix": [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]]},
        ValueError,
        "weighting_mode='GDL'",
    ),
]


@pytest.mark.parametrize(("name", "options", "error", "words"), MAKING)
def test_making(name, options, error, words):
    with pytest.raises(error, match=words):
        getattr(losses, name)(**options)


def test_everything_is_by_keyword():
    for name in losses.__all__:
        if name.endswith("Loss") and name not in ("DeepSupervisionLoss", "GeneralizedWassersteinDiceLoss"):
            with pytest.raises(TypeError, match="positional"):
                getattr(losses, name)("softmax")


X, Y = inputs()
CALLING = [
    ({"input": X[0, 0]}, ValueError, "at least one spatial axis"),
    ({"input": X[:, :0]}, ValueError, "at least one channel"),
    ({"input": Y.unsqueeze(1).expand(2, 3, 5, 6)}, TypeError, "input must be of dtype"),
    ({"input": X.tolist()}, TypeError, "input must be a tensor"),
    ({"target": Y[:, :3]}, ValueError, r"target must have shape \(2, 5, 6\)"),
    ({"target": Y.unsqueeze(1)}, ValueError, r"pass target.squeeze\(1\)"),
    ({"target": Y > 0}, TypeError, r"pass target.long\(\)"),
    ({"target": Y + 0.5}, TypeError, "target must hold integer labels; got"),
    ({"target": Y + 2}, ValueError, r"target .*\[0, 3\).*[34].*ignore_index"),
    ({"target": Y - 1}, ValueError, r"target .*\[0, 3\).*-1.*ignore_index"),
    ({"target": Y.tolist()}, TypeError, "target must be a tensor"),
]
MASKS = [
    ({"mask": torch.ones(2, 5, 6)}, TypeError, "mask must be of dtype bool"),
    ({"mask": [[True]]}, TypeError, "mask must be a bool tensor"),
    ({"mask": torch.ones(2, 5, 5, dtype=torch.bool)}, ValueError, "mask must have shape"),
    ({"mask": torch.ones(2, 3, 5, 6, dtype=torch.bool)}, ValueError, "mask must have shape"),
    ({"mask": torch.full((2, 5, 6), 2, dtype=torch.uint8)}, TypeError, "0 and 1 only"),
    # a mask is looked at before the target
    ({"mask": torch.ones(2, 5, 6), "target": Y[:, :3]}, TypeError, "mask"),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_calling(name, backend):
    loss = made(name, backend)
    for wrong, error, words in CALLING + (MASKS if name != "cldice" else []):
        if name in (*SPACED, "cldice") and "spatial axis" in words:
            words = "empty axis|spatial axis"
        if name in (*SPACED, "cldice") and words == "at least one channel":
            words = "empty axis|at least one channel"
        with pytest.raises(error, match=words):
            loss(**{"input": X, "target": Y, **keywords(name), **wrong})


@pytest.mark.parametrize("backend", BACKENDS)
def test_classes(backend):
    one = X[:, :1], Y * 0
    with pytest.raises(ValueError, match="at least two channels"):
        losses.DiceLoss(include_background=False, backend=backend)(*one)
    with pytest.raises(ValueError, match="at least two channels"):
        losses.LovaszSoftmaxLoss(include_background=False, backend=backend)(*one)
    with pytest.raises(ValueError, match="at least two channels"):
        losses.BoundaryLoss(backend=backend)(*one, spacing=1)
    assert losses.DiceCELoss(include_background=False, lambda_dice=0, backend=backend)(*one).item() == 0
    for name in ("DiceLoss", "DiceCELoss", "FocalLoss", "DiceFocalLoss", "TopKCELoss", "LovaszSoftmaxLoss"):
        with pytest.raises(ValueError, match=r"3 classes.*got 2"):
            getattr(losses, name)(class_weight=[1.0, 2.0], backend=backend)(X, Y)
    with pytest.raises(ValueError, match="3 classes; got 2"):
        losses.FocalLoss(alpha=(0.1, 0.2), backend=backend)(X, Y)
    with pytest.raises(ValueError, match="2 classes of dist_matrix"):
        losses.GeneralizedWassersteinDiceLoss([[0, 1], [1, 0]], backend=backend)(X, Y)


def test_distance_arguments():
    loss = losses.BoundaryLoss()
    phi = torch.zeros(2, 2, 5, 6)
    for wrong, words in (
        ({}, "spacing must be given"),
        ({"spacing": 0.0}, "above 0"),
        ({"spacing": (1, 1, 1)}, "each of the 2 spatial axes"),
        ({"distance_map": phi[:, :1]}, "one map for each selected channel"),
        ({"distance_map": phi.long()}, "floating"),
        ({"distance_map": phi + nan}, "finite"),
        ({"distance_map": phi.numpy()}, "must be a tensor"),
    ):
        with pytest.raises(ValueError, match=words):
            loss(X, Y, **wrong)
    with pytest.raises(TypeError, match="spacing"):
        loss(X, Y, spacing="1")
    loss(X, Y, distance_map=phi)
    loss = losses.HausdorffDTLoss()
    with pytest.raises(ValueError, match=r"at least 0|not negative"):
        loss(X, Y, distance_map=phi - 1, spacing=1)
    with pytest.raises(ValueError, match="spacing must be given"):
        loss(X, Y, distance_map=phi)
    with pytest.raises(ValueError, match="finite predictions"):
        loss(X + nan, Y, distance_map=phi, spacing=1)
    with pytest.raises(ValueError, match="0 and 1"):
        losses.HausdorffDTLoss(target_format="one-hot")(X, X, spacing=1)
    with pytest.raises(ValueError, match="without an empty axis"):
        loss(X[..., 0], Y[..., 0], spacing=1)
    with pytest.raises(ValueError, match="without an empty axis"):
        losses.distance_maps(X[..., :0], spacing=1)
    with pytest.raises(ValueError, match="0 and 1 only"):
        losses.distance_maps(X, spacing=1)


def test_skeleton_arguments():
    with pytest.raises(ValueError, match="floating"):
        losses.soft_skeletonize(Y.unsqueeze(1))
    with pytest.raises(ValueError, match="iterations"):
        losses.soft_skeletonize(X, iterations=1.5)
    with pytest.raises(ValueError, match="backend"):
        losses.soft_skeletonize(X, backend="triton")
    loss = losses.SoftClDiceLoss(iterations=1)
    with pytest.raises(TypeError, match="mask"):
        loss(X, Y, mask=Y > 0)
    for wrong in (X[:, :1], X[:, 1:] * 0 + 2, X[:, 1:] * 0 + nan):
        with pytest.raises(ValueError, match="target_skeleton"):
            loss(X, Y, target_skeleton=wrong)


def test_hinge_arguments():
    loss, z, f = losses.LovaszHingeLoss(), X[:, :1], (Y > 0).long()
    for wrong, error, words in (
        ((X, f), ValueError, "multilabel=True"),
        ((z, f[:, :2]), ValueError, "target must have shape"),
        ((z, f * 1j), TypeError, "real"),
        ((z, Y), ValueError, "only.* 2"),
        ((z / 0, f), ValueError, "finite"),
    ):
        with pytest.raises(error, match=words):
            loss(*wrong)
    with pytest.raises(TypeError, match="integers where ignore_index"):
        losses.LovaszHingeLoss(ignore_index=2)(z, f.double())
    with pytest.raises(TypeError, match="mask"):
        loss(z, f, mask=[True])


def test_deep_supervision_arguments():
    for weights in ([], [0.0], [-1.0], [nan]):
        with pytest.raises(ValueError, match="weights"):
            losses.DeepSupervisionLoss(losses.DiceLoss(), weights)
    loss = losses.DeepSupervisionLoss(losses.DiceLoss(), [1.0, 0.0])
    with pytest.raises(TypeError, match="sequence"):
        loss(X, [Y, None])
    with pytest.raises(ValueError, match="2 weights; got 1"):
        loss([X, None], [Y])
    with pytest.raises(ValueError, match="masks"):
        loss([X, None], [Y, None], masks=[None])
    matrix = losses.GeneralizedWassersteinDiceLoss([[0, 1, 1], [1, 0, 1], [1, 1, 0]], reduction="none")
    with pytest.raises(ValueError, match="one value"):
        losses.DeepSupervisionLoss(matrix, [1.0])([X], [Y])


def test_weights_of_a_dice_focal_loss_cannot_be_a_list():
    with pytest.raises(TypeError, match="class_weight"):
        losses.DiceFocalLoss().class_weight = [1.0, 2.0, 3.0]


def test_native_says_what_it_lacks():
    soft = torch.softmax(X, 1).requires_grad_()
    with pytest.raises(NotImplementedError, match="no gradient for target"):
        losses.DiceLoss(target_format="one-hot", backend="native")(X, soft)
    with pytest.raises(NotImplementedError, match="no kernel"):
        losses.DiceLoss(backend="native")(X.to("meta"), Y.to("meta"))
