//! The confidence of a component from those of its voxels.

super::named! {
    /// How the confidences of a component's voxels become one.
    ///
    /// | value | tools |
    /// |---|---|
    /// | `Max` | nnDetection, PI-CAI, most FROC evaluations |
    /// | `Mean` | MetricsReloaded with averaged probabilities |
    Reduction, "confidence_reduction", {
        /// The largest.
        Max = "max",
        /// The sum, in C order of the voxels, divided by their number.
        Mean = "mean",
    }
}
