"""Metrics that collect batches: a data set's scores and means, case by case or over all voxels.

Each class has the name and the arguments of a function of `exacta.functional`; its `update` measures a batch and keeps
the scores, `compute` summarises all of them, and `reset` forgets them. Nothing of the arrays is kept.

==============================================  ====================================================================
scores of each case, and their means            `Dice`, `IoU`, `Sensitivity`, `Precision`, `Specificity`,
                                                `VolumeSimilarity`, `RelativeVolumeDifference`; volumes and areas;
                                                `HausdorffDistance`, `HD95`, `ASSD`, `MASD`, `NSD`, `ClDice`;
                                                `BrierScore`, `NegativeLogLikelihood`, `ExpectedCalibrationError`,
                                                `AveragePrecision`, `AUROC`
several of them from one read                   `MetricCollection`
the voxels of all cases together                `PooledOverlap`, `Calibration`, `VoxelRanking`
your own                                        a subclass of `PerCaseMetric`
==============================================  ====================================================================

**Means.** `MetricResult.per_class` is the mean over the cases whose score is not NaN, and `count` says how many these
are; `mean` is the mean of `per_class`. An infinite score (a missed structure) is not left out: give the penalty of your
protocol as `one_empty`. Means are exact sums, rounded once, so that neither the order of cases, nor batches, nor
processes change them.

**Libraries.** `update` returns its scores in the library of `pred`, `compute` in that of the first `pred`. PyTorch is
neither needed nor imported.

**Cases by name.** With ``update(.., case_ids=[..])`` a case that comes again, such as a padded sampler sends, counts
once, and rows are in the order of the names. One name with two different scores is an error.

**Several processes.** Under `torch.distributed` only `compute` communicates: every process calls it, also one without
updates, and all get the same result over all cases. Different settings raise on all processes. States can also be moved
by hand: `state_dict`, `load_state_dict`, `merge`. Objects pickle and copy.

**Errors.** Settings are checked by the constructor, but for those that need an array (`spacing`, `tolerance`, a missing
`num_classes`); the others, and `exacta.ExactaRuntimeError` where nothing was collected, as in `exacta.functional`.
"""

from ._base import MetricResult, PerCaseMetric
from ._collection import MetricCollection
from ._counts import PooledOverlap, PooledResult
from ._overlap import Dice, IoU, Precision, RelativeVolumeDifference, Sensitivity, Specificity, VolumeSimilarity
from ._pooled import Calibration, VoxelRanking
from ._probability import AUROC, AveragePrecision, BrierScore, ExpectedCalibrationError, NegativeLogLikelihood
from ._shape import ASSD, HD95, MASD, NSD, ClDice, HausdorffDistance
from ._size import AreaError, PredictedArea, PredictedVolume, TargetArea, TargetVolume, VolumeError

__all__ = [
    "ASSD",
    "AUROC",
    "HD95",
    "MASD",
    "NSD",
    "AreaError",
    "AveragePrecision",
    "BrierScore",
    "Calibration",
    "ClDice",
    "Dice",
    "ExpectedCalibrationError",
    "HausdorffDistance",
    "IoU",
    "MetricCollection",
    "MetricResult",
    "NegativeLogLikelihood",
    "PerCaseMetric",
    "PooledOverlap",
    "PooledResult",
    "Precision",
    "PredictedArea",
    "PredictedVolume",
    "RelativeVolumeDifference",
    "Sensitivity",
    "Specificity",
    "TargetArea",
    "TargetVolume",
    "VolumeError",
    "VolumeSimilarity",
    "VoxelRanking",
]
