"""Measure a real brain segmentation: run by ``cargo xtask demo``.

The PyPI package nilearn ships the MNI152 average brain at 1 mm: T1 image, grey and white matter probabilities. The
probabilities make the reference label map. Otsu thresholds of the T1 make the prediction. Both are written as NIfTI and
handed to the command line, as a user would do it.
"""

import argparse
import csv
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import SimpleITK as sitk  # noqa: N813 - the name in its own manual
from matplotlib.lines import Line2D

CASE = "mni152"
LABELS = {"background": 0, "grey matter": 1, "white matter": 2}
METRICS = "dice,hd95,assd,nsd:tolerance=1"
# Through the lateral ventricles and the basal ganglia.
SLICE = 80
REFERENCE_COLOUR, PREDICTION_COLOUR = "#18c5ff", "#ff6a00"


def main() -> int:
    """Run the demo and return its exit status."""
    parser = argparse.ArgumentParser(description="Measure a segmentation of the MNI152 brain.")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder of everything that is made")
    out: Path = parser.parse_args().out
    for folder in (out, out / "pred", out / "target"):
        folder.mkdir(parents=True, exist_ok=True)

    t1, grey, white = (read_mni(name) for name in ("t1", "gm", "wm"))
    reference, prediction = reference_labels(grey, white), predicted_labels(t1)
    sitk.WriteImage(prediction, str(out / "pred" / f"{CASE}.nii.gz"))
    sitk.WriteImage(reference, str(out / "target" / f"{CASE}.nii.gz"))
    (out / "labels.json").write_text(json.dumps({"labels": LABELS}, indent=2) + "\n", encoding="utf-8")

    arguments = ["evaluate", str(out / "pred"), str(out / "target"), "--labels", str(out / "labels.json")]
    arguments += ["--metrics", METRICS, "--out", str(out / "results.csv")]
    print("$ exacta", " ".join(arguments), flush=True)
    status = subprocess.run([sys.executable, "-m", "exacta", *arguments], check=False).returncode
    if status:
        return status
    draw(t1, reference, prediction, scores(out / "results.csv"), out / "outlines.png")
    print(f"\nvalues:   {out / 'results.csv'}\noutlines: {out / 'outlines.png'}")
    return 0


def read_mni(name: str) -> sitk.Image:
    """Read one of the images that nilearn ships, without importing nilearn."""
    package = importlib.util.find_spec("nilearn")
    if package is None or not package.submodule_search_locations:
        sys.exit("demo: the brain comes with nilearn: pip install --no-deps nilearn==0.14.1")
    folder = Path(package.submodule_search_locations[0], "datasets", "data")
    return sitk.ReadImage(str(folder / f"mni_icbm152_{name}_tal_nlin_sym_09a_converted.nii.gz"))


def reference_labels(grey: sitk.Image, white: sitk.Image) -> sitk.Image:
    """Label each voxel with what is most probable there: 0 the rest, 1 grey matter, 2 white matter."""
    probabilities = [sitk.GetArrayFromImage(image).astype(np.int16) for image in (grey, white)]
    rest = 255 - probabilities[0] - probabilities[1]
    return like(np.argmax(np.stack([rest, *probabilities]), axis=0), grey)


def predicted_labels(t1: sitk.Image) -> sitk.Image:
    """Split the smoothed T1 inside the brain by two Otsu thresholds into fluid, grey matter and white matter."""
    intensity = sitk.GetArrayFromImage(sitk.Median(t1, [1, 1, 1]))
    brain = sitk.GetArrayViewFromImage(t1) > 0
    otsu = sitk.OtsuMultipleThresholdsImageFilter()
    otsu.SetNumberOfThresholds(2)
    # The filter takes no mask: give it the brain's voxels as an image of one row.
    otsu.Execute(sitk.GetImageFromArray(intensity[brain][np.newaxis]))
    labels = np.digitize(intensity, otsu.GetThresholds())
    return like(np.where(brain, labels, 0), t1)


def like(labels: npt.NDArray[Any], image: sitk.Image) -> sitk.Image:
    """Turn an array into an image on the grid of another."""
    result = sitk.GetImageFromArray(labels.astype(np.uint8))
    result.CopyInformation(image)
    return result


def scores(path: Path) -> dict[str, dict[str, float]]:
    """Read the values back from the results: name of the label, then metric."""
    found: dict[str, dict[str, float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["name"], {})[row["metric"]] = float(row["value"])
    return found


def draw(
    t1: sitk.Image, reference: sitk.Image, prediction: sitk.Image, values: dict[str, dict[str, float]], path: Path
) -> None:
    """Draw both outlines of each tissue over one axial slice of the T1, front up and the patient's left on the left."""
    background, truth, guess = (sitk.GetArrayFromImage(image)[SLICE] for image in (t1, reference, prediction))
    rows, columns = np.nonzero(background)
    margin = 5
    window = (
        slice(rows.min() - margin, rows.max() + margin + 1),
        slice(columns.min() - margin, columns.max() + margin + 1),
    )
    tissues = {name: label for name, label in LABELS.items() if label}
    style = {"axes.titlecolor": "white", "text.color": "white", "font.size": 12}
    with plt.rc_context(style):
        figure, axes = plt.subplots(1, len(tissues), figsize=(13, 8.8), facecolor="black", layout="constrained")
        figure.get_layout_engine().set(h_pad=0.15)
        for axis, (name, label) in zip(axes, tissues.items(), strict=True):
            axis.imshow(background[window], cmap="gray", origin="lower", vmin=60, vmax=245, interpolation="bicubic")
            # The reference is wider, so that it shows where the prediction lies on it.
            for labels, colour, width in ((truth, REFERENCE_COLOUR, 2.8), (guess, PREDICTION_COLOUR, 1.4)):
                axis.contour(labels[window] == label, levels=[0.5], colors=colour, linewidths=width)
            axis.set_title(f"{name}\n{caption(values[name])}", fontsize=13, linespacing=1.6, pad=8)
            for side, place in (("L", 0.02), ("R", 0.98)):
                axis.text(place, 0.5, side, transform=axis.transAxes, ha="center", va="center", color="#aaaaaa")
            axis.set_axis_off()
        handles = [
            Line2D([], [], color=colour, linewidth=2.5, label=label)
            for colour, label in (
                (REFERENCE_COLOUR, "reference (tissue probabilities)"),
                (PREDICTION_COLOUR, "prediction (Otsu thresholds of the T1)"),
            )
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=13)
        figure.savefig(path, dpi=150)
        plt.close(figure)


def caption(values: dict[str, float]) -> str:
    """Write the scores of one tissue, in the whole brain, in a line."""
    surface = values["nsd(tolerance=1)"]
    distances = f"HD95 {values['hd95']:.2f} mm   ASSD {values['assd']:.2f} mm"
    return f"Dice {values['dice']:.3f}   {distances}   NSD {surface:.3f}"


if __name__ == "__main__":
    sys.exit(main())
