//! Some components, in a box.

use exacta_core::{Bits, Result};

use crate::components::Components;
use crate::statistics::{masked, same_grid};

impl Components {
    /// The voxels of the components `numbers` (ascending) in the box from `low` to `high` (inclusive, along the axes of the image taken
    /// as 3-D), as a mask of the box's size; `within`, those of that mask alone.
    ///
    /// Cost: the rows of the box, each up to its last word.
    ///
    /// # Errors
    /// [`exacta_core::Error::ShapeMismatch`], [`exacta_core::Error::GridMismatch`] for a mask of another shape or order.
    ///
    /// # Panics
    /// If the box reaches beyond the mask.
    pub fn crop(&self, numbers: &[u32], within: Option<&Bits>, low: [usize; 3], high: [usize; 3]) -> Result<Bits> {
        within.map_or(Ok(()), |within| same_grid(self.mask(), within))?;
        let grid = *self.mask().grid();
        let (low, high) = (grid.walked(low), grid.walked(high));
        let size: [usize; 3] = std::array::from_fn(|k| (high[k] + 1).saturating_sub(low[k]));
        let [height, per_row] = [grid.size()[1], grid.words()];
        let mut out = Bits::empty(grid.resized(size));
        let per_row_out = out.grid().words();
        let mut rows = out.words_mut().chunks_exact_mut(per_row_out.max(1) * size[1].max(1));
        let mut buffer = vec![0; per_row];
        let wanted = |number: u32| match numbers {
            [one] => number == *one,
            _ => numbers.binary_search(&number).is_ok(),
        };
        for slice in low[0]..=high[0] {
            let Some(of_slice) = rows.next() else { break };
            let first = slice * height + low[1];
            for row in self.occupied(first..first + size[1]) {
                let out = &mut of_slice[(row.at - first) * per_row_out..][..per_row_out];
                // Words after the box need not be looked at.
                let words = &masked(self.mask(), row.at, within, &mut buffer)[..=high[2] / 64];
                self.runs_of_row(&row, words, |number, start, end| {
                    let (start, end) = (start.max(low[2]), end.min(high[2] + 1));
                    if start < end && wanted(number) {
                        set(out, start - low[2], end - start);
                    }
                });
            }
        }
        Ok(out)
    }
}

/// Sets up to 64 bits from `start` on.
#[inline(always)]
fn set(out: &mut [u64], start: usize, length: usize) {
    let (bits, word, shift) = (!0u64 >> (64 - length), start / 64, start % 64);
    out[word] |= bits << shift;
    if shift + length > 64 {
        out[word + 1] |= bits >> (64 - shift);
    }
}
