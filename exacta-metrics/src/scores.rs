//! Metrics of scores from one run of their stage.

use exacta_core::stages::{RankTable, Reliability, ScoreStage, ScoreSums};
use exacta_core::{Average, Error, Result, ScoreBatch, Table};

use crate::options::Resolved;
use crate::registry::{SCORE_METRICS, ScoreFormula};
use crate::{Formula, Options};

/// The value of a metric of [`SCORE_METRICS`] for each case and column.
///
/// Columns: one for a distribution over classes (for rankings and classwise calibration one a class), one a channel where
/// channels are independent, one with `average` other than `"none"`. `first` is the first class that a ranking reports.
///
/// # Errors
/// [`Error::UnknownMetric`]; [`Error::Option`] for an option that is unknown or of another type; those of the stage.
pub fn evaluate_scores<S: ScoreStage>(
    stage: &S,
    batch: &ScoreBatch<'_>,
    name: &str,
    options: &Options,
    first: usize,
) -> Result<Table<f64>, S::Error> {
    match formula(name, options)? {
        ScoreFormula::Sums { term, average, value } => {
            let table = stage.score_sums(batch, term)?;
            let join = |rows: &[ScoreSums]| {
                rows.iter().fold(ScoreSums::default(), |mut whole, row| {
                    whole += *row;
                    whole
                })
            };
            Ok(averaged(&table, average, value, join))
        }
        ScoreFormula::Reliability { bins, mode, average, value } => {
            let table = stage.reliability(batch, bins, mode)?;
            let join = |rows: &[Reliability]| {
                rows.iter().fold(Reliability::new(bins.count()), |mut whole, row| {
                    whole += row;
                    whole
                })
            };
            Ok(averaged(&table, average, value, join))
        }
        ScoreFormula::Ranking { need, bins: None, value } => {
            let table = stage.rank_sums(batch, need, first)?;
            Ok(Table::new(table.cases(), table.classes(), table.values().iter().map(value).collect()))
        }
        ScoreFormula::Ranking { bins: Some(bins), value, .. } => {
            let table = stage.rank_histograms(batch, bins, first)?;
            let value = |histogram: &Vec<[u64; 2]>| value(&RankTable::of_histogram(histogram).sums());
            Ok(Table::new(table.cases(), table.classes(), table.values().iter().map(value).collect()))
        }
    }
}

fn formula(name: &str, options: &Options) -> Result<ScoreFormula> {
    let info = SCORE_METRICS.iter().find(|info| info.name == name);
    let info = info.ok_or_else(|| Error::UnknownMetric { name: name.to_owned() })?;
    for option in options.names() {
        if !info.options.iter().any(|(known, _)| *known == option) {
            return Err(Error::Option { metric: info.name, option: option.to_owned(), rule: "is unknown" });
        }
    }
    match (info.build)(&Resolved { info, given: options })? {
        Formula::Scores(formula) => Ok(formula),
        _ => Err(Error::UnknownMetric { name: name.to_owned() }),
    }
}

/// One value a column, or one for the labels of a case together.
#[expect(clippy::cast_precision_loss, reason = "few labels")]
fn averaged<T>(table: &Table<T>, average: Average, value: fn(&T) -> f64, join: impl Fn(&[T]) -> T) -> Table<f64> {
    let columns = table.classes();
    let rows = table.values().chunks(columns.max(1));
    match average {
        Average::None => Table::new(table.cases(), columns, table.values().iter().map(value).collect()),
        Average::Macro => {
            let mean = |row: &[T]| {
                let values: Vec<f64> = row.iter().map(value).filter(|value| !value.is_nan()).collect();
                values.iter().sum::<f64>() / values.len() as f64
            };
            Table::new(table.cases(), 1, rows.map(mean).collect())
        }
        Average::Micro => Table::new(table.cases(), 1, rows.map(|row| value(&join(row))).collect()),
    }
}
