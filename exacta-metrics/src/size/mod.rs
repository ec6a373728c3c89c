//! Areas and volumes.

pub(crate) mod area_error;
pub(crate) mod predicted_area;
pub(crate) mod predicted_volume;
pub(crate) mod target_area;
pub(crate) mod target_volume;
pub(crate) mod volume_error;

pub use area_error::area_error;
pub use predicted_area::predicted_area;
pub use predicted_volume::predicted_volume;
pub use target_area::target_area;
pub use target_volume::target_volume;
pub use volume_error::volume_error;

#[cfg(test)]
mod tests {
    use exacta_core::Unit;

    use super::*;
    use crate::overlap::counts;

    #[test]
    fn by_hand() {
        // P = 4, T = 5, a voxel of 2 cubic millimetres.
        let c = counts(3, 1, 2, 9);
        assert_eq!(predicted_volume(&c, 2.0, Unit::CubicMillimetres), 8.0);
        assert_eq!(target_volume(&c, 2.0, Unit::Millilitres), 0.01);
        assert_eq!(volume_error(&c, 2.0, Unit::CubicMillimetres, false), -2.0);
        assert_eq!(volume_error(&c, 2.0, Unit::CubicMillimetres, true), 2.0);
        assert_eq!(predicted_area(&c, 2.0, Unit::SquareCentimetres), 0.08);
        assert_eq!(target_area(&c, 2.0, Unit::SquareMillimetres), 10.0);
        assert_eq!(area_error(&c, 2.0, Unit::SquareMillimetres, false), -2.0);
    }
}
