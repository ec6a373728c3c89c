//! A volume with room beside each row, its erosion and its dilation by slices.

use std::ops::Range;

use crate::real::Real;

/// Elements that are computed together: rows are kept in whole blocks.
pub(crate) const BLOCK: usize = 16;

/// Slices, rows and columns. A two-dimensional image is one slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) slices: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Shape {
    /// Of an image of two or three axes.
    pub(crate) fn new(spatial: &[usize]) -> Self {
        match *spatial {
            [rows, columns] => Self { slices: 1, rows, columns },
            [slices, rows, columns] => Self { slices, rows, columns },
            _ => unreachable!("two or three axes, checked by the caller"),
        }
    }

    /// Elements from one row to the next.
    pub(crate) const fn pitch(self) -> usize {
        self.columns.next_multiple_of(BLOCK) + 2
    }

    /// Elements of a slice, its rows apart by the pitch.
    pub(crate) const fn slice(self) -> usize {
        self.rows * self.pitch()
    }
}

/// A volume whose rows have an element before them, equal to their first, and elements after them, the first of which equals
/// their last. So a window of three reads no branch, and the border changes neither a least nor a largest value.
#[derive(Debug, Clone)]
pub(crate) struct Volume<F> {
    pub(crate) shape: Shape,
    pub(crate) values: Vec<F>,
}

impl<F: Real> Volume<F> {
    /// Zeros.
    pub(crate) fn new(shape: Shape) -> Self {
        Self { shape, values: vec![F::ZERO; shape.slices * shape.slice()] }
    }

    /// The voxels in raster order.
    pub(crate) fn read(&self, out: &mut [F]) {
        for (row, out) in out.chunks_exact_mut(self.shape.columns).enumerate() {
            out.copy_from_slice(self.row(row));
        }
    }

    /// Writes voxels in raster order from `start` on.
    pub(crate) fn write(&mut self, start: usize, values: &[F]) {
        let Shape { columns, .. } = self.shape;
        let pitch = self.shape.pitch();
        let (mut at, mut rest) = (start, values);
        while !rest.is_empty() {
            let (row, column) = (at / columns, at % columns);
            let count = rest.len().min(columns - column);
            let out = &mut self.values[row * pitch..][..pitch];
            out[1 + column..][..count].copy_from_slice(&rest[..count]);
            pad(out, columns);
            (at, rest) = (at + count, &rest[count..]);
        }
    }

    /// The voxels of a row, counted through all slices.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> &[F] {
        &self.values[row * self.shape.pitch() + 1..][..self.shape.columns]
    }

    /// Whether any voxel is NaN.
    pub(crate) fn any_nan(&self) -> bool {
        (0..self.shape.slices * self.shape.rows).any(|row| self.row(row).iter().any(|value| value.is_nan()))
    }

    /// The slices of a range.
    pub(crate) fn slices(&self, range: Range<usize>) -> &[F] {
        &self.values[range.start * self.shape.slice()..range.end * self.shape.slice()]
    }

    /// A row with what lies beside it, or `other` if the image has it not.
    #[inline(always)]
    pub(crate) fn padded<'a>(&'a self, slice: usize, row: usize, other: &'a [F]) -> &'a [F] {
        let pitch = self.shape.pitch();
        if slice < self.shape.slices && row < self.shape.rows {
            &self.values[(slice * self.shape.rows + row) * pitch..][..pitch]
        } else {
            other
        }
    }
}

/// Volumes that are used again.
#[derive(Debug)]
pub(crate) struct Pool<F>(Vec<Volume<F>>);

impl<F: Real> Pool<F> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// A volume of a shape, all of them the same, that holds anything.
    pub(crate) fn take(&mut self, shape: Shape) -> Volume<F> {
        self.0.pop().unwrap_or_else(|| Volume::new(shape))
    }

    pub(crate) fn give(&mut self, volumes: impl IntoIterator<Item = Volume<F>>) {
        self.0.extend(volumes);
    }
}

/// Fills what lies beside a row.
#[inline(always)]
fn pad<F: Copy>(row: &mut [F], columns: usize) {
    row[0] = row[1];
    row[columns + 1] = row[columns];
}

#[inline(always)]
fn least<F: Real, const NAN: bool>(a: F, b: F) -> F {
    if b < a || (NAN && b.is_nan()) { b } else { a }
}

#[inline(always)]
fn most<F: Real, const NAN: bool>(a: F, b: F) -> F {
    if b > a || (NAN && b.is_nan()) { b } else { a }
}

/// The same, to be written.
#[inline(always)]
pub(crate) fn block_mut<F>(values: &mut [F], at: usize) -> &mut [F; BLOCK] {
    (&mut values[at..at + BLOCK]).try_into().expect("a block")
}

/// The block at a place, whatever its alignment.
///
/// Kernels compute a block into an array of their own and then store it: stores among loads would keep them scalar.
#[inline(always)]
pub(crate) fn block<F: Copy>(values: &[F], at: usize) -> &[F; BLOCK] {
    values[at..at + BLOCK].try_into().expect("a block")
}

/// The erosion of a slice; `before` and `after` are its neighbours, or the slice itself at the border. Returns whether any
/// voxel changed.
#[inline(always)]
pub(crate) fn erode<F: Real, const NAN: bool>(shape: Shape, [before, here, after]: [&[F]; 3], out: &mut [F]) -> bool {
    let pitch = shape.pitch();
    let mut changed = [F::ZERO; BLOCK];
    for y in 0..shape.rows {
        let row = |y: usize| y * pitch..(y + 1) * pitch;
        let (up, down) = (&here[row(y.saturating_sub(1))], &here[row((y + 1).min(shape.rows - 1))]);
        let (centre, behind, ahead) = (&here[row(y)], &before[row(y)], &after[row(y)]);
        let out = &mut out[y * pitch..][..pitch];
        for x in (0..pitch - 2).step_by(BLOCK) {
            let (left, middle, right) = (block(centre, x), block(centre, x + 1), block(centre, x + 2));
            let (up, down) = (block(up, x + 1), block(down, x + 1));
            let (behind, ahead) = (block(behind, x + 1), block(ahead, x + 1));
            let mut found = [F::ZERO; BLOCK];
            for i in 0..BLOCK {
                let along = least::<F, NAN>(least::<F, NAN>(left[i], middle[i]), right[i]);
                let across = least::<F, NAN>(up[i], down[i]);
                let through = least::<F, NAN>(behind[i], ahead[i]);
                found[i] = least::<F, NAN>(least::<F, NAN>(along, across), through);
                changed[i] = if found[i] == middle[i] { changed[i] } else { F::ONE };
            }
            *block_mut(out, x + 1) = found;
        }
        pad(out, shape.columns);
    }
    // What lies beyond the row may change without harm: one more step at most.
    changed.iter().any(|&changed| changed != F::ZERO)
}

/// Largest values of a slice over windows of three columns, and of three rows of these.
#[inline(always)]
pub(crate) fn widen<F: Real, const NAN: bool>(shape: Shape, slice: &[F], along: &mut [F], across: &mut [F]) {
    let pitch = shape.pitch();
    for (row, out) in slice.chunks_exact(pitch).zip(along.chunks_exact_mut(pitch)) {
        for x in (0..pitch - 2).step_by(BLOCK) {
            let (left, middle, right) = (block(row, x), block(row, x + 1), block(row, x + 2));
            let mut found = [F::ZERO; BLOCK];
            for i in 0..BLOCK {
                found[i] = most::<F, NAN>(most::<F, NAN>(left[i], middle[i]), right[i]);
            }
            *block_mut(out, x + 1) = found;
        }
    }
    for y in 0..shape.rows {
        let row = |y: usize| &along[y * pitch..][..pitch];
        let (up, here, down) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(shape.rows - 1)));
        let out = &mut across[y * pitch..][..pitch];
        for x in (0..pitch - 2).step_by(BLOCK) {
            let (up, here, down) = (block(up, x + 1), block(here, x + 1), block(down, x + 1));
            let mut found = [F::ZERO; BLOCK];
            for i in 0..BLOCK {
                found[i] = most::<F, NAN>(most::<F, NAN>(up[i], here[i]), down[i]);
            }
            *block_mut(out, x + 1) = found;
        }
    }
}

/// The largest of three values.
#[inline(always)]
pub(crate) fn largest<F: Real, const NAN: bool>(a: F, b: F, c: F) -> F {
    most::<F, NAN>(most::<F, NAN>(a, b), c)
}
