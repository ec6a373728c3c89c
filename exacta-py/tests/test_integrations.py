"""Adapters against the packages they are made for: torchmetrics, Lightning, MONAI, Ignite, scikit-learn."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

from exacta import ExactaError, ExactaTypeError, ExactaValueError, functional

pytestmark = pytest.mark.filterwarnings("ignore")
torch = pytest.importorskip("torch")


def package(name):
    """A package that the adapter needs, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def batch(seed, cases=3, classes=3):
    generator = torch.Generator().manual_seed(seed)
    target = torch.randint(classes, (cases, 9, 8, 7), generator=generator)
    other = torch.randint(classes, target.shape, generator=generator)
    keep = torch.rand(target.shape, generator=generator) < 0.8
    return torch.where(keep, target, other), target


# ---------------------------------------------------------------- torchmetrics


def test_torchmetrics_means_over_cases():
    torchmetrics = package("torchmetrics")
    from exacta.integrations import torchmetrics as adapters

    batches = [batch(0), batch(1, cases=1)]
    batches[1][0][batches[1][0] == 2] = 0  # class 2 is in the reference alone, then nowhere
    batches[1][1][batches[1][1] == 2] = 0
    options = {"num_classes": 3, "include_background": False}
    for metric, function, extra in (
        (adapters.Dice, functional.dice, {}),
        (adapters.HD95, functional.hd95, {"spacing": (1.5, 0.8, 0.8)}),
        (adapters.NSD, functional.nsd, {"spacing": 1.0, "tolerance": 1.0}),
    ):
        rows = torch.cat([function(p, t, **options, **extra) for p, t in batches])
        means = rows.nanmean(0)
        for average, want in (("none", means), ("macro", means.nanmean())):
            found = metric(**options, **extra, average=average)
            assert isinstance(found, torchmetrics.Metric)
            for p, t in batches:
                found.update(p, t)
            torch.testing.assert_close(found.compute(), want, rtol=1e-14, atol=0)
            assert found.valid_cases.tolist() == [4, 3]
        assert found.higher_is_better is (metric is not adapters.HD95)
        found.reset()
        assert torch.isnan(found(*batches[1])).item() is False


def test_torchmetrics_collection_and_names():
    torchmetrics = package("torchmetrics")
    from exacta.integrations import torchmetrics as adapters

    options = {"num_classes": 3, "include_background": False, "average": "classwise", "labels": ["liver", "tumour"]}
    collection = torchmetrics.MetricCollection(
        {"dice": adapters.Dice(**options), "hd95": adapters.HD95(**options, spacing=1.0)}, prefix="val/"
    )
    pred, target = batch(2)
    first = collection(pred, target)
    assert set(first) == {"val/dice_liver", "val/dice_tumour", "val/hd95_liver", "val/hd95_tumour"}
    want = functional.dice(pred, target, num_classes=3).mean(0)
    torch.testing.assert_close(collection.compute()["val/dice_tumour"], want[2], rtol=1e-14, atol=0)
    scores = torch.randn((3, 3, 9, 8, 7), generator=torch.Generator().manual_seed(5))
    area = adapters.AUROC(num_classes=3, from_logits=True, average="none")
    torch.testing.assert_close(area(scores, target), functional.auroc(scores, target, from_logits=True).mean(0))
    gap = adapters.ExpectedCalibrationError(num_classes=1, from_logits=True)
    assert 0 < float(gap(scores, target)) < 1
    clone = torchmetrics.MetricCollection([adapters.Dice(num_classes=3), adapters.IoU(num_classes=3)]).clone()
    assert set(clone(pred, target)) == {"Dice", "IoU"}


def test_torchmetrics_refuses():
    package("torchmetrics")
    from exacta.integrations import torchmetrics as adapters

    with pytest.raises(ExactaTypeError, match="smooth"):
        adapters.Dice(num_classes=3, smooth=1.0)
    with pytest.raises(ExactaValueError, match="average"):
        adapters.Dice(num_classes=3, average="micro")
    with pytest.raises(ExactaValueError, match="2 reported"):
        adapters.Dice(num_classes=3, include_background=False, labels=["a"])
    with pytest.raises(ExactaValueError, match="one column"):
        adapters.AUROC(num_classes=2)(torch.full((1, 3, 2, 2), 1 / 3), torch.zeros((1, 2, 2), dtype=torch.int64))


LIGHTNING = """
import json, logging, sys, torch, warnings
warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning
from torchmetrics import MetricCollection
from exacta.integrations.torchmetrics import Dice, HD95

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Conv2d(1, 3, 3, padding=1)
        options = {"num_classes": 3, "include_background": False, "average": "classwise", "labels": ["liver", "tumour"]}
        self.metrics = MetricCollection([Dice(**options), HD95(**options, spacing=1.0)], prefix="val/")
        self.dice = Dice(num_classes=3)

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, _):
        pred = batch[0][:, 0].round().long().clamp(0, 2)  # known, so that the values are
        self.metrics.update(pred, batch[1])
        self.dice.update(pred, batch[1])
        self.log("dice", self.dice, on_epoch=True)

    def on_validation_epoch_end(self):
        self.log_dict(self.metrics.compute())
        self.metrics.reset()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)

def data():
    g = torch.Generator().manual_seed(0)
    y = torch.randint(3, (6, 12, 12), generator=g)
    return torch.utils.data.TensorDataset(y[:, None] + 0.4 * torch.randn((6, 1, 12, 12), generator=g), y)

if __name__ == "__main__":
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(data(), batch_size=1)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="ddp_spawn", max_epochs=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
    )
    trainer.fit(Model(), loader, loader)
    print(json.dumps({k: float(v) for k, v in trainer.callback_metrics.items()}))
"""


def run(tmp_path, code):
    script = tmp_path / "loop.py"
    script.write_text(code)
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


def test_lightning_with_two_processes(tmp_path):
    package("lightning")
    package("torchmetrics")
    found = run(tmp_path, LIGHTNING)
    g = torch.Generator().manual_seed(0)
    target = torch.randint(3, (6, 12, 12), generator=g)
    pred = (target[:, None] + 0.4 * torch.randn((6, 1, 12, 12), generator=g))[:, 0].round().long().clamp(0, 2)
    dice = functional.dice(pred, target, num_classes=3).mean(0)
    hd95 = functional.hd95(pred, target, num_classes=3, spacing=1.0).mean(0)
    want = {
        "dice": dice.mean(),
        "val/dice_liver": dice[1],
        "val/dice_tumour": dice[2],
        "val/hd95_liver": hd95[1],
        "val/hd95_tumour": hd95[2],
    }
    assert found == pytest.approx({k: float(v) for k, v in want.items()}, rel=1e-6)  # callback_metrics are float32


# ---------------------------------------------------------------- MONAI


def hot(labels, classes=3):
    return torch.nn.functional.one_hot(labels, classes).movedim(-1, 1)


def test_monai_equals_monai():
    metrics = package("monai.metrics")
    from exacta.integrations import monai as adapters

    batches = [batch(3), batch(4, cases=2)]
    batches[1][1][0][batches[1][1][0] == 1] = 0  # a class that the reference lacks
    batches[1][0][0][batches[1][0][0] == 1] = 0
    spacing = (1.5, 0.8, 0.8)
    for ours, theirs, extra in (
        (adapters.DiceMetric, metrics.DiceMetric, {}),
        (adapters.MeanIoU, metrics.MeanIoU, {}),
        (adapters.HausdorffDistanceMetric, metrics.HausdorffDistanceMetric, {"spacing": spacing}),
        (adapters.SurfaceDiceMetric, metrics.SurfaceDiceMetric, {"spacing": spacing}),
    ):
        first = ([1.0, 2.0],) if ours is adapters.SurfaceDiceMetric else ()
        for reduction in ("mean", "mean_batch", "sum_channel", "none"):
            options = {"include_background": False, "reduction": reduction, "get_not_nans": True}
            mine, reference = ours(*first, **options), theirs(*first, **options)
            for pred, target in batches:
                row = mine(y_pred=hot(pred), y=hot(target), **extra)
                reference(y_pred=hot(pred), y=hot(target), **extra)
            assert row.shape == (2, 2)
            for a, b in zip(mine.aggregate(), reference.aggregate(), strict=True):
                torch.testing.assert_close(a.double(), b.double(), rtol=1e-5, atol=1e-6, equal_nan=True)
            mine.reset()
        with pytest.raises(ExactaValueError, match="seen a batch"):
            mine.aggregate()


def test_monai_lists_and_label_maps():
    package("monai.metrics")
    from exacta.integrations import monai as adapters

    pred, target = batch(6)
    want = functional.dice(pred, target, num_classes=3)
    listed = adapters.DiceMetric(reduction="none")
    listed(list(hot(pred)), list(hot(target)))
    torch.testing.assert_close(listed.aggregate(), want)
    maps = adapters.DiceMetric(num_classes=3)
    maps(pred[:, None], target[:, None])
    torch.testing.assert_close(maps.aggregate().squeeze(), want.mean().float())  # MONAI reduces in single precision
    error = adapters.CaseMetric(functional.volume_error, num_classes=3, spacing=1.0, unit="ml")
    error(pred[:, None], target[:, None])
    millilitres = functional.volume_error(pred, target, num_classes=3, spacing=1.0, unit="ml")
    torch.testing.assert_close(error.aggregate("mean_batch"), millilitres.mean(0).float())
    with pytest.raises(ExactaTypeError, match="smooth"):
        adapters.DiceMetric(smooth=1.0)
    with pytest.raises(ExactaValueError, match="one channel"):
        maps(hot(pred), hot(target))


IGNITE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch
import torch.distributed as dist
from ignite.engine import Engine, Events
from monai.handlers import IgniteMetricHandler
from exacta.integrations.monai import DiceMetric, HausdorffDistanceMetric

def loop(rank, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    g = torch.Generator().manual_seed(0)
    y = torch.randint(3, (5, 12, 12), generator=g)
    x = y[:, None] + 0.4 * torch.randn((5, 1, 12, 12), generator=g)
    mine = range(rank, 5, 2)  # three cases here, two there
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Conv2d(1, 3, 3, padding=1))
    optimizer = torch.optim.SGD(net.parameters(), 0.01)

    def train(engine, i):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x[i : i + 1]), y[i : i + 1])
        loss.backward()
        optimizer.step()
        return loss.item()

    def evaluate(engine, i):
        hot = lambda labels: list(torch.nn.functional.one_hot(labels, 3).movedim(-1, 1))
        return {"pred": hot(x[i : i + 1, 0].round().long().clamp(0, 2)), "label": hot(y[i : i + 1])}

    evaluator = Engine(evaluate)
    pair = lambda out: (out["pred"], out["label"])
    handler = lambda metric: IgniteMetricHandler(metric_fn=metric, output_transform=pair)
    handler(DiceMetric(include_background=False)).attach(evaluator, "dice")
    handler(HausdorffDistanceMetric(percentile=95)).attach(evaluator, "hd95")
    trainer = Engine(train)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: evaluator.run(list(mine), max_epochs=1))
    trainer.run([0, 1], max_epochs=1)
    if rank == 0:
        print(json.dumps(evaluator.state.metrics), flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(loop, (port,), nprocs=2)
"""


def test_ignite_with_two_processes(tmp_path):
    package("monai.metrics")
    package("ignite")
    found = run(tmp_path, IGNITE)
    g = torch.Generator().manual_seed(0)
    target = torch.randint(3, (5, 12, 12), generator=g)
    pred = (target[:, None] + 0.4 * torch.randn((5, 1, 12, 12), generator=g))[:, 0].round().long().clamp(0, 2)
    options = {"num_classes": 3, "include_background": False}
    want = {
        "dice": functional.dice(pred, target, **options).mean(),
        "hd95": functional.hd95(pred, target, **options, spacing=1.0).mean(),
    }
    assert found == pytest.approx({k: float(v) for k, v in want.items()}, rel=1e-6)


# ---------------------------------------------------------------- scikit-learn


def test_sklearn_equals_sklearn():
    theirs = package("sklearn.metrics")
    from exacta.integrations import sklearn as ours

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    scores = np.round(rng.standard_normal((400, 3)) + 2 * np.eye(3)[labels], 1)
    prob = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    binary = (labels == 1).astype(int)
    close = np.testing.assert_allclose
    close(ours.roc_auc_score(binary, scores[:, 1]), theirs.roc_auc_score(binary, scores[:, 1]), rtol=1e-12)
    for average in ("macro", "weighted", None):
        area = theirs.roc_auc_score(labels, prob, multi_class="ovr", average=average)
        close(ours.roc_auc_score(labels, prob, average=average), area, rtol=1e-12)
        ap = theirs.average_precision_score(labels, prob, average=average)
        close(ours.average_precision_score(labels, prob, average=average), ap, rtol=1e-12)
    close(ours.log_loss(labels, prob), theirs.log_loss(labels, prob), rtol=1e-12)
    close(ours.log_loss(binary, prob[:, 1]), theirs.log_loss(binary, prob[:, 1]), rtol=1e-12)
    close(ours.brier_score_loss(binary, prob[:, 1]), theirs.brier_score_loss(binary, prob[:, 1]), rtol=1e-12)
    for mine, reference in zip(
        ours.precision_recall_curve(binary, scores[:, 1]),
        theirs.precision_recall_curve(binary, scores[:, 1]),
        strict=True,
    ):
        close(mine, reference, rtol=1e-12)
    want = theirs.roc_curve(binary, scores[:, 1], drop_intermediate=False)
    for mine, reference in zip(ours.roc_curve(binary, scores[:, 1]), want, strict=True):
        close(mine, reference, rtol=1e-12)
    pred = rng.permutation(labels)
    pred[:300] = labels[:300]
    for name in ("f1_score", "jaccard_score", "precision_score", "recall_score"):
        for average in ("macro", None):
            close(
                getattr(ours, name)(labels, pred, average=average), getattr(theirs, name)(labels, pred, average=average)
            )
        close(getattr(ours, name)(binary, pred == 1), getattr(theirs, name)(binary, pred == 1), rtol=1e-14)
        assert getattr(ours, name)([0, 0], [0, 0], zero_division=0.5) == 0.5
    for call in (
        lambda: ours.f1_score(labels, pred),
        lambda: ours.f1_score(binary, binary, average="micro"),
        lambda: ours.roc_auc_score(binary, scores, average="micro"),
        lambda: ours.log_loss(labels[None], prob),
    ):
        with pytest.raises(ExactaError):
            call()
