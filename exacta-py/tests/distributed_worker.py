"""One process of a group: runs every scenario of `test_metrics_distributed` and writes what came of it as JSON."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from exacta import metrics

CASES = [np.random.default_rng(seed).integers(0, 3, (2, 1, 5, 6)) for seed in range(7)]
SCORES = [np.random.default_rng(seed).random((1, 1, 3, 4)) for seed in range(7)]
LABELS = [np.random.default_rng(100 + seed).integers(0, 2, (1, 3, 4)) for seed in range(7)]


def plain(x):
    if isinstance(x, torch.Tensor):
        return ["torch", x.tolist()]
    if isinstance(x, np.ndarray):
        return ["numpy", x.tolist()]
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if hasattr(x, "__dataclass_fields__"):
        return {name: plain(getattr(x, name)) for name in x.__dataclass_fields__}
    return x


def computed(metric):
    """The result, or the class and the text of the error."""
    try:
        return plain(metric.compute())
    except Exception as error:
        return {"error": [cls.__name__ for cls in type(error).__mro__], "text": str(error)}


def share(rank, world):
    """Which of the seven cases a process has: none on rank 0, all others dealt out."""
    return [i for i in range(7) if 1 + i % (world - 1) == rank]


def filled(metric, cases, torch_arrays=True, **options):
    for i in cases:
        pred, target = CASES[i]
        if torch_arrays:
            pred, target = torch.from_numpy(pred), torch.from_numpy(target)
        metric.update(pred, target, **{name: make(i) for name, make in options.items()})
    return metric


def dice(**options):
    return metrics.Dice(num_classes=3, **options)


def collection(names=("dice", "hd95")):
    return metrics.MetricCollection(metrics=list(names), num_classes=3, spacing=(1, 2))


def scored(metric, cases, **options):
    for i in cases:
        metric.update(torch.from_numpy(SCORES[i]), torch.from_numpy(LABELS[i]), **{k: f(i) for k, f in options.items()})
    return metric


def one_hot(channels):
    metric = metrics.Dice(input_format="one-hot")
    x = np.zeros((1, channels, 3, 4))
    metric.update(x, x)
    return metric


def padded(rank, world):
    """Scores 1, 0.5, 0.5, 0, 1 of five cases dealt out in turn, the first of them sent again to fill up."""
    parts = {1.0: ([1, 1], [1, 1]), 0.5: ([1, 1, 1, 0], [1, 0, 0, 0]), 0.0: ([1, 0], [0, 1])}
    metric = metrics.Dice(num_classes=2, include_background=False)
    values = [1.0, 0.5, 0.5, 0.0, 1.0]
    each = math.ceil(len(values) / world)
    for i in range(each * world):
        if i % world == rank:
            pred, target = (np.array([[side]]) for side in parts[values[i % 5]])
            metric.update(pred, target, case_ids=[f"case {i % 5}"])
    return metric


def scenarios(rank, world):
    mine = share(rank, world)
    yield "uneven", filled(dice(), mine)
    yield "numpy", filled(dice(), mine, torch_arrays=False)
    yield "collection", filled(collection(), mine)
    yield "named", filled(dice(), mine, case_ids=lambda i: torch.tensor([70 - i]))
    yield "padded", padded(rank, world)
    yield "calibration", scored(metrics.Calibration(bins=3), mine)
    yield "calibration named", scored(metrics.Calibration(bins=3), [*mine, 6], case_ids=lambda i: [i])
    yield "ranking", scored(metrics.VoxelRanking(), mine)
    yield "ranking named", scored(metrics.VoxelRanking(), [*mine, 0], case_ids=lambda i: [i])
    yield "binned ranking", scored(metrics.VoxelRanking(bins=4), mine)
    overlap = metrics.PooledOverlap(metrics=["dice", "iou"], num_classes=3)
    yield "pooled overlap", filled(overlap, [*mine, 3], case_ids=lambda i: [i])
    yield "nobody", dice()
    yield "nobody ranked", metrics.VoxelRanking()
    empty = dice()
    if rank == world - 1:
        empty.update(np.zeros((0, 3, 3), int), np.zeros((0, 3, 3), int))
    yield "only an empty batch", empty
    # What must raise everywhere.
    yield "settings", filled(dice(both_empty=float(rank)), mine)
    yield "classes", filled(dice() if rank else metrics.IoU(num_classes=3), mine)
    yield "order", filled(collection(("dice", "iou") if rank else ("iou", "dice")), mine)
    yield "columns", one_hot(2 + rank)
    yield "names on one", filled(dice(), [rank], **({"case_ids": lambda i: [i]} if rank else {}))
    yield "one name for two", filled(dice(), [rank], case_ids=lambda i: [0])
    yield "bins", scored(metrics.Calibration(bins=3 + rank), mine)
    yield "ranked columns", ranked_columns(rank)
    # And the group still works.
    yield "again", filled(dice(), mine)


def ranked_columns(rank):
    metric = metrics.VoxelRanking(multilabel=True)
    x = np.full((1, 2 + rank, 3, 4), 0.5)
    metric.update(x, x > 1)
    return metric


def main():
    rank, world, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    store = dist.FileStore(str(folder / "store"), world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    results = {}
    for name, metric in scenarios(rank, world):
        first, second = computed(metric), computed(metric)
        assert repr(first) == repr(second), name
        results[name] = first
    (folder / f"{rank}.json").write_text(json.dumps(results))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
