"""One module a tool: how it is called, under which keys its values are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import medpy, monai, numpy, panoptica, scipy, simpleitk, surface_distance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Tool(NamedTuple):
    """A tool and the functions that compute what fixtures may hold of it.

    `pair(pred, target, spacing, taus, wanted)` measures two masks,
    `batch(pred, target, row, include_background, wanted)` a batch of label maps, `labels(pred, target, classes)` one
    label map; each returns values by key. `wanted` are the keys the fixture holds: nothing else need be computed.
    `lesions(pred, target, kind, key)` matches the lesions of two masks.
    `maps` holds, by file, functions of the stored arrays, a row's name and the row that yield whole arrays and numbers.
    """

    name: str
    packages: tuple[str, ...]
    pair: Callable[..., dict] | None = None
    batch: Callable[..., dict] | None = None
    labels: Callable[..., dict] | None = None
    maps: Mapping[str, Callable] = {}
    lesions: Callable[..., dict] | None = None


ALL = [
    Tool("numpy", ("numpy", "scipy"), pair=numpy.pair),
    Tool("medpy", ("MedPy",), pair=medpy.pair),
    Tool("monai", ("monai", "torch"), pair=monai.pair, batch=monai.batch),
    Tool("simpleitk", ("SimpleITK",), pair=simpleitk.pair, labels=simpleitk.labels),
    Tool("scipy", ("scipy",), maps={"edt": scipy.edt, "components": scipy.components}),
    Tool("deepmind", ("surface-distance-based-measures",), pair=surface_distance.pair),
    Tool("panoptica", ("panoptica",), lesions=panoptica.lesions),
]
