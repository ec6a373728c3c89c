"""Reading label images through SimpleITK, and telling whether two of them lie on one grid."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from exacta.cli._records import CaseError

# Of the spacing for spacing and origin, of a unit vector for direction. Wider than ITK's 1e-6, because NIfTI keeps
# geometry in float32 and its quaternions lose up to 3e-4 near half turns; far below what would move a distance.
GEOMETRY_TOLERANCE = 1e-3

SIDES = ("PRED", "TARGET")


@dataclass(frozen=True)
class Grid:
    """Where the voxels of an image lie, in ITK's axis order (the reverse of the array's)."""

    size: tuple[int, ...]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    direction: tuple[float, ...]

    def difference(self, other: "Grid", *, compare_spacing: bool = True) -> str:
        """What differs beyond :data:`GEOMETRY_TOLERANCE`, in words; empty when nothing does."""
        if len(self.size) != len(other.size):
            return f"PRED is {len(self.size)}-D and TARGET {len(other.size)}-D"
        found = []
        if self.size != other.size:
            found.append(f"size differs: {_numbers(self.size)} in PRED, {_numbers(other.size)} in TARGET")
        limit = GEOMETRY_TOLERANCE * np.asarray(other.spacing)
        for name, tolerance in (("spacing", limit), ("origin", limit.min()), ("direction", GEOMETRY_TOLERANCE)):
            mine, theirs = np.asarray(getattr(self, name)), np.asarray(getattr(other, name))
            # Written so that a NaN counts as a difference.
            if (name != "spacing" or compare_spacing) and not bool(np.all(np.abs(mine - theirs) <= tolerance)):
                found.append(f"{name} differs: {_numbers(mine)} in PRED, {_numbers(theirs)} in TARGET")
        return "; ".join(found)


def load_sitk() -> Any:
    """Import SimpleITK.

    Raises
    ------
    ModuleNotFoundError
        With what to install.
    """
    try:
        sitk = importlib.import_module("SimpleITK")
    except ModuleNotFoundError as error:
        message = "reading images needs SimpleITK, which is not installed: pip install 'exacta[cli]'"
        raise ModuleNotFoundError(message, name="SimpleITK") from error
    # Warnings of the readers go to stderr from C++, through any progress bar.
    sitk.ProcessObject.SetGlobalWarningDisplay(False)
    return sitk


@dataclass(frozen=True)
class Pair:
    """Two label images on one grid, in the dtype of their files; axis 0 is ITK's last axis.

    ``spacing`` is in the array's axis order. The arrays are views into ``owners`` and valid as long as this lives.
    """

    pred: npt.NDArray[Any]
    target: npt.NDArray[Any]
    spacing: tuple[float, ...]
    owners: tuple[Any, ...]


def read_pair(pred: Path, target: Path, spacing: tuple[float, ...] | None = None) -> Pair:
    """Read two label images that lie on one grid.

    Parameters
    ----------
    pred, target : Path
        2-D or 3-D images with one number per voxel.
    spacing : tuple of float, optional
        In the array's axis order, or one value for every axis. Replaces the header's, which is then not compared.

    Returns
    -------
    Pair
        With the target's spacing, or ``spacing`` as given.

    Raises
    ------
    CaseError
        When a file cannot be read, is no label image, or the grids differ. Voxels are read only after the headers
        have been compared.
    """
    sitk = load_sitk()
    readers = [_open(sitk, path, side) for path, side in zip((pred, target), SIDES, strict=True)]
    pred_grid, target_grid = (_grid(reader) for reader in readers)
    difference = pred_grid.difference(target_grid, compare_spacing=spacing is None)
    if difference:
        raise CaseError(difference)
    images = [_execute(reader, path, side) for reader, path, side in zip(readers, (pred, target), SIDES, strict=True)]
    # Views spare a copy of each volume.
    pred_array, target_array = (np.asarray(sitk.GetArrayViewFromImage(image)) for image in images)
    for array, side in zip((pred_array, target_array), SIDES, strict=True):
        if array.dtype.kind not in "iuf":
            raise CaseError(f"{side} holds {array.dtype} values, which are no labels")
    if spacing is None:
        spacing = target_grid.spacing[::-1]
    elif len(spacing) == 1:
        spacing *= target_array.ndim
    return Pair(pred_array, target_array, spacing, tuple(images))


def _open(sitk: Any, path: Path, side: str) -> Any:
    reader = sitk.ImageFileReader()
    reader.SetFileName(str(path))
    try:
        reader.ReadImageInformation()
    except RuntimeError as error:
        raise CaseError(f"{side} cannot be read: {_last_line(error, path)}") from error
    if reader.GetDimension() not in (2, 3):
        raise CaseError(f"{side} has {reader.GetDimension()} dimensions; a label image has 2 or 3")
    if reader.GetNumberOfComponents() != 1:
        raise CaseError(f"{side} has {reader.GetNumberOfComponents()} numbers per voxel; a label image has one")
    return reader


def _grid(reader: Any) -> Grid:
    return Grid(reader.GetSize(), reader.GetSpacing(), reader.GetOrigin(), reader.GetDirection())


def _execute(reader: Any, path: Path, side: str) -> Any:
    try:
        return reader.Execute()
    except RuntimeError as error:
        raise CaseError(f"{side} cannot be read: {_last_line(error, path)}") from error


def _last_line(error: Exception, path: Path) -> str:
    """The sentence of an ITK message that says what happened, without the C++ that raised it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    for marker in ("sitk::ERROR:", "Description:"):
        last = last.rpartition(marker)[2].strip() or last
    return last.replace(str(path), path.name)


def _numbers(values: Any) -> str:
    return "(" + ", ".join(f"{value:.9g}" for value in values) + ")"
