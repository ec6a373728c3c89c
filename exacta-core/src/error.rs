//! The one error type of the host crates: data in fields, the sentence by `thiserror`.

/// What can be wrong with an input. Each message names the argument, the rule and the value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// `pred` and `target` must have one shape.
    #[error("pred and target must have the same shape; got {pred:?} and {target:?}")]
    ShapeMismatch {
        /// Shape of the prediction.
        pred: Vec<usize>,
        /// Shape of the reference.
        target: Vec<usize>,
    },
    /// The number of axes does not fit the input format.
    #[error("pred of input_format={format:?} must have {expected} axes; got shape {shape:?}")]
    WrongRank {
        /// Name of the input format.
        format: &'static str,
        /// What the format asks for, in words.
        expected: &'static str,
        /// The shape that came.
        shape: Vec<usize>,
    },
    /// The mask has another shape than the voxels.
    #[error("mask must have shape {expected:?}, one value a voxel; got {found:?}")]
    MaskShape {
        /// The shape that the voxels ask for.
        expected: Vec<usize>,
        /// The shape that came.
        found: Vec<usize>,
    },
    /// `num_classes` is too small, or not the number of channels.
    #[error("num_classes must be {rule}; got {value}")]
    NumClasses {
        /// The rule, in words.
        rule: String,
        /// The value that came.
        value: usize,
    },
    /// `ignore_index` has no meaning for independent channels.
    #[error("ignore_index needs input_format=\"index\"; one-hot channels have no label to ignore, pass mask instead")]
    IgnoreWithOneHot,
    /// A counted label lies outside `[0, num_classes)`.
    #[error(
        "labels must lie in [0, {num_classes}) for num_classes={num_classes}; found minimum {min} and maximum {max} over pred and target{hint}"
    )]
    LabelOutOfRange {
        /// Number of classes.
        num_classes: usize,
        /// Smallest counted label of both arrays.
        min: i128,
        /// Largest counted label of both arrays.
        max: i128,
        /// The likely mistake, or nothing.
        hint: &'static str,
    },
    /// A floating label map holds a value that is not whole.
    #[error(
        "{argument} must hold whole numbers for input_format=\"index\"; found {value}: pass labels, not probabilities or interpolated values"
    )]
    FractionalLabel {
        /// `pred` or `target`.
        argument: &'static str,
        /// The first offending value.
        value: f64,
    },
    /// A one-hot channel or a binary mask holds something other than 0 and 1.
    #[error("{argument} must hold only 0 and 1{}; found {value}{hint}", one_hot(argument))]
    NotBinary {
        /// `pred`, `target`, or the name of a mask.
        argument: &'static str,
        /// The first offending value.
        value: f64,
        /// The likely mistake, or nothing.
        hint: &'static str,
    },
    /// A spacing is not finite, or out of range.
    #[error("spacing must be finite and lie in [{low:e}, {high:e}]; axis {axis} has {value}")]
    InvalidSpacing {
        /// Axis of the array.
        axis: usize,
        /// The value that came.
        value: f64,
        /// Smallest spacing allowed.
        low: f64,
        /// Largest spacing allowed.
        high: f64,
    },
    /// A spacing has another length than the image has axes.
    #[error("spacing must have one value for each of the {expected} spatial axes; got {found}")]
    SpacingLength {
        /// Number of spatial axes.
        expected: usize,
        /// Number of values that came.
        found: usize,
    },
    /// A metric that needs a spacing got none.
    #[error("{metric} needs spacing: the voxel size along each array axis")]
    MissingSpacing {
        /// The metric.
        metric: &'static str,
    },
    /// A percentile outside `[0, 100]`.
    #[error("percentile must lie in [0, 100]; got {value}")]
    InvalidPercentile {
        /// The value that came.
        value: f64,
    },
    /// A tolerance that is negative or not finite.
    #[error("tolerance must be finite and not negative; got {value}")]
    InvalidTolerance {
        /// The value that came.
        value: f64,
    },
    /// The number of tolerances fits neither one nor the number of selected classes.
    #[error("tolerance must be one value or one for each of the {expected} selected classes; got {found} values")]
    ToleranceCount {
        /// Number of selected classes.
        expected: usize,
        /// Number of values that came.
        found: usize,
    },
    /// A name that is not among those known.
    #[error("{argument} must be one of {names:?}; got {value:?}")]
    UnknownName {
        /// The argument.
        argument: &'static str,
        /// The name that came.
        value: String,
        /// The names known.
        names: &'static [&'static str],
    },
    /// A convention that this version names but does not compute.
    #[error("{argument}={value:?} is not available here; available: {names:?}")]
    Unavailable {
        /// The argument.
        argument: &'static str,
        /// The value that came.
        value: &'static str,
        /// The values that work.
        names: &'static [&'static str],
    },
    /// No metric has this name.
    #[error("metrics holds the unknown name {name:?}")]
    UnknownMetric {
        /// The name that came.
        name: String,
    },
    /// A metric was given an option that it does not have, or not all that it needs.
    #[error("metric {metric:?}: option {option:?} {rule}")]
    Option {
        /// The metric.
        metric: &'static str,
        /// The option.
        option: String,
        /// What is wrong, in words.
        rule: &'static str,
    },
    /// A size metric was asked of images with the wrong number of axes.
    #[error("{metric} needs {expected}-D images; these have {found} spatial axes")]
    WrongDimension {
        /// The metric.
        metric: &'static str,
        /// Spatial axes needed.
        expected: usize,
        /// Spatial axes found.
        found: usize,
    },
    /// Metrics of surfaces and skeletons do not take a region or an ignored label.
    #[error("surfaces and skeletons are those of whole masks: mask and ignore_index do not apply to them")]
    MaskedSurface,
    /// A formula asked for distances that the stage was not told to resolve: a defect of the caller's plan.
    #[error("the distances were resolved only up to {resolved}; the statistic needs more")]
    NotResolved {
        /// Distance up to which every element is known.
        resolved: f64,
    },
    /// Skeletons that do not have a channel for each selected class.
    #[error("{argument} must have shape {expected:?}, a channel for each selected class; got {found:?}")]
    SkeletonShape {
        /// The argument.
        argument: &'static str,
        /// The shape that the masks ask for.
        expected: Vec<usize>,
        /// The shape that came.
        found: Vec<usize>,
    },
    /// A skeleton with voxels outside its mask.
    #[error(
        "{argument} must lie within its mask; case {case}, channel {class} has {voxels} voxels outside: a skeleton of another array?"
    )]
    SkeletonOutside {
        /// The argument.
        argument: &'static str,
        /// The case.
        case: usize,
        /// The column of the class.
        class: usize,
        /// Number of voxels outside the mask.
        voxels: u64,
    },
    /// A connectivity that the image has not axes enough for, or 0.
    #[error("connectivity must lie in [1, {axes}] for images of {axes} axes; got {value}")]
    InvalidConnectivity {
        /// The value that came.
        value: usize,
        /// Number of axes of the image.
        axes: usize,
    },
    /// Only lesions that match by any overlap may grow before they are matched.
    #[error("dilation must be 0 with matching={matching:?}, it is part of matching=\"overlap\"; got {value}")]
    DilatedMatching {
        /// The number of steps that came.
        value: usize,
        /// The matching that came with it.
        matching: &'static str,
    },
    /// A label that cannot be the number of an instance.
    #[error("{argument} must hold instance numbers, 0 and above; found {value}")]
    InstanceLabel {
        /// `pred` or `target`.
        argument: &'static str,
        /// The first offending value.
        value: i128,
    },
    /// A confidence that is not a number within `[0, 1]`.
    #[error("confidence must lie in [0, 1]; found {value}: pass probabilities, not logits")]
    InvalidConfidence {
        /// The first offending value.
        value: f64,
    },
    /// A confidence map of another shape than the prediction.
    #[error("confidence must have the shape of pred, {expected:?}; got {found:?}")]
    ConfidenceShape {
        /// Shape of the prediction.
        expected: Vec<usize>,
        /// The shape that came.
        found: Vec<usize>,
    },
    /// A single image with no axis, or with more than three.
    #[error("mask must have 1 to 3 axes, no batch and no channel; got shape {shape:?}")]
    ImageRank {
        /// The shape that came.
        shape: Vec<usize>,
    },
    /// Two masks of one shape whose bits are kept in different orders.
    #[error(
        "masks must be kept in one order of axes; got {first:?} and {second:?}: read the second with the grid of the first"
    )]
    GridMismatch {
        /// Order of the axes of the first.
        first: [usize; 3],
        /// Order of the axes of the second.
        second: [usize; 3],
    },
    /// An output that has not one element for each voxel.
    #[error("the output must have one element for each of the {expected} voxels; got {found}")]
    OutputLength {
        /// Number of voxels.
        expected: usize,
        /// Number of elements that came.
        found: usize,
    },
    /// Scores of a dtype that is not floating.
    #[error("pred must hold floating-point scores; got {dtype}: pass probabilities or logits, not labels")]
    ScoreDtype {
        /// The dtype that came.
        dtype: &'static str,
    },
    /// The reference has another shape than the scores ask for.
    #[error("target must have shape {expected:?}; got {found:?}")]
    TargetShape {
        /// The shape that the scores ask for.
        expected: Vec<usize>,
        /// The shape that came.
        found: Vec<usize>,
    },
    /// A counted label of the reference is none of the scored classes.
    #[error(
        "target must hold classes in [0, {classes}); found minimum {min} and maximum {max} where voxels count{hint}"
    )]
    TargetClass {
        /// Number of classes.
        classes: usize,
        /// Smallest counted label.
        min: i128,
        /// Largest counted label.
        max: i128,
        /// The likely mistake, or nothing.
        hint: &'static str,
    },
    /// A counted label of independent channels is neither 0 nor 1.
    #[error("target must hold only 0 and 1 with multilabel=True; found {value}")]
    MultilabelTarget {
        /// The first offending value.
        value: f64,
    },
    /// A counted score is NaN or infinite.
    #[error("pred must be finite where voxels count; found {value}")]
    NotFinite {
        /// The first offending value.
        value: f64,
    },
    /// A counted score is no probability.
    #[error("pred must hold probabilities in [0, 1]; found {value}; pass from_logits=True if these are logits")]
    NotProbability {
        /// The first offending value.
        value: f64,
    },
    /// The channels of a counted voxel are no distribution over classes.
    #[error(
        "channels of pred must sum to 1 within {tolerance} at each voxel; found a sum of {sum}; for independent channels pass multilabel=True"
    )]
    ChannelSum {
        /// The sum that is farthest from 1.
        sum: f64,
        /// The largest distance from 1 that is taken.
        tolerance: f64,
    },
    /// A number of bins that is too small or too large.
    #[error("bins must lie in [{low}, {high}]; got {value}")]
    Bins {
        /// The value that came.
        value: usize,
        /// The smallest number allowed.
        low: usize,
        /// The largest number allowed.
        high: usize,
    },
    /// An argument of a loss with a shape that does not fit.
    #[error("{argument} must {rule}; got shape {found:?} with input of shape {input:?}")]
    LossShape {
        /// The argument.
        argument: &'static str,
        /// The rule, in words.
        rule: &'static str,
        /// The shape that came.
        found: Vec<usize>,
        /// Shape of the input.
        input: Vec<usize>,
    },
    /// An option of a loss with a value that it cannot have.
    #[error("{argument} must {rule}; got {value}")]
    LossOption {
        /// The option.
        argument: &'static str,
        /// The rule, in words.
        rule: String,
        /// The value that came.
        value: String,
    },
    /// A counted target label of a loss that is no class.
    #[error(
        "target labels must be whole numbers in [0, {channels}), the channels of input; found minimum {min} and maximum {max} where \
         the voxel counts: pass ignore_index or mask for labels that are not to count"
    )]
    LossLabel {
        /// Number of channels.
        channels: usize,
        /// Smallest counted label.
        min: f64,
        /// Largest counted label.
        max: f64,
    },
    /// The same, known only by its number, from sums over processes.
    #[error(
        "target labels must be whole numbers in [0, {channels}), the channels of input; {count} counted voxels of the pooled batch have others"
    )]
    LossLabelCount {
        /// Number of channels.
        channels: usize,
        /// Number of voxels.
        count: f64,
    },
    /// A size beyond what the records can index.
    #[error("{what} is {value}, more than the {limit} supported")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its value.
        value: usize,
        /// The largest value supported.
        limit: usize,
    },
}

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a value must be 0 or 1, where the argument alone does not say.
fn one_hot(argument: &str) -> &'static str {
    if matches!(argument, "pred" | "target") { " for input_format=\"one-hot\"" } else { "" }
}
