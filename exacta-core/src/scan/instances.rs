//! Instance maps: every label but 0 is an object of its own, whatever its number.

use std::collections::{BTreeMap, HashMap};

use crate::image::Image;
use crate::labels::sealed::Value;
use crate::parallel::Threads;
use crate::stages::{Contingency, Overlap};
use crate::{Cpu, Error, Grid, Labels, Result};

/// Voxels read at once.
const TILE: usize = 4 << 10;
/// Voxels handed to a thread at a time.
const SHARE: usize = 1 << 18;
/// The code of a value that is no label.
const NO_LABEL: u64 = u64::MAX;

/// The instances of one image, in ascending order of their labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instances {
    /// The label of each.
    pub labels: Vec<u64>,
    /// Its number of voxels.
    pub sizes: Vec<u64>,
}

/// The instances of a prediction and of a reference, and the voxels that pairs share. The table speaks of instance `i` as number `i + 1`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstanceTables {
    /// Instances of the prediction.
    pub pred: Instances,
    /// Instances of the reference.
    pub target: Instances,
    /// Pairs that share a voxel.
    pub contingency: Contingency,
}

/// Reads instance maps `(B, *S)` of one to three spatial axes, one table a case. Labels are identities: up to 2^64 - 2, with any gaps.
///
/// Cost: one read, and a look-up for each run of equal labels; memory: one entry a pair of labels.
///
/// # Errors
/// [`Error::ShapeMismatch`], [`Error::ImageRank`]; [`Error::InstanceLabel`], [`Error::FractionalLabel`].
pub fn instance_tables(cpu: &Cpu, pred: &Labels<'_>, target: &Labels<'_>) -> Result<Vec<InstanceTables>> {
    let shape = pred.shape();
    if shape != target.shape() {
        return Err(Error::ShapeMismatch { pred: shape.to_vec(), target: target.shape().to_vec() });
    }
    if !(2..=4).contains(&shape.len()) {
        return Err(Error::ImageRank { shape: shape.to_vec() });
    }
    let grid = Grid::new(&shape[1..], &pred.strides()[1..]);
    let voxels = grid.voxels();
    let shares = voxels.div_ceil(SHARE);
    let mut out = Vec::with_capacity(shape[0]);
    for case in 0..shape[0] {
        let images = [pred.image(&[case], &grid), target.image(&[case], &grid)];
        let threads = if shares <= 1 { &Threads::Serial } else { &cpu.threads };
        let found = threads.map(shares, |i| {
            let start = i * SHARE;
            count(cpu, images.each_ref().map(|image| &**image), start..voxels.min(start + SHARE))
        });
        let mut pairs: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for (pair, voxels) in found.into_iter().flatten() {
            *pairs.entry(pair).or_default() += voxels;
        }
        // Negative labels wrap to huge ones, which are labels of their own only in unsigned maps.
        if pairs.keys().any(|&(p, t)| p > i64::MAX as u64 || t > i64::MAX as u64) {
            for (argument, image) in ["pred", "target"].into_iter().zip(&images) {
                refuse(argument, &**image)?;
            }
        }
        out.push(tables(&pairs));
    }
    Ok(out)
}

/// Voxels of each pair of labels.
fn count(cpu: &Cpu, images: [&dyn Image; 2], voxels: std::ops::Range<usize>) -> HashMap<(u64, u64), u64> {
    let mut pairs: HashMap<(u64, u64), u64> = HashMap::new();
    let (mut pred, mut target) = (vec![0; TILE], vec![0; TILE]);
    let (mut last, mut run) = ((0, 0), 0);
    for start in voxels.clone().step_by(TILE) {
        let len = TILE.min(voxels.end - start);
        images[0].read_codes(cpu.level, start, &mut pred[..len]);
        images[1].read_codes(cpu.level, start, &mut target[..len]);
        for (&p, &t) in pred[..len].iter().zip(&target[..len]) {
            if (p, t) != last {
                *pairs.entry(last).or_default() += run;
                (last, run) = ((p, t), 0);
            }
            run += 1;
        }
    }
    *pairs.entry(last).or_default() += run;
    pairs.retain(|_, voxels| *voxels > 0);
    pairs
}

/// Names the first value that is no label.
fn refuse(argument: &'static str, image: &dyn Image) -> Result<()> {
    let mut found = None;
    image.for_each(&mut |_, value| match value {
        Value::Whole(value) if (0..i128::from(NO_LABEL)).contains(&value) => {}
        other => found = found.or(Some(other)),
    });
    match found {
        None => Ok(()),
        Some(Value::Whole(value)) => Err(Error::InstanceLabel { argument, value }),
        Some(Value::Fractional(value)) => Err(Error::FractionalLabel { argument, value }),
    }
}

fn tables(pairs: &BTreeMap<(u64, u64), u64>) -> InstanceTables {
    let (mut pred, mut target) = (BTreeMap::new(), BTreeMap::new());
    for (&(p, t), &voxels) in pairs {
        for (label, sizes) in [(p, &mut pred), (t, &mut target)] {
            if label != 0 {
                *sizes.entry(label).or_insert(0) += voxels;
            }
        }
    }
    let instances = |sizes: BTreeMap<u64, u64>| {
        let (labels, sizes) = sizes.into_iter().unzip();
        Instances { labels, sizes }
    };
    let (pred, target) = (instances(pred), instances(target));
    let number = |of: &Instances, label: u64| {
        let at = of.labels.binary_search(&label).expect("counted above");
        u32::try_from(at + 1).expect("fewer than 2^32 instances")
    };
    // Ascending labels have ascending numbers.
    let shared = pairs.iter().filter(|&(&(p, t), _)| p != 0 && t != 0);
    let overlap = |(&(p, t), &voxels)| Overlap { pred: number(&pred, p), target: number(&target, t), voxels };
    let overlaps = shared.map(overlap).collect();
    InstanceTables { contingency: Contingency { overlaps }, pred, target }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn labels_are_identities() {
        let pred = array![[0u64, 7_112_614_941, 7_112_614_941, 3], [0, 0, 0, 1]].into_dyn();
        let target = array![[0i16, 0, 300, 300], [5, 0, 0, 0]].into_dyn();
        let found = instance_tables(&Cpu::serial(), &pred.view().into(), &target.view().into()).expect("labels");
        let instances = |labels: &[u64], sizes: &[u64]| Instances { labels: labels.to_vec(), sizes: sizes.to_vec() };
        let overlap = |pred, target, voxels| Overlap { pred, target, voxels };
        assert_eq!(found[0].pred, instances(&[3, 7_112_614_941], &[1, 2]));
        assert_eq!(found[0].target, instances(&[300], &[2]));
        assert_eq!(found[0].contingency.overlaps, [overlap(1, 1, 1), overlap(2, 1, 1)]);
        assert_eq!((&found[1].pred, &found[1].target), (&instances(&[1], &[1]), &instances(&[5], &[1])));
        assert!(found[1].contingency.overlaps.is_empty());
    }

    #[test]
    fn what_is_no_label_is_named() {
        let zeros = array![[0u8, 0]].into_dyn();
        for (image, wanted) in [
            (array![[1.0f64, 2.5]], "target must hold whole numbers"),
            (array![[1.0, -2.0]], "target must hold instance numbers, 0 and above; found -2"),
        ] {
            let image = image.into_dyn();
            let error =
                instance_tables(&Cpu::serial(), &zeros.view().into(), &image.view().into()).expect_err("refused");
            assert!(error.to_string().starts_with(wanted), "{error}");
        }
        let image = array![[0i8, -1]].into_dyn();
        let error = instance_tables(&Cpu::serial(), &image.view().into(), &zeros.view().into()).expect_err("refused");
        assert_eq!(error, Error::InstanceLabel { argument: "pred", value: -1 });
    }

    #[test]
    fn threads_change_nothing() {
        let map =
            |k: usize| ndarray::Array3::from_shape_fn((1, 700, 900), |(_, y, x)| ((y / 9 + x / 7 * k) % 51) as u32);
        let (pred, target) = (map(3).into_dyn(), map(5).into_dyn());
        let run = |cpu: &Cpu| instance_tables(cpu, &pred.view().into(), &target.view().into()).expect("labels");
        assert_eq!(run(&Cpu::serial()), run(&Cpu::new()));
    }
}
