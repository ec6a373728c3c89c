//! From a batch to the lesions of each case and class.

use exacta_core::quantile::percentile;
use exacta_core::stages::{
    Component, ComponentStage, ComponentTable, Contingency, Need, SurfaceDistances, SurfaceStage,
};
use exacta_core::{Batch, Connectivity, MatchRule, Percentile, Result, Side, Spacing, Table};

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
    C: ComponentStage<Error: Send, Masks: Sync, Mask: Send + Sync, Components: Send + Sync> + Sync,
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
/// all its predictions together, in the box around them. Masks and tables of one case are alive at a time.
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
    C: ComponentStage<Error: Send, Masks: Sync, Mask: Send + Sync, Components: Send + Sync> + Sync,
    S: SurfaceStage<Error = C::Error>,
{
    let neighbours = options.neighbours(batch.grid().axes())?;
    let masks = components.masks(batch)?;
    let (cases, classes) = (batch.cases(), batch.spec().selected());
    let mut reports = Vec::with_capacity(cases * classes);
    for case in 0..cases {
        let spacing = spacings.map(|spacings| &spacings[case]);
        let sides = components.each(2 * classes, |stage, i| {
            Part::new(stage, &masks, (case, i / 2), Side::BOTH[i % 2], options, neighbours)
        });
        let sides = sides.into_iter().collect::<Result<Vec<_>, C::Error>>()?;
        let voxel = spacing.map_or(1.0, Spacing::voxel);
        let found = components.each(classes, |stage, class| match &sides[2 * class..2 * class + 2] {
            [Some(pred), Some(target)] => meet(stage, pred, target, voxel, options),
            _ => Ok(LesionReport::default()),
        });
        let mut found = found.into_iter().collect::<Result<Vec<_>, C::Error>>()?;
        if let Some(spacing) = spacing {
            measure(components, surfaces, &sides, &mut found, spacing, options)?;
        }
        reports.append(&mut found);
    }
    Ok(Table::new(cases, classes, reports))
}

/// The components of one side of a class. Of the reference, those of the grown mask, with the mask itself.
struct Part<C: ComponentStage> {
    components: C::Components,
    within: Option<C::Mask>,
    table: ComponentTable,
    sizes: Vec<u64>,
}

impl<C: ComponentStage> Part<C> {
    /// Nothing where the class has no voxel on either side.
    fn new(
        stage: &C,
        masks: &C::Masks,
        (case, class): (usize, usize),
        side: Side,
        options: &LesionOptions,
        (connectivity, of_dilation): (Connectivity, Option<Connectivity>),
    ) -> Result<Option<Self>, C::Error> {
        let Some((mask, _)) = stage.mask_of(masks, case, class, side, options.dilation)? else {
            return Ok(None);
        };
        let (components, within) = match of_dilation {
            Some(of) if side == Side::Target => {
                let grown = stage.dilate(&mask, of, options.dilation)?;
                (stage.components(grown, connectivity)?, Some(mask))
            }
            _ => (stage.components(mask, connectivity)?, None),
        };
        let table = stage.table(&components, within.as_ref())?;
        let sizes = table.components.iter().map(|row| row.voxels).collect();
        Ok(Some(Self { components, within, table, sizes }))
    }
}

/// Matches the two sides of a class.
fn meet<C: ComponentStage>(
    stage: &C,
    pred: &Part<C>,
    target: &Part<C>,
    voxel: f64,
    options: &LesionOptions,
) -> Result<LesionReport, C::Error> {
    let meeting = stage.contingency(&pred.components, &target.components, None)?;
    // What is shared counts in the lesion's own voxels, what meets in the grown ones.
    let within = target.within.as_ref();
    let of_own = within.map(|within| stage.contingency(&pred.components, &target.components, Some(within)));
    let of_own = of_own.transpose()?;
    Ok(tabulate(&pred.sizes, &target.sizes, &meeting, of_own.as_ref().unwrap_or(&meeting), voxel, options))
}

/// Fills in the distances of kept and matched lesions, those of all classes together.
fn measure<C, S>(
    stage: &C,
    surfaces: &S,
    sides: &[Option<Part<C>>],
    reports: &mut [LesionReport],
    spacing: &Spacing,
    options: &LesionOptions,
) -> Result<(), C::Error>
where
    C: ComponentStage<Error: Send, Masks: Sync, Mask: Send + Sync, Components: Send + Sync> + Sync,
    S: SurfaceStage<Error = C::Error>,
{
    let mut pairs = Vec::new();
    for (class, report) in reports.iter().enumerate() {
        let [Some(pred), Some(target)] = &sides[2 * class..2 * class + 2] else { continue };
        for (row, lesion) in report.lesions.iter().enumerate() {
            if lesion.kept && lesion.is_matched() {
                let boxes = lesion.predictions.iter().map(|&number| &pred.table.components[number as usize - 1]);
                let (low, high) = around(boxes.chain([&target.table.components[row]]));
                let voxels: usize = (0..3).map(|k| high[k] + 1 - low[k]).product();
                pairs.push((voxels, class, row, low, high));
            }
        }
    }
    // The largest first, so that threads finish together.
    pairs.sort_by_key(|&(voxels, class, row, ..)| (std::cmp::Reverse(voxels), class, row));
    let make = |i: usize| {
        let &(_, class, row, low, high) = &pairs[i];
        let lesion = &reports[class].lesions[row];
        let crop = |side: usize, numbers: &[u32]| {
            let part: &Part<C> = sides[2 * class + side].as_ref().expect("a lesion was found there");
            stage.crop(&part.components, numbers, part.within.as_ref(), low, high)
        };
        Ok([crop(0, &lesion.predictions)?, crop(1, &[lesion.number])?])
    };
    let need = Need { directed_percentile: Some(PERCENTILE), ..Need::default() };
    let found = surfaces.distances_of_pairs(pairs.len(), &make, options.surface, spacing, &need)?;
    for ((_, class, row, ..), distances) in pairs.into_iter().zip(found) {
        let distance = hd95(&distances)?;
        let distance = if distance.is_finite() { distance } else { options.missed_distance };
        reports[class].lesions[row].hd95 = Some(distance);
    }
    Ok(())
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
