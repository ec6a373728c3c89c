//! Two directed results into one.

super::named! {
    /// How the statistic of pred to target and that of target to pred become one number.
    ///
    /// | tool | HD95 | average surface distance |
    /// |---|---|---|
    /// | MONAI 1.6 | `Max` | `Pooled` (`symmetric=True`) |
    /// | MedPy 0.5 | `Pooled` | `Pooled` |
    /// | MedPy 0.4 | `Pooled` | `Mean` |
    /// | DeepMind surface-distance | `Max` | two values, their `Mean` by convention |
    /// | MetricsReloaded | `Max` | `assd`: `Pooled`, `masd`: `Mean` |
    /// | Panoptica 2.1 | `Pooled` | `Mean`, named ASSD there |
    Combine, "combine", {
        /// The larger of the two.
        Max = "max",
        /// `(a + b) / 2`.
        Mean = "mean",
        /// The statistic over both sets of distances together, those of the prediction first.
        Pooled = "pooled",
    }
}
