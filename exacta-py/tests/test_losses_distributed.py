"""Losses over several processes: the loss, and with DDP the gradient, of the whole batch."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from exacta import losses  # noqa: E402

WORKER = Path(__file__).parent / "losses_ranks.py"


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks(ranks, tmp_path):
    command = [sys.executable, str(WORKER)]
    runs = [
        subprocess.Popen(
            [*command, str(rank), str(ranks), str(tmp_path / "store")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for rank in range(ranks)
    ]
    try:
        texts = [run.communicate(timeout=300)[0].decode() for run in runs]
    finally:
        for run in runs:
            run.kill()
    assert [run.returncode for run in runs] == [0] * ranks, "\n".join(texts)


@pytest.mark.parametrize("backend", ["torch", "auto"])
def test_without_a_group(backend):
    """A bad label is said first, then that there is no group."""
    loss = losses.DiceLoss(batch_dice=True, distributed=True, backend=backend)
    logits, labels = torch.zeros(1, 2, 3), torch.tensor([[0, 1, 1]])
    with pytest.raises(RuntimeError, match="process group"):
        loss(logits, labels)
    with pytest.raises(ValueError, match="target"):
        loss(logits, labels + 5)
