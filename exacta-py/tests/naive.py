"""Every metric written so that it can be seen to be right: NumPy, loops, distances between all pairs of surface voxels.

Small arrays only. Nothing here imports exacta.
"""

import math

import numpy as np

nan, inf = math.nan, math.inf


def class_masks(labels, input_format, num_classes, include_background):
    """Boolean masks (B, K, *S)."""
    if input_format == "one-hot":
        masks = np.asarray(labels) == 1
    else:
        labels = np.asarray(labels)
        masks = np.stack([labels == c for c in range(num_classes)], axis=1)
    return masks if include_background else masks[:, 1:]


def counts(pred, target, counted):
    """TP, FP, FN, TN of boolean arrays over the counted voxels, as Python integers."""
    pairs = ((pred & target), (pred & ~target), (~pred & target), (~pred & ~target))
    return tuple(int((pair & counted).sum()) for pair in pairs)


def divide(a, b, otherwise):
    return float(a) / float(b) if b else otherwise


def overlap(name, tp, fp, fn, tn, both_empty=nan, zero_division=nan, convention="taha", absolute=False):
    p, t = tp + fp, tp + fn
    if name == "dice":
        return divide(2 * tp, 2 * tp + fp + fn, both_empty)
    if name == "iou":
        return divide(tp, tp + fp + fn, both_empty)
    if name == "sensitivity":
        return divide(tp, tp + fn, zero_division)
    if name == "precision":
        return divide(tp, tp + fp, zero_division)
    if name == "specificity":
        return divide(tn, tn + fp, zero_division)
    if name == "volume_similarity" and convention == "itk":
        return divide(2 * (p - t), p + t, zero_division)
    if name == "volume_similarity":
        return 1.0 - divide(abs(p - t), p + t, nan) if p + t else zero_division
    if name == "relative_volume_difference":
        return divide(abs(p - t) if absolute else p - t, t, zero_division)
    raise KeyError(name)


def size(name, tp, fp, fn, tn, spacing, unit=None, absolute=False):
    if tp + fp + fn + tn == 0:
        return nan
    scale = 1.0
    for s in spacing:
        scale *= float(s)
    scale /= {"ml": 1000.0, "cm2": 100.0}.get(unit, 1.0)
    if name.startswith("predicted"):
        return (tp + fp) * scale
    if name.startswith("target"):
        return (tp + fn) * scale
    return (abs(fp - fn) if absolute else fp - fn) * scale


def surface_voxels(mask):
    """Coordinates (N, ndim) of the foreground voxels with a face neighbour that is background or outside."""
    padded = np.pad(mask, 1)
    inner = np.ones_like(mask)
    middle = tuple(slice(1, -1) for _ in mask.shape)
    for axis in range(mask.ndim):
        for step in (-1, 1):
            inner &= np.roll(padded, step, axis)[middle]
    return np.argwhere(mask & ~inner)


def directed_distances(a, b, spacing):
    """Sorted distances from each surface voxel of a to the nearest of b."""
    squared = np.zeros((len(a), len(b)))
    for axis, s in enumerate(spacing):
        squared += ((a[:, None, axis] - b[None, :, axis]) * float(s)) ** 2
    return np.sort(np.sqrt(squared.min(axis=1)))


def percentile(d, q):
    if q == 100:
        return float(d[-1])
    position = (q / 100) * (len(d) - 1)
    low = math.floor(position)
    high = min(low + 1, len(d) - 1)
    return float(d[low] + (d[high] - d[low]) * (position - low))


def surface(name, pred, target, spacing, both_empty=nan, one_empty=inf, **options):
    """A surface metric of two boolean images."""
    if not pred.any() and not target.any():
        return both_empty
    if not pred.any() or not target.any():
        return one_empty
    p, t = surface_voxels(pred), surface_voxels(target)
    to_target, to_pred = directed_distances(p, t, spacing), directed_distances(t, p, spacing)
    if name == "nsd":
        tau = options["tolerance"]
        return float((to_target <= tau).sum() + (to_pred <= tau).sum()) / float(len(p) + len(t))
    if name in ("assd", "masd"):
        combine = "mean" if name == "masd" else options.get("combine", "pooled")
        statistic = lambda d: float(math.fsum(d)) / len(d)  # noqa: E731
    else:
        combine = options.get("combine", "max")
        q = 95.0 if name == "hd95" else options.get("percentile", 100.0)
        statistic = lambda d: percentile(d, q)  # noqa: E731
    if combine == "pooled":
        return statistic(np.sort(np.concatenate([to_target, to_pred])))
    a, b = statistic(to_target), statistic(to_pred)
    return max(a, b) if combine == "max" else (a + b) / 2


OVERLAP = (
    "dice",
    "iou",
    "sensitivity",
    "precision",
    "specificity",
    "volume_similarity",
    "relative_volume_difference",
)
SIZE = ("predicted_volume", "target_volume", "volume_error", "predicted_area", "target_area", "area_error")
SURFACE = ("hausdorff_distance", "hd95", "assd", "masd", "nsd")


def measure(
    name,
    pred,
    target,
    *,
    input_format="index",
    num_classes=None,
    include_background=True,
    ignore_index=None,
    mask=None,
    spacing=1.0,
    **options,
):
    """What exacta.functional.<name> returns for valid NumPy arrays."""
    pred, target = np.asarray(pred), np.asarray(target)
    batch = pred.shape[0]
    spatial = pred.shape[1:] if input_format == "index" else pred.shape[2:]
    counted = np.ones((batch, *spatial), bool) if mask is None else np.asarray(mask, bool).reshape(batch, *spatial)
    if ignore_index is not None:
        counted = counted & (target != ignore_index)
    p = class_masks(pred, input_format, num_classes, include_background)
    t = class_masks(target, input_format, num_classes, include_background)
    rows = np.broadcast_to(np.asarray(spacing, float), (batch, len(spatial)))
    result = np.empty(p.shape[:2])
    for b in range(batch):
        for k in range(p.shape[1]):
            if name in SURFACE:
                chosen = dict(options)
                if name == "nsd":
                    chosen["tolerance"] = float(np.broadcast_to(options["tolerance"], p.shape[1:2])[k])
                    chosen.setdefault("one_empty", 0.0)
                result[b, k] = surface(name, p[b, k], t[b, k], rows[b], **chosen)
            elif name in OVERLAP:
                result[b, k] = overlap(name, *counts(p[b, k], t[b, k], counted[b]), **options)
            else:
                result[b, k] = size(name, *counts(p[b, k], t[b, k], counted[b]), rows[b], **options)
    return result
