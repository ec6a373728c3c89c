//! Lesions and detections: tables in place of voxels.

use exacta_components::CpuComponents;
use exacta_core::{
    Batch, Cpu, Error, InputFormat, LabelSpec, Labels, Level, MatchRule, Result, Spacing, SurfaceKind, Table, scan,
};
use exacta_lesions::detection::{self, Candidate, Curve, DetectionOptions, Detections};
use exacta_lesions::{BRATS_REGIONS, LesionOptions, LesionReport, LesionScores, brats_2023};
use exacta_surface::CpuSurface;
use ndarray::{Array1, Array2};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyUntypedArray};
use pyo3::prelude::*;

use crate::arrays::Held;
use crate::error::exception;
use crate::pool;

fn cpu(threads: usize) -> Cpu {
    Cpu { level: Level::new(), threads: pool::threads(threads) }
}

/// How the arrays of a call are to be read; the keys of a dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Layout {
    input_format: String,
    num_classes: usize,
    include_background: bool,
    pred_half: Option<String>,
    target_half: Option<String>,
}

impl Layout {
    fn spec(&self) -> Result<LabelSpec> {
        let format: InputFormat = self.input_format.parse()?;
        let (num_classes, include_background) = (self.num_classes, self.include_background);
        Ok(LabelSpec { format, num_classes, include_background, ignore_index: None })
    }
}

/// Every choice of a lesion score; the keys of a dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Choices {
    matching: String,
    score: String,
    threshold: f64,
    strict: bool,
    connectivity: usize,
    dilation: usize,
    dilation_connectivity: usize,
    min_target_volume: f64,
    surface: String,
    missed_distance: f64,
    both_empty: f64,
    both_empty_distance: f64,
}

impl Choices {
    fn options(&self) -> Result<LesionOptions> {
        let rule = MatchRule {
            matching: self.matching.parse()?,
            score: self.score.parse()?,
            threshold: self.threshold,
            strict: self.strict,
        };
        Ok(LesionOptions {
            dilation: self.dilation,
            dilation_connectivity: self.dilation_connectivity,
            min_target_volume: self.min_target_volume,
            surface: self.surface.parse::<SurfaceKind>()?,
            missed_distance: self.missed_distance,
            both_empty: self.both_empty,
            both_empty_distance: self.both_empty_distance,
            ..LesionOptions::new(rule, self.connectivity)
        })
    }
}

fn spacings(spacing: Option<&PyReadonlyArray2<'_, f64>>) -> Result<Option<Vec<Spacing>>> {
    let rows = spacing.map(|spacing| spacing.as_array());
    rows.map(|rows| rows.rows().into_iter().map(|row| Spacing::new(&row.to_vec())).collect()).transpose()
}

fn reports<'a>(
    threads: usize,
    (pred, target): (Labels<'a>, Labels<'a>),
    layout: &Layout,
    spacings: Option<&[Spacing]>,
    options: &LesionOptions,
) -> Result<Table<LesionReport>> {
    let cpu = cpu(threads);
    let batch = Batch::new(pred, target, layout.spec()?, None)?;
    let stage = CpuComponents { cpu: cpu.clone() };
    exacta_lesions::report(&stage, &CpuSurface { cpu }, &batch, spacings, options)
}

type Scores<'py> = Vec<Bound<'py, PyArray2<f64>>>;
type Rows<'py> =
    (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<i64>>);

/// The scores of each case and class, one array a score; and rows for lesions, matched pairs and predictions if asked for.
/// `choices` is a dict of them all, or the name of a task of BraTS 2023.
#[pyfunction]
#[pyo3(signature = (pred, target, layout, choices, *, spacing=None, rows=false, threads=1))]
#[expect(clippy::too_many_arguments, reason = "arguments of Python")]
pub(crate) fn lesion_scores<'py>(
    py: Python<'py>,
    pred: &Bound<'py, PyUntypedArray>,
    target: &Bound<'py, PyUntypedArray>,
    layout: Layout,
    choices: &Bound<'py, PyAny>,
    spacing: Option<PyReadonlyArray2<'py, f64>>,
    rows: bool,
    threads: usize,
) -> PyResult<(Scores<'py>, Option<Rows<'py>>)> {
    let options = match choices.extract::<String>() {
        Ok(challenge) => challenge.parse().map(brats_2023),
        Err(_) => choices.extract::<Choices>()?.options(),
    };
    let options = options.map_err(|error| exception(&error))?;
    let spacings = spacings(spacing.as_ref()).map_err(|error| exception(&error))?;
    let held = (Held::new(pred, layout.pred_half.as_deref())?, Held::new(target, layout.target_half.as_deref())?);
    let labels = (held.0.labels(), held.1.labels());
    let (reports, scores) = py
        .detach(|| {
            let reports = reports(threads, labels, &layout, spacings.as_deref(), &options)?;
            let scores: Vec<_> = reports
                .values()
                .iter()
                .map(|report| LesionScores::new(report, &options, spacings.is_some()).values())
                .collect();
            Ok((reports, scores))
        })
        .map_err(|error: Error| exception(&error))?;
    let shape = (reports.cases(), reports.classes());
    let scores = (0..LesionScores::NAMES.len())
        .map(|k| Array2::from_shape_fn(shape, |(case, class)| scores[case * shape.1 + class][k]).into_pyarray(py))
        .collect();
    Ok((scores, rows.then(|| tables(py, &reports))))
}

/// The scores of instance maps `(B, *S)`, one `(B, 1)` array a score.
#[pyfunction]
#[pyo3(signature = (pred, target, *, matching, score, threshold, strict, both_empty, pred_half=None, target_half=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "arguments of Python")]
pub(crate) fn instance_scores<'py>(
    py: Python<'py>,
    pred: &Bound<'py, PyUntypedArray>,
    target: &Bound<'py, PyUntypedArray>,
    matching: &str,
    score: &str,
    threshold: f64,
    strict: bool,
    both_empty: f64,
    pred_half: Option<&str>,
    target_half: Option<&str>,
    threads: usize,
) -> PyResult<Scores<'py>> {
    let rule = || Ok(MatchRule { matching: matching.parse()?, score: score.parse()?, threshold, strict });
    let options = LesionOptions { both_empty, ..LesionOptions::new(rule().map_err(|error| exception(&error))?, 1) };
    let held = (Held::new(pred, pred_half)?, Held::new(target, target_half)?);
    let (pred, target) = (held.0.labels(), held.1.labels());
    let scores: Vec<_> = py
        .detach(|| {
            let cases = scan::instance_tables(&cpu(threads), &pred, &target)?;
            let scores = cases.iter().map(|case| {
                let report = exacta_lesions::report_instances(
                    &case.pred.sizes,
                    &case.target.sizes,
                    &case.contingency,
                    &options.rule,
                );
                LesionScores::new(&report, &options, false).values()
            });
            Ok(scores.collect())
        })
        .map_err(|error: Error| exception(&error))?;
    Ok((0..LesionScores::NAMES.len())
        .map(|k| Array2::from_shape_fn((scores.len(), 1), |(case, _)| scores[case][k]).into_pyarray(py))
        .collect())
}

/// Lesions (case, class, number, voxels, kept, predicted voxels, shared voxels), their IoU, Dice and HD95 (NaN where it is not
/// measured), matched pairs (row of the lesion, number of the prediction), predictions (case, class, number, voxels, matched).
fn tables<'py>(py: Python<'py>, reports: &Table<LesionReport>) -> Rows<'py> {
    let signed = |n: usize| i64::try_from(n).expect("a count fits");
    let (mut lesions, mut values, mut pairs, mut predictions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (i, report) in reports.values().iter().enumerate() {
        let (case, class) = (signed(i / reports.classes()), signed(i % reports.classes()));
        for lesion in &report.lesions {
            pairs.extend(lesion.predictions.iter().map(|&number| [signed(values.len()), i64::from(number)]));
            lesions.push([
                case,
                class,
                i64::from(lesion.number),
                lesion.voxels.cast_signed(),
                i64::from(lesion.kept),
                lesion.predicted_voxels.cast_signed(),
                lesion.shared.cast_signed(),
            ]);
            values.push([lesion.iou, lesion.dice, lesion.hd95.unwrap_or(f64::NAN)]);
        }
        for row in &report.predictions {
            let number = i64::from(row.number);
            predictions.push([case, class, number, row.voxels.cast_signed(), i64::from(row.matched)]);
        }
    }
    (
        Array2::from(lesions).into_pyarray(py),
        Array2::from(values).into_pyarray(py),
        Array2::from(pairs).into_pyarray(py),
        Array2::from(predictions).into_pyarray(py),
    )
}

/// Writes whole tumour, core and enhancing tumour of label maps `(B, *S)`, the bytes of `(B, 3, *S)`, into `out`, which holds zeros;
/// returns the axes of an image in the order in which they lie there.
#[pyfunction]
#[pyo3(signature = (labels, out, *, half=None, threads=1))]
pub(crate) fn brats_regions<'py>(
    py: Python<'py>,
    labels: &Bound<'py, PyUntypedArray>,
    mut out: PyReadwriteArray1<'py, u8>,
    half: Option<&str>,
    threads: usize,
) -> PyResult<Vec<usize>> {
    let held = Held::new(labels, half)?;
    let labels = held.labels();
    let out = out.as_slice_mut()?;
    let grid = py
        .detach(|| scan::write_region_channels(&cpu(threads), &labels, &BRATS_REGIONS, out))
        .map_err(|error| exception(&error))?;
    let lead = 3 - grid.axes();
    Ok(grid.order()[lead..].iter().map(|axis| axis - lead).collect())
}

type Found<'py> = (Vec<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>)>, Bound<'py, PyArray2<i64>>);

/// For each class the confidences of all predictions and whether they hit; and the number of lesions of each case and class.
/// `confidence` is float32 or float64.
#[pyfunction]
#[pyo3(signature = (pred, target, confidence, layout, *, connectivity, iou_threshold, reduction, threads=1))]
#[expect(clippy::too_many_arguments, reason = "arguments of Python")]
pub(crate) fn detect<'py>(
    py: Python<'py>,
    pred: &Bound<'py, PyUntypedArray>,
    target: &Bound<'py, PyUntypedArray>,
    confidence: &Bound<'py, PyUntypedArray>,
    layout: Layout,
    connectivity: usize,
    iou_threshold: f64,
    reduction: &str,
    threads: usize,
) -> PyResult<Found<'py>> {
    let reduction = reduction.parse().map_err(|error| exception(&error))?;
    let options = DetectionOptions { connectivity, iou_threshold, reduction };
    let held = (Held::new(pred, layout.pred_half.as_deref())?, Held::new(target, layout.target_half.as_deref())?);
    let (pred, target) = (held.0.labels(), held.1.labels());
    let values = Held::new(confidence, None)?;
    let values = values.labels();
    let table = py
        .detach(|| {
            let stage = CpuComponents { cpu: cpu(threads) };
            let batch = Batch::new(pred, target, layout.spec()?, None)?;
            match &values {
                Labels::F32(values) => detection::detect(&stage, &batch, values, &options),
                Labels::F64(values) => detection::detect(&stage, &batch, values, &options),
                _ => Err(Error::Unavailable {
                    argument: "confidence",
                    value: "its dtype",
                    names: &["float32", "float64"],
                }),
            }
        })
        .map_err(|error| exception(&error))?;
    let targets = Array2::from_shape_fn((table.cases(), table.classes()), |(case, class)| {
        table.get(case, class).targets.cast_signed()
    });
    let table: &Table<Detections> = &table;
    let of_class = |class| {
        let all = || (0..table.cases()).flat_map(move |case| &table.get(case, class).candidates);
        let confidences: Array1<f64> = all().map(|candidate| candidate.confidence).collect();
        let hits: Array1<bool> = all().map(|candidate| candidate.hit).collect();
        (confidences.into_pyarray(py), hits.into_pyarray(py))
    };
    Ok(((0..table.classes()).map(of_class).collect(), targets.into_pyarray(py)))
}

type Points<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    f64,
);

/// Thresholds, true and false positives, precision, recall, false positives a case, average precision.
#[pyfunction]
#[pyo3(signature = (confidences, hits, targets, cases))]
pub(crate) fn detection_curve<'py>(
    py: Python<'py>,
    confidences: PyReadonlyArray1<'py, f64>,
    hits: PyReadonlyArray1<'py, bool>,
    targets: u64,
    cases: u64,
) -> Points<'py> {
    let (confidences, hits) = (confidences.as_array(), hits.as_array());
    let candidate = |(&confidence, &hit): (&f64, &bool)| Candidate { confidence, hit };
    let curve = Curve::new(confidences.iter().zip(hits).map(candidate).collect(), targets, cases);
    let counts = |counts: Vec<u64>| counts.into_iter().map(u64::cast_signed).collect::<Array1<i64>>().into_pyarray(py);
    (
        Array1::from(curve.thresholds).into_pyarray(py),
        counts(curve.true_positives),
        counts(curve.false_positives),
        Array1::from(curve.precision).into_pyarray(py),
        Array1::from(curve.recall).into_pyarray(py),
        Array1::from(curve.false_positives_per_case).into_pyarray(py),
        curve.average_precision,
    )
}
