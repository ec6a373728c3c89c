"""Losses of MONAI, of the authors' repositories, of nnU-Net and of PyTorch: values and gradients."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from exacta import losses  # noqa: E402

FIXTURES = Path(__file__).parent / "fixtures"
ROWS = {row["id"]: row for row in json.loads((FIXTURES / "losses.json").read_text())["losses"]}
STORED = np.load(FIXTURES / "losses.npz")


def activation(row):
    return "sigmoid" if row["kwargs"].get("sigmoid") or row["target"] == "multi" else "softmax"


def monai_dice(row, logits):
    k, shape = row["kwargs"], logits.shape
    entries = (1 if k.get("batch") else shape[0]) * shape[1]
    options = {
        "activation": activation(row),
        "batch_dice": k.get("batch", False),
        "include_background": k.get("include_background", True),
        "ignore_index": k.get("ignore_index"),
    }
    if k.get("jaccard"):
        return losses.TverskyLoss(alpha=1, beta=1, smooth=5e-6, **options), 1
    factor = entries if k.get("reduction") in ("sum", "none") else 1
    if "weight" in k:
        options["class_weight"], factor = k["weight"], sum(k["weight"]) / shape[1]
    smooth = (k.get("smooth_nr", 1e-5), k.get("smooth_dr", 1e-5))
    return losses.DiceLoss(squared_pred=k.get("squared_pred", False), smooth=smooth, **options), factor


def monai_focal(row, logits):
    k, shape = row["kwargs"], logits.shape
    softmax = bool(k.get("use_softmax"))
    alpha, weight = k.get("alpha"), k.get("weight")
    loss = losses.FocalLoss(
        activation="softmax" if softmax else "sigmoid",
        gamma=k.get("gamma", 2.0),
        alpha=alpha,
        class_weight=weight,
        ignore_index=k.get("ignore_index"),
    )
    if softmax and "ignore_index" not in k:
        return loss, {"mean": 1 / shape[1], "sum": shape[0], "none": math.prod(shape) / shape[1]}[
            k.get("reduction", "mean")
        ]
    return loss, math.prod(shape) if k.get("reduction") == "none" else 1


def made(row, logits):
    """Return the loss of the package that is the same, and the factor to it."""
    k, name = row["kwargs"], f"{row['source']} {row['class']}"
    shape = logits.shape
    if name == "monai DiceLoss":
        return monai_dice(row, logits)
    if name == "monai FocalLoss":
        return monai_focal(row, logits)
    common = {"activation": activation(row), "include_background": k.get("include_background", True)}
    if name == "monai DiceCELoss":
        return losses.DiceCELoss(lambda_dice=k.get("lambda_dice", 1), lambda_ce=k.get("lambda_ce", 1), **common), 1
    if name == "monai DiceFocalLoss":
        return losses.DiceFocalLoss(**common), 1
    if name == "monai GeneralizedDiceLoss":
        loss = losses.GeneralizedDiceLoss(
            weight_type=k.get("w_type", "square"), batch_dice=k.get("batch", False), **common
        )
        return loss, shape[0] if k.get("reduction") == "none" else 1
    if name == "monai TverskyLoss":
        loss = losses.TverskyLoss(
            alpha=k.get("alpha", 0.5),
            beta=k.get("beta", 0.5),
            batch_dice=k.get("batch", False),
            ignore_index=k.get("ignore_index"),
            **common,
        )
        return loss, shape[0] * shape[1] if k.get("reduction") == "sum" else 1
    if name == "monai HausdorffDTLoss":
        common["include_background"] = k.get("include_background", shape[1] == 1)
        return losses.HausdorffDTLoss(alpha=k.get("alpha", 2.0), **common), 1
    if "Wasserstein" in name:
        smooth = 1e-5 if row["source"] == "monai" else 2.0**-52
        matrix = k["dist_matrix"]
        return losses.GeneralizedWassersteinDiceLoss(matrix, weighting_mode=k["weighting_mode"], smooth=smooth), 1
    if row["class"] == "lovasz_softmax":
        options = {key: k[key] for key in ("classes", "per_image") if key in k}
        return losses.LovaszSoftmaxLoss(ignore_index=k.get("ignore"), **options), 1
    if row["class"] == "lovasz_hinge":
        return losses.LovaszHingeLoss(per_image=k["per_image"]), 1
    if row["class"] == "soft_cldice":
        return losses.SoftClDiceLoss(), 1
    if row["source"] == "boundary-loss":
        background = 0 in k["idc"]
        return {
            "SurfaceLoss": lambda: losses.BoundaryLoss(include_background=background),
            "GeneralizedDice": lambda: losses.GeneralizedDiceLoss(smooth=1e-10, include_background=background),
            "DiceLoss": lambda: losses.DiceLoss(smooth=1e-10, include_background=background),
            "CrossEntropy": lambda: losses.DiceCELoss(lambda_dice=0),
            "FocalLoss": lambda: losses.FocalLoss(),
        }[row["class"]](), 1
    if row["source"] == "nnUNet":
        return losses.TopKCELoss(fraction=k["k"] / 100), 1
    loss = losses.DiceCELoss(
        lambda_dice=0, activation=activation(row), class_weight=k.get("weight"), ignore_index=k.get("ignore_index")
    )
    return loss, math.prod(shape) / shape[1] if k.get("reduction") == "none" else 1


@pytest.mark.parametrize("name", ROWS)
def test_same_as_others(name):
    row = ROWS[name]
    logits = torch.from_numpy(STORED[f"input/{row['input']}/logits"])
    loss, factor = made(row, logits)
    keywords = {}
    if row["target"] == "multi":
        target = torch.from_numpy(STORED[f"input/{row['input']}/multi"])
    else:
        target = torch.from_numpy(STORED[f"input/{row['input']}/labels"])
    one_hot = row["target"] in ("multi", "onehot", "soft") or ("weight" in row["kwargs"] and "Focal" in row["class"])
    if row["class"] == "soft_cldice":
        one_hot = False
    if row["target"] != "multi" and one_hot:
        target = torch.nn.functional.one_hot(target.long(), logits.shape[1]).movedim(-1, 1).double()
        if row["target"] == "soft":
            target = 0.8 * target + 0.2 / logits.shape[1]
    if row["class"] == "lovasz_hinge":
        logits, target, one_hot = logits.flatten(0, 1).unsqueeze(1), target.flatten(0, 1), False
    if one_hot:
        for module in loss.modules():
            module.target_format = "one-hot"
    if row["class"] == "HausdorffDTLoss":
        keywords["spacing"] = 1.0
    if row["class"] == "SurfaceLoss":
        keywords["distance_map"] = torch.from_numpy(STORED[f"boundary_distance_map/{row['input']}"])[
            :, row["kwargs"]["idc"]
        ]
    logits = logits.clone().requires_grad_()
    value = loss(logits, target, **keywords) * factor
    wanted = row["value"] if row["value"] != "array" else STORED[f"value/{name}"].sum()
    tolerance = row.get("tolerance", 1e-12)
    assert value.item() == pytest.approx(wanted, rel=tolerance, abs=tolerance)
    value.backward()
    gradient = STORED[f"grad/{name}"].reshape(logits.shape)
    np.testing.assert_allclose(logits.grad.numpy(), gradient, rtol=0, atol=tolerance * max(1.0, abs(gradient).max()))


@pytest.mark.parametrize("name", ["softmax2d", "softmax3d", "absent2d"])
def test_distance_maps_of_others(name):
    labels = torch.from_numpy(STORED[f"input/{name}/labels"]).long()
    wanted = STORED[f"hausdorff_distance_map/{name}"]
    hot = torch.nn.functional.one_hot(labels, wanted.shape[1]).movedim(-1, 1)
    np.testing.assert_allclose(losses.distance_maps(hot, spacing=1).numpy(), wanted, rtol=1e-15, atol=1e-15)
