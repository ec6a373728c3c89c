//! Rust errors as the package's exception classes: one exhaustive match.

use exacta_core::Error;
use pyo3::PyErr;

pyo3::import_exception!(exacta._errors, ExactaValueError);
pyo3::import_exception!(exacta._errors, ExactaTypeError);
pyo3::import_exception!(exacta._errors, ExactaRuntimeError);

/// The exception of an error. A new variant does not compile until it has one.
pub(crate) fn exception(error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::ShapeMismatch { .. }
        | Error::WrongRank { .. }
        | Error::MaskShape { .. }
        | Error::NumClasses { .. }
        | Error::IgnoreWithOneHot
        | Error::LabelOutOfRange { .. }
        | Error::NotBinary { .. }
        | Error::InvalidSpacing { .. }
        | Error::SpacingLength { .. }
        | Error::MissingSpacing { .. }
        | Error::InvalidPercentile { .. }
        | Error::InvalidTolerance { .. }
        | Error::ToleranceCount { .. }
        | Error::UnknownName { .. }
        | Error::Unavailable { .. }
        | Error::UnknownMetric { .. }
        | Error::WrongDimension { .. }
        | Error::MaskedSurface
        | Error::SkeletonShape { .. }
        | Error::SkeletonOutside { .. }
        | Error::InvalidConnectivity { .. }
        | Error::DilatedMatching { .. }
        | Error::InstanceLabel { .. }
        | Error::InvalidConfidence { .. }
        | Error::ConfidenceShape { .. }
        | Error::ImageRank { .. }
        | Error::GridMismatch { .. }
        | Error::OutputLength { .. }
        | Error::TargetShape { .. }
        | Error::TargetClass { .. }
        | Error::MultilabelTarget { .. }
        | Error::NotFinite { .. }
        | Error::NotProbability { .. }
        | Error::ChannelSum { .. }
        | Error::Bins { .. }
        | Error::LossShape { .. }
        | Error::LossOption { .. }
        | Error::LossLabel { .. }
        | Error::LossLabelCount { .. }
        | Error::TooLarge { .. } => ExactaValueError::new_err(message),
        Error::FractionalLabel { .. } | Error::Option { .. } | Error::ScoreDtype { .. } => {
            ExactaTypeError::new_err(message)
        }
        Error::NotResolved { .. } => ExactaRuntimeError::new_err(message),
    }
}
