//! To what a distance transform measures.

use super::named;

named! {
    /// The voxels to which a distance transform measures. Every feature has distance 0 itself.
    ///
    /// | tool | choice |
    /// |---|---|
    /// | SciPy, cuCIM `distance_transform_edt`, `edt` of a binary mask | [`Zeros`](Self::Zeros) |
    /// | SimpleITK `SignedMaurerDistanceMap` outside of the object | [`NonZeros`](Self::NonZeros) |
    /// | `edt` of a label map | [`OtherLabels`](Self::OtherLabels) |
    Features, "features", {
        /// The voxels that are zero: distances inside the mask, to the background.
        Zeros = "zeros",
        /// The voxels that are not zero: distances outside the mask, to the foreground.
        NonZeros = "nonzeros",
        /// For each labelled voxel all voxels of another label, zero among them: every label's inside in one call.
        OtherLabels = "other-labels",
    }
}
