//! Length of a voxel along each axis.

use crate::{Error, Result};

/// The size of a voxel along each array axis, in millimetres, **in the order of the array's axes**.
///
/// | tool | order |
/// |---|---|
/// | exacta, MONAI, MedPy, SciPy (`sampling`), DeepMind | array axes |
/// | SimpleITK `GetSpacing()`, NIfTI `pixdim` | x, y, z: the reverse of the array from `GetArrayFromImage` |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spacing {
    values: [f64; 3],
    axes: usize,
}

impl Spacing {
    /// Smallest and largest value allowed, both included: squares stay inside the range of `f64`.
    pub const RANGE: (f64, f64) = (1e-100, 1e100);

    /// The same for surfaces whose elements have areas, products of two spacings whose squares are summed.
    pub const AREA_RANGE: (f64, f64) = (1e-50, 1e50);

    /// One value for each of two or three axes.
    ///
    /// # Errors
    /// [`Error::SpacingLength`] for another number of axes, [`Error::InvalidSpacing`] outside [`Self::RANGE`].
    pub fn new(values: &[f64]) -> Result<Self> {
        if !(2..=3).contains(&values.len()) {
            return Err(Error::SpacingLength { expected: 3, found: values.len() });
        }
        let (low, high) = Self::RANGE;
        let mut out = [1.0; 3];
        for (axis, &value) in values.iter().enumerate() {
            if !(low..=high).contains(&value) {
                return Err(Error::InvalidSpacing { axis, value, low, high });
            }
            out[axis] = value;
        }
        Ok(Self { values: out, axes: values.len() })
    }

    /// That areas can be measured at this spacing.
    ///
    /// # Errors
    /// [`Error::InvalidSpacing`] outside [`Self::AREA_RANGE`].
    pub fn for_areas(&self) -> Result<()> {
        let (low, high) = Self::AREA_RANGE;
        match self.values().iter().position(|value| !(low..=high).contains(value)) {
            Some(axis) => Err(Error::InvalidSpacing { axis, value: self.values[axis], low, high }),
            None => Ok(()),
        }
    }

    /// The same value along each of `axes` axes.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn isotropic(value: f64, axes: usize) -> Result<Self> {
        Self::new(&[value; 3][..axes.min(3)])
    }

    /// The values, in array-axis order.
    pub fn values(&self) -> &[f64] {
        &self.values[..self.axes]
    }

    /// The values of an image taken as 3-D: a 2-D image has one slice, whose thickness is never used.
    pub fn volume(&self) -> [f64; 3] {
        if self.axes == 3 { self.values } else { [1.0, self.values[0], self.values[1]] }
    }

    /// Area or volume of a voxel: the product from the first axis to the last.
    pub fn voxel(&self) -> f64 {
        self.values().iter().skip(1).fold(self.values[0], |product, h| product * h)
    }
}
