//! When an instance of the reference counts as found.

super::named! {
    /// Which predictions serve which instances of the reference.
    ///
    /// | value | rule | tools |
    /// |---|---|---|
    /// | `Greedy` | best pairs first, one to one | Panoptica `NaiveThresholdMatching`, its default |
    /// | `Hungarian` | one to one, the largest sum of scores | Panoptica `MaxBipartiteMatching`; MONAI's panoptic quality below a threshold of 0.5 |
    /// | `Merge` | as `Greedy`, and further predictions join an instance while its score grows | Panoptica `MaximizeMergeMatching` |
    /// | `Overlap` | all that share a voxel, many to many | BraTS 2023 |
    Matching, "matching", {
        /// Pairs in falling order of score, one to one.
        Greedy = "greedy",
        /// The one-to-one assignment of the largest sum of scores.
        Hungarian = "hungarian",
        /// As greedy, and further predictions join an instance while its score grows.
        Merge = "merge",
        /// Every prediction that shares a voxel with the (dilated) instance.
        Overlap = "overlap",
    }
}

super::named! {
    /// How alike a prediction and an instance are, from the voxels they share (`o`) and their sizes (`p`, `t`).
    MatchScore, "score", {
        /// `o / (p + t - o)`.
        Iou = "iou",
        /// `2 o / (p + t)`.
        Dice = "dice",
    }
}

impl MatchScore {
    /// The score of `shared` voxels of a prediction of `pred` and an instance of `target` voxels, in one rounded division.
    #[expect(clippy::cast_precision_loss, reason = "counts of voxels are far below 2^53")]
    pub fn of(self, shared: u64, pred: u64, target: u64) -> f64 {
        match self {
            Self::Iou => shared as f64 / (target + pred - shared) as f64,
            Self::Dice => (2 * shared) as f64 / (target + pred) as f64,
        }
    }
}

/// When a pair counts as a match.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatchRule {
    /// Which pairs are taken.
    pub matching: Matching,
    /// What pairs are compared by; not read by [`Matching::Overlap`].
    pub score: MatchScore,
    /// The score that a pair must reach; not read by [`Matching::Overlap`].
    pub threshold: f64,
    /// Whether the score must exceed the threshold rather than reach it.
    pub strict: bool,
}

impl MatchRule {
    /// The rule of one matching, with pairs that reach an IoU of 0.5.
    pub const fn new(matching: Matching) -> Self {
        Self { matching, score: MatchScore::Iou, threshold: 0.5, strict: false }
    }

    /// Whether a score is enough; NaN never is.
    pub fn passes(&self, score: f64) -> bool {
        if self.strict { score > self.threshold } else { score >= self.threshold }
    }
}
