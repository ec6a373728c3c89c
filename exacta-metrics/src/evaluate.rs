//! Several metrics from one run of each stage.

use exacta_core::stages::{CountStage, Need, SkeletonCounts, SkeletonStage, SurfaceDistances, SurfaceStage};
use exacta_core::{Batch, Error, Result, Spacing, SurfaceKind, Table, Thinning};

use crate::options::Resolved;
use crate::{Formula, MetricInfo, Options, metric};

/// Metrics with their options settled.
#[expect(missing_debug_implementations, reason = "formulas hold functions")]
#[derive(Default)]
pub struct MetricSet {
    metrics: Vec<(&'static MetricInfo, Formula)>,
}

impl MetricSet {
    /// Metrics by name, all options at their defaults.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn named(names: &[&str]) -> Result<Self> {
        let mut set = Self::default();
        for name in names {
            set.push(name, &Options::new())?;
        }
        Ok(set)
    }

    /// Adds a metric. The same metric may come again with other options.
    ///
    /// # Errors
    /// [`Error::UnknownMetric`]; [`Error::Option`] for an option that is unknown, missing or of another type; the error of a
    /// value out of its range.
    pub fn push(&mut self, name: &str, options: &Options) -> Result<()> {
        let info = metric(name)?;
        for option in options.names() {
            if !info.options.iter().any(|(known, _)| *known == option) {
                return Err(Error::Option { metric: info.name, option: option.to_owned(), rule: "is unknown" });
            }
        }
        let formula = (info.build)(&Resolved { info, given: options })?;
        self.metrics.push((info, formula));
        Ok(())
    }

    pub(crate) fn metrics(&self) -> &[(&'static MetricInfo, Formula)] {
        &self.metrics
    }

    /// Number of metrics.
    pub fn len(&self) -> usize {
        self.metrics.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }

    /// The surface metrics of one kind, joined: one need a selected class.
    fn needs(&self, kind: SurfaceKind, classes: usize) -> Result<Option<Vec<Need>>> {
        let mut joined: Option<Vec<Need>> = None;
        for (_, formula) in &self.metrics {
            if let Formula::Surface { kind: of, needs, .. } = formula
                && *of == kind
            {
                if needs.len() != 1 && needs.len() != classes {
                    return Err(Error::ToleranceCount { expected: classes, found: needs.len() });
                }
                let joined = joined.get_or_insert_with(|| vec![Need::default(); classes]);
                for (class, joined) in joined.iter_mut().enumerate() {
                    *joined = joined.join(needs[if needs.len() == 1 { 0 } else { class }]);
                }
            }
        }
        Ok(joined)
    }
}

/// The value of every metric for each case and selected class.
///
/// Labels are read once a stage, and every distance and skeleton is found once, however many metrics ask: counts come from the
/// same read as surfaces and skeletons. `spacings` has one value a case; `None` where no metric asks for it.
///
/// # Errors
/// Those of the stages; [`Error::MissingSpacing`], [`Error::SpacingLength`], [`Error::WrongDimension`],
/// [`Error::MaskedSurface`], [`Error::ToleranceCount`].
pub fn evaluate<S: CountStage + SurfaceStage + SkeletonStage>(
    stage: &S,
    batch: &Batch<'_>,
    spacings: Option<&[Spacing]>,
    metrics: &MetricSet,
) -> Result<Vec<Table<f64>>, S::Error> {
    let (cases, classes) = (batch.cases(), batch.spec().selected());
    let axes = batch.grid().axes();
    for (info, formula) in &metrics.metrics {
        if let Formula::Size { axes: expected, .. } = formula
            && *expected != axes
        {
            return Err(Error::WrongDimension { metric: info.name, expected: *expected, found: axes }.into());
        }
        if matches!(formula, Formula::Size { .. } | Formula::Surface { .. }) {
            let spacings = spacings.ok_or(Error::MissingSpacing { metric: info.name })?;
            if let Some(spacing) = spacings.iter().find(|spacing| spacing.values().len() != axes) {
                return Err(Error::SpacingLength { expected: axes, found: spacing.values().len() }.into());
            }
            assert_eq!(spacings.len(), cases, "one spacing for each case");
        }
    }
    let mut distances: Vec<(SurfaceKind, Table<SurfaceDistances>)> = Vec::new();
    let mut counts = None;
    for kind in [SurfaceKind::Voxels, SurfaceKind::Surfels, SurfaceKind::Mesh, SurfaceKind::Faces] {
        if let Some(needs) = metrics.needs(kind, classes)? {
            if batch.is_masked() {
                return Err(Error::MaskedSurface.into());
            }
            let (counted, surfaces) = stage.surfaces(batch, kind)?;
            let spacings = spacings.expect("checked for every surface metric");
            distances.push((kind, stage.distances(&surfaces, spacings, &needs)?));
            counts = Some(counted);
        }
    }
    let mut skeletons: Vec<(Thinning, Table<SkeletonCounts>)> = Vec::new();
    for (_, formula) in &metrics.metrics {
        if let Formula::Skeleton { thinning, .. } = formula
            && skeletons.iter().all(|(of, _)| of != thinning)
        {
            let (counted, found) = stage.skeletons(batch, *thinning)?;
            skeletons.push((*thinning, found));
            counts = Some(counted);
        }
    }
    let counts = match counts {
        Some(counts) => counts,
        None => stage.counts(batch)?,
    };
    let mut out = Vec::with_capacity(metrics.len());
    for (_, formula) in &metrics.metrics {
        let mut values = Vec::with_capacity(cases * classes);
        for case in 0..cases {
            for class in 0..classes {
                let counts = counts.get(case, class);
                values.push(match formula {
                    Formula::Counts(value) => value(counts),
                    Formula::Size { value, .. } if counts.counted() > 0 => {
                        value(counts, spacings.expect("checked for every size metric")[case].voxel())
                    }
                    Formula::Size { .. } => f64::NAN,
                    Formula::Scores(_) => unreachable!("no metric of labels is one of scores"),
                    Formula::Surface { kind, value, .. } => {
                        let table = distances.iter().find(|(of, _)| of == kind).map(|(_, table)| table);
                        value(table.expect("measured above").get(case, class), class)?
                    }
                    Formula::Skeleton { thinning, value } => {
                        let table = skeletons.iter().find(|(of, _)| of == thinning).map(|(_, table)| table);
                        value(counts, table.expect("thinned above").get(case, class))
                    }
                });
            }
        }
        out.push(Table::new(cases, classes, values));
    }
    Ok(out)
}
