"""Peak memory beyond the inputs, measured in a process of its own: the inputs exist and are touched, then one call.

What is measured is the high-water mark of resident memory, so a buffer that lives for a moment counts too. What making
the inputs took is small, and would count against the call.
"""

import json
import os
import subprocess
import sys

import pytest

MIB = 2**20
PATIENCE = 300

PRELUDE = """
import json
import numpy as np
from exacta import functional

# So that the first call's one-time costs (threads, code pages) are not taken for the call's.
small = np.zeros((1, 8, 8, 8), np.uint8)
small[0, 2:5, 2:5, 2:5] = 1
functional.evaluate(small, small, metrics=["dice", "hd95"], spacing=1, num_classes=2)

def status(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

def resident():
    return status("VmRSS:")

def peak():
    # Not ru_maxrss, which a process inherits from the one that started it.
    return status("VmHWM:")

def spheres(shape, seed, classes, shift=0):
    '''Organs: a few large balls, written block by block so that no temporary is large.'''
    rng = np.random.default_rng(seed)
    out = np.full((1, *shape), 0, np.uint8)  # written, so resident: pages of np.zeros are not
    axes = [np.arange(n, dtype=np.float32) for n in shape]
    for label in range(1, classes):
        centre = [rng.uniform(0.25, 0.75) * n + shift for n in shape]
        radius = rng.uniform(0.12, 0.22) * min(shape)
        rest = (axes[1][:, None] - centre[1]) ** 2 + (axes[2][None, :] - centre[2]) ** 2
        for i, x in enumerate(axes[0]):
            out[0, i][rest + (x - centre[0]) ** 2 < radius**2] = label
    return out

def noisy(labels, seed, classes, fraction):
    rng = np.random.default_rng(seed)
    for plane in labels[0]:
        where = rng.random(plane.shape, dtype=np.float32) < fraction
        plane[where] = rng.integers(0, classes, where.sum(), dtype=np.uint8)
    return labels

def report(call, pred, target):
    # Read every page once: resident before, not because of the call.
    touched = int(pred[..., ::64].sum()) + int(target[..., ::64].sum())
    before = resident()
    assert before >= pred.nbytes + target.nbytes
    result = call(pred, target)
    print(json.dumps({
        "inputs": pred.nbytes + target.nbytes,
        "extra": peak() - before,
        "kept": resident() - before,
        "result": [str(v) for v in np.asarray(result).ravel()],
    }))
"""


def measure(code, **environment):
    result = subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


if sys.platform == "linux":

    def test_p19_dice_of_118_classes():
        """No one-hot copies: 118 of them would be 2 GB each."""
        found = measure("""
pred = noisy(spheres((256, 256, 256), 1, 118), 2, 118, 0.05)
target = noisy(spheres((256, 256, 256), 1, 118, shift=3), 3, 118, 0.05)
report(lambda p, t: functional.dice(p, t, num_classes=118), pred, target)
""")
        assert len(found["result"]) == 118
        assert all(0 <= float(v) <= 1 for v in found["result"])
        assert found["extra"] < 64 * MIB

    @pytest.mark.parametrize("background", [False, True])
    def test_hd95_of_two_large_volumes(background):
        """Two volumes of 512^3 with five labels: the whole process stays below twice the inputs."""
        found = measure(f"""
pred = spheres((512, 512, 512), 1, 5)
target = spheres((512, 512, 512), 1, 5, shift=3)
report(lambda p, t: functional.hd95(p, t, num_classes=5, include_background={background}, spacing=1), pred, target)
""")
        assert all(0 < float(v) < 100 for v in found["result"])
        assert found["extra"] < found["inputs"]

    @pytest.mark.parametrize("background", [False, True])
    def test_hd95_of_noisy_volumes(background):
        """With a tenth of the voxels random, boundary voxels are everywhere: below twice the inputs beyond them."""
        found = measure(f"""
pred = noisy(spheres((256, 256, 256), 1, 5), 2, 5, 0.1)
target = noisy(spheres((256, 256, 256), 1, 5, shift=3), 3, 5, 0.1)
report(lambda p, t: functional.hd95(p, t, num_classes=5, include_background={background}, spacing=1), pred, target)
""")
        assert all(0 <= float(v) < 100 for v in found["result"])
        assert found["extra"] < 2 * found["inputs"]

    @pytest.mark.parametrize("share", [0.01, 0.5])
    def test_exact_auroc_of_many_voxels(share):
        """2 GiB for 10^8 voxels are 21 bytes a voxel; fewer here, in single and double precision."""
        for dtype, most in (("float32", 12), ("float64", 20)):
            found = measure(f"""
pred = np.full((1, 1, 6, 1 << 20), 0, np.{dtype})
target = np.full((1, 6, 1 << 20), 0, np.uint8)
rng = np.random.default_rng(0)
for p, t in zip(pred[0, 0], target[0]):
    p[:] = rng.random(p.size, np.float32)
    t[:] = rng.random(p.size, np.float32) < {share}
report(functional.auroc, pred, target)
""")
            assert 0.49 < float(found["result"][0]) < 0.51
            assert found["extra"] < most * 6 * MIB + 16 * MIB

    def test_nothing_is_kept_after_a_call():
        """The allocator may keep a few blocks; what a call loses would be lost three hundred times."""
        found = measure("""
pred = noisy(spheres((48, 48, 48), 1, 5), 2, 5, 0.1)
target = noisy(spheres((48, 48, 48), 1, 5, shift=3), 3, 5, 0.1)

def call(p, t):
    for i in range(320):
        functional.evaluate(p, t, metrics=["dice", "hd95", "assd"], num_classes=5, spacing=1)
        if i == 19:
            start = resident()
    return resident() - start

report(call, pred, target)
""")
        assert float(found["result"][0]) < 300 * 64 * 1024
