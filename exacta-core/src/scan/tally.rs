//! Per-label counters of one map, and what they say of the classes.

use crate::stages::Counts;
use crate::{Batch, InputFormat, Table};

/// How many voxels carry each label in the prediction, in the reference, and in both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) pred: Vec<u64>,
    pub(crate) target: Vec<u64>,
    pub(crate) both: Vec<u64>,
}

impl Tally {
    /// Zero for each of `labels` labels.
    pub(crate) fn new(labels: usize) -> Self {
        Self { pred: vec![0; labels], target: vec![0; labels], both: vec![0; labels] }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in
            [(&mut self.pred, &other.pred), (&mut self.target, &other.target), (&mut self.both, &other.both)]
        {
            for (a, b) in mine.iter_mut().zip(theirs) {
                *a += b;
            }
        }
    }

    /// Adds `voxels` voxels of one label each side.
    pub(crate) fn add_run(&mut self, pred: u32, target: u32, voxels: u64) {
        self.pred[pred as usize] += voxels;
        self.target[target as usize] += voxels;
        if pred == target {
            self.both[pred as usize] += voxels;
        }
    }

    /// Whether every voxel carries one of the first `labels` labels in both.
    pub(crate) fn is_valid(&self, labels: usize) -> bool {
        self.pred[labels..].iter().chain(&self.target[labels..]).all(|&count| count == 0)
    }

    /// The four counts of label `label`, of `counted` voxels that count.
    fn counts(&self, label: usize, counted: u64) -> Counts {
        let (pred, target, both) = (self.pred[label], self.target[label], self.both[label]);
        Counts {
            true_positives: both,
            false_positives: pred - both,
            false_negatives: target - both,
            true_negatives: counted + both - pred - target,
        }
    }
}

/// The counts of every case and selected class. `tallies` has one entry a map; entries beyond the labels are excluded voxels.
pub(crate) fn table(batch: &Batch<'_>, tallies: &[Tally]) -> Table<Counts> {
    let spec = batch.spec();
    let labels = batch.labels_of_map();
    // Once a map: with many classes a sum for each would cost their square.
    let counted: Vec<u64> = tallies.iter().map(|tally| tally.pred[..labels].iter().sum()).collect();
    let mut values = Vec::with_capacity(batch.cases() * spec.selected());
    for case in 0..batch.cases() {
        for class in spec.first_class()..spec.num_classes {
            let (map, label) = match spec.format {
                InputFormat::Index => (case, class),
                InputFormat::OneHot => (case * spec.num_classes + class, 1),
            };
            values.push(tallies[map].counts(label, counted[map]));
        }
    }
    Table::new(batch.cases(), spec.selected(), values)
}
