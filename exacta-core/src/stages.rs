//! The stages through which kernels and formulas meet: voxels in, small records out.
//!
//! A stage reads voxels and knows no metric; a formula reads records and sees no voxel. Each backend implements the
//! same stages, so Dice and HD95 exist once whatever the device.

mod components;

pub use components::{Component, ComponentStage, ComponentTable, Contingency, Overlap};
use ndarray::Axis;

pub use crate::scores::stage::{
    RankNeed, RankStep, RankSums, RankTable, Reliability, ReliabilityBin, ScoreStage, ScoreSums, Selected,
    SelectedScores, Term,
};
use crate::{Backend, Batch, Bits, Cpu, LabelSpec, Result, Spacing, SurfaceKind, Table, Thinning};

/// The four counts of one case and class, over the voxels that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Voxels of the class in both.
    pub true_positives: u64,
    /// Voxels of the class in the prediction alone.
    pub false_positives: u64,
    /// Voxels of the class in the reference alone.
    pub false_negatives: u64,
    /// Voxels of the class in neither.
    pub true_negatives: u64,
}

impl Counts {
    /// Size of the predicted class.
    pub const fn predicted(&self) -> u64 {
        self.true_positives + self.false_positives
    }

    /// Size of the reference class.
    pub const fn target(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    /// Number of voxels that count.
    pub const fn counted(&self) -> u64 {
        self.true_positives + self.false_positives + self.false_negatives + self.true_negatives
    }
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            true_positives: self.true_positives + other.true_positives,
            false_positives: self.false_positives + other.false_positives,
            false_negatives: self.false_negatives + other.false_negatives,
            true_negatives: self.true_negatives + other.true_negatives,
        }
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), std::ops::Add::add)
    }
}

/// Counting: one read of the labels, which also checks their range.
pub trait CountStage: Backend {
    /// The counts of each case and selected class.
    ///
    /// # Errors
    /// [`crate::Error::LabelOutOfRange`], [`crate::Error::FractionalLabel`], [`crate::Error::NotBinary`] for a counted value.
    fn counts(&self, batch: &Batch<'_>) -> Result<Table<Counts>, Self::Error>;
}

/// What must be known of the distances of one case and class; what is not needed is not computed.
///
/// Needs join: the result serves every statistic that asked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Need {
    /// Every distance.
    pub all: bool,
    /// The largest distance of each direction.
    pub max: bool,
    /// The percentile below 100 of each direction, the largest asked for.
    pub directed_percentile: Option<f64>,
    /// The percentile below 100 of both directions together, the largest asked for.
    pub pooled_percentile: Option<f64>,
    /// Every distance up to this one, inclusive.
    pub within: Option<f64>,
    /// The least of several tolerances whose largest is `within`; `None` where there is one.
    pub least_within: Option<f64>,
    /// Percentiles below those named are needed too: closer distances may have been counted without being told apart, and patches
    /// can lie so close to a percentile that only all distances decide.
    pub lesser: bool,
}

impl Need {
    /// Every distance.
    pub const ALL: Self = Self {
        all: true,
        max: false,
        directed_percentile: None,
        pooled_percentile: None,
        within: None,
        least_within: None,
        lesser: false,
    };

    /// The one percentile of each direction, where nothing else is needed but the maximum.
    pub fn sole_percentile(&self) -> Option<f64> {
        let more = self.all || self.lesser || self.pooled_percentile.is_some() || self.within.is_some();
        self.directed_percentile.filter(|_| !more)
    }

    /// What serves both.
    pub fn join(self, other: Self) -> Self {
        let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        let differ = |a: Option<f64>, b: Option<f64>| a.zip(b).is_some_and(|(a, b)| a != b);
        let least = [self.least(), other.least()].into_iter().flatten().reduce(f64::min);
        Self {
            all: self.all | other.all,
            max: self.max | other.max,
            lesser: self.lesser
                | other.lesser
                | differ(self.directed_percentile, other.directed_percentile)
                | differ(self.pooled_percentile, other.pooled_percentile),
            directed_percentile: larger(self.directed_percentile, other.directed_percentile),
            pooled_percentile: larger(self.pooled_percentile, other.pooled_percentile),
            within: larger(self.within, other.within),
            least_within: least,
        }
    }

    /// The least tolerance asked for.
    pub fn least(&self) -> Option<f64> {
        self.least_within.or(self.within)
    }
}

/// What the elements of a surface are, and so what a percentile of their distances is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Elements {
    /// Points that weigh 1 each; percentiles interpolate between ranks.
    #[default]
    Points,
    /// Patches that weigh their length or area; a percentile is the distance of the first patch, nearest first, at which
    /// the share of the weight passed reaches it.
    Patches,
}

/// How many surface elements of one weight lie at one exact distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The distance, in the unit of the spacing.
    pub distance: f64,
    /// Weight of each: 1 for points, length or area for patches.
    pub weight: f64,
    /// Number of elements.
    pub count: u64,
}

/// Elements that are known to be near, where nothing that was asked for needs to know how near.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nearer {
    /// Each of these elements is at most so far, and every other is farther.
    pub within: f64,
    /// Weights of the elements, ascending, and how many have each.
    pub counts: Vec<(f64, u64)>,
}

impl Nearer {
    /// Number of elements.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|counts| counts.1).sum()
    }
}

/// Distances of one surface's elements to the other surface: a histogram over exact values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Directed {
    /// What the elements are.
    pub elements: Elements,
    /// Number of elements of the surface, resolved or not.
    pub total: u64,
    /// Their weight in all, `total` for points. The order of its sum does not depend on what is resolved.
    pub weight: f64,
    /// Known distances, ascending; at one distance, weights ascending.
    pub bins: Vec<Bin>,
    /// Elements that are not among `bins`, all of them nearer than those.
    pub nearer: Nearer,
    /// Every element closer than this is among `bins` or `nearer`; infinite if all are.
    pub resolved: f64,
    /// The largest distance, where it was asked for or all are known.
    pub max: Option<f64>,
    /// Elements from the first to less than the second of these distances are counted, but not each at its own: only at one within
    /// the same range. What would need their distances is an error.
    pub coarse: Option<[f64; 2]>,
}

impl Directed {
    /// A surface of `total` points of which no distance is known, as where the other surface is missing.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn lone_points(total: u64) -> Self {
        Self { total, weight: total as f64, ..Self::default() }
    }
}

/// Distances between the surfaces of one class in one case.
///
/// An empty surface has `total` 0 and then neither direction has bins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SurfaceDistances {
    /// Elements of the prediction to the reference.
    pub pred_to_target: Directed,
    /// Elements of the reference to the prediction.
    pub target_to_pred: Directed,
}

/// Surfaces and the exact distances between them.
pub trait SurfaceStage: Backend {
    /// The surfaces of a batch, as this backend keeps them.
    type Surfaces;

    /// Surfaces of every selected class, and the counts, from one read of the labels.
    ///
    /// # Errors
    /// As [`CountStage::counts`]; [`crate::Error::MaskedSurface`] for a batch with a mask or an ignored label;
    /// [`crate::Error::Unavailable`] for a kind that this backend does not have.
    fn surfaces(&self, batch: &Batch<'_>, kind: SurfaceKind) -> Result<(Table<Counts>, Self::Surfaces), Self::Error>;

    /// Distances for each case and selected class.
    ///
    /// `spacings` has one value a case; `needs` one a selected class.
    ///
    /// # Errors
    /// Those of the backend.
    fn distances(
        &self,
        surfaces: &Self::Surfaces,
        spacings: &[Spacing],
        needs: &[Need],
    ) -> Result<Table<SurfaceDistances>, Self::Error>;

    /// Distances between the surfaces of `count` pairs of small masks, each pair in a box of its own, outside of which there is nothing.
    /// `masks(i)` makes pair `i`: prediction and reference of one grid of two or three axes; those of all pairs are walked in one order.
    ///
    /// # Errors
    /// As [`Self::surfaces`], and those of `masks`.
    fn distances_of_pairs(
        &self,
        count: usize,
        masks: &(dyn Fn(usize) -> Result<[Bits; 2], Self::Error> + Sync),
        kind: SurfaceKind,
        spacing: &Spacing,
        need: &Need,
    ) -> Result<Vec<SurfaceDistances>, Self::Error> {
        (0..count).map(|i| distances_of_pair(self, &masks(i)?, kind, spacing, need)).collect()
    }
}

/// Distances between the surfaces of two masks: a batch of one case and channel.
///
/// # Errors
/// As [`SurfaceStage::surfaces`].
pub fn distances_of_pair<S: SurfaceStage + ?Sized>(
    stage: &S,
    masks: &[Bits; 2],
    kind: SurfaceKind,
    spacing: &Spacing,
    need: &Need,
) -> Result<SurfaceDistances, S::Error> {
    let [pred, target] = masks.each_ref().map(|mask| mask.bytes().insert_axis(Axis(0)).insert_axis(Axis(0)));
    let batch = Batch::new(pred.view(), target.view(), LabelSpec::one_hot(1), None)?;
    let (_, surfaces) = stage.surfaces(&batch, kind)?;
    let distances = stage.distances(&surfaces, &[*spacing], &[*need])?;
    Ok(distances.into_values().pop().unwrap_or_default())
}

/// How the skeletons of one case and class lie in the masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SkeletonCounts {
    /// Voxels of the prediction's skeleton.
    pub pred: u64,
    /// Those of them in the reference.
    pub pred_in_target: u64,
    /// Voxels of the reference's skeleton.
    pub target: u64,
    /// Those of them in the prediction.
    pub target_in_pred: u64,
}

/// Skeletons of masks.
pub trait SkeletonStage: Backend {
    /// The counts of each case and selected class, and of the voxels of their skeletons, from one read of the labels. Skeletons
    /// that the batch came with ([`Batch::with_skeleton`]) are taken as they are.
    ///
    /// # Errors
    /// As [`CountStage::counts`]; [`crate::Error::MaskedSurface`] for a batch with a mask or an ignored label;
    /// [`crate::Error::NotBinary`] and [`crate::Error::SkeletonOutside`] for a skeleton that is none of its mask.
    fn skeletons(
        &self,
        batch: &Batch<'_>,
        thinning: Thinning,
    ) -> Result<(Table<Counts>, Table<SkeletonCounts>), Self::Error>;
}

/// Which distances of a mask's voxels to its other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DistanceMap {
    /// To the mask outside of it, minus the distance to the background inside, with background all around the image.
    /// Without foreground it is the same everywhere: `sqrt(Σ (n_i h_i)^2)`, longer than any way in the image.
    Signed,
    /// To the nearest voxel of the image on the other side; 0 everywhere if there is none.
    Unsigned,
    /// The square of [`Self::Unsigned`].
    UnsignedSquared,
}

/// Where distance maps are written, in C order.
#[derive(Debug)]
pub enum DistancesMut<'a> {
    /// Rounded to single precision.
    F32(&'a mut [f32]),
    /// As they are computed.
    F64(&'a mut [f64]),
}

/// Distance maps of masks, for losses that weigh voxels by them.
pub trait DistanceStage: std::fmt::Debug + Send + Sync {
    /// The maps of images of the same shape, one after the other, from a byte a voxel that is not 0 in the mask.
    ///
    /// `shape` has one to three axes and so has `spacing`; `masks` and `out` have as many elements for each image.
    ///
    /// # Errors
    /// [`crate::Error::SpacingLength`], [`crate::Error::InvalidSpacing`]; [`crate::Error::OutputLength`] where lengths do not fit.
    fn maps(
        &self,
        cpu: &Cpu,
        masks: &[u8],
        shape: &[usize],
        spacing: &[f64],
        map: DistanceMap,
        out: DistancesMut<'_>,
    ) -> Result<()>;
}
