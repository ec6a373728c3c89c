//! Every choice that changes a value, as a type: what it asks, what it answers, and what well-known tools choose.

mod border;
mod combine;
mod connectivity;
mod empty_policy;
mod features;
mod label_spec;
mod percentile;
mod score_spec;
mod spacing;
mod surface_kind;
mod thinning;
mod tolerance;
mod unit;
mod volume_similarity;
mod zero_division;

pub use border::Border;
pub use combine::Combine;
pub use connectivity::Connectivity;
pub use empty_policy::EmptyPolicy;
pub use features::Features;
pub use label_spec::{InputFormat, LabelSpec};
pub use percentile::Percentile;
pub use score_spec::{Average, Bins, CalibrationMode, ScoreSpec};
pub use spacing::Spacing;
pub use surface_kind::SurfaceKind;
pub use thinning::Thinning;
pub use tolerance::Tolerance;
pub use unit::Unit;
pub use volume_similarity::VolumeSimilarityConvention;
pub use zero_division::ZeroDivision;

/// An enum whose variants have spellings: `NAMES` is the only list of them.
macro_rules! named {
    ($(#[$meta:meta])* $type:ident, $argument:literal, { $($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type { $($(#[$doc])* $variant),+ }

        impl $type {
            /// The spellings, in order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The spelling.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::Error;

            fn from_str(value: &str) -> crate::Result<Self> {
                match value {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(crate::Error::UnknownName { argument: $argument, value: value.to_owned(), names: Self::NAMES }),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use named;
