//! A prediction and its reference, checked once.

use crate::grid::Grid;
use crate::image::Image;
use crate::{Error, InputFormat, LabelSpec, Labels, Result};

/// Prediction and reference of a batch, with what says which voxels and classes count.
///
/// Shapes agree and the specification is valid once this exists; values are checked by the pass that counts them.
#[derive(Debug, Clone)]
pub struct Batch<'a> {
    pred: Labels<'a>,
    target: Labels<'a>,
    mask: Option<Labels<'a>>,
    spec: LabelSpec,
    grid: Grid,
    cases: usize,
}

impl<'a> Batch<'a> {
    /// Index: `pred` and `target` of shape `(B, H, W)` or `(B, D, H, W)`; one-hot: `(B, C, H, W)` or `(B, C, D, H, W)`.
    /// `mask` of shape `(B, *S)`, boolean or bytes, says which voxels count.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`], [`Error::WrongRank`], [`Error::NumClasses`], [`Error::IgnoreWithOneHot`],
    /// [`Error::MaskShape`].
    pub fn new(
        pred: impl Into<Labels<'a>>,
        target: impl Into<Labels<'a>>,
        spec: LabelSpec,
        mask: Option<Labels<'a>>,
    ) -> Result<Self> {
        let (pred, target) = (pred.into(), target.into());
        let shape = pred.shape().to_vec();
        if shape != target.shape() {
            return Err(Error::ShapeMismatch { pred: shape, target: target.shape().to_vec() });
        }
        let (leading, expected) = match spec.format {
            InputFormat::Index => (1, "3 (batch, height, width) or 4 (batch, depth, height, width)"),
            InputFormat::OneHot => (2, "4 (batch, channel, height, width) or 5 (batch, channel, depth, height, width)"),
        };
        if !(leading + 2..=leading + 3).contains(&shape.len()) {
            return Err(Error::WrongRank { format: spec.format.name(), expected, shape });
        }
        if leading == 2 && spec.num_classes != shape[1] {
            let rule = format!("the number of channels, {}", shape[1]);
            return Err(Error::NumClasses { rule, value: spec.num_classes });
        }
        spec.validate()?;
        if let Some(mask) = &mask {
            let expected = [&shape[..1], &shape[leading..]].concat();
            if mask.shape() != expected {
                return Err(Error::MaskShape { expected, found: mask.shape().to_vec() });
            }
        }
        let grid = Grid::new(&shape[leading..], &pred.strides()[leading..]);
        Ok(Self { pred, target, mask, spec, grid, cases: shape[0] })
    }

    /// What counts as a class.
    pub fn spec(&self) -> &LabelSpec {
        &self.spec
    }

    /// The axes of one image.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Shape of the arrays, batch and channels included.
    pub fn shape(&self) -> &[usize] {
        self.pred.shape()
    }

    /// Number of cases.
    pub fn cases(&self) -> usize {
        self.cases
    }

    /// Whether a mask or an ignored label takes voxels out.
    pub fn is_masked(&self) -> bool {
        self.mask.is_some() || self.spec.ignore_index.is_some()
    }

    /// Number of label maps: one a case, or one a channel of each case.
    pub(crate) fn maps(&self) -> usize {
        match self.spec.format {
            InputFormat::Index => self.cases,
            InputFormat::OneHot => self.cases * self.spec.num_classes,
        }
    }

    /// Number of labels of a map: the classes, or the two values of a channel.
    pub(crate) fn labels_of_map(&self) -> usize {
        match self.spec.format {
            InputFormat::Index => self.spec.num_classes,
            InputFormat::OneHot => 2,
        }
    }

    /// The two images of a map, and its mask.
    pub(crate) fn map(&self, map: usize) -> MapImages<'a> {
        let leading = match self.spec.format {
            InputFormat::Index => vec![map],
            InputFormat::OneHot => vec![map / self.spec.num_classes, map % self.spec.num_classes],
        };
        MapImages {
            pred: self.pred.image(&leading, &self.grid),
            target: self.target.image(&leading, &self.grid),
            mask: self.mask.as_ref().map(|mask| mask.image(&leading[..1], &self.grid)),
            ignore: self.spec.ignore_index,
        }
    }
}

/// The images of one map.
pub(crate) struct MapImages<'a> {
    pub(crate) pred: Box<dyn Image + 'a>,
    pub(crate) target: Box<dyn Image + 'a>,
    pub(crate) mask: Option<Box<dyn Image + 'a>>,
    pub(crate) ignore: Option<i64>,
}

impl MapImages<'_> {
    /// Which voxels count: 1 or 0 each.
    pub(crate) fn keep(&self, level: fearless_simd::Level, start: usize, out: &mut [u8]) {
        match &self.mask {
            Some(mask) => {
                mask.read_u8(level, start, None, out);
                for keep in &mut *out {
                    *keep = u8::from(*keep != 0);
                }
            }
            None => out.fill(1),
        }
        if let Some(ignore) = self.ignore {
            self.target.drop_label(start, ignore, out);
        }
    }
}
