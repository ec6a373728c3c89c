//! Skeletons by the thinning of Lee, Kashyap and Chu (1994), voxel for voxel those of `skimage.morphology.skeletonize(method="lee")`.
//!
//! A sweep has a pass for each of six directions (four where the image has one slice). A pass collects the voxels whose neighbour in
//! its direction is background and whose deletion is allowed, and then deletes them in C order where it still is. What is done
//! here once in place of six times a sweep and voxel:
//!
//! - candidates of a direction come from two words, 62 voxels at a time;
//! - whether a voxel may be deleted depends on its neighbourhood alone, not on the direction, and is kept until a neighbour is
//!   deleted (`settled`, `allowed`);
//! - a candidate none of whose neighbours was deleted in this pass needs no second look;
//! - rows where nothing was deleted for a whole sweep are passed over.
//!
//! The work so grows with the number of deletions, not with the number of sweeps times the surface. Memory: three bits a voxel of
//! the mask's box. One thread; several masks are thinned at the same time by [`CpuComponents`](crate::CpuComponents).

use exacta_core::{Bits, Cpu, Region, Thinning};

use crate::neighbourhood::{is_end_point, is_simple, keeps_euler};
use crate::padded::{OWN, Padded, window};

/// The skeleton of a mask: what thinning leaves.
///
/// An image whose first axis has length 1, and one of fewer than three axes, is thinned as 2-D: along rows and columns alone.
/// No voxel is added, and with [`Thinning::KeepComponents`] no component lost. Equal for every instruction set, number of threads and
/// memory layout; not equivariant under transposition or flips, since the order of deletions is part of the definition.
///
/// # Reference
/// Lee, Kashyap and Chu, Building skeleton models via 3-D medial surface/axis thinning algorithms, CVGIP: Graphical Models and
/// Image Processing 56 (1994).
pub fn skeleton(cpu: &Cpu, bits: &Bits, rule: Thinning) -> Bits {
    let flat = bits.grid().by_axis(bits.grid().size())[0] == 1;
    skeleton_of(cpu, bits, rule, flat)
}

/// The same for a mask cut out of an image; `flat` where that has one slice.
pub(crate) fn skeleton_of(cpu: &Cpu, bits: &Bits, rule: Thinning, flat: bool) -> Bits {
    let Some(region) = bits.region() else { return bits.clone() };
    let mut volume = Volume::new(bits, &region, rule, if flat { &DIRECTIONS[..4] } else { &DIRECTIONS });
    exacta_core::dispatch!(cpu.level, simd => volume.thin(simd));
    volume.padded.bits(*bits.grid(), &region)
}

/// Where the background is.
#[derive(Debug, Clone, Copy)]
enum Direction {
    RowBefore,
    RowAfter,
    ColumnAfter,
    ColumnBefore,
    SliceAfter,
    SliceBefore,
}

/// The passes of a sweep, in order.
const DIRECTIONS: [Direction; 6] = [
    Direction::RowBefore,
    Direction::RowAfter,
    Direction::ColumnAfter,
    Direction::ColumnBefore,
    Direction::SliceAfter,
    Direction::SliceBefore,
];

/// A mask that is being thinned.
#[derive(Debug)]
struct Volume<'a> {
    padded: Padded,
    /// Voxels whose neighbourhood is as it was when `allowed` was found.
    settled: Vec<u64>,
    /// Voxels that may be deleted.
    allowed: Vec<u64>,
    /// For each row the last pass in which a voxel of it or of a row around it was deleted.
    touched: Vec<u64>,
    directions: &'a [Direction],
    rule: Thinning,
}

impl<'a> Volume<'a> {
    fn new(bits: &Bits, region: &Region, rule: Thinning, directions: &'a [Direction]) -> Self {
        let padded = Padded::new(bits, region);
        let words = padded.mask.len();
        let touched = vec![0; padded.size[0] * padded.size[1]];
        Self { padded, settled: vec![0; words], allowed: vec![0; words], touched, directions, rule }
    }

    #[inline(always)]
    fn thin<S>(&mut self, _: S) {
        let mut candidates = Vec::new();
        let sweep = self.directions.len() as u64;
        let (mut pass, mut last) = (0, 0);
        // A whole sweep without a deletion repeats itself.
        for direction in self.directions.iter().cycle() {
            pass += 1;
            self.collect(*direction, u64::saturating_sub(pass, sweep), &mut candidates);
            if self.delete(pass, &candidates) {
                last = pass;
            } else if pass - last == sweep {
                break;
            }
        }
    }

    /// Finds the voxels that a pass may delete, in rows touched since pass `since`.
    #[inline(always)]
    fn collect(&mut self, direction: Direction, since: u64, candidates: &mut Vec<(usize, u64)>) {
        candidates.clear();
        let (words, pitch, [slices, rows]) = (self.padded.words, self.padded.pitch(), self.padded.size);
        for slice in 1..slices - 1 {
            for row in slice * rows + 1..(slice + 1) * rows - 1 {
                if self.touched[row] < since {
                    continue;
                }
                for i in row * words..(row + 1) * words {
                    let mask = &self.padded.mask;
                    let here = mask[i];
                    let beside = match direction {
                        Direction::RowBefore => mask[i - words],
                        Direction::RowAfter => mask[i + words],
                        Direction::ColumnAfter => here >> 1,
                        Direction::ColumnBefore => here << 1,
                        Direction::SliceAfter => mask[i + pitch],
                        Direction::SliceBefore => mask[i - pitch],
                    };
                    let border = here & !beside & OWN;
                    if border == 0 {
                        continue;
                    }
                    self.settle(i, border & !self.settled[i]);
                    let found = border & self.allowed[i];
                    if found != 0 {
                        candidates.push((i, found));
                    }
                }
            }
        }
    }

    /// Finds out which of the voxels `left` of word `i` may be deleted.
    #[inline(always)]
    fn settle(&mut self, i: usize, mut left: u64) {
        if left == 0 {
            return;
        }
        let around = self.padded.around(i);
        self.settled[i] |= left;
        self.allowed[i] &= !left;
        while left != 0 {
            let around = window(&around, left.trailing_zeros());
            let voxel = left & left.wrapping_neg();
            left ^= voxel;
            if !is_end_point(around) && keeps_euler(around) && is_simple(around) {
                self.allowed[i] |= voxel;
            }
        }
    }

    /// Deletes the candidates, in order, that still are simple. Whether there was one.
    #[inline(always)]
    fn delete(&mut self, pass: u64, candidates: &[(usize, u64)]) -> bool {
        let mut any = false;
        for &(i, found) in candidates {
            let mut around = self.padded.around(i);
            let (mut left, mut deleted) = (found, 0);
            while left != 0 {
                let b = left.trailing_zeros();
                let voxel = 1 << b;
                left ^= voxel;
                let unchanged = self.settled[i] & !(deleted << 1) & voxel != 0;
                if unchanged || self.still_simple(window(&around, b)) {
                    deleted |= voxel;
                    around[4] &= !voxel;
                }
            }
            if deleted != 0 {
                self.padded.delete(i, deleted);
                self.unsettle(pass, i, deleted);
                any = true;
            }
        }
        any
    }

    #[inline(always)]
    fn still_simple(&self, around: u32) -> bool {
        match self.rule {
            Thinning::Lee => is_simple(around),
            Thinning::KeepComponents => around.count_ones() > 1 && is_simple(around),
        }
    }

    /// Marks the neighbours of deleted voxels of word `i`.
    #[inline(always)]
    fn unsettle(&mut self, pass: u64, i: usize, deleted: u64) {
        let (words, pitch) = (self.padded.words, self.padded.pitch());
        let near = !(deleted | deleted << 1 | deleted >> 1);
        let before = deleted & 2 != 0 && !i.is_multiple_of(words);
        let after = deleted >> 62 & 1 != 0 && !(i + 1).is_multiple_of(words);
        let (first, first_row) = (i - pitch - words, i / words - self.padded.size[1] - 1);
        for slice in 0..3 {
            for row in 0..3 {
                let i = first + slice * pitch + row * words;
                self.settled[i] &= near;
                if before {
                    self.settled[i - 1] &= !(1 << 62);
                }
                if after {
                    self.settled[i + 1] &= !2;
                }
                self.touched[first_row + slice * self.padded.size[1] + row] = pass;
            }
        }
    }
}
