"""Panoptica: `Panoptica_Evaluator` on masks of lesions and on instance maps."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

from panoptica import (
    ConnectedComponentsInstanceApproximator,
    InputType,
    MaxBipartiteMatching,
    Metric,
    NaiveThresholdMatching,
    Panoptica_Evaluator,
)
from panoptica.instance_matcher import MaximizeMergeMatching
from store import attempt

if TYPE_CHECKING:
    import numpy as np

MATCHERS = {
    "naive": NaiveThresholdMatching,
    "bipartite": MaxBipartiteMatching,
    "merge": MaximizeMergeMatching,
    "many_to_one": lambda **options: NaiveThresholdMatching(allow_many_to_one=True, **options),
}
SCORES = {"iou": Metric.IOU, "dsc": Metric.DSC}
VALUES = ("tp", "fp", "fn", "prec", "rec", "rq", "sq", "sq_std", "pq", "sq_dsc", "sq_dsc_std", "pq_dsc")


def lesions(pred: np.ndarray, target: np.ndarray, kind: str, key: str) -> dict:
    """Counts and qualities of one pair; `kind` and `key` are those of the fixture. Values of its distances are left."""
    matcher, score, threshold = key.split("/")
    instances = kind == "instances"
    evaluator = Panoptica_Evaluator(
        expected_input=InputType.UNMATCHED_INSTANCE if instances else InputType.SEMANTIC,
        instance_approximator=None if instances else ConnectedComponentsInstanceApproximator(),
        instance_matcher=MATCHERS[matcher](matching_metric=SCORES[score], matching_threshold=float(threshold)),
        instance_metrics=[Metric.DSC, Metric.IOU],
    )
    with contextlib.redirect_stdout(io.StringIO()):  # it asks to be cited
        found = evaluator.evaluate(pred, target, verbose=False)["ungrouped"]
    return {name: attempt(getattr, found, name) for name in VALUES}
