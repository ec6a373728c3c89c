//! What every loss offers: a value with what its gradient needs, and the gradient.

use std::borrow::Cow;

use exacta_core::{Cpu, Result};

use crate::batch::LossBatch;
use crate::logits::LogitsMut;

/// A loss with its settings.
pub trait Loss: std::fmt::Debug + Send + Sync {
    /// The value, and what [`Loss::backward`] needs beside the same batch.
    ///
    /// # Errors
    /// [`exacta_core::Error::LossLabel`] for a counted label that is no class; those of the loss for settings that do not fit the batch.
    fn forward(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward>;

    /// The gradient with respect to the input, times `grad_output` (one number a value), written whole: excluded voxels get 0.
    ///
    /// # Errors
    /// [`exacta_core::Error::LossShape`] if the output has another shape than the input; those of [`Loss::forward`].
    fn backward(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()>;

    /// The loss as a function of sums over voxels, if it is one: then batches spread over processes add their sums.
    fn as_pooled(&self) -> Option<&dyn Pooled> {
        None
    }
}

/// A loss that is a function of sums over voxels.
pub trait Pooled {
    /// The sums: rows of one length, one a case or one in all.
    ///
    /// # Errors
    /// Those of the loss for settings that do not fit the batch. Labels out of range are counted in the sums.
    fn statistics(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Statistics>;

    /// The value of sums that may have been added up over processes.
    ///
    /// # Errors
    /// [`exacta_core::Error::LossLabelCount`] if a counted label is no class.
    #[expect(clippy::wrong_self_convention, reason = "the loss, from statistics")]
    fn from_statistics(&self, statistics: &Statistics) -> Result<Forward>;
}

/// Sums over voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Number of channels of the input.
    pub channels: usize,
    /// Number of rows.
    pub rows: usize,
    /// The rows, one after the other.
    pub sums: Vec<f64>,
}

/// What a forward pass gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Forward {
    /// One value, or one a case for a loss without reduction.
    pub values: Vec<f64>,
    /// What the backward pass needs.
    pub saved: Saved<'static>,
}

/// What a forward pass leaves for the backward pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Saved<'a> {
    /// A few numbers a case and class.
    pub numbers: Vec<f64>,
    /// Something a voxel, for the losses that cannot do without.
    pub kept: Kept<'a>,
}

/// Something a voxel: as it was made, or borrowed from who kept it.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Kept<'a> {
    /// Nothing: every voxel-wise loss recomputes.
    #[default]
    Nothing,
    /// Single precision.
    F32(Cow<'a, [f32]>),
    /// Double precision.
    F64(Cow<'a, [f64]>),
    /// Bytes.
    U8(Cow<'a, [u8]>),
    /// Whole numbers.
    U32(Cow<'a, [u32]>),
}
