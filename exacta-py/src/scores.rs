//! Scores: calibration and rankings.

use exacta_core::stages::{RankTable, Reliability, ReliabilityBin, ScoreStage, SelectedScores};
use exacta_core::{Bins, Cpu, Level, Result, ScoreBatch, ScoreSpec};
use exacta_metrics::probability::expected_calibration_error;
use exacta_metrics::ranking::{RankingCurve, auroc, average_precision, ranking_curve};
use ndarray::{Array1, Array2, Array3, Array4, ArrayView2};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArray4, PyReadonlyArray2, PyReadonlyArray4, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::Held;
use crate::error::exception;
use crate::evaluate::options;
use crate::pool;

/// The arguments that say what is scored, as the Python side passes them: one dict for every function.
#[derive(FromPyObject)]
pub(crate) struct Scored<'py> {
    #[pyo3(item)]
    pred: Bound<'py, PyUntypedArray>,
    #[pyo3(item)]
    target: Bound<'py, PyUntypedArray>,
    #[pyo3(item)]
    mask: Option<Bound<'py, PyUntypedArray>>,
    #[pyo3(item)]
    pred_half: Option<String>,
    #[pyo3(item)]
    target_half: Option<String>,
    #[pyo3(item)]
    multilabel: bool,
    #[pyo3(item)]
    from_logits: bool,
    #[pyo3(item)]
    ignore_index: Option<i64>,
    #[pyo3(item)]
    threads: usize,
}

impl Scored<'_> {
    /// Calls `f` with the batch, the interpreter released.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl Fn(&Cpu, &ScoreBatch<'_>) -> Result<T> + Send + Sync,
    ) -> PyResult<T> {
        let pred = Held::new(&self.pred, self.pred_half.as_deref())?;
        let target = Held::new(&self.target, self.target_half.as_deref())?;
        let mask = self.mask.as_ref().map(|mask| Held::new(mask, None)).transpose()?;
        let (pred, target, mask) = (pred.labels(), target.labels(), mask.as_ref().map(Held::labels));
        let spec =
            ScoreSpec { multilabel: self.multilabel, from_logits: self.from_logits, ignore_index: self.ignore_index };
        let threads = self.threads;
        py.detach(|| {
            let cpu = Cpu { level: Level::new(), threads: pool::threads(threads) };
            f(&cpu, &ScoreBatch::new(pred, target, spec, mask)?)
        })
        .map_err(|error| exception(&error))
    }
}

/// The `(B, K)` values of a metric of scores.
#[pyfunction]
#[pyo3(signature = (scored, name, given, *, first=0))]
pub(crate) fn evaluate_scores<'py>(
    py: Python<'py>,
    scored: Scored<'py>,
    name: &str,
    given: &Bound<'py, PyDict>,
    first: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let options = options(given)?;
    let table = scored.with(py, |cpu, batch| exacta_metrics::evaluate_scores(cpu, batch, name, &options, first))?;
    let shape = (table.cases(), table.classes());
    Ok(Array2::from_shape_vec(shape, table.into_values()).expect("one value for each case and column").into_pyarray(py))
}

/// Count, sum of confidences and sum of outcomes of each bin: `(B, K, 3, bins)`.
#[pyfunction]
#[pyo3(signature = (scored, *, bins, mode))]
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn reliability_sums<'py>(
    py: Python<'py>,
    scored: Scored<'py>,
    bins: usize,
    mode: &str,
) -> PyResult<Bound<'py, PyArray4<f64>>> {
    let mode = mode.parse().map_err(|error| exception(&error))?;
    let table = scored.with(py, |cpu, batch| cpu.reliability(batch, Bins::new(bins, 1)?, mode))?;
    let out = Array4::from_shape_fn((table.cases(), table.classes(), 3, bins), |(case, column, what, bin)| {
        let bin = table.get(case, column).bins[bin];
        [bin.count as f64, bin.confidence, bin.outcomes as f64][what]
    });
    Ok(out.into_pyarray(py))
}

type Reliabilities<'py> =
    (Bound<'py, PyArray3<i64>>, Bound<'py, PyArray3<f64>>, Bound<'py, PyArray3<f64>>, Bound<'py, PyArray2<f64>>);

/// Counts, mean confidence, accuracy and expected calibration error of such sums.
#[pyfunction]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are whole numbers")]
pub(crate) fn reliability_values<'py>(py: Python<'py>, sums: PyReadonlyArray4<'py, f64>) -> Reliabilities<'py> {
    let sums = sums.as_array();
    let (cases, columns, _, bins) = sums.dim();
    let shape = (cases, columns, bins);
    let counts = Array3::from_shape_fn(shape, |(case, column, bin)| sums[(case, column, 0, bin)] as i64);
    // 0 / 0 is NaN: a bin without voxels has no mean.
    let mean = |what| {
        Array3::from_shape_fn(shape, |(case, column, bin)| {
            sums[(case, column, what, bin)] / sums[(case, column, 0, bin)]
        })
    };
    let ece = Array2::from_shape_fn((cases, columns), |(case, column)| {
        let bin = |bin| ReliabilityBin {
            count: sums[(case, column, 0, bin)] as u64,
            confidence: sums[(case, column, 1, bin)],
            outcomes: sums[(case, column, 2, bin)] as u64,
        };
        expected_calibration_error(&Reliability { bins: (0..bins).map(bin).collect() })
    });
    (counts.into_pyarray(py), mean(1).into_pyarray(py), mean(2).into_pyarray(py), ece.into_pyarray(py))
}

/// Thresholds, precision, recall and false positive rate, then average precision and AUROC.
type Curve<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    f64,
    f64,
);

fn curve<'py>(py: Python<'py>, (curve, precision, area): (RankingCurve, f64, f64)) -> Curve<'py> {
    (
        curve.thresholds.into_pyarray(py),
        curve.precision.into_pyarray(py),
        curve.recall.into_pyarray(py),
        curve.fpr.into_pyarray(py),
        precision,
        area,
    )
}

fn ranked(table: &RankTable) -> (RankingCurve, f64, f64) {
    let sums = table.sums();
    (ranking_curve(table), average_precision(&sums), auroc(&sums))
}

/// The exact curve of each case and class, row by row.
#[pyfunction]
#[pyo3(signature = (scored, *, first=0))]
pub(crate) fn rank_curves<'py>(py: Python<'py>, scored: Scored<'py>, first: usize) -> PyResult<Vec<Curve<'py>>> {
    let curves = scored
        .with(py, |cpu, batch| Ok(cpu.rank_tables(batch, first)?.values().iter().map(ranked).collect::<Vec<_>>()))?;
    Ok(curves.into_iter().map(|ranked| curve(py, ranked)).collect())
}

/// Negatives and positives in each bin of probability: `(B, K, 2, bins)`.
#[pyfunction]
#[pyo3(signature = (scored, *, bins, first=0))]
pub(crate) fn rank_histograms<'py>(
    py: Python<'py>,
    scored: Scored<'py>,
    bins: usize,
    first: usize,
) -> PyResult<Bound<'py, PyArray4<i64>>> {
    let table = scored.with(py, |cpu, batch| cpu.rank_histograms(batch, Bins::new(bins, 2)?, first))?;
    let out = Array4::from_shape_fn((table.cases(), table.classes(), 2, bins), |(case, column, side, bin)| {
        table.get(case, column)[bin][side].cast_signed()
    });
    Ok(out.into_pyarray(py))
}

/// The curve of one such histogram, `(2, bins)`.
#[pyfunction]
pub(crate) fn histogram_curve<'py>(py: Python<'py>, histogram: PyReadonlyArray2<'py, i64>) -> Curve<'py> {
    let histogram: ArrayView2<'_, i64> = histogram.as_array();
    let bins: Vec<[u64; 2]> =
        histogram.columns().into_iter().map(|bin| [bin[0].cast_unsigned(), bin[1].cast_unsigned()]).collect();
    curve(py, ranked(&RankTable::of_histogram(&bins)))
}

/// The scores that are ranked, float32 or float64, and whether each is a positive: one pair a case and class, row by row.
#[pyfunction]
#[pyo3(signature = (scored, *, first=0))]
pub(crate) fn selected_scores<'py>(
    py: Python<'py>,
    scored: Scored<'py>,
    first: usize,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let table = scored.with(py, |cpu, batch| cpu.selected(batch, first))?;
    let pair = |selected: exacta_core::stages::Selected| {
        let positives = Array1::from_vec(selected.positives).into_pyarray(py).into_any();
        let scores = match selected.scores {
            SelectedScores::Single(scores) => scores.into_pyarray(py).into_any(),
            SelectedScores::Double(scores) => scores.into_pyarray(py).into_any(),
        };
        PyTuple::new(py, [scores, positives])
    };
    table.into_values().into_iter().map(pair).collect()
}
