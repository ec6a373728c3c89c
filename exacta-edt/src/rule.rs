//! What is a feature of what.

use exacta_core::{Border, Features, Level};

use crate::source::Source;

/// To what each voxel measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To the voxels that are zero.
    Zeros,
    /// To the voxels that are not.
    NonZeros,
    /// To the voxels of another label; zero is a feature of all.
    Labels,
    /// To the voxels of the other side of a mask.
    Sides,
}

/// The kind, and whether the outside of the array is background to measure to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) kind: Kind,
    pub(crate) outside: bool,
}

impl Rule {
    pub(crate) fn new(features: Features, border: Border) -> Self {
        let kind = match features {
            Features::Zeros => Kind::Zeros,
            Features::NonZeros => Kind::NonZeros,
            Features::OtherLabels => Kind::Labels,
        };
        // The outside is background, so a voxel that measures to foreground has no feature there.
        Self { kind, outside: border == Border::Background && kind != Kind::NonZeros }
    }

    /// Whether neighbours can be features of each other without being features of all.
    pub(crate) fn relative(self) -> bool {
        matches!(self.kind, Kind::Labels | Kind::Sides)
    }

    /// 1 where a voxel of a row is a feature of all.
    pub(crate) fn features(self, level: Level, source: &dyn Source, at: [usize; 2], out: &mut [u8]) {
        match self.kind {
            Kind::Zeros | Kind::Labels => {
                source.nonzero(level, at, out);
                out.iter_mut().for_each(|out| *out ^= 1);
            }
            Kind::NonZeros => source.nonzero(level, at, out),
            Kind::Sides => out.fill(0),
        }
    }

    /// 1 where the voxels of a row and of the row before it along `axis` are features of each other; false if none can be.
    pub(crate) fn between(
        self,
        level: Level,
        source: &dyn Source,
        axis: usize,
        at: [usize; 2],
        out: &mut [u8],
    ) -> bool {
        if self.relative() {
            source.differs(level, axis, at, out);
        }
        self.relative()
    }

    /// 1 where a voxel of a row would be one step from the outside, were it beside it; false if none can be.
    pub(crate) fn edge(self, level: Level, source: &dyn Source, at: [usize; 2], out: &mut [u8]) -> bool {
        if self.outside {
            source.nonzero(level, at, out);
        }
        self.outside
    }
}
