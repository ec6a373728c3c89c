//! What counts as a class, and where.

use crate::{Error, Result};

super::named! {
    /// How classes lie in an array.
    InputFormat, "input_format", {
        /// `(B, *S)`: a label map, one class a voxel.
        Index = "index",
        /// `(B, C, *S)`: a binary channel for each class; channels may overlap.
        OneHot = "one-hot",
    }
}

/// Which classes an array holds, which of them are reported, and which voxels count.
///
/// The number of classes comes from the caller, never from the largest label seen. Leaving the background out only
/// removes its column: its voxels still are negatives of the other classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelSpec {
    /// Label map or channels.
    pub format: InputFormat,
    /// Number of classes or channels, the background among them.
    pub num_classes: usize,
    /// Whether class 0 has a column.
    pub include_background: bool,
    /// Target label whose voxels do not count (index only).
    pub ignore_index: Option<i64>,
}

impl LabelSpec {
    /// A label map with `num_classes` classes, all reported.
    pub const fn index(num_classes: usize) -> Self {
        Self { format: InputFormat::Index, num_classes, include_background: true, ignore_index: None }
    }

    /// `channels` binary channels, all reported.
    pub const fn one_hot(channels: usize) -> Self {
        Self { format: InputFormat::OneHot, num_classes: channels, include_background: true, ignore_index: None }
    }

    /// The same without a column for class 0.
    pub const fn without_background(mut self) -> Self {
        self.include_background = false;
        self
    }

    /// The same with a target label that removes a voxel.
    pub const fn ignoring(mut self, label: i64) -> Self {
        self.ignore_index = Some(label);
        self
    }

    /// Number of classes reported.
    pub const fn selected(&self) -> usize {
        self.num_classes - self.first_class()
    }

    /// The first class reported.
    pub const fn first_class(&self) -> usize {
        if self.include_background { 0 } else { 1 }
    }

    /// # Errors
    /// [`Error::NumClasses`] without a class to report, [`Error::IgnoreWithOneHot`].
    pub fn validate(&self) -> Result<()> {
        let least = match (self.format, self.include_background) {
            (_, false) => 2,
            (InputFormat::Index, true) => 1,
            (InputFormat::OneHot, true) => 0,
        };
        if self.num_classes < least {
            let rule = format!("at least {least}{}", if least == 2 { " with include_background=False" } else { "" });
            return Err(Error::NumClasses { rule, value: self.num_classes });
        }
        if self.num_classes > u32::MAX as usize {
            return Err(Error::TooLarge { what: "num_classes", value: self.num_classes, limit: u32::MAX as usize });
        }
        if self.format == InputFormat::OneHot && self.ignore_index.is_some() {
            return Err(Error::IgnoreWithOneHot);
        }
        Ok(())
    }
}
