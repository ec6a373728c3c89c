"""What importing exacta loads, in fresh interpreters."""

import subprocess
import sys

import pytest

import exacta

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "jax", "jaxlib", "cupy", "scipy"}:
            raise ImportError(name + " is not installed here")
sys.meta_path.insert(0, Blocked())
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("blocked", ["", BLOCKED], ids=["as installed", "nothing but NumPy"])
@pytest.mark.parametrize(
    "use",
    [
        "import exacta",
        "import exacta.functional",
        "import exacta.metrics",
        "import exacta; exacta.functional.dice([[[0, 1]]], [[[0, 1]]], num_classes=2)",
        "import exacta; exacta.functional.voxel_ranking([[[[0.5, 0.1]]]], [[[0, 1]]])",
        "from exacta.integrations import sklearn; sklearn.roc_auc_score([0, 1], [0.5, 0.1])",
        "import exacta; exacta.functional.hd95([[[0, 1]]], [[[0, 1]]], num_classes=2, spacing=[1.0, 2.0])",
        "import exacta; exacta.lesions.evaluate_instances([[0, 1]], [[2, 1]], matching='hungarian')",
        "import exacta; exacta.detection.LesionDetection(connectivity=1)",
    ],
)
def test_no_framework_is_imported(use, blocked):
    result = run(f"{blocked}\n{use}\nimport sys\nprint(sorted(set(sys.modules) & {{'torch', 'jax', 'cupy', 'scipy'}}))")
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")


def test_top_level_is_light():
    result = run("import exacta, sys; print('numpy' in sys.modules, 'exacta.functional' in sys.modules)")
    assert result.stdout == "False False\n"


def test_top_level_names():
    assert set(exacta.__all__) <= set(dir(exacta))
    assert exacta.__version__[0].isdecimal()
    assert exacta.functional.__name__ == "exacta.functional"
    with pytest.raises(AttributeError, match="nothing_here"):
        exacta.nothing_here  # noqa: B018


def test_every_public_function_is_documented():
    for name in exacta.functional.__all__:
        if name[0].isupper():  # what functions return
            assert "Attributes\n    ---" in getattr(exacta.functional, name).__doc__
            continue
        text = getattr(exacta.functional, name).__doc__
        for section in ("Parameters", "Returns", "Raises", "Notes", "References", "Examples"):
            assert f"\n    {section}\n    ---" in text, (name, section)
