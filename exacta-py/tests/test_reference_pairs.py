"""124 pairs of binary masks, measured by other tools: every stored value is reproduced, or the difference is named.

`ROWS` says which call stands for which value and how closely they must agree; `DIFFERENCES` holds the inputs (a mask is
empty, or covers the image) for which a tool has another convention: what it says, what we say, why, and the option that
gives its value where there is one.

Not observable through the public functions, since every `combine` is symmetric: which of the two directed statistics
belongs to which direction. The directed values are therefore compared as a set of two.
"""

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from exacta import functional

nan, inf = math.nan, math.inf
FIXTURES = Path(__file__).parent / "fixtures"
PAIRS = json.loads((FIXTURES / "pairs.json").read_text())
LARGEST = 1.7976931348623157e308


class Pair:
    """One pair of masks as a batch of one, and our value for it."""

    def __init__(self, name: str) -> None:
        packed = np.load(FIXTURES / "pairs.npz")[name][None]
        self.pred, self.target = (packed & 1).astype(bool), (packed >> 1 & 1).astype(bool)
        self.spacing = PAIRS[name]["spacing"]
        self.situations = [
            situation
            for situation, holds in (
                ("both empty", not self.pred.any() and not self.target.any()),
                ("pred empty", not self.pred.any() and self.target.any()),
                ("target empty", self.pred.any() and not self.target.any()),
                ("target full", self.target.all()),
            )
            if holds
        ]
        self.no_surface = not self.pred.any() or not self.target.any()

    def value(self, function: str, pred=None, target=None, **options) -> float:
        pred = self.pred if pred is None else pred
        target = self.target if target is None else target
        arguments = {"num_classes": 2, "include_background": False, **options}
        return getattr(functional, function)(pred, target, **arguments)[..., -1].item()

    def surface(self, function: str, **options) -> float:
        return self.value(function, spacing=self.spacing, **options)

    @functools.cached_property
    def counts(self) -> dict[str, float]:
        """The four counts, as sizes of masked images: exact numbers of voxels."""
        size = "volume" if self.pred.ndim == 4 else "area"
        p, t = self.pred, self.target
        unit = {"spacing": 1, "include_background": True}
        return {
            "tp": self.value(f"predicted_{size}", mask=t, **unit) if t.any() else 0.0,
            "fp": self.value(f"predicted_{size}", mask=~t, **unit) if not t.all() else 0.0,
            "fn": self.value(f"target_{size}", mask=~p, **unit) if not p.all() else 0.0,
            # Background of both: class 1 of the swapped labels.
            "tn": self.value(f"predicted_{size}", pred=~p, target=~t, mask=~t, **unit) if not t.all() else 0.0,
        }

    def edge_voxels(self, mask: np.ndarray) -> float:
        """Boundary voxels of a mask: against one of them alone, nsd at tolerance 0 is 2 / (n + 1)."""
        if not mask.any():
            return 0.0
        # Nothing of the mask comes before its first voxel, so the neighbour before it on axis 0 is background.
        one = np.zeros_like(mask)
        one.flat[np.flatnonzero(mask)[0]] = True
        score = self.value("nsd", pred=mask, target=one, spacing=1, tolerance=0)
        n = round(2 / score - 1)
        assert score == 2 / (n + 1)
        return n

    def rate(self, part: str, other: str) -> float:
        total = self.counts[part] + self.counts[other]
        return self.counts[part] / total if total else nan


def exact(got: float, want: float) -> bool:
    return got == want


def one_ulp(got: float, want: float) -> bool:
    return abs(got - want) <= np.spacing(abs(want))


def within(relative: float) -> Callable[[float, float], bool]:
    return lambda got, want: abs(got - want) <= relative * abs(want)


def within_of_one(absolute: float) -> Callable[[float, float], bool]:
    """For differences of rates, whose error is that of numbers near 1."""
    return lambda got, want: abs(got - want) <= absolute


def agree(rule: Callable[[float, float], bool], got: float, want: float) -> bool:
    if math.isnan(want) or math.isinf(want):
        return got == want or (math.isnan(got) and math.isnan(want))
    return math.isfinite(got) and rule(got, want)


class Row(NamedTuple):
    tool: str
    key: str
    rule: Callable[[float, float], bool]
    function: str | Callable[[Pair], float]
    options: dict | None = None


MEDPY = within(1e-14)
SINGLE = within(1e-6)
RANK = within(1e-5)  # MONAI's percentile has a single precision rank
RELOADED = within(1e-5)  # MetricsReloaded's counts pass through single precision

ROWS = [
    *(Row("numpy", key, exact, lambda pair, key=key: pair.counts[key]) for key in ("tp", "fp", "fn", "tn")),
    Row("numpy", "edge_voxels_pred", exact, lambda pair: pair.edge_voxels(pair.pred)),
    Row("numpy", "edge_voxels_target", exact, lambda pair: pair.edge_voxels(pair.target)),
    #
    Row("medpy", "dc", exact, "dice"),
    Row("medpy", "jc", exact, "iou"),
    Row("medpy", "precision", exact, "precision"),
    Row("medpy", "recall", exact, "sensitivity"),
    Row("medpy", "sensitivity", exact, "sensitivity"),
    Row("medpy", "specificity", exact, "specificity"),
    Row("medpy", "ravd", exact, "relative_volume_difference"),
    Row("medpy", "hd", exact, "hausdorff_distance", {"combine": "max"}),
    # numpy.percentile interpolates from both sides.
    Row("medpy", "hd95", one_ulp, "hd95", {"combine": "pooled"}),
    Row("medpy", "assd", MEDPY, "assd", {"combine": "pooled"}),
    #
    Row("monai", "dice", SINGLE, "dice"),
    Row("monai", "dice_ignore_empty", SINGLE, "dice"),
    Row("monai", "iou", SINGLE, "iou"),
    Row("monai", "iou_ignore_empty", SINGLE, "iou"),
    Row("monai", "hd", within(2e-7), "hausdorff_distance", {"combine": "max"}),
    Row("monai", "hd95", RANK, "hd95", {"combine": "max"}),
    Row("monai", "hd50", RANK, "hausdorff_distance", {"combine": "max", "percentile": 50}),
    Row("monai", "assd", SINGLE, "assd", {"combine": "pooled"}),
    Row("monai", "nsd", SINGLE, "nsd"),
    Row("monai", "confusion/sensitivity", SINGLE, "sensitivity"),
    Row("monai", "confusion/specificity", SINGLE, "specificity"),
    Row("monai", "confusion/precision", SINGLE, "precision"),
    Row("monai", "confusion/miss rate", SINGLE, lambda pair: pair.rate("fn", "tp")),
    Row("monai", "confusion/fall out", SINGLE, lambda pair: pair.rate("fp", "tn")),
    Row("monai", "confusion/false discovery rate", SINGLE, lambda pair: pair.rate("fp", "tp")),
    Row("monai", "confusion/threat score", SINGLE, "iou"),
    Row("monai", "confusion/f1 score", SINGLE, "dice"),
    Row("monai", "confusion/balanced accuracy", SINGLE, lambda pair: balanced_accuracy(pair)),
    Row("monai", "confusion/informedness", within_of_one(1e-6), lambda pair: 2 * balanced_accuracy(pair) - 1),
    #
    Row("metricsreloaded", "dsc", RELOADED, "dice"),
    Row("metricsreloaded", "fbeta_1", RELOADED, "dice"),
    Row("metricsreloaded", "iou", RELOADED, "iou"),
    Row("metricsreloaded", "ppv", RELOADED, "precision"),
    Row("metricsreloaded", "sensitivity", RELOADED, "sensitivity"),
    Row("metricsreloaded", "ior", RELOADED, "sensitivity"),
    Row("metricsreloaded", "specificity", RELOADED, "specificity"),
    Row("metricsreloaded", "ba", RELOADED, lambda pair: balanced_accuracy(pair)),
    Row("metricsreloaded", "youden_ind", within_of_one(1e-5), lambda pair: 2 * balanced_accuracy(pair) - 1),
    Row("metricsreloaded", "avdr", RELOADED, "relative_volume_difference", {"absolute": True}),
    Row("metricsreloaded", "hd", within(1e-14), "hausdorff_distance", {"combine": "max"}),
    Row("metricsreloaded", "hd_perc", within(1e-14), "hd95", {"combine": "max"}),
    Row("metricsreloaded", "assd", within(1e-14), "assd", {"combine": "pooled"}),
    Row("metricsreloaded", "masd", within(1e-14), "masd"),
    Row("metricsreloaded", "nsd", exact, "nsd"),
    #
    Row("simpleitk", "DiceCoefficient", one_ulp, "dice"),
    Row("simpleitk", "JaccardCoefficient", exact, "iou"),
    Row("simpleitk", "VolumeSimilarity", exact, "volume_similarity", {"convention": "itk"}),
    Row("simpleitk", "FalseNegativeError", exact, lambda pair: pair.rate("fn", "tp")),
    Row("simpleitk", "FalsePositiveError", exact, lambda pair: pair.rate("fp", "tn")),
    Row("simpleitk", "FalseDiscoveryRate", exact, lambda pair: pair.rate("fp", "tp")),
    #
    Row("panoptica", "DSC", exact, "dice"),
    Row("panoptica", "IOU", exact, "iou"),
    Row("panoptica", "RVD", exact, "relative_volume_difference"),
    Row("panoptica", "RVAE", exact, "relative_volume_difference", {"absolute": True}),
    Row("panoptica", "HD", exact, "hausdorff_distance", {"combine": "max"}),
    Row("panoptica", "HD95", within(1e-14), "hd95", {"combine": "pooled"}),
    Row("panoptica", "ASSD", within(1e-14), "assd", {"combine": "mean"}),
    #
    Row("sklearn", "f1", within(1e-12), "dice"),
    Row("sklearn", "jaccard", within(1e-12), "iou"),
    Row("sklearn", "precision", within(1e-12), "precision"),
    Row("sklearn", "recall", within(1e-12), "sensitivity"),
    Row("sklearn", "balanced_accuracy", within(1e-12), lambda pair: balanced_accuracy(pair)),
    #
    Row("deepmind", "dice", exact, "dice"),
    Row("meshmetrics_v0.1.0", "dsc", exact, "dice"),
    Row("meshmetrics_head", "dsc", exact, "dice"),
    Row("meshmetrics_head", "iou", exact, "iou"),
]


def balanced_accuracy(pair: Pair) -> float:
    return (pair.value("sensitivity") + pair.value("specificity")) / 2


class Directed(NamedTuple):
    tool: str
    keys: tuple[str, str]
    rule: Callable[[float, float], bool]
    function: str


DIRECTED = [
    Directed("medpy", ("asd", "asd_target_to_pred"), MEDPY, "assd"),
    Directed("monai", ("asd_pred_to_target", "asd_target_to_pred"), SINGLE, "assd"),
    Directed("monai", ("hd_pred_to_target", "hd_target_to_pred"), within(2e-7), "hausdorff_distance"),
    Directed("monai", ("hd95_pred_to_target", "hd95_target_to_pred"), RANK, "hd95"),
]


class Difference(NamedTuple):
    theirs: float | str
    ours: float
    why: str
    option: dict | None = None


REFUSED = "an error"
VARIES = "no one value"
REFUSES_EMPTY = "the tool raises for an empty mask"
NO_DISTANCE = "a missed or spurious structure is infinitely far; nothing to measure is NaN"
MISSED_COUNTS = "NaN would drop a missed or spurious structure from a mean; here it is infinite"
AGREEMENT = "the tool calls two empty masks perfect agreement; here nothing was measured"
ZERO = "the tool gives 0 for 0/0; here 0/0 is NaN"
ITK_FILL = "ITK divides by the larger of a sum and a tiny number, or says inf, where a side is empty"

DIFFERENCES: dict[tuple[str, str], dict[str, Difference]] = {}


def differ(tool: str, keys: str | list[str], situation: str, *difference) -> None:
    for key in [keys] if isinstance(keys, str) else keys:
        DIFFERENCES.setdefault((tool, key), {})[situation] = Difference(*difference)


differ("medpy", ["dc", "jc"], "both empty", 1.0, nan, AGREEMENT, {"both_empty": 1.0})
for empty in ("both empty", "pred empty"):
    differ("medpy", "precision", empty, 0.0, nan, ZERO, {"zero_division": 0.0})
for empty in ("both empty", "target empty"):
    differ("medpy", ["recall", "sensitivity"], empty, 0.0, nan, ZERO, {"zero_division": 0.0})
    differ("medpy", "ravd", empty, REFUSED, nan, REFUSES_EMPTY)
differ("medpy", "specificity", "target full", 0.0, nan, ZERO, {"zero_division": 0.0})
for empty, ours in (("both empty", nan), ("pred empty", inf), ("target empty", inf)):
    differ("medpy", ["hd", "hd95", "assd"], empty, REFUSED, ours, NO_DISTANCE)
    differ("panoptica", "HD", empty, REFUSED, ours, NO_DISTANCE)

differ("monai", ["dice", "iou"], "both empty", 1.0, nan, AGREEMENT, {"both_empty": 1.0})
SPURIOUS = "with ignore_empty=True MONAI drops what was found where nothing is; here that scores 0"
differ("monai", ["dice_ignore_empty", "iou_ignore_empty"], "target empty", nan, 0.0, SPURIOUS)
for empty in ("pred empty", "target empty"):
    differ("monai", ["hd95", "hd50"], empty, nan, inf, MISSED_COUNTS, {"one_empty": nan})
    differ("metricsreloaded", ["hd", "hd_perc", "assd", "masd"], empty, nan, inf, MISSED_COUNTS, {"one_empty": nan})
    differ("metricsreloaded", "nsd", empty, VARIES, 0.0, "an empty mask has distance 0 to its own edge map there")
    differ("panoptica", "HD95", empty, VARIES, inf, "distances to an empty mask are taken to its last index there")
    differ("panoptica", "ASSD", empty, nan, inf, MISSED_COUNTS, {"one_empty": nan})
differ("panoptica", "HD95", "both empty", REFUSED, nan, NO_DISTANCE)

differ("metricsreloaded", ["hd", "hd_perc", "assd", "masd"], "both empty", 0.0, nan, AGREEMENT, {"both_empty": 0.0})
differ("metricsreloaded", ["dsc", "fbeta_1", "nsd"], "both empty", 1.0, nan, AGREEMENT, {"both_empty": 1.0})
differ("metricsreloaded", "ppv", "pred empty", 0.0, nan, ZERO, {"zero_division": 0.0})

for measure in ("DiceCoefficient", "JaccardCoefficient", "VolumeSimilarity"):
    fill = inf if measure == "DiceCoefficient" else LARGEST
    option = "zero_division" if measure == "VolumeSimilarity" else "both_empty"
    differ("simpleitk", measure, "both empty", fill, nan, ITK_FILL, {option: fill})
differ("simpleitk", ["FalseNegativeError", "FalseDiscoveryRate"], "both empty", LARGEST, nan, ITK_FILL)
differ("simpleitk", "FalsePositiveError", "both empty", LARGEST, 0.0, ITK_FILL)
differ("simpleitk", "FalseNegativeError", "target empty", LARGEST, nan, ITK_FILL)
differ("simpleitk", "FalseDiscoveryRate", "pred empty", LARGEST, nan, ITK_FILL)
differ("simpleitk", "FalsePositiveError", "pred empty", LARGEST, VARIES, ITK_FILL)

differ("panoptica", ["DSC", "IOU"], "both empty", 0.0, nan, ZERO, {"both_empty": 0.0})
differ("panoptica", ["RVD", "RVAE"], "both empty", 0.0, nan, ZERO, {"zero_division": 0.0})
differ("panoptica", ["RVD", "RVAE"], "target empty", REFUSED, nan, "the tool divides by the empty target")

differ("sklearn", "jaccard", "both empty", 0.0, nan, ZERO, {"both_empty": 0.0})
ONE_CLASS = "scikit-learn averages over the classes that the target has; here a rate without a target is NaN"
for case in ("both empty", "target empty", "target full"):
    differ("sklearn", "balanced_accuracy", case, VARIES, nan, ONE_CLASS)
differ("meshmetrics_head", ["dsc", "iou"], "both empty", 1.0, nan, AGREEMENT, {"both_empty": 1.0})


def stored(values: dict, key: str) -> object:
    for part in key.split("/"):
        values = values[part]
    return values


def matches(theirs: float | str, value: object) -> bool:
    if theirs == VARIES:
        return True
    if theirs == REFUSED:
        return isinstance(value, dict) and "error" in value
    return not isinstance(value, dict) and agree(exact, float(value), theirs)


def ours(pair: Pair, row: Row, **extra) -> float:
    if callable(row.function):
        return row.function(pair)
    call = pair.surface if row.function in ("hausdorff_distance", "hd95", "assd", "masd", "nsd") else pair.value
    return call(row.function, **(row.options or {}), **extra)


def check(pair: Pair, row: Row, value: object, bounds: list | None, **extra) -> list[str]:
    """What is wrong with one stored value, if anything."""
    for situation in pair.situations:
        difference = DIFFERENCES.get((row.tool, row.key), {}).get(situation)
        if difference is None:
            continue
        faults = [] if matches(difference.theirs, value) else [f"the tool gives {value}, not {difference.theirs}"]
        got = ours(pair, row, **extra)
        if difference.ours != VARIES and not agree(exact, got, difference.ours):
            faults.append(f"{got} where {difference.ours} is documented")
        if difference.option and not matches(got := ours(pair, row, **extra, **difference.option), value):
            faults.append(f"{got} with {difference.option}")
        return faults
    if isinstance(value, dict):
        return [f"the tool refuses ({value['error']}), and no difference is documented"]
    got, want = ours(pair, row, **extra), float(value)
    if agree(row.rule, got, want) or (bounds and min(bounds) <= got <= max(bounds)):
        return []
    return [f"{got!r}, want {want!r}"]


@pytest.mark.parametrize("name", PAIRS)
def test_values(name):
    pair, faults = Pair(name), []
    for row in ROWS:
        values = PAIRS[name][row.tool]
        value = stored(values, row.key)
        if row.function == "nsd":
            bounds = values.get(f"{row.key}_range", {})
            for tau in PAIRS[name]["taus"]:
                found = check(pair, row, value[str(tau)], bounds.get(str(tau)), tolerance=tau)
                faults += [f"{row.tool} {row.key} at {tau}: {fault}" for fault in found]
        else:
            faults += [f"{row.tool} {row.key}: {f}" for f in check(pair, row, value, values.get(f"{row.key}_range"))]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", PAIRS)
def test_directed_values(name):
    pair, faults = Pair(name), []
    for row in DIRECTED:
        values = [PAIRS[name][row.tool][key] for key in row.keys]
        largest, mean = (pair.surface(row.function, combine=c) for c in ("max", "mean"))
        if pair.no_surface:
            # Refused, NaN or inf, as DIFFERENCES says for the symmetric value of the same tool.
            assert not any(isinstance(v, float) for v in values)
            assert math.isnan(largest) if "both empty" in pair.situations else largest == inf
            continue
        for got, want in ((largest, max(values)), (mean, sum(values) / 2)):
            if not agree(row.rule, got, want):
                faults.append(f"{row.tool} {row.keys}: {got!r}, want {want!r}")
    assert not faults, "\n".join(faults)


def test_every_stored_value_is_compared():
    compared = {(row.tool, row.key.split("/")[0]) for row in ROWS}
    compared |= {(row.tool, key) for row in DIRECTED for key in row.keys}
    compared |= {(tool, f"{key}_range") for tool, key in compared}
    confusion = {row.key.split("/")[1] for row in ROWS if row.key.startswith("confusion/")}
    for name, values in PAIRS.items():
        for tool, keys in values.items():
            if tool not in ("shape", "spacing", "taus"):
                assert {(tool, key) for key in keys} <= compared, name
        assert values["monai"]["confusion"].keys() <= confusion


def test_every_difference_occurs():
    situations = {s for name in PAIRS for s in Pair(name).situations}
    rows = {(row.tool, row.key) for row in ROWS}
    for where, found in DIFFERENCES.items():
        assert where in rows
        assert found.keys() <= situations
