//! Counts of many cases together.

use exacta_core::stages::Counts;
use exacta_core::{Error, Result, Table};

use crate::{Formula, MetricSet};

impl MetricSet {
    /// The value of every metric, which must be ratios of counts, for each entry of a table of counts. Counts add up, so the table may
    /// hold those of a whole data set: every voxel then weighs the same, where a mean over cases weighs cases the same.
    ///
    /// # Errors
    /// [`Error::UnknownMetric`] for a metric that is no ratio of counts.
    pub fn of_counts(&self, counts: &Table<Counts>) -> Result<Vec<Table<f64>>> {
        let value = |(info, formula): &(&'static crate::MetricInfo, Formula)| match formula {
            Formula::Counts(value) => {
                let values = counts.values().iter().map(value).collect();
                Ok(Table::new(counts.cases(), counts.classes(), values))
            }
            _ => Err(Error::UnknownMetric { name: info.name.to_owned() }),
        };
        self.metrics().iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    #[test]
    fn pooled_counts_are_not_the_mean_over_cases() -> Result<()> {
        let cases = [counts(0, 0, 1, 9), counts(98, 1, 1, 9)];
        let set = MetricSet::named(&["dice"])?;
        let apart = set.of_counts(&Table::new(2, 1, cases.to_vec()))?;
        assert_eq!(apart[0].values(), [0.0, 196.0 / 198.0]);
        let pooled = set.of_counts(&Table::new(1, 1, vec![cases.into_iter().sum()]))?;
        assert_eq!(pooled[0].values(), [196.0 / 199.0]);
        let error = MetricSet::named(&["hd95"])?.of_counts(&Table::new(0, 0, vec![]));
        assert!(matches!(error, Err(Error::UnknownMetric { .. })));
        Ok(())
    }

    #[test]
    fn counts_of_a_data_set_fit() -> Result<()> {
        let one = counts(172_800, 0, 0, 0);
        let sum: Counts = std::iter::repeat_n(one, 100_000).sum();
        assert_eq!(sum.true_positives, 17_280_000_000);
        let pooled = MetricSet::named(&["dice", "iou"])?.of_counts(&Table::new(1, 1, vec![sum]))?;
        assert!(pooled.iter().all(|table| table.values() == [1.0]));
        Ok(())
    }
}
