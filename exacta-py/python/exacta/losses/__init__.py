"""Training losses for segmentation, as modules of PyTorch.

Every loss takes logits ``(B, C, *spatial)`` and a target, and returns a tensor with a gradient. Half logits are
computed
in float32. Needs PyTorch: ``pip install exacta[torch]``.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover - tested in an interpreter without it
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "exacta.losses needs PyTorch, which is not installed; pip install 'exacta[torch]'", name="torch"
    ) from error

from ._cldice import SoftClDiceLoss, soft_skeletonize
from ._combined import DiceCELoss, DiceFocalLoss, GeneralizedDiceCELoss
from ._deep import DeepSupervisionLoss
from ._focal import FocalLoss
from ._geometry import BoundaryLoss, HausdorffDTLoss, distance_maps
from ._lovasz import LovaszHingeLoss, LovaszSoftmaxLoss
from ._overlap import DiceLoss, FocalTverskyLoss, GeneralizedDiceLoss, TverskyLoss
from ._topk import DiceTopKCELoss, TopKCELoss
from ._wasserstein import GeneralizedWassersteinDiceLoss

__all__ = [
    "BoundaryLoss",
    "DeepSupervisionLoss",
    "DiceCELoss",
    "DiceFocalLoss",
    "DiceLoss",
    "DiceTopKCELoss",
    "FocalLoss",
    "FocalTverskyLoss",
    "GeneralizedDiceCELoss",
    "GeneralizedDiceLoss",
    "GeneralizedWassersteinDiceLoss",
    "HausdorffDTLoss",
    "LovaszHingeLoss",
    "LovaszSoftmaxLoss",
    "SoftClDiceLoss",
    "TopKCELoss",
    "TverskyLoss",
    "distance_maps",
    "soft_skeletonize",
]
