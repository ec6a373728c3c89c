//! The list of all metrics: what each needs, its options and how it is built from them.

use exacta_core::stages::{
    Counts, Need, RankNeed, RankSums, Reliability, ScoreSums, SkeletonCounts, SurfaceDistances, Term,
};
use exacta_core::{Average, Bins, CalibrationMode, Error, Result, SurfaceKind, Thinning};

use crate::options::Resolved;
use crate::{OptionValue, overlap, probability, ranking, size, surface, topology};

/// The kind of a metric, which is also the folder of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Ratios of counts.
    Overlap,
    /// Areas and volumes.
    Size,
    /// Distances between surfaces.
    Surface,
    /// Scores and calibration of probabilities.
    Probability,
    /// Orders of scores.
    Ranking,
    /// Shapes rather than voxels.
    Topology,
}

impl Family {
    /// The folder of the family.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Size => "size",
            Self::Surface => "surface",
            Self::Probability => "probability",
            Self::Ranking => "ranking",
            Self::Topology => "topology",
        }
    }
}

/// Which values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The larger.
    Higher,
    /// The smaller.
    Lower,
    /// Those near zero.
    NearZero,
    /// Neither: a description.
    None,
}

impl Better {
    /// The name, for front ends.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::NearZero => "near zero",
            Self::None => "none",
        }
    }
}

/// A default, as a constant.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// A number.
    Number(f64),
    /// A name.
    Text(&'static str),
    /// A choice of two.
    Flag(bool),
}

impl Default {
    /// The default as an option value.
    pub fn value(self) -> OptionValue {
        match self {
            Self::Number(value) => OptionValue::Number(value),
            Self::Text(value) => OptionValue::Text(value.to_owned()),
            Self::Flag(value) => OptionValue::Flag(value),
        }
    }
}

/// A metric with its options settled: a function of the records of one case and class.
#[expect(missing_debug_implementations, reason = "it holds functions")]
pub enum Formula {
    /// A ratio of counts.
    Counts(Box<dyn Fn(&Counts) -> f64 + Send + Sync>),
    /// A size: counts, and the measure of a voxel in square or cubic millimetres.
    Size {
        /// Spatial axes that the images must have.
        axes: usize,
        /// The value; only called where a voxel counts.
        value: Box<dyn Fn(&Counts, f64) -> f64 + Send + Sync>,
    },
    /// A statistic of surface distances.
    Surface {
        /// Between which surfaces.
        kind: SurfaceKind,
        /// One value for all selected classes, or one for each.
        needs: Vec<Need>,
        /// The value for a selected class.
        value: Box<dyn Fn(&SurfaceDistances, usize) -> Result<f64> + Send + Sync>,
    },
    /// Of the counts of masks and of their skeletons.
    Skeleton {
        /// How masks are thinned.
        thinning: Thinning,
        /// The value.
        value: Box<dyn Fn(&Counts, &SkeletonCounts) -> f64 + Send + Sync>,
    },
    /// A function of scores, for [`crate::evaluate_scores`].
    Scores(ScoreFormula),
}

/// A metric of scores with its options settled.
#[derive(Debug, Clone, Copy)]
pub enum ScoreFormula {
    /// Of a sum over voxels.
    Sums {
        /// What is summed.
        term: Term,
        /// How labels become one value.
        average: Average,
        /// The value.
        value: fn(&ScoreSums) -> f64,
    },
    /// Of confidences in bins.
    Reliability {
        /// How many.
        bins: Bins,
        /// Which confidences.
        mode: CalibrationMode,
        /// How labels become one value.
        average: Average,
        /// The value.
        value: fn(&Reliability) -> f64,
    },
    /// Of a ranking.
    Ranking {
        /// What is needed of it.
        need: RankNeed,
        /// Bins of the scores; `None` is exact.
        bins: Option<Bins>,
        /// The value.
        value: fn(&RankSums) -> f64,
    },
}

/// What is known of a metric.
#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    /// Its name: that of the function, the file, the fixture and the docs row.
    pub name: &'static str,
    /// Its kind.
    pub family: Family,
    /// `""` for a ratio, else `mm`, `mm2` or `mm3` (where a unit can be chosen: the default).
    pub unit: &'static str,
    /// Which values are better.
    pub better: Better,
    /// Smallest and largest value possible.
    pub range: (f64, f64),
    /// Whether swapping prediction and reference leaves the value.
    pub symmetric: bool,
    /// Options with their defaults; one without a default must be given.
    pub options: &'static [(&'static str, Option<Default>)],
    /// Settles the options.
    pub(crate) build: fn(&Resolved<'_>) -> Result<Formula>,
}

/// Every metric of labels.
pub const METRICS: &[MetricInfo] = &[
    overlap::dice::INFO,
    overlap::iou::INFO,
    overlap::sensitivity::INFO,
    overlap::precision::INFO,
    overlap::specificity::INFO,
    overlap::volume_similarity::INFO,
    overlap::relative_volume_difference::INFO,
    size::predicted_volume::INFO,
    size::target_volume::INFO,
    size::volume_error::INFO,
    size::predicted_area::INFO,
    size::target_area::INFO,
    size::area_error::INFO,
    surface::hausdorff_distance::INFO,
    surface::hd95::INFO,
    surface::assd::INFO,
    surface::masd::INFO,
    surface::nsd::INFO,
    topology::cldice::INFO,
];

/// Every metric of scores: probabilities or logits, not labels.
pub const SCORE_METRICS: &[MetricInfo] = &[
    probability::brier_score::INFO,
    probability::negative_log_likelihood::INFO,
    probability::expected_calibration_error::INFO,
    ranking::average_precision::INFO,
    ranking::auroc::INFO,
];

/// The metric of a name.
///
/// # Errors
/// [`Error::UnknownMetric`].
pub fn metric(name: &str) -> Result<&'static MetricInfo> {
    METRICS.iter().find(|info| info.name == name).ok_or_else(|| Error::UnknownMetric { name: name.to_owned() })
}
