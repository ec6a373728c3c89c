//! Options of a metric by name, as a front end passes them.

use std::collections::BTreeMap;

use exacta_core::{
    Average, Bins, Combine, EmptyPolicy, Error, Percentile, Result, SurfaceKind, Tolerance, Unit, ZeroDivision,
};

use crate::MetricInfo;

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// A number.
    Number(f64),
    /// One number for all selected classes, or one for each.
    Numbers(Vec<f64>),
    /// A choice by name.
    Text(String),
    /// A choice of two.
    Flag(bool),
}

/// Options of one metric; those left out take their defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options(BTreeMap<String, OptionValue>);

impl Options {
    /// No option: all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with an option set.
    pub fn with(mut self, name: &str, value: OptionValue) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Names of the options set.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The options of a metric with its defaults behind them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resolved<'a> {
    pub(crate) info: &'a MetricInfo,
    pub(crate) given: &'a Options,
}

impl Resolved<'_> {
    fn wrong(&self, option: &str, rule: &'static str) -> Error {
        Error::Option { metric: self.info.name, option: option.to_owned(), rule }
    }

    fn get(&self, option: &str) -> Result<OptionValue> {
        if let Some(value) = self.given.0.get(option) {
            return Ok(value.clone());
        }
        let default = self.info.options.iter().find(|(name, _)| *name == option).and_then(|(_, default)| *default);
        default.map(|default| default.value()).ok_or_else(|| self.wrong(option, "must be given"))
    }

    pub(crate) fn number(&self, option: &str) -> Result<f64> {
        match self.get(option)? {
            OptionValue::Number(value) => Ok(value),
            OptionValue::Flag(value) => Ok(f64::from(value)),
            _ => Err(self.wrong(option, "must be a number")),
        }
    }

    pub(crate) fn flag(&self, option: &str) -> Result<bool> {
        match self.get(option)? {
            OptionValue::Flag(value) => Ok(value),
            _ => Err(self.wrong(option, "must be true or false")),
        }
    }

    pub(crate) fn named<T: std::str::FromStr<Err = Error>>(&self, option: &str) -> Result<T> {
        match self.get(option)? {
            OptionValue::Text(value) => value.parse(),
            _ => Err(self.wrong(option, "must be a name")),
        }
    }

    pub(crate) fn zero_division(&self, option: &str) -> Result<ZeroDivision> {
        self.number(option).map(ZeroDivision)
    }

    pub(crate) fn empty(&self) -> Result<EmptyPolicy> {
        Ok(EmptyPolicy { both: self.number("both_empty")?, one: self.number("one_empty")? })
    }

    pub(crate) fn percentile(&self) -> Result<Percentile> {
        Percentile::new(self.number("percentile")?)
    }

    pub(crate) fn combine(&self) -> Result<Combine> {
        self.named("combine")
    }

    pub(crate) fn surface(&self) -> Result<SurfaceKind> {
        self.named("surface")
    }

    pub(crate) fn average(&self, option: &str) -> Result<Average> {
        self.named(option)
    }

    /// A whole number of bins, at least `low`.
    pub(crate) fn bins(&self, option: &str, low: usize) -> Result<Bins> {
        let value = self.number(option)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and checked by `Bins`")]
        if value.fract() == 0.0 && value >= 0.0 {
            Bins::new(value as usize, low)
        } else {
            Err(self.wrong(option, "must be a whole number, not negative"))
        }
    }

    /// At least two bins; 0 stands for none.
    pub(crate) fn optional_bins(&self, option: &str) -> Result<Option<Bins>> {
        if self.number(option)? == 0.0 { Ok(None) } else { self.bins(option, 2).map(Some) }
    }

    /// The unit, which must be one of images with `axes` axes.
    pub(crate) fn unit(&self, axes: usize) -> Result<Unit> {
        let unit: Unit = self.named("unit")?;
        if unit.axes() == axes {
            return Ok(unit);
        }
        let names: &[&str] = if axes == 2 { &["mm2", "cm2"] } else { &["mm3", "ml"] };
        Err(Error::UnknownName { argument: "unit", value: unit.name().to_owned(), names })
    }

    pub(crate) fn tolerances(&self) -> Result<Vec<Tolerance>> {
        match self.get("tolerance")? {
            OptionValue::Number(value) => Ok(vec![Tolerance::new(value)?]),
            OptionValue::Numbers(values) => values.into_iter().map(Tolerance::new).collect(),
            _ => Err(self.wrong("tolerance", "must be a number, or one for each selected class")),
        }
    }
}
