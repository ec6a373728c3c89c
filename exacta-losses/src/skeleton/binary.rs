//! The skeleton of a binary mask, a bit a voxel: least is AND, largest is OR, and what an opening removes is `x & !O`.

use super::volume::Shape;

/// A mask, each row from a word of its own on; bits beyond the row are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mask {
    shape: Shape,
    words: Vec<u64>,
}

impl Mask {
    /// No voxel.
    pub(crate) fn new(shape: Shape) -> Self {
        Self { shape, words: vec![0; shape.slices * shape.rows * Self::per_row(shape)] }
    }

    const fn per_row(shape: Shape) -> usize {
        shape.columns.div_ceil(64)
    }

    /// Adds voxels in raster order from `start` on where `is` holds.
    pub(crate) fn write<T: Copy>(&mut self, start: usize, values: &[T], is: impl Fn(T) -> bool) {
        let (columns, per_row) = (self.shape.columns, Self::per_row(self.shape));
        let (mut row, mut column) = (start / columns, start % columns);
        for &value in values {
            self.words[row * per_row + column / 64] |= u64::from(is(value)) << (column % 64);
            column += 1;
            if column == columns {
                (row, column) = (row + 1, 0);
            }
        }
    }

    /// The words of a row, counted through all slices.
    pub(crate) fn row(&self, row: usize) -> &[u64] {
        let per_row = Self::per_row(self.shape);
        &self.words[row * per_row..][..per_row]
    }

    /// Whether a voxel is in the mask.
    #[cfg(test)]
    pub(crate) fn get(&self, row: usize, column: usize) -> bool {
        self.row(row)[column / 64] >> (column % 64) & 1 == 1
    }

    /// Number of voxels.
    #[cfg(test)]
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The skeleton after some iterations. It ends early once an erosion changes nothing.
    pub(crate) fn skeleton(&self, iterations: usize) -> Self {
        let mut skeleton = Self::new(self.shape);
        let (mut here, mut next, mut wide) = (self.clone(), Self::new(self.shape), Self::new(self.shape));
        for _ in 0..=iterations {
            here.erode_into(&mut next);
            next.widen_into(&mut wide);
            for ((skeleton, &here), &wide) in skeleton.words.iter_mut().zip(&here.words).zip(&wide.words) {
                *skeleton |= here & !wide;
            }
            if here == next {
                break;
            }
            std::mem::swap(&mut here, &mut next);
        }
        skeleton
    }

    /// The voxels whose face neighbours inside the image are all in the mask.
    fn erode_into(&self, out: &mut Self) {
        let Shape { slices, rows, columns } = self.shape;
        let per_row = Self::per_row(self.shape);
        // The column beyond the row counts as in the mask.
        let beyond = |i: usize| if i + 1 == per_row { !last(columns) } else { 0 };
        for z in 0..slices {
            for y in 0..rows {
                let at = |z: usize, y: usize| self.row(z * rows + y);
                let near = [
                    at(z.saturating_sub(1), y),
                    at(z, y.saturating_sub(1)),
                    at(z, (y + 1).min(rows - 1)),
                    at((z + 1).min(slices - 1), y),
                ];
                let here = at(z, y);
                let word = |i: usize| here[i] | beyond(i);
                for i in 0..per_row {
                    let before = if i > 0 { here[i - 1] >> 63 } else { 1 };
                    let after = if i + 1 < per_row { word(i + 1) << 63 } else { 1 << 63 };
                    let along = here[i] & (here[i] << 1 | before) & (word(i) >> 1 | after);
                    out.words[(z * rows + y) * per_row + i] = near.iter().fold(along, |word, row| word & row[i]);
                }
            }
        }
    }

    /// The voxels with any voxel of the mask in the box of three around them.
    fn widen_into(&self, out: &mut Self) {
        let Shape { slices, rows, columns } = self.shape;
        let per_row = Self::per_row(self.shape);
        let mut any = vec![0; per_row];
        for z in 0..slices {
            for y in 0..rows {
                any.fill(0);
                for z in z.saturating_sub(1)..(z + 2).min(slices) {
                    for y in y.saturating_sub(1)..(y + 2).min(rows) {
                        any.iter_mut().zip(self.row(z * rows + y)).for_each(|(any, word)| *any |= word);
                    }
                }
                for i in 0..per_row {
                    let before = if i > 0 { any[i - 1] >> 63 } else { 0 };
                    let after = if i + 1 < per_row { any[i + 1] << 63 } else { 0 };
                    let wide = any[i] | any[i] << 1 | before | any[i] >> 1 | after;
                    out.words[(z * rows + y) * per_row + i] = wide & if i + 1 == per_row { last(columns) } else { !0 };
                }
            }
        }
    }
}

/// The bits of the last word of a row.
const fn last(columns: usize) -> u64 {
    if columns.is_multiple_of(64) { !0 } else { (1 << (columns % 64)) - 1 }
}
