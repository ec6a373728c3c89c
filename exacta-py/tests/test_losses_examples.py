"""The worked examples of the losses, values and gradients."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from exacta import losses  # noqa: E402
from losses_common import BACKENDS, MATRIX, step  # noqa: E402

EXAMPLES = json.loads((Path(__file__).parent / "fixtures" / "loss_examples.json").read_text())


def t(values, dtype=None):
    return torch.tensor(values, dtype=dtype or (torch.float64 if isinstance(values[0], (list, float)) else None))


ZA = t(
    [
        [[1.0, -0.5, 0.25], [0.0, 1.5, -1.0], [-1.0, 0.5, 2.0]],
        [[0.2, -0.3, 0.8], [1.1, 0.4, -0.6], [-0.7, 0.9, 0.1]],
    ]
)
YA = torch.tensor([[0, 1, 2], [2, 1, 1]])
ZB = t([[[0.5, -1.0, 2.0, 0.0], [-0.25, 1.0, -2.0, 0.75]]])
GB = t([[[1, 0, 1, 0], [0, 1, 0, 0]]])
Z3 = [0.3, -0.2, 0.8, 0.0, -1.0, 0.5, 1.0, -0.5, 0.1, 0.2, -0.7, 0.4]
G3 = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
M3 = torch.ones(1, 2, 2, 3, dtype=torch.bool)
M3[..., -1] = False
VALUES = {
    "ZA": ZA,
    "YA": YA,
    "YI": torch.tensor([[0, 1, 2], [-100, 1, -100]]),
    "YE": torch.tensor([[0, 0, 1], [0, 0, 0]]),
    "OA": torch.nn.functional.one_hot(YA, 3).movedim(-1, 1),
    "MA": torch.tensor([[True, True, False], [False, False, False]]),
    "ZB": ZB,
    "GB": GB,
    "GS": t([[[0.7, 0.1, 1.0, 0.0], [0.25, 0.9, 0.0, 0.5]]]),
    "PC": t([[[0.9, 0.2, 0.6], [0.1, 0.8, 0.4]]]),
    "YC": torch.tensor([[0, 1, 1]]),
    "ZB0": ZB[:, :1],
    "GB0": GB[:, 0],
    "GZ": torch.zeros_like(GB),
    "YU": torch.tensor([[1, 255, 0, 0]], dtype=torch.uint8),
    "Z2": t([[[[0.5, 0.0, -1.0], [1.0, -0.5, 0.25]], [[-0.5, 1.0, 0.5], [0.0, 1.5, -0.75]]]]),
    "Y2": torch.tensor([[[0, 1, 1], [0, 1, 0]]]),
    "M2": torch.tensor([[[True, True, False], [True, True, True]]]),
    "Z3": t(Z3).reshape(1, 1, 2, 2, 3),
    "G3": t(G3, torch.float64).reshape(1, 1, 2, 2, 3),
    "M3": M3,
    "P5": t([[[[0.1, 0.2, 0.3, 0.2, 0.1], [0.4, 0.8, 0.9, 0.7, 0.5], [0.2, 0.3, 0.1, 0.25, 0.15]]]]),
    "G5": t([[[[0.0] * 5, [1.0] * 5, [0.0] * 5]]]),
    "MW": MATRIX,
}


def read(text):
    """Return positional and keyword arguments of a call, with the names of the examples filled in."""
    call = ast.parse(f"f({text})", mode="eval").body
    value = lambda node: VALUES[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)  # noqa: E731
    return [value(node) for node in call.args], {word.arg: value(word.value) for word in call.keywords}


def with_backends():
    """Every example with every backend, but one whose equal values PyTorch's operators share otherwise."""
    for example in EXAMPLES:
        for backend in BACKENDS:
            if not (example["class"] == "SoftClDiceLoss" and example["call"] == "P5, G5"):
                name = f"{example['class']}({example['arguments']}) on {example['call']}, {backend}"
                yield pytest.param(example, backend, id=name)
    for example in EXAMPLES:
        if example["class"] == "SoftClDiceLoss" and example["call"] == "P5, G5":
            yield example, "torch" if "torch" in example["arguments"] else "auto"


@pytest.mark.parametrize(("example", "backend"), list(with_backends()))
def test_worked_example(example, backend):
    positional, options = read(example["arguments"])
    (logits, target), keywords = read(example["call"])
    options = {"backend": backend, **options}
    loss = getattr(losses, example["class"])(*positional, **options)
    value, gradient = step(loss, logits, target, **keywords)
    assert value.item() == pytest.approx(example["value"], rel=2e-11)
    wanted = [np.ravel(case) for case in example["grad"]]
    if "first" in example:  # of equal values the lowest index is taken
        wanted[0] = np.ravel(example["first"])
    np.testing.assert_allclose(gradient.numpy().reshape(len(wanted), -1), np.stack(wanted), rtol=1e-7, atol=6e-10)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lovasz_of_equal_errors(backend):
    logits, labels = torch.zeros(1, 2, 4, dtype=torch.float64), torch.tensor([[0, 1, 0, 1]])
    value, gradient = step(losses.LovaszSoftmaxLoss(backend=backend), logits, labels)
    assert value.item() == 0.5
    row = np.array([-0.10416667, 0.0625, -0.052083333, 0.03125])
    np.testing.assert_allclose(gradient[0], np.stack([row, -row]), atol=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_focal_tversky_of_a_perfect_prediction(backend):
    loss = losses.FocalTverskyLoss(activation="none", target_format="one-hot", backend=backend)
    value, gradient = step(loss, GB, GB)
    assert value.item() == 0.0
    assert not gradient.any()


def test_maps():
    channel = VALUES["Y2"].unsqueeze(1)
    maps = losses.distance_maps
    assert maps(channel, spacing=(2, 1), signed=True).flatten().tolist() == [1, -1, -1, 1, -1, 1]
    assert maps(channel, spacing=(2, 1)).flatten().tolist() == [1, 1, 2, 1, 1, 1]
    empty, full = torch.zeros(1, 1, 2, 3), torch.ones(1, 1, 2, 3)
    assert maps(empty, spacing=(2, 1), signed=True).flatten().tolist() == [5] * 6
    assert maps(full, spacing=(2, 1), signed=True).flatten().tolist() == [-1, -2, -1, -1, -2, -1]
    assert not maps(full, spacing=(2, 1)).any()
    assert not maps(empty, spacing=(2, 1)).any()
    signed = maps(VALUES["G3"], spacing=(3, 1, 0.5), signed=True).flatten()
    wanted = [-0.5, -0.5, 0.5, 1, 1, 1.118034, 0.5, -0.5, 0.5, 1.118034, 1, 1.118034]
    np.testing.assert_allclose(signed, wanted, atol=1e-6)
    unsigned = maps(VALUES["G3"], spacing=(3, 1, 0.5)).flatten()
    np.testing.assert_allclose(unsigned, [1, *np.abs(wanted)[1:]], atol=1e-6)
    both = maps(channel.expand(2, 1, 2, 3), spacing=[(2, 1), (1, 1)])
    assert both[0].flatten().tolist() == [1, 1, 2, 1, 1, 1]
    assert both[1].flatten().tolist() == [1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_skeletons(backend):
    first = [0, 0, 0.1, 0, 0, 0.2, 0.6, 0.7, 0.5, 0.3, 0, 0.1, 0, 0.05, 0]
    second = [0, 0, 0.19, 0, 0, 0.2, 0.64, 0.7, 0.55, 0.3, 0.1, 0.1, 0, 0.05, 0.05]
    for iterations, wanted in ((0, first), (1, second), (2, second)):
        found = losses.soft_skeletonize(VALUES["P5"], iterations=iterations, backend=backend)
        np.testing.assert_allclose(found.flatten(), wanted, atol=1e-12)
    found = losses.soft_skeletonize(torch.sigmoid(VALUES["Z3"]), iterations=1, backend=backend).flatten()
    wanted = [0.22792169, 0, 0.32978001, 0.049833997, 0, 0.17229333, 0.31377624, 0, 0.11712054, 0.099667995, 0]
    np.testing.assert_allclose(found, [*wanted, 0.14852166], atol=1e-8)
