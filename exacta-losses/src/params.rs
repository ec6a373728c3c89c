//! Settings of a loss by name, as a front end passes them.

use std::collections::BTreeMap;
use std::str::FromStr;

use exacta_core::{Error, Result};

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// A number.
    Number(f64),
    /// Several numbers.
    Numbers(Vec<f64>),
    /// A choice by name.
    Text(String),
    /// A choice of two.
    Flag(bool),
}

/// Settings of one loss; those left out take their defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params(BTreeMap<String, Param>);

impl Params {
    /// No setting: all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a setting.
    pub fn with(mut self, name: &str, value: Param) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Refuses a setting that is not among `names`.
    ///
    /// # Errors
    /// [`Error::LossOption`].
    pub fn only(&self, loss: &'static str, names: &[&[&str]]) -> Result<()> {
        match self.0.keys().find(|key| !names.iter().any(|names| names.contains(&key.as_str()))) {
            None => Ok(()),
            Some(key) => Err(Error::LossOption {
                argument: loss,
                rule: format!("have options among {:?}", names.concat()),
                value: key.clone(),
            }),
        }
    }

    fn wrong(name: &'static str, rule: &str, value: &Param) -> Error {
        Error::LossOption { argument: name, rule: rule.to_owned(), value: format!("{value:?}") }
    }

    /// A number, or its default.
    ///
    /// # Errors
    /// [`Error::LossOption`] for a setting of another kind; so for the others.
    pub fn number(&self, name: &'static str, default: f64) -> Result<f64> {
        match self.0.get(name) {
            None => Ok(default),
            Some(Param::Number(value)) => Ok(*value),
            Some(value) => Err(Self::wrong(name, "be a number", value)),
        }
    }

    /// A flag, or its default.
    ///
    /// # Errors
    /// As [`Params::number`].
    pub fn flag(&self, name: &'static str, default: bool) -> Result<bool> {
        match self.0.get(name) {
            None => Ok(default),
            Some(Param::Flag(value)) => Ok(*value),
            Some(value) => Err(Self::wrong(name, "be true or false", value)),
        }
    }

    /// A text, if there is one.
    ///
    /// # Errors
    /// As [`Params::number`].
    pub fn text(&self, name: &'static str) -> Result<Option<&str>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Param::Text(value)) => Ok(Some(value)),
            Some(value) => Err(Self::wrong(name, "be a name", value)),
        }
    }

    /// A choice by name, or its default.
    ///
    /// # Errors
    /// As [`Params::number`]; [`Error::UnknownName`].
    pub fn named<T: FromStr<Err = Error>>(&self, name: &'static str, default: T) -> Result<T> {
        self.text(name)?.map_or(Ok(default), str::parse)
    }

    /// Several numbers, or one as a list of one, if there are any.
    ///
    /// # Errors
    /// As [`Params::number`].
    pub fn numbers(&self, name: &'static str) -> Result<Option<Vec<f64>>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Param::Number(value)) => Ok(Some(vec![*value])),
            Some(Param::Numbers(values)) => Ok(Some(values.clone())),
            Some(value) => Err(Self::wrong(name, "be numbers", value)),
        }
    }

    /// A whole number, if there is one.
    ///
    /// # Errors
    /// As [`Params::number`].
    pub fn whole(&self, name: &'static str) -> Result<Option<i64>> {
        match self.0.get(name) {
            None => Ok(None),
            #[expect(clippy::cast_possible_truncation, reason = "checked by the guard")]
            Some(Param::Number(value)) if value.fract() == 0.0 && value.abs() < 9.3e18 => Ok(Some(*value as i64)),
            Some(value) => Err(Self::wrong(name, "be a whole number", value)),
        }
    }
}
