"""How the number of threads is chosen."""

import os
import subprocess
import sys

import numpy as np
import pytest

import exacta

CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
TORCH = "sys.modules['torch'] = type(sys)('torch'); sys.modules['torch'].get_num_threads = lambda: 1"


def run(code, **environment):
    env = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "EXACTA_NUM_THREADS")} | environment
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("environment", "before", "expected"),
    [
        ({}, "", CPUS),
        ({"OMP_NUM_THREADS": "1"}, "", 1),
        ({"OMP_NUM_THREADS": "1,2"}, "", 1),
        ({"OMP_NUM_THREADS": "nonsense"}, "", CPUS),
        ({"OMP_NUM_THREADS": "0"}, "", CPUS),
        ({"EXACTA_NUM_THREADS": "1"}, "", 1),
        ({"EXACTA_NUM_THREADS": "1000000"}, "", CPUS),
        ({"EXACTA_NUM_THREADS": str(CPUS), "OMP_NUM_THREADS": "1"}, "", CPUS),
        ({"EXACTA_NUM_THREADS": str(CPUS)}, "exacta.set_num_threads(1)", 1),
        ({}, TORCH, 1),
        ({"EXACTA_NUM_THREADS": str(CPUS)}, TORCH, CPUS),
        ({"OMP_NUM_THREADS": "1"}, "exacta.set_num_threads(10**6)", CPUS),
    ],
)
def test_what_decides(environment, before, expected):
    result = run(f"import exacta, sys\n{before}\nprint(exacta.get_num_threads())", **environment)
    assert (result.stdout, result.stderr) == (f"{expected}\n", "")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no way to take CPUs from a process here")
def test_never_more_than_the_cpus_of_the_process():
    code = "import os, exacta\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nexacta.set_num_threads(8)\n"
    assert run(f"{code}print(exacta.get_num_threads())").stdout == "1\n"


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_bad_environment_is_named(value):
    code = "import exacta\ntry:\n    exacta.get_num_threads()\nexcept exacta.ExactaValueError as e:\n    print(e)"
    assert run(code, EXACTA_NUM_THREADS=value).stdout.endswith(f"got {value!r}\n")


def test_set_and_reset():
    default = exacta.get_num_threads()
    exacta.set_num_threads(np.int64(1))
    assert exacta.get_num_threads() == 1
    exacta.set_num_threads(None)
    assert exacta.get_num_threads() == default


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (-1, ValueError), (1.0, TypeError), (True, TypeError)])
def test_set_refuses(value, error):
    with pytest.raises(error) as caught:
        exacta.set_num_threads(value)
    assert isinstance(caught.value, exacta.ExactaError)
