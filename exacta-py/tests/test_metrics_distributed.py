"""Stateful metrics in real process groups of two and three: the same result on every process, or the same error."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch.distributed")

import distributed_worker as worker
from exacta import metrics

WORKER = Path(worker.__file__)
TIMEOUT = 300


@pytest.fixture(scope="module", params=[2, 3])
def results(request, tmp_path_factory):
    """What each process of a group found, by scenario."""
    world, folder = request.param, tmp_path_factory.mktemp(f"group{request.param}")
    command = [sys.executable, str(WORKER)]
    processes = [
        subprocess.Popen([*command, str(rank), str(world), str(folder)], stderr=subprocess.PIPE, text=True)
        for rank in range(world)
    ]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=TIMEOUT)
            assert process.returncode == 0, errors
    finally:
        for process in processes:
            process.kill()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(world)]


def agreed(results, name):
    """The result of a scenario, which every process must have."""
    found = [repr(result[name]) for result in results]
    assert len(set(found)) == 1, found
    return results[0][name]


def check(results, name, metric, library="torch"):
    """The group found what one process finds that has all cases, bit for bit, in the order of the processes."""
    found, expected = agreed(results, name), worker.plain(metric.compute())
    assert repr(found).replace(library, "torch") == repr(expected).replace("numpy", "torch")


def in_order(results):
    """The seven cases in the order in which processes have them."""
    world = len(results)
    return [i for rank in range(world) for i in worker.share(rank, world)]


def test_scores_of_all_processes(results):
    order = in_order(results)
    check(results, "uneven", worker.filled(worker.dice(), order))
    check(results, "numpy", worker.filled(worker.dice(), order, torch_arrays=False), "numpy")
    check(results, "again", worker.filled(worker.dice(), order))
    check(results, "collection", worker.filled(worker.collection(), order))


def test_names_order_cases_whatever_process_has_them(results):
    check(results, "named", worker.filled(worker.dice(), range(7), case_ids=lambda i: [70 - i]))
    assert agreed(results, "named")["case_ids"] == list(range(64, 71))


def test_a_padded_sampler_counts_each_case_once(results):
    found = agreed(results, "padded")
    assert found["per_case"] == ["numpy", [[1.0], [0.5], [0.5], [0.0], [1.0]]]
    assert found["mean"] == ["numpy", 0.6]
    assert found["count"] == ["numpy", [5]]
    assert found["case_ids"] == [f"case {i}" for i in range(5)]


def test_pooled_metrics_do_not_depend_on_the_split(results):
    for name, metric in (
        ("calibration", metrics.Calibration(bins=3)),
        ("calibration named", metrics.Calibration(bins=3)),
        ("ranking", metrics.VoxelRanking()),
        ("ranking named", metrics.VoxelRanking()),
        ("binned ranking", metrics.VoxelRanking(bins=4)),
    ):
        check(results, name, worker.scored(metric, range(7)))


def test_pooled_counts(results):
    metric = metrics.PooledOverlap(metrics=["dice", "iou"], num_classes=3)
    check(results, "pooled overlap", worker.filled(metric, range(7)))


def test_nobody_has_a_case(results):
    for name in ("nobody", "nobody ranked"):
        found = agreed(results, name)
        assert "ExactaRuntimeError" in found["error"]
        assert "update" in found["text"]
    assert np.isnan(agreed(results, "only an empty batch")["per_class"][1]).all()
    assert agreed(results, "only an empty batch")["count"][1] == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("settings", "both_empty"),
        ("classes", "Dice"),
        ("order", "metrics"),
        ("columns", "classes"),
        ("names on one", "case_ids"),
        ("one name for two", "case 0"),
        ("bins", "bins"),
        ("ranked columns", "columns"),
    ],
)
def test_processes_that_do_not_go_together_raise_everywhere(results, name, says):
    found = agreed(results, name)
    assert "ExactaValueError" in found["error"]
    assert says in found["text"]
