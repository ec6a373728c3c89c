"""Times losses on the CPU: `overhead` of a small step, or large steps beside `compiled` operators of PyTorch.

    python exacta-py/benches/losses.py overhead
    python exacta-py/benches/losses.py compiled [--threads 2] [--shape 2,4,64] [--seconds 4] [--only dice]

A step is forward and backward in eager mode. `overhead` compares each loss on a 1x2x8^3 input with cross-entropy of
PyTorch; `compiled` compares the kernels on logits (B, C, n, n, n) with `torch.compile` of the same loss with
``backend="torch"``. Both sides of a ratio run in turn, so a machine whose speed drifts slows both: `ratio` is that of
the fastest times, `pairs` the median of the ratios of neighbours.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from typing import TYPE_CHECKING, Any

import torch

import exacta
from exacta import losses

if TYPE_CHECKING:
    from collections.abc import Callable

SPACING = (1.5, 0.8, 0.8)
SPACED = (losses.BoundaryLoss, losses.HausdorffDTLoss)
GEOMETRY = (*SPACED, losses.SoftClDiceLoss)
BINARY = losses.LovaszHingeLoss


def every_loss(classes: int) -> dict[str, Callable[[str], torch.nn.Module]]:
    """Return what makes each loss for a backend, by name."""
    matrix = 1 - torch.eye(classes)
    made: dict[str, Callable[[str], torch.nn.Module]] = {}
    for name in losses.__all__:
        kind = getattr(losses, name)
        if not isinstance(kind, type) or kind is losses.DeepSupervisionLoss:
            continue
        options: dict[str, Any] = {"dist_matrix": matrix} if kind is losses.GeneralizedWassersteinDiceLoss else {}
        made[name] = lambda backend, kind=kind, options=options: kind(**options, backend=backend)
    return made


def step_of(loss: Any, kind: torch.nn.Module, shape: tuple[int, ...]) -> Callable[[], None]:
    """Return forward and backward of a loss on random logits; geometry gets balls for labels, the rest noise."""
    generator = torch.Generator().manual_seed(0)
    if isinstance(kind, BINARY):
        shape = (shape[0], 1, *shape[2:])
    logits = torch.randn(shape, generator=generator).requires_grad_()
    labels = torch.randint(max(shape[1], 2), (shape[0], *shape[2:]), generator=generator)
    if isinstance(kind, GEOMETRY):
        labels = balls(shape)
    more = {"spacing": SPACING} if isinstance(kind, SPACED) else {}

    def step() -> None:
        logits.grad = None
        loss(logits, labels, **more).backward()

    return step


def balls(shape: tuple[int, ...]) -> torch.Tensor:
    """Return labels with a ball for each class but the background, apart from each other."""
    labels = torch.zeros(shape[0], *shape[2:], dtype=torch.int64)
    axes = torch.meshgrid(*[torch.arange(n) / n for n in shape[2:]], indexing="ij")
    for label in range(1, shape[1]):
        centre = label / shape[1]
        labels[:, sum((axis - centre) ** 2 for axis in axes) < 0.15**2] = label
    return labels


def turns(first: Callable[[], None], second: Callable[[], None], seconds: float) -> tuple[list[float], list[float]]:
    """Return times in seconds of both, run in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for step in (first, second):
        step()
        step()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or len(times[0]) < 5:
        for step, found in zip((first, second), times, strict=True):
            before = time.perf_counter()
            step()
            found.append(time.perf_counter() - before)
    return times


def row(name: str, first: list[float], second: list[float], unit: float) -> str:
    """Return a line of the table: both fastest times and both ratios."""
    pairs = statistics.median(a / b for a, b in zip(first, second, strict=True))
    low = min(first), min(second)
    return f"{name:34s} {low[0] * unit:10.2f} {low[1] * unit:10.2f} {low[0] / low[1]:8.2f} {pairs:8.2f}"


def overhead(args: argparse.Namespace) -> None:
    """Print how many times as long as cross-entropy of PyTorch a small step takes."""
    shape = (1, 2, 8, 8, 8)
    entropy = step_of(torch.nn.functional.cross_entropy, torch.nn.Identity(), shape)
    print(f"{'loss, 1x2x8^3':34s} {'us':>10s} {'torch us':>10s} {'ratio':>8s} {'pairs':>8s}")
    for name, make in every_loss(2).items():
        if re.search(args.only, name):
            loss = make("auto")
            print(row(name, *turns(step_of(loss, loss, shape), entropy, args.seconds), 1e6), flush=True)


def compiled(args: argparse.Namespace) -> None:
    """Print how many times as long as the kernels the compiled operators of PyTorch take."""
    batch, classes, n = map(int, args.shape.split(","))
    shape = (batch, classes, n, n, n)
    print(f"{'loss, ' + args.shape:34s} {'torch ms':>10s} {'native ms':>10s} {'ratio':>8s} {'pairs':>8s}")
    for name, make in every_loss(classes).items():
        if not re.search(args.only, name):
            continue
        torch._dynamo.reset()
        native, plain = make("native"), make("torch")
        steps = step_of(torch.compile(plain), plain, shape), step_of(native, native, shape)
        try:
            print(row(name, *turns(*steps, args.seconds), 1e3), flush=True)
        except torch._dynamo.exc.TorchDynamoException as error:
            print(f"{name:34s} not compiled: {str(error).splitlines()[0]}", flush=True)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["overhead", "compiled"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shape", default="2,4,64", help="cases, classes, edge of the volume (compiled)")
    parser.add_argument("--seconds", type=float, default=4, help="time for each loss")
    parser.add_argument("--only", default="", help="names of losses, a regular expression")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    exacta.set_num_threads(args.threads)
    overhead(args) if args.what == "overhead" else compiled(args)


if __name__ == "__main__":
    main()
