//! From a batch to the lesions of each case and class.

use exacta_core::quantile::percentile;
use exacta_core::stages::{Component, ComponentStage, ComponentTable, Contingency, Need, SurfaceDistances, SurfaceStage};
use exacta_core::{Batch, Connectivity, MatchRule, Percentile, Result, Spacing, Table};

use crate::matching::match_instances;
use crate::options::LesionOptions;
use crate::report::{Lesion, LesionReport, Prediction};
use crate::scores::LesionScores;

/// The percentile of a lesion's Hausdorff distance.
const PERCENTILE: f64 = 95.0;

/// Scores of each case and selected class; `spacings` has one value a case, or is not given: volumes are then counts of voxels, and
/// `lesion_hd95` is NaN.
///
/// # Errors
/// As [`report`].
pub fn evaluate<C, S>(
    components: &C,
    surfaces: &S,
    batch: &Batch<'_>,
    spacings: Option<&[Spacing]>,
    options: &LesionOptions,
) -> Result<Table<LesionScores>, C::Error>
where
    C: ComponentStage + Sync,
    C::Components: Sync,
    C::Mask: Sync,
    S: SurfaceStage<Error = C::Error>,
{
    let reports = report(components, surfaces, batch, spacings, options)?;
    let scores = |report| LesionScores::new(report, options, spacings.is_some());
    Ok(Table::new(reports.cases(), reports.classes(), reports.values().iter().map(scores).collect()))
}

/// Every lesion and prediction of each case and selected class.
///
/// Lesions are the components of the reference; with [`dilation`](LesionOptions::dilation), what the grown reference's components hold
/// of it. Which predictions match follows [`match_instances`]; a lesion's HD95 is the larger directed percentile between it and
/// all its predictions together, in the box around them.
///
/// # Errors
/// Those of the labels' values and of the stages; [`exacta_core::Error::InvalidConnectivity`], [`exacta_core::Error::DilatedMatching`].
pub fn report<C, S>(
    components: &C,
    surfaces: &S,
    batch: &Batch<'_>,
    spacings: Option<&[Spacing]>,
    options: &LesionOptions,
) -> Result<Table<LesionReport>, C::Error>
where
    C: ComponentStage + Sync,
    C::Components: Sync,
    C::Mask: Sync,
    S: SurfaceStage<Error = C::Error>,
{
    let neighbours = options.neighbours(batch.grid().axes())?;
    let masks = components.masks(batch)?;
    let (cases, classes) = (batch.cases(), batch.spec().selected());
    let mut reports = Vec::with_capacity(cases * classes);
    for case in 0..cases {
        let spacing = spacings.map(|spacings| &spacings[case]);
        for class in 0..classes {
            let found = components.masks_of(&masks, case, class, options.dilation)?;
            let report = |(masks, _)| report_of(components, surfaces, &masks, spacing, options, neighbours);
            reports.push(found.map_or_else(|| Ok(LesionReport::default()), report)?);
        }
    }
    Ok(Table::new(cases, classes, reports))
}

fn report_of<C, S>(
    stage: &C,
    surfaces: &S,
    [pred, target]: &[C::Mask; 2],
    spacing: Option<&Spacing>,
    options: &LesionOptions,
    (connectivity, of_dilation): (Connectivity, Option<Connectivity>),
) -> Result<LesionReport, C::Error>
where
    C: ComponentStage + Sync,
    C::Components: Sync,
    C::Mask: Sync,
    S: SurfaceStage<Error = C::Error>,
{
    let predictions = stage.components(pred, connectivity)?;
    let (lesions, within) = match of_dilation {
        None => (stage.components(target, connectivity)?, None),
        Some(of) => (stage.components(&stage.dilate(target, of, options.dilation)?, connectivity)?, Some(target)),
    };
    let (pred_table, target_table) = (stage.table(&predictions, None)?, stage.table(&lesions, within)?);
    let meeting = stage.contingency(&predictions, &lesions, None)?;
    // What is shared counts in the lesion's own voxels, what meets in the grown ones.
    let of_own = within.map(|within| stage.contingency(&predictions, &lesions, Some(within))).transpose()?;
    let shared = of_own.as_ref().unwrap_or(&meeting);
    let sizes = |table: &ComponentTable| table.components.iter().map(|row| row.voxels).collect::<Vec<u64>>();
    let (pred_sizes, target_sizes) = (sizes(&pred_table), sizes(&target_table));
    let voxel = spacing.map_or(1.0, Spacing::voxel);
    let mut report = tabulate(&pred_sizes, &target_sizes, &meeting, shared, voxel, options);
    let rows = &mut report.lesions;
    if let Some(spacing) = spacing {
        let measured: Vec<usize> =
            (0..rows.len()).filter(|&i| rows[i].kept && rows[i].is_matched()).collect();
        let make = |i: usize| {
            let lesion = &rows[measured[i]];
            let boxes = lesion.predictions.iter().map(|&number| &pred_table.components[number as usize - 1]);
            let (low, high) = around(boxes.chain([&target_table.components[measured[i]]]));
            let pred = stage.crop(&predictions, &lesion.predictions, None, low, high)?;
            Ok([pred, stage.crop(&lesions, &[lesion.number], within, low, high)?])
        };
        let need = Need { directed_percentile: Some(PERCENTILE), ..Need::default() };
        let found = surfaces.distances_of_pairs(measured.len(), &make, options.surface, spacing, &need)?;
        for (at, distances) in measured.into_iter().zip(found) {
            let distance = hd95(&distances)?;
            rows[at].hd95 = Some(if distance.is_finite() { distance } else { options.missed_distance });
        }
    }
    Ok(report)
}

/// The report of instances whose sizes and overlaps are known: objects of an instance map, every one of them kept. Numbers are those of
/// the tables.
///
/// # Panics
/// If the table names a number beyond the sizes.
pub fn report_instances(
    pred_sizes: &[u64],
    target_sizes: &[u64],
    contingency: &Contingency,
    rule: &MatchRule,
) -> LesionReport {
    let options = LesionOptions::new(*rule, 1);
    tabulate(pred_sizes, target_sizes, contingency, contingency, 1.0, &options)
}

/// Matches, and fills the rows, but for distances. Pairs meet in one table and are measured in another.
fn tabulate(
    pred_sizes: &[u64],
    target_sizes: &[u64],
    meeting: &Contingency,
    shared: &Contingency,
    voxel: f64,
    options: &LesionOptions,
) -> LesionReport {
    let matches = match_instances(pred_sizes, target_sizes, meeting, &options.rule);
    let serving = matches.serving(pred_sizes.len());
    let prediction = |((number, &voxels), matched)| Prediction { number, voxels, matched };
    let predictions = (1..).zip(pred_sizes).zip(serving).map(prediction).collect();
    let rows = (1..).zip(target_sizes).zip(matches.of_target);
    let row = |((number, &voxels), taken)| lesion(number, voxels, taken, pred_sizes, shared, voxel, options);
    LesionReport { lesions: rows.map(row).collect(), predictions }
}

/// The larger directed percentile; infinite where a surface is missing.
fn hd95(distances: &SurfaceDistances) -> Result<f64> {
    let (a, b) = (&distances.pred_to_target, &distances.target_to_pred);
    if a.total == 0 || b.total == 0 {
        return Ok(f64::INFINITY);
    }
    let q = Percentile::new(PERCENTILE)?;
    Ok(percentile(a, q)?.max(percentile(b, q)?))
}

#[expect(clippy::cast_precision_loss, reason = "counts of voxels are far below 2^53")]
fn lesion(
    number: u32,
    voxels: u64,
    mut predictions: Vec<u32>,
    pred_sizes: &[u64],
    shared: &Contingency,
    voxel: f64,
    options: &LesionOptions,
) -> Lesion {
    predictions.sort_unstable();
    let predicted_voxels = predictions.iter().map(|&pred| pred_sizes[pred as usize - 1]).sum::<u64>();
    let shared = predictions.iter().map(|&pred| shared.shared(pred, number)).sum::<u64>();
    let kept = voxels as f64 * voxel > options.min_target_volume;
    let (mut iou, mut dice) = (0.0, 0.0);
    if !predictions.is_empty() {
        iou = exacta_core::MatchScore::Iou.of(shared, predicted_voxels, voxels);
        dice = exacta_core::MatchScore::Dice.of(shared, predicted_voxels, voxels);
    }
    Lesion { number, voxels, kept, predictions, predicted_voxels, shared, iou, dice, hd95: None }
}

/// The smallest box around components.
fn around<'a>(components: impl Iterator<Item = &'a Component>) -> ([usize; 3], [usize; 3]) {
    components.fold(([usize::MAX; 3], [0; 3]), |(low, high), component| {
        let low = std::array::from_fn(|k| low[k].min(component.low[k]));
        (low, std::array::from_fn(|k| high[k].max(component.high[k])))
    })
}
