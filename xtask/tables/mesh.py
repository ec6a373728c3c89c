"""Writes the case tables of the mesh surface: the elements that VTK puts into each of its cells.

    python -m pip install --no-deps -r requirements.txt
    python mesh.py [--check]

Every 2x2x2 block, and every 2x2 block, is meshed by VTK itself and its elements are written down by neighbour code.
Vertices are in half voxels from the block's first voxel, in the order of the axes; VTK's fastest axis x is axis 0. With
--check nothing is written, and the exit status is 1 if the file would change.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkIdList, vtkVersion
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkFiltersGeneral import vtkDiscreteFlyingEdges2D, vtkDiscreteMarchingCubes

FILE = Path(__file__).resolve().parents[2] / "exacta-surface" / "src" / "mesh" / "table.rs"
HEAD = """//! The elements of each neighbour code, as VTK {version} makes them: the output of `cargo xtask tables`.
//!
//! Triangles: `vtkDiscreteMarchingCubes`. Segments: `vtkDiscreteFlyingEdges2D`. An element is the digits of its
//! vertices, one a coordinate, in half voxels from the block's first voxel, in the order of the axes.

"""


def image(mask: np.ndarray) -> vtkImageData:
    """A mask as VTK's image of unit spacing, axis 0 fastest."""
    data = vtkImageData()
    data.SetDimensions(*mask.shape, *[1] * (3 - mask.ndim))
    data.GetPointData().SetScalars(numpy_to_vtk(mask.astype(np.uint8).ravel(order="F"), deep=True))
    return data


def elements(method: type, mask: np.ndarray, axes: int, origin: int) -> list[str]:
    """The elements of the contour of label 1, in VTK's order, relative to voxel `origin` of each axis."""
    contour = method()
    contour.SetInputData(image(mask))
    contour.SetValue(0, 1)
    contour.Update()
    out = contour.GetOutput()
    cells = out.GetPolys() if axes == 3 else out.GetLines()
    found, ids = [], vtkIdList()
    cells.InitTraversal()
    while cells.GetNextCell(ids):
        points = [out.GetPoint(ids.GetId(i))[:axes] for i in range(ids.GetNumberOfIds())]
        found.append("".join(str(round(2 * (value - origin))) for point in points for value in point))
    return found


def triangles(code: int) -> list[str]:
    """The triangles of a block alone: its contour ends at its faces."""
    block = np.zeros((2, 2, 2), bool)
    for i, at in enumerate(itertools.product((0, 1), repeat=3)):
        block[at] = code >> (7 - i) & 1
    return elements(vtkDiscreteMarchingCubes, block, 3, 0)


def segments(code: int) -> list[str]:
    """The segments within a block of a padded image: on a bare block of two by two VTK's are broken."""
    padded = np.zeros((4, 4), bool)
    for i, at in enumerate(itertools.product((0, 1), repeat=2)):
        padded[1 + at[0], 1 + at[1]] = code >> (3 - i) & 1
    found = elements(vtkDiscreteFlyingEdges2D, padded, 2, 1)
    return [element for element in found if set(element) <= set("012")]


def listed(name: str, meaning: str, rows: list[list[str]]) -> str:
    """A table as Rust."""
    body = "".join(f'    "{",".join(row)}",\n' for row in rows)
    return f"/// {meaning}\npub(super) const {name}: [&str; {len(rows)}] = [\n{body}];\n"


def main() -> int:
    """Run; the result is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file would change")
    check = parser.parse_args().check
    text = HEAD.format(version=vtkVersion.GetVTKVersion())
    text += listed("TRIANGLES", "Triangles of each code of 2x2x2 voxels.", [triangles(code) for code in range(256)])
    text += "\n" + listed("SEGMENTS", "Segments of each code of 2x2 pixels.", [segments(code) for code in range(16)])
    same = FILE.exists() and FILE.read_text(encoding="utf-8") == text
    print(f"{FILE.name}: {'unchanged' if same else 'differs' if check else 'written'}")
    if not check and not same:
        FILE.write_text(text, encoding="utf-8")
    return int(check and not same)


if __name__ == "__main__":
    sys.exit(main())
