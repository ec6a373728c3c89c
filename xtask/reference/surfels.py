"""Writes the table of surfel normals from surface-distance, or says whether it would change.

    python surfels.py [--check]

DeepMind's table holds, for each code of a 2x2x2 block, the normals of the triangles of its marching cube; a normal's length is the
triangle's area on the unit grid. Areas need no sign, so components are written without, in eighths, one octal digit each. The
order is kept: an area is a sum in that order. Rule that the table follows: triangulate the code, or its complement where more
than four voxels are inside, by the case table of VTK; normals are half the cross products of edges.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "exacta-surface" / "src" / "normals.rs"
HEAD = """//! Normals of the triangles of each code of 2x2x2 voxels. Made by `cargo xtask reference-refresh`; do not edit.
//!
//! From `lookup_tables.py` of surface-distance, Copyright 2018 Google Inc., Apache License 2.0; signs are left out.

/// Up to four normals a code, their components in eighths, one octal digit an axis; 0 where there is none.
pub(crate) const NORMALS: [[u16; 4]; 256] = [
"""


def digits(normal: list[float]) -> str:
    """A normal as an octal number."""
    eighths = [abs(component) * 8 for component in normal]
    if any(value != int(value) or value > 7 for value in eighths):
        raise ValueError(f"not in eighths: {normal}")
    return "0o" + "".join(str(int(value)) for value in eighths)


def main() -> int:
    """Run; the result is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if the file would change")
    check = parser.parse_args().check
    table = importlib.import_module("surface_distance.lookup_tables")._NEIGHBOUR_CODE_TO_NORMALS
    rows = [[digits(normal) for normal in normals if any(normal)] for normals in table]
    rows = [row + ["0"] * (4 - len(row)) for row in rows]
    text = HEAD + "".join(f"    [{', '.join(row)}],\n" for row in rows) + "];\n"
    same = FILE.exists() and FILE.read_text(encoding="utf-8") == text
    print(f"{FILE.name}: {'unchanged' if same else 'differs' if check else 'written'}")
    if not check and not same:
        FILE.write_text(text, encoding="utf-8")
    return int(check and not same)


if __name__ == "__main__":
    sys.exit(main())
