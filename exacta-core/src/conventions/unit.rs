//! Units of areas and volumes.

super::named! {
    /// The unit of an area or a volume; spacings are millimetres.
    Unit, "unit", {
        /// Square millimetres.
        SquareMillimetres = "mm2",
        /// Square centimetres: square millimetres divided by 100.
        SquareCentimetres = "cm2",
        /// Cubic millimetres.
        CubicMillimetres = "mm3",
        /// Millilitres: cubic millimetres divided by 1000.
        Millilitres = "ml",
    }
}

impl Unit {
    /// Number of spatial axes that the unit belongs to.
    pub const fn axes(self) -> usize {
        match self {
            Self::SquareMillimetres | Self::SquareCentimetres => 2,
            Self::CubicMillimetres | Self::Millilitres => 3,
        }
    }

    /// `measure` in square or cubic millimetres, in this unit: one division where one is needed.
    pub fn from_millimetres(self, measure: f64) -> f64 {
        match self {
            Self::SquareMillimetres | Self::CubicMillimetres => measure,
            Self::SquareCentimetres => measure / 100.0,
            Self::Millilitres => measure / 1000.0,
        }
    }
}
