"""Threads and processes: no bit depends on how many threads measure, and a forked child measures like its parent."""

import concurrent.futures
import hashlib
import importlib.util
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import exacta
from exacta import _native, functional

FORK = hasattr(os, "fork") and sys.platform != "darwin"
PATIENCE = 60  # seconds; a pool that does not survive a fork hangs for ever
nan, inf = float("nan"), float("inf")

OVERLAP = [(name, {"both_empty": nan}) for name in ("dice", "iou")] + [
    (name, {"zero_division": nan}) for name in ("sensitivity", "precision", "specificity")
]
EMPTY = {"surface": "voxels", "both_empty": nan, "one_empty": inf}


def metrics(columns):
    """Every kind of metric as the extension takes it."""
    surface = [
        ("hausdorff_distance", {"percentile": 99.0, "combine": "max", **EMPTY}),
        ("hd95", {"combine": "pooled", **EMPTY}),
        ("assd", {"combine": "pooled", **EMPTY}),
        ("masd", EMPTY),
        ("nsd", {"tolerance": [1.5] * columns, **EMPTY, "one_empty": 0.0}),
    ]
    return OVERLAP + surface


def case(shape, classes, seed):
    rng = np.random.default_rng(seed)
    grid = np.meshgrid(*(np.arange(n) for n in shape[1:]), indexing="ij", sparse=True)
    out = np.zeros(shape, np.uint8)
    for volume in out:
        for label in range(1, classes):
            centre = [rng.uniform(0, n) for n in shape[1:]]
            radius = rng.uniform(2, max(3, min(shape[1:]) / 3))
            volume[sum((g - c) ** 2 for g, c in zip(grid, centre, strict=True)) < radius**2] = label
    noise = rng.random(shape) < 0.01
    out[noise] = rng.integers(0, classes, noise.sum())
    return out


def pair(shape, classes, seed=0):
    return case(shape, classes, seed), case(shape, classes, seed + 1)


def native(pred, target, classes, threads):
    ndim = pred.ndim - 1
    results = _native.evaluate(
        pred,
        target,
        metrics(classes),
        input_format="index",
        num_classes=classes,
        include_background=True,
        spacing=np.tile([1.3, 0.7, 0.9][:ndim], (len(pred), 1)),
        threads=threads,
    )
    return b"".join(np.asarray(r).tobytes() for r in results)


SHAPES = [((1, 96, 80, 72), 5), ((3, 40, 33, 65), 4), ((17, 61, 130), 3), ((64, 9, 8), 3), ((1, 300, 301), 40)]


@pytest.mark.parametrize(("shape", "classes"), SHAPES, ids=str)
def test_same_bits_for_any_number_of_threads(shape, classes):
    pred, target = pair(shape, classes)
    want = native(pred, target, classes, 1)
    for threads in (2, 7, 1, 16):
        assert native(pred, target, classes, threads) == want


def test_same_bits_whoever_chooses_the_threads():
    """Through the public functions, at whatever `set_num_threads` allows here."""
    pred, target = pair((1, 96, 80, 72), 5)
    want = native(pred, target, 5, 1)
    try:
        for threads in (1, 2, 7):
            exacta.set_num_threads(threads)
            assert 1 <= exacta.get_num_threads() <= threads
            assert public(pred, target) == want
    finally:
        exacta.set_num_threads(None)


def public(pred, target, classes=5):
    """The public functions' results for the same metrics, as `native` packs them."""
    options = {"num_classes": classes}
    spaced = {**options, "spacing": [1.3, 0.7, 0.9][: pred.ndim - 1]}
    results = [
        *(getattr(functional, name)(pred, target, **options) for name, _ in OVERLAP),
        functional.hausdorff_distance(pred, target, percentile=99.0, **spaced),
        functional.hd95(pred, target, combine="pooled", **spaced),
        functional.assd(pred, target, **spaced),
        functional.masd(pred, target, **spaced),
        functional.nsd(pred, target, tolerance=1.5, **spaced),
    ]
    return b"".join(np.asarray(r).tobytes() for r in results)


def test_python_threads_share_the_library():
    """Calls from several threads at once, of different work, give what each gives alone."""
    cases = [(pair(shape, classes, seed), classes) for seed, (shape, classes) in enumerate(SHAPES)]
    want = [native(*masks, classes, 1) for masks, classes in cases]
    start = threading.Barrier(4)

    def work(first):
        start.wait(PATIENCE)
        order = [(first + i) % len(cases) for i in range(2 * len(cases))]
        return [(i, native(*cases[i][0], cases[i][1], 1 + (first + i) % 3)) for i in order]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for results in pool.map(work, range(4), timeout=PATIENCE):
            for i, got in results:
                assert got == want[i]


def test_the_interpreter_is_free_while_kernels_run():
    """Another Python thread makes progress during a call, which takes a hundred milliseconds or more."""
    pred, target = (np.kron(m, np.ones((1, 2, 2, 2), np.uint8)) for m in pair((1, 80, 80, 80), 5))
    finished, ticks = threading.Event(), 0

    def work():
        native(pred, target, 5, 1)
        finished.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # a call that held the interpreter would not hand it over
    try:
        worker = threading.Thread(target=work)
        worker.start()
        while not finished.wait(0.001):
            ticks += 1
        worker.join(PATIENCE)
    finally:
        sys.setswitchinterval(interval)
    # Once or twice even if the call held the interpreter: before it, and when it has ended.
    assert ticks >= 10


if FORK:

    def digest(seed):
        return hashlib.sha256(public(*pair((1, 50, 40, 45), 5, seed))).hexdigest()

    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    @pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
    @pytest.mark.parametrize("used_before", [True, False])
    def test_a_forked_child_measures_the_same(used_before):
        """A pool of threads does not live on in a child; the child must not wait for it."""
        pred, target = pair((1, 96, 80, 72), 5)
        want = native(pred, target, 5, 1)
        if used_before:
            assert native(pred, target, 5, 2) == want
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            # No return to pytest from here, whatever happens.
            try:
                signal.alarm(PATIENCE)
                same = native(pred, target, 5, 2) == want and native(pred, target, 5, 7) == want
                os.write(write, b"same" if same else b"other")
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(child, 0)
        assert (answer, status) == (b"same", 0)
        # The parent's own pool is as it was.
        assert native(pred, target, 5, 2) == want

    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    @pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
    def test_a_pool_of_forked_workers():
        """What a data loader does: workers forked from a process that has used its threads."""
        seeds = list(range(8))
        want = [digest(seed) for seed in seeds]
        with multiprocessing.get_context("fork").Pool(3) as pool:
            assert pool.map_async(digest, seeds).get(PATIENCE) == want
            assert pool.map_async(digest, seeds, chunksize=1).get(PATIENCE) == want
        assert [digest(seed) for seed in seeds] == want

    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    @pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
    def test_a_fork_while_another_thread_measures():
        pred, target = pair((1, 96, 80, 72), 5)
        want = native(pred, target, 5, 1)
        stop = threading.Event()

        def work():
            while not stop.is_set():
                assert native(pred, target, 5, 2) == want

        worker = threading.Thread(target=work)
        worker.start()
        try:
            for _ in range(5):
                child = os.fork()
                if child == 0:
                    try:
                        signal.alarm(PATIENCE)
                        os._exit(0 if native(pred, target, 5, 2) == want else 1)
                    finally:
                        os._exit(2)
                _, status = os.waitpid(child, 0)
                assert status == 0
        finally:
            stop.set()
            worker.join(PATIENCE)


def run(code, **environment):
    """Prints of a fresh interpreter."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


if hasattr(os, "sched_setaffinity"):

    def test_threads_stay_within_the_cpus_of_the_process():
        code = """
            import os
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            import exacta
            print(exacta.get_num_threads())
            exacta.set_num_threads(7)
            print(exacta.get_num_threads())
        """
        assert run(code) == ["1", "1"]


if importlib.util.find_spec("torch"):

    def test_threads_follow_torch():
        code = """
            import exacta, torch
            print(exacta.get_num_threads() <= torch.get_num_threads())
            torch.set_num_threads(1)
            print(exacta.get_num_threads())
            exacta.set_num_threads(2)
            torch.set_num_threads(1)
            print(exacta.get_num_threads() <= 2)
        """
        assert run(code, OMP_NUM_THREADS="2") == ["True", "1", "True"]

    def load(item):
        import torch

        labels = torch.from_numpy(pair((1, 40, 30, 35), 5, item)[0])
        return functional.hd95(labels, labels.flip(-1), spacing=1, num_classes=5)

    class Loaded:
        """A data set whose items are measured in the worker."""

        def __len__(self):
            return 6

        def __getitem__(self, item):
            return load(item)

    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    @pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
    def test_data_loader_workers():
        import torch

        want = torch.stack([load(i) for i in range(6)])
        loader = torch.utils.data.DataLoader(
            Loaded(), batch_size=2, num_workers=2, timeout=PATIENCE, multiprocessing_context="fork" if FORK else None
        )
        got = torch.cat(list(loader))
        assert torch.equal(got.nan_to_num(-1.0), want.nan_to_num(-1.0))
