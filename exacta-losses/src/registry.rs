//! Losses by name.

use exacta_core::{Error, Result};

use crate::loss::Loss;
use crate::params::Params;

/// The names of [`loss`].
pub const LOSSES: &[&str] = &[];

/// A loss by its name, with settings by theirs.
///
/// # Errors
/// [`Error::UnknownName`]; [`Error::LossOption`] for a setting that the loss does not have, or a value that it cannot have.
pub fn loss(name: &str, params: &Params) -> Result<Box<dyn Loss>> {
    let _ = params;
    Err(Error::UnknownName { argument: "loss", value: name.to_owned(), names: LOSSES })
}
