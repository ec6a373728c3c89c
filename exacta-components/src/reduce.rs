//! One number a component, from the values of its voxels.

use exacta_core::ndarray::{ArrayViewD, Axis};
use exacta_core::{Cpu, Error, Reduction, Result};

use crate::components::Components;

impl Components {
    /// The largest value of each component's voxels, or their mean: the sum in C order of the voxels, in double precision, divided by
    /// their number. `values` has the shape of the mask.
    ///
    /// Reads the values of components alone, where rows are walked in C order; memory: sums and sizes, and a volume of numbers for other
    /// orders, in which sums would round otherwise.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`].
    pub fn reduce<T: Copy + Into<f64>>(
        &self,
        cpu: &Cpu,
        values: &ArrayViewD<'_, T>,
        reduction: Reduction,
    ) -> Result<Vec<f64>> {
        let grid = self.mask().grid();
        if values.shape() != grid.shape() {
            return Err(Error::ShapeMismatch { pred: grid.shape(), target: values.shape().to_vec() });
        }
        let mut found = vec![(0.0, 0u64); self.count() as usize];
        let add = |(known, voxels): &mut (f64, u64), value: f64| {
            *voxels += 1;
            match reduction {
                Reduction::Max => *known = if *voxels == 1 || value > *known { value } else { *known },
                Reduction::Mean => *known += value,
            }
        };
        if grid.order() == [0, 1, 2] {
            let mut values = values.clone();
            while values.ndim() < 3 {
                values = values.insert_axis(Axis(0));
            }
            for at in self.occupied(0..self.rows()) {
                let [slice, row] = at.place;
                let line = values.view().index_axis_move(Axis(0), slice).index_axis_move(Axis(0), row);
                self.runs_of_row(&at, self.mask().row_at(at.at), |number, start, end| {
                    let known = &mut found[number as usize - 1];
                    (start..end).for_each(|column| add(known, line[column].into()));
                });
            }
        } else {
            for (&number, &value) in self.labels(cpu).iter().zip(values) {
                if number > 0 {
                    add(&mut found[number.cast_unsigned() as usize - 1], value.into());
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "counts of voxels are far below 2^53")]
        let value = |(known, voxels): (f64, u64)| match reduction {
            Reduction::Max => known,
            Reduction::Mean => known / voxels as f64,
        };
        Ok(found.into_iter().map(value).collect())
    }
}
