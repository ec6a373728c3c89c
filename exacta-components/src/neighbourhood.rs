//! What thinning asks of a voxel, answered inside one word of 27 bits: the voxels around it, bit `9 slice + 3 row + column`, the
//! voxel itself in the middle.
//!
//! Foreground is connected through corners (26 neighbours), and its Euler characteristic is that of the union of closed cubes.

/// The voxel itself.
pub(crate) const CENTRE: u32 = 1 << 13;

/// All bits whose column, or row, is 0, also in a fourth slice, into which the last row would overflow. A digit is a row.
const COLUMN_0: u32 = 0o1_111_111_111;
const ROW_0: u32 = 0o7_007_007_007;

/// Positions of the blocks of 2x2x2 voxels (by their lowest voxel) that hold the centre: one for each of its corners.
const CORNERS: u32 = 0o33 | 0o33 << 9;
/// Likewise the blocks of 2x2 around the centre's edges along columns, rows and slices: the centre's own index there, and 0 or 1
/// along the others.
const EDGES: [u32; 3] = [0o22 | 0o22 << 9, 0o30 | 0o30 << 9, 0o33 << 9];
/// The six voxels that share a face with the centre.
const FACES: u32 = 0o020 | 0o252 << 9 | 0o020 << 18;

/// Whether exactly one neighbour is foreground.
#[inline(always)]
pub(crate) fn is_end_point(around: u32) -> bool {
    (around & !CENTRE).count_ones() == 1
}

/// Whether deleting the centre leaves the Euler characteristic.
///
/// What goes with the centre's cube is the cube, and those of its 8 corners, 12 edges and 6 faces that no neighbour has too; the
/// characteristic stays where these add up to `corners - edges + faces = 1`. Eight times this is the sum of the classical table of
/// octants, which `naive` sums.
#[inline(always)]
pub(crate) fn keeps_euler(around: u32) -> bool {
    let around = around & !CENTRE;
    let along_columns = around | around >> 1;
    let along_rows = around | around >> 3;
    let plane = along_columns | along_columns >> 3;
    let taken = |blocks: u32, positions: u32| (blocks & positions).count_ones();
    let corners = 8 - taken(plane | plane >> 9, CORNERS);
    let edges = 12
        - taken(along_rows | along_rows >> 9, EDGES[0])
        - taken(along_columns | along_columns >> 9, EDGES[1])
        - taken(plane, EDGES[2]);
    let faces = 6 - taken(around, FACES);
    corners + faces == edges + 1
}

/// Whether the foreground among the 26 neighbours is one component, or none.
#[inline(always)]
pub(crate) fn is_simple(around: u32) -> bool {
    let open = around & !CENTRE;
    let mut found = open & open.wrapping_neg();
    loop {
        let columns = found | (found << 1) & !COLUMN_0 | found >> 1 & !(COLUMN_0 << 2);
        let rows = columns | (columns << 3) & !ROW_0 | columns >> 3 & !(ROW_0 << 6);
        let grown = (rows | rows << 9 | rows >> 9) & open;
        if grown == found {
            return found == open;
        }
        found = grown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive_skeleton::{components_around, octants_sum};

    /// Neighbourhoods: all of one to three voxels, and some thousands of any density.
    fn neighbourhoods() -> Vec<u32> {
        let mut out = vec![CENTRE];
        for a in 0..27 {
            for b in 0..27 {
                out.extend((0..27).map(|c| 1 << a | 1 << b | 1 << c | CENTRE));
            }
        }
        let mut state = 1u64;
        for i in 0..40_000 {
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                u32::try_from(state >> 20 & 0x7ff_ffff).expect("27 bits")
            };
            let (a, b) = (next(), next());
            out.push([a, a & b, a | b, a & b & next(), a | b | next()][i % 5] | CENTRE);
        }
        out
    }

    #[test]
    fn equal_to_the_definitions() {
        for around in neighbourhoods() {
            let voxel = |at: [usize; 3]| around >> (9 * at[0] + 3 * at[1] + at[2]) & 1 == 1;
            assert_eq!(keeps_euler(around), octants_sum(voxel) == 0, "{around:o}");
            assert_eq!(is_simple(around), components_around(voxel) <= 1, "{around:o}");
        }
    }
}
