//! Which voxels are neighbours.

use crate::{Error, Result};

/// Neighbours differ by at most 1 along each axis, and along at most this many axes.
///
/// | value | 2-D | 3-D | SciPy | cc3d, in 3-D |
/// |---|---|---|---|---|
/// | 1 | 4 | 6 | `generate_binary_structure(ndim, 1)`, its default | `connectivity=6` |
/// | 2 | 8 | 18 | `generate_binary_structure(ndim, 2)` | `connectivity=18` |
/// | 3 | | 26 | `generate_binary_structure(3, 3)` | `connectivity=26`, its default |
///
/// scikit-image's `connectivity` is the same number, by default the number of axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connectivity(u8);

impl Connectivity {
    /// Neighbours along at most `value` of the `axes` axes of an image.
    ///
    /// # Errors
    /// [`Error::InvalidConnectivity`] unless `1 <= value <= axes`.
    pub fn new(value: usize, axes: usize) -> Result<Self> {
        match u8::try_from(value) {
            Ok(inside) if (1..=axes).contains(&value) => Ok(Self(inside)),
            _ => Err(Error::InvalidConnectivity { value, axes }),
        }
    }

    /// The number.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_one_to_the_number_of_axes() {
        assert_eq!(Connectivity::new(3, 3).map(Connectivity::get), Ok(3));
        for (value, axes) in [(0, 3), (4, 3), (3, 2), (2, 1)] {
            assert_eq!(Connectivity::new(value, axes), Err(Error::InvalidConnectivity { value, axes }));
        }
    }
}
