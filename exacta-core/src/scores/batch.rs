//! Scores and their reference, checked once.

use ndarray::{ArrayView3, Axis, Slice};

use super::SHARE;
use super::real::Real;
use crate::grid::Grid;
use crate::labels::{Bf16, F16, Image, Keep, narrow};
use crate::parallel::Threads;
use crate::{Error, Labels, Result, ScoreSpec};

/// Scores and reference of a batch, with what says which voxels count.
///
/// Shapes agree once this exists; values are checked by the pass that reads them.
#[derive(Debug, Clone)]
pub struct ScoreBatch<'a> {
    pred: Labels<'a>,
    target: Labels<'a>,
    mask: Option<Labels<'a>>,
    spec: ScoreSpec,
    grid: Grid,
    cases: usize,
    channels: usize,
}

impl<'a> ScoreBatch<'a> {
    /// `pred`: floating scores of shape `(B, C, H, W)` or `(B, C, D, H, W)`, `C` at least 1; two or more channels are a
    /// distribution over classes, one channel is the positive class of two, and `multilabel` channels are independent.
    /// `target`: class indices `(B, *S)`, or zeros and ones of the shape of `pred` for `multilabel`. `mask`: `(B, *S)`, or
    /// `(B, C, *S)` for `multilabel`, says which voxels count.
    ///
    /// # Errors
    /// [`Error::ScoreDtype`], [`Error::WrongRank`], [`Error::TargetShape`], [`Error::MaskShape`],
    /// [`Error::IgnoreWithOneHot`] for an ignored label with `multilabel`.
    pub fn new(
        pred: impl Into<Labels<'a>>,
        target: impl Into<Labels<'a>>,
        spec: ScoreSpec,
        mask: Option<Labels<'a>>,
    ) -> Result<Self> {
        let (pred, target) = (pred.into(), target.into());
        if !matches!(pred, Labels::F16(_) | Labels::Bf16(_) | Labels::F32(_) | Labels::F64(_)) {
            return Err(Error::ScoreDtype { dtype: pred.dtype() });
        }
        let shape = pred.shape().to_vec();
        if !(4..=5).contains(&shape.len()) || shape[1] == 0 {
            let expected =
                "4 (batch, channel, height, width) or 5 (batch, channel, depth, height, width), a channel at least,";
            return Err(Error::WrongRank { format: "scores", expected, shape });
        }
        let voxels = [&shape[..1], &shape[2..]].concat();
        let expected = if spec.multilabel { &shape } else { &voxels };
        if target.shape() != expected {
            return Err(Error::TargetShape { expected: expected.clone(), found: target.shape().to_vec() });
        }
        if spec.multilabel && spec.ignore_index.is_some() {
            return Err(Error::IgnoreWithOneHot);
        }
        if let Some(mask) = &mask
            && mask.shape() != voxels
            && !(spec.multilabel && mask.shape() == shape)
        {
            return Err(Error::MaskShape { expected: voxels, found: mask.shape().to_vec() });
        }
        // C order, whatever the memory: sums are taken in it.
        let mut strides = vec![1isize; shape.len() - 2];
        for axis in (1..strides.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[2 + axis].max(1).cast_signed();
        }
        let grid = Grid::new(&shape[2..], &strides);
        Ok(Self { pred, target, mask, spec, grid, cases: shape[0], channels: shape[1] })
    }

    /// What the scores are.
    pub fn spec(&self) -> &ScoreSpec {
        &self.spec
    }

    /// Number of cases.
    pub fn cases(&self) -> usize {
        self.cases
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Number of voxels of a case.
    pub fn voxels(&self) -> usize {
        self.grid.voxels()
    }

    /// Whether scores are of double precision.
    pub(super) fn is_double(&self) -> bool {
        matches!(self.pred, Labels::F64(_))
    }

    /// How far from 1 the channels may sum: bfloat16 rounds each by up to 2^-9 of itself, so their sum by as much.
    pub(super) fn tolerance(&self) -> f64 {
        if matches!(self.pred, Labels::Bf16(_)) { 1e-3 + 1.0 / 512.0 } else { 1e-3 }
    }

    /// Maps: one a case, or one a channel of each case where channels are independent.
    pub(super) fn maps(&self) -> usize {
        self.cases * self.maps_of_case()
    }

    pub(super) fn maps_of_case(&self) -> usize {
        if self.spec.multilabel { self.channels } else { 1 }
    }

    /// Whether a map is one channel, whose labels are 0 and 1.
    pub(super) fn is_binary(&self) -> bool {
        self.spec.multilabel || self.channels == 1
    }

    /// The images of a map.
    pub(super) fn map(&self, map: usize) -> ScoreMap<'a> {
        let per_case = self.maps_of_case();
        let (case, channel) = (map / per_case, map % per_case);
        let channels = if self.spec.multilabel { channel..channel + 1 } else { 0..self.channels };
        let target = if self.spec.multilabel { vec![case, channel] } else { vec![case] };
        ScoreMap {
            channels: channels.map(|channel| Channel::new(&self.pred, &[case, channel], &self.grid)).collect(),
            mask: self.mask.as_ref().map(|mask| {
                let per_label = mask.shape().len() == self.pred.shape().len();
                mask.image(if per_label { &target } else { &target[..1] }, &self.grid)
            }),
            target: self.target.image(&target, &self.grid),
            ignore: self.spec.ignore_index,
            classes: u32::try_from(if self.is_binary() { 2 } else { self.channels }).unwrap_or(u32::MAX),
        }
    }

    /// Shares of a map.
    pub(super) fn shares(&self) -> usize {
        self.voxels().div_ceil(SHARE).max(1)
    }

    /// The voxels of a share.
    pub(super) fn share(&self, share: usize) -> std::ops::Range<usize> {
        share * SHARE..((share + 1) * SHARE).min(self.voxels())
    }

    /// The threads that this much work is worth.
    pub(super) fn threads<'t>(&self, threads: &'t Threads) -> &'t Threads {
        if self.cases * self.channels * self.voxels() <= super::SERIAL { &Threads::Serial } else { threads }
    }
}

/// The images of one map.
pub(crate) struct ScoreMap<'a> {
    pub(super) channels: Vec<Channel<'a>>,
    pub(super) target: Box<dyn Image + 'a>,
    pub(super) mask: Option<Box<dyn Image + 'a>>,
    pub(super) ignore: Option<i64>,
    /// Labels lie below this.
    pub(super) classes: u32,
}

impl ScoreMap<'_> {
    pub(super) fn is_masked(&self) -> bool {
        self.mask.is_some() || self.ignore.is_some()
    }

    /// Which voxels count: 1 or 0 each.
    pub(super) fn keep(&self, level: crate::Level, start: usize, out: &mut [u8]) {
        match &self.mask {
            Some(mask) => mask.read_foreground(level, start, out),
            None => out.fill(1),
        }
        if let Some(ignore) = self.ignore {
            self.target.drop_label(start, ignore, out);
        }
    }

    /// Labels from `start` on, 0 where voxels do not count; whether all that count are labels.
    pub(super) fn labels(&self, level: crate::Level, start: usize, keep: &[u8], out: &mut [u32]) -> bool {
        let keep = self.is_masked().then_some(Keep { voxels: keep, excluded: 0 });
        let union = self.target.read_u32(level, start, keep, out);
        union <= u64::from(u32::MAX) && out.iter().fold(0, |most, &label| most.max(label)) < self.classes
    }
}

/// One channel of scores.
pub(crate) enum Channel<'a> {
    F16(ArrayView3<'a, u16>),
    Bf16(ArrayView3<'a, u16>),
    F32(ArrayView3<'a, f32>),
    F64(ArrayView3<'a, f64>),
}

impl<'a> Channel<'a> {
    fn new(scores: &Labels<'a>, leading: &[usize], grid: &Grid) -> Self {
        match scores {
            Labels::F16(view) => Self::F16(narrow(view, leading, grid)),
            Labels::Bf16(view) => Self::Bf16(narrow(view, leading, grid)),
            Labels::F32(view) => Self::F32(narrow(view, leading, grid)),
            Labels::F64(view) => Self::F64(narrow(view, leading, grid)),
            _ => unreachable!("the batch checked the dtype"),
        }
    }

    #[inline(always)]
    pub(super) fn read<T: Real>(&self, start: usize, out: &mut [T]) {
        match self {
            Self::F16(view) => read(view, start, out, |bits| T::from_f32(F16(bits).widen())),
            Self::Bf16(view) => read(view, start, out, |bits| T::from_f32(Bf16(bits).widen())),
            Self::F32(view) => read(view, start, out, T::from_f32),
            Self::F64(view) => read(view, start, out, T::from_f64),
        }
    }
}

/// Elements in C order: at once where they lie so, else row by row.
#[inline(always)]
fn read<E: Copy, T>(view: &ArrayView3<'_, E>, start: usize, out: &mut [T], convert: impl Fn(E) -> T + Copy) {
    if let Some(flat) = view.to_slice() {
        for (out, &value) in out.iter_mut().zip(&flat[start..]) {
            *out = convert(value);
        }
        return;
    }
    let (_, ny, nx) = view.dim();
    let mut done = 0;
    while done < out.len() {
        let (row, x) = ((start + done) / nx, (start + done) % nx);
        let piece = (nx - x).min(out.len() - done);
        let mut line = view.index_axis(Axis(0), row / ny).index_axis_move(Axis(0), row % ny);
        line.slice_axis_inplace(Axis(0), Slice::from(x..x + piece));
        for (out, &value) in out[done..].iter_mut().zip(line) {
            *out = convert(value);
        }
        done += piece;
    }
}
