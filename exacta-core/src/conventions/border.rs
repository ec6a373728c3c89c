//! What lies beyond the edge of an array, for a distance transform.

use super::named;

named! {
    /// What a distance transform takes the outside of the array for.
    ///
    /// | tool | choice |
    /// |---|---|
    /// | SciPy, SimpleITK, cuCIM, MONAI, `edt(black_border=False)` | [`Open`](Self::Open) |
    /// | `edt(black_border=True)` | [`Background`](Self::Background) |
    Border, "border", {
        /// Nothing: only voxels of the array are features.
        Open = "open",
        /// Background, one voxel beyond the first and the last along each axis.
        Background = "background",
    }
}
