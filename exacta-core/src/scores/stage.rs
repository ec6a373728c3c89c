//! The stage of scores, and its records.

use crate::{Backend, Bins, CalibrationMode, ScoreBatch, Table};

/// What is summed over voxels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// Squared distance of the probabilities to the outcome, over all channels.
    Brier,
    /// Minus the natural logarithm of the probability of the outcome.
    LogLoss,
}

/// A sum over the voxels that count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScoreSums {
    /// Number of voxels.
    pub count: u64,
    /// Sum of their terms.
    pub sum: f64,
}

impl std::ops::AddAssign for ScoreSums {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
    }
}

/// One bin of a reliability diagram.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReliabilityBin {
    /// Number of voxels.
    pub count: u64,
    /// Sum of their confidences.
    pub confidence: f64,
    /// How many outcomes came true.
    pub outcomes: u64,
}

impl std::ops::AddAssign for ReliabilityBin {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.confidence += other.confidence;
        self.outcomes += other.outcomes;
    }
}

/// Confidences and outcomes by bin of confidence, ascending.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reliability {
    /// One row a bin.
    pub bins: Vec<ReliabilityBin>,
}

impl Reliability {
    /// Empty bins.
    pub fn new(bins: usize) -> Self {
        Self { bins: vec![ReliabilityBin::default(); bins] }
    }
}

impl std::ops::AddAssign<&Self> for Reliability {
    fn add_assign(&mut self, other: &Self) {
        for (bin, &other) in self.bins.iter_mut().zip(&other.bins) {
            *bin += other;
        }
    }
}

/// Which of the two sums of a ranking is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankNeed {
    /// [`RankSums::precision_sum`].
    Precisions,
    /// [`RankSums::wins`].
    Wins,
}

/// Pairs and precisions of one class's scores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RankSums {
    /// Number of positives.
    pub positives: u64,
    /// Number of negatives.
    pub negatives: u64,
    /// Twice the pairs whose positive scores higher than its negative, and once those that tie.
    pub wins: u128,
    /// Sum over the positives of the precision at their score as threshold, from the highest down.
    pub precision_sum: f64,
}

/// One threshold of a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankStep {
    /// The score.
    pub threshold: f64,
    /// Positives with this score.
    pub positives: u64,
    /// Negatives with this score.
    pub negatives: u64,
}

/// All scores of one class: distinct thresholds, descending.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RankTable {
    /// One row a threshold.
    pub steps: Vec<RankStep>,
}

impl RankTable {
    /// The table of a histogram over equal bins of `[0, 1]`, `[negatives, positives]` each, ascending; the threshold of
    /// a bin is its lower edge. Empty bins are kept.
    #[expect(clippy::cast_precision_loss, reason = "at most 2^24 bins")]
    pub fn of_histogram(histogram: &[[u64; 2]]) -> Self {
        let bins = histogram.len() as f64;
        let step = |(bin, &[negatives, positives]): (usize, &[u64; 2])| RankStep {
            threshold: bin as f64 / bins,
            positives,
            negatives,
        };
        Self { steps: histogram.iter().enumerate().map(step).rev().collect() }
    }

    /// The sums over all steps.
    pub fn sums(&self) -> RankSums {
        let total = |count: fn(&RankStep) -> u64| self.steps.iter().map(count).sum();
        let mut fold = super::groups::Fold::new(total(|step| step.positives), total(|step| step.negatives));
        for step in &self.steps {
            fold.add(step.positives, step.negatives);
        }
        fold.sums()
    }
}

/// Scores of one class and whether each is a positive, over the voxels that count, in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// The scores, in their own precision.
    pub scores: SelectedScores,
    /// Whether the voxel is of the class.
    pub positives: Vec<bool>,
}

/// Scores of either precision.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectedScores {
    /// Half and single precision.
    Single(Vec<f32>),
    /// Double precision, and log-probabilities of logits.
    Double(Vec<f64>),
}

/// Scores: sums over voxels, calibration, rankings. Every pass checks the values that count.
///
/// The errors of each are [`crate::Error::TargetClass`] or [`crate::Error::MultilabelTarget`], [`crate::Error::NotFinite`],
/// [`crate::Error::NotProbability`], [`crate::Error::ChannelSum`], looked for in this order. Columns of a ranking are the
/// classes from `first` on; a single channel is one column, that of the positive class. Scores of a ranking are the
/// values as they are, and log-probabilities in double precision for logits of several classes.
pub trait ScoreStage: Backend {
    /// Sums of a term: one column, or one a channel where they are independent.
    ///
    /// # Errors
    /// As [`ScoreStage`].
    fn score_sums(&self, batch: &ScoreBatch<'_>, term: Term) -> Result<Table<ScoreSums>, Self::Error>;

    /// Confidences by bin: one column for the top label and for a single channel, else one a class.
    ///
    /// # Errors
    /// As [`ScoreStage`].
    fn reliability(
        &self,
        batch: &ScoreBatch<'_>,
        bins: Bins,
        mode: CalibrationMode,
    ) -> Result<Table<Reliability>, Self::Error>;

    /// Exact sums of a ranking; what is not needed is 0.
    ///
    /// # Errors
    /// As [`ScoreStage`].
    fn rank_sums(&self, batch: &ScoreBatch<'_>, need: RankNeed, first: usize) -> Result<Table<RankSums>, Self::Error>;

    /// Exact tables: a row for each distinct score.
    ///
    /// # Errors
    /// As [`ScoreStage`].
    fn rank_tables(&self, batch: &ScoreBatch<'_>, first: usize) -> Result<Table<RankTable>, Self::Error>;

    /// Histograms of probabilities over equal bins, `[negatives, positives]` each, ascending.
    ///
    /// # Errors
    /// As [`ScoreStage`].
    fn rank_histograms(
        &self,
        batch: &ScoreBatch<'_>,
        bins: Bins,
        first: usize,
    ) -> Result<Table<Vec<[u64; 2]>>, Self::Error>;

    /// The scores themselves, to be ranked together with those of other batches.
    ///
    /// # Errors
    /// As [`ScoreStage`].
    fn selected(&self, batch: &ScoreBatch<'_>, first: usize) -> Result<Table<Selected>, Self::Error>;
}

impl ScoreStage for crate::Cpu {
    fn score_sums(&self, batch: &ScoreBatch<'_>, term: Term) -> Result<Table<ScoreSums>, Self::Error> {
        super::sums::score_sums(self, batch, term)
    }

    fn reliability(
        &self,
        batch: &ScoreBatch<'_>,
        bins: Bins,
        mode: CalibrationMode,
    ) -> Result<Table<Reliability>, Self::Error> {
        super::reliability::reliability(self, batch, bins, mode)
    }

    fn rank_sums(&self, batch: &ScoreBatch<'_>, need: RankNeed, first: usize) -> Result<Table<RankSums>, Self::Error> {
        super::ranks::rank_sums(self, batch, need, first)
    }

    fn rank_tables(&self, batch: &ScoreBatch<'_>, first: usize) -> Result<Table<RankTable>, Self::Error> {
        super::ranks::rank_tables(self, batch, first)
    }

    fn rank_histograms(
        &self,
        batch: &ScoreBatch<'_>,
        bins: Bins,
        first: usize,
    ) -> Result<Table<Vec<[u64; 2]>>, Self::Error> {
        super::select::histograms(self, batch, bins, first)
    }

    fn selected(&self, batch: &ScoreBatch<'_>, first: usize) -> Result<Table<Selected>, Self::Error> {
        super::select::selected(self, batch, first)
    }
}
