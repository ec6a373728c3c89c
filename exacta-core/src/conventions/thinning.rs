//! What thinning may take away.

use super::named;

named! {
    /// By which rule a mask is thinned to its skeleton. Both delete in the order of Lee, Kashyap and Chu (1994).
    ///
    /// | tool | choice |
    /// |---|---|
    /// | scikit-image `skeletonize(method="lee")`, of all 3-D masks too | [`Lee`](Self::Lee) |
    /// | Panoptica and MetricsReloaded in 3-D (scikit-image); other thinning in 2-D | [`Lee`](Self::Lee) |
    Thinning, "thinning", {
        /// As scikit-image: components without a middle voxel, such as bars of 2x2 voxels, are deleted whole.
        Lee = "lee",
        /// The last voxel of a component stays, so that a skeleton has as many components as its mask.
        KeepComponents = "keep-components",
    }
}
