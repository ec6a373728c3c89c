"""Recomputes the values of VTK, and of MeshMetrics where it is installed, in `mesh.json`, and reports what changed.

    python -m pip install --no-deps -r ../tables/requirements.txt
    python -m pip install MESHMETRICS    # a path or URL; it is not on PyPI
    python mesh.py [--check] [--fixtures DIR]

VTK makes the surfaces of the masks at unit spacing, their vertices are multiplied by the spacing, and VTK finds the
nearest point of the other surface, all in double precision. Statistics weigh by length or area. With --check nothing is
written, and the exit status is 1 if a value differs by more than the rounding of the image's extent.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import mutable, vtkIdList, vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkImageData, vtkPolyData, vtkStaticCellLocator
from vtkmodules.vtkFiltersGeneral import vtkDiscreteFlyingEdges2D, vtkDiscreteMarchingCubes

FIXTURES = Path(__file__).resolve().parents[2] / "exacta-py" / "tests" / "fixtures"


class Surface:
    """The contour of a mask: elements as vertices in space, centres and sizes."""

    def __init__(self, mask: np.ndarray, spacing: list[float]) -> None:
        padded = np.pad(mask, 1).astype(np.uint8)
        image = vtkImageData()
        image.SetDimensions(*padded.shape, *[1] * (3 - mask.ndim))
        image.GetPointData().SetScalars(numpy_to_vtk(padded.ravel(order="F"), deep=True))
        contour = vtkDiscreteMarchingCubes() if mask.ndim == 3 else vtkDiscreteFlyingEdges2D()
        contour.SetInputData(image)
        contour.SetValue(0, 1)
        contour.Update()
        out = contour.GetOutput()
        points = vtk_to_numpy(out.GetPoints().GetData()).astype(float)
        points = (points - 1) * np.array([*spacing, *[1.0] * (3 - mask.ndim)])
        if mask.ndim == 2:
            points[:, 2] = 0
        cells, ids = out.GetPolys() if mask.ndim == 3 else out.GetLines(), vtkIdList()
        self.elements = []
        cells.InitTraversal()
        while cells.GetNextCell(ids):
            self.elements.append([ids.GetId(i) for i in range(ids.GetNumberOfIds())])
        self.vertices = points[np.array(self.elements)]
        self.centres = self.vertices.mean(axis=1)
        edges = self.vertices[:, 1:] - self.vertices[:, :1]
        across = np.cross(edges[:, 0], edges[:, 1]) / 2 if mask.ndim == 3 else edges[:, 0]
        self.sizes = np.linalg.norm(across, axis=1)
        self.keys = [frozenset(map(tuple, element)) for element in self.vertices.tolist()]
        self.data = vtkPolyData()
        held = vtkPoints()
        held.SetDataTypeToDouble()
        held.SetData(numpy_to_vtk(points, deep=True))
        self.data.SetPoints(held)
        listed = vtkCellArray()
        for element in self.elements:
            listed.InsertNextCell(len(element), element)
        (self.data.SetPolys if mask.ndim == 3 else self.data.SetLines)(listed)

    def distances(self, other: Surface) -> np.ndarray:
        """From each centre to the nearest point of another surface; of shared elements 0."""
        locator = vtkStaticCellLocator()
        locator.SetDataSet(other.data)
        locator.BuildLocator()
        shared, found = set(other.keys), np.zeros(len(self.centres))
        point, cell, sub, squared = [0.0] * 3, mutable(0), mutable(0), mutable(0.0)
        for i, centre in enumerate(self.centres):
            if self.keys[i] not in shared:
                locator.FindClosestPoint(centre, point, cell, sub, squared)
                found[i] = np.linalg.norm(centre - point)
        return found


def percentile(distances: np.ndarray, sizes: np.ndarray, q: float) -> float:
    """The first distance at which the share of the size reaches q."""
    order = np.lexsort((sizes, distances))
    share = np.cumsum(sizes[order]) / sizes[order].sum()
    return float(distances[order][min(int(np.searchsorted(share, q / 100)), len(order) - 1)])


def vtk(pred: np.ndarray, target: np.ndarray, spacing: list[float], taus: list[float]) -> dict:
    """Every value of VTK for two masks that are not empty."""
    p, t = Surface(pred, spacing), Surface(target, spacing)
    ways = [(p.distances(t), p.sizes), (t.distances(p), t.sizes)]
    total = p.sizes.sum() + t.sizes.sum()
    sums = [float((distances * sizes).sum()) for distances, sizes in ways]
    return {
        "hd": float(max(distances.max() for distances, _ in ways)),
        "hd95": max(percentile(*way, 95) for way in ways),
        "hd50": max(percentile(*way, 50) for way in ways),
        "masd": sum(total / sizes.sum() for total, (_, sizes) in zip(sums, ways, strict=True)) / 2,
        "assd": sum(sums) / total,
        "nsd": {
            str(tau): float(sum(sizes[distances <= tau].sum() for distances, sizes in ways) / total) for tau in taus
        },
        "size_target": float(t.sizes.sum()),
        "size_pred": float(p.sizes.sum()),
        "elements_target": len(t.sizes),
        "elements_pred": len(p.sizes),
    }


def mesh_metrics(pred: np.ndarray, target: np.ndarray, spacing: list[float], taus: list[float]) -> dict:
    """Every value of the MeshMetrics that is installed."""
    from MeshMetrics import DistanceMetrics

    metrics = DistanceMetrics()
    metrics.set_input(ref=target, pred=pred, spacing=spacing)
    return {
        "hd": float(metrics.hd(100)),
        "hd95": float(metrics.hd(95)),
        "hd50": float(metrics.hd(50)),
        "masd": float(metrics.masd()),
        "assd": float(metrics.assd()),
        "nsd": {str(tau): float(metrics.nsd(tau)) for tau in taus},
    }


def update(stored: dict, computed: dict, slack: float, row: str) -> int:
    """Puts computed values in place of those that differ; says which, and how many. The range of a tie stays."""
    changed = 0
    for key, after in computed.items():
        before = stored[key]
        if isinstance(after, dict):
            ranges = stored.get(f"{key}_range", {})
            held = {**before, **{f"{tau}_range": bounds for tau, bounds in ranges.items()}}
            changed += update(held, after, slack, f"{row}/{key}")
            before.update({tau: held[tau] for tau in after})
            continue
        low, high = sorted(map(float, stored.get(f"{key}_range", (before, before))))
        if not low - slack <= after <= high + slack:
            print(f"{row}/{key}: {before!r} -> {after!r}")
            stored[key] = after
            changed += 1
    return changed


def main() -> int:
    """Run; the result is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a value differs")
    parser.add_argument("--fixtures", type=Path, default=FIXTURES)
    arguments = parser.parse_args()
    file = arguments.fixtures / "mesh.json"
    rows, pairs = json.loads(file.read_text()), json.loads((arguments.fixtures / "pairs.json").read_text())
    masks, installed, changed = np.load(arguments.fixtures / "pairs.npz"), importlib.util.find_spec("MeshMetrics"), 0
    for name, row in rows.items():
        pred, target = (masks[name] & 1).astype(bool), (masks[name] >> 1 & 1).astype(bool)
        if not pred.any() or not target.any():
            continue
        spacing, taus = pairs[name]["spacing"], pairs[name]["taus"]
        extent = max(1.0, *(n * h for n, h in zip(pred.shape, spacing, strict=True)))
        changed += update(row["vtk"], vtk(pred, target, spacing, taus), 1e-12 * extent, f"{name}/vtk")
        if installed:
            computed = mesh_metrics(pred.astype(np.uint8), target.astype(np.uint8), spacing, taus)
            changed += update(row["meshmetrics_head"], computed, 1e-6 * extent, f"{name}/meshmetrics_head")
    if changed and not arguments.check:
        text = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        file.write_text("{\n" + text + "\n}\n")
    tools = "VTK and MeshMetrics" if installed else "VTK; MeshMetrics is not installed"
    print(f"mesh.json, {tools}: {changed} values differ")
    return int(bool(changed) and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
