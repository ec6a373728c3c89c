//! Some components, in a box.

use exacta_core::ndarray::{Array3, ArrayD, Axis, IxDyn};
use exacta_core::{Bits, Result};

use crate::components::Components;
use crate::statistics::{masked, same_grid};

impl Components {
    /// The voxels of the components `numbers` (ascending) in the box from `low` to `high` (inclusive, along the axes of the image taken
    /// as 3-D), 1 or 0 each; `within`, those of that mask alone. The array has the axes of the image.
    ///
    /// Cost: the rows of the box, each up to its last word.
    ///
    /// # Errors
    /// [`exacta_core::Error::ShapeMismatch`], [`exacta_core::Error::GridMismatch`] for a mask of another shape or order.
    ///
    /// # Panics
    /// If the box reaches beyond the mask.
    pub fn crop(
        &self,
        numbers: &[u32],
        within: Option<&Bits>,
        low: [usize; 3],
        high: [usize; 3],
    ) -> Result<ArrayD<u8>> {
        within.map_or(Ok(()), |within| same_grid(self.mask(), within))?;
        let grid = *self.mask().grid();
        let (low, high) = (grid.walked(low), grid.walked(high));
        let size: [usize; 3] = std::array::from_fn(|k| (high[k] + 1).saturating_sub(low[k]));
        let [height, per_row] = [grid.size()[1], grid.words()];
        let mut out = Array3::<u8>::zeros(size);
        let mut buffer = vec![0; per_row];
        let wanted = |number: u32| match numbers {
            [one] => number == *one,
            _ => numbers.binary_search(&number).is_ok(),
        };
        let columns = size[2];
        let rows = out.as_slice_mut().expect("in standard order").chunks_exact_mut(columns.max(1));
        for (i, out) in rows.enumerate() {
            let at = (low[0] + i / size[1]) * height + low[1] + i % size[1];
            // Words after the box need not be looked at.
            let words = &masked(self.mask(), at, within, &mut buffer)[..=high[2] / 64];
            self.runs_of_row(at, words, |number, start, end| {
                let (start, end) = (start.max(low[2]), end.min(high[2] + 1));
                if start < end && wanted(number) {
                    out[start - low[2]..end - low[2]].fill(1);
                }
            });
        }
        let by_axis = grid.by_axis([0, 1, 2]);
        let mut out = out.into_dyn().permuted_axes(IxDyn(&by_axis));
        while out.ndim() > grid.axes() {
            out = out.index_axis_move(Axis(0), 0);
        }
        Ok(out)
    }
}
