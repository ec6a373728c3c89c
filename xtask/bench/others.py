"""Labels beside `connected-components-3d`, distance transforms beside `edt`: `cargo xtask bench --others`.

    python others.py [--sizes 128 256] [--threads 2] [--only REGEX] [--repeat 15] [--row-seconds 4]

Needs `exacta` and what xtask/bench/requirements.txt names; calls run turn about in one process. `ratio` is the other's
fastest time / our fastest time, `pairs` the median of the ratios pair by pair; above 1, ours is faster. cc3d labels on
one thread whatever is asked for, and gets the same uint8 mask; `edt` returns float32, ours float64. Before a row is
timed the two results are compared: labels up to their numbers, distances to single precision.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import cc3d
import edt
import numpy as np

import exacta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = tuple[str, "Callable[[], Any]", "Callable[[], Any]", "Callable[[Any, Any], None]"]


def organs(n: int) -> np.ndarray:
    """Three smooth shapes, labels 1 to 3."""
    z, y, x = np.meshgrid(*[np.arange(n) / n * 2 - 1] * 3, indexing="ij", sparse=True)
    wave = 0.08 * (np.sin(7 * z) + np.sin(9 * y + 5 * x))
    out = np.zeros((n, n, n), np.uint8)
    shapes = (
        ((-0.2, 0.1, -0.3), (0.35, 0.25, 0.3)),
        ((0.3, -0.3, 0.2), (0.2, 0.36, 0.25)),
        ((0.1, 0.4, 0.35), (0.3, 0.2, 0.2)),
    )
    for label, (centre, radius) in enumerate(shapes, 1):
        out[sum(((a - b) / d) ** 2 for a, b, d in zip((z, y, x), centre, radius, strict=True)) + wave < 1] = label
    return out


def noise(n: int, density: float = 0.3) -> np.ndarray:
    """Voxels at random, labels 1 to 3."""
    rng = np.random.default_rng(0)
    return np.where(rng.random((n, n, n)) < density, rng.integers(1, 4, (n, n, n)), 0).astype(np.uint8)


def blobs(n: int) -> np.ndarray:
    """A ball for every 6,000 voxels, radius 1 to 5, labels 1 to 3."""
    rng = np.random.default_rng(1)
    near = np.arange(-5, 6)
    distance = np.sqrt(sum(g**2 for g in np.meshgrid(near, near, near, indexing="ij")))
    out = np.zeros((n, n, n), np.uint8)
    for _ in range(n**3 // 6000):
        a, b, c = rng.integers(5, n - 6, 3)
        out[a - 5 : a + 6, b - 5 : b + 6, c - 5 : c + 6][distance < rng.uniform(1, 5)] = rng.integers(1, 4)
    return out


def same_components(other: Any, ours: Any) -> None:
    """Check that two numberings differ in the numbers alone."""
    (theirs, count), (labels, found) = other, ours
    pairs = np.unique(theirs.ravel().astype(np.int64) << 32 | labels.ravel())
    assert count == found == len(pairs) - (0 in pairs), (count, found, len(pairs))


def same_distances(other: Any, ours: Any) -> None:
    """Check that two maps agree to single precision."""
    np.testing.assert_allclose(other, ours, rtol=2e-6, atol=1e-6)


def rows(n: int, threads: int) -> Iterator[Row]:
    """Every comparison at one size."""
    for name, make in (("organs", organs), ("noise", noise), ("blobs", blobs)):
        labels = make(n)
        mask = (labels > 0).astype(np.uint8)
        for connectivity, neighbours in ((1, 6), (2, 18), (3, 26)):
            yield (
                f"label {name} {neighbours} {n}",
                lambda m=mask, k=neighbours: cc3d.connected_components(
                    m, connectivity=k, out_dtype=np.uint32, return_N=True, binary_image=True
                ),
                lambda m=mask, k=connectivity: exacta.components.label(m, connectivity=k),
                same_components,
            )
        for spacing in ((1.0, 1.0, 1.0), (1.5, 0.8, 0.8)):
            kind = "isotropic" if len(set(spacing)) == 1 else "anisotropic"
            for array, what, features in ((mask, "binary", "zeros"), (labels, "multi-label", "other-labels")):
                yield (
                    f"edt {name} {what} {kind} {n}",
                    lambda m=array, h=spacing: edt.edt(m, anisotropy=h, parallel=threads),
                    lambda m=array, h=spacing, f=features: exacta.edt.distance_transform(m, spacing=h, features=f),
                    same_distances,
                )


def pairs_of(
    other: Callable[[], Any], ours: Callable[[], Any], repeat: int, seconds: float
) -> list[tuple[float, float]]:
    """Milliseconds of both, turn about."""
    found: list[tuple[float, float]] = []
    start = time.perf_counter()
    while len(found) < repeat and (len(found) < 3 or time.perf_counter() - start < seconds):
        times = []
        for call in (other, ours):
            begin = time.perf_counter()
            result = call()
            times.append(1e3 * (time.perf_counter() - begin))
            del result
        found.append((times[0], times[1]))
    return found


def main() -> int:
    """Compare row by row; 1 where ours is slower in some row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--row-seconds", type=float, default=4)
    args = parser.parse_args()
    exacta.set_num_threads(args.threads)
    slower = 0
    print(f"{'row':40s} {'other ms':>10s} {'ours ms':>10s} {'ratio':>7s} {'pairs':>7s}")
    for n in args.sizes:
        for name, other, ours, check in rows(n, args.threads):
            if not re.search(args.only, name):
                continue
            check(other(), ours())
            found = pairs_of(other, ours, args.repeat, args.row_seconds)
            theirs, own = (min(pair[i] for pair in found) for i in (0, 1))
            median = statistics.median(a / b for a, b in found)
            slower += theirs < own
            print(f"{name:40s} {theirs:10.3f} {own:10.3f} {theirs / own:7.2f} {median:7.2f}", flush=True)
    print(f"slower in {slower} rows")
    return int(slower > 0)


if __name__ == "__main__":
    sys.exit(main())
