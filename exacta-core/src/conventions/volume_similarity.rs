//! Two definitions of volume similarity.

super::named! {
    /// Which volume similarity is meant.
    ///
    /// | tool | convention |
    /// |---|---|
    /// | Taha and Hanbury 2015, EvaluateSegmentation | `Taha` |
    /// | SimpleITK `LabelOverlapMeasuresImageFilter` | `Itk` |
    VolumeSimilarityConvention, "convention", {
        /// `1 - |p - t| / (p + t)`, in `[0, 1]`, 1 is best.
        Taha = "taha",
        /// `2 (p - t) / (p + t)`, in `[-2, 2]`, 0 is best, positive when over-segmented.
        Itk = "itk",
    }
}
