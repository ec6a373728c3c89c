//! Components equal the definition, on each instruction set, thread count and layout; tables equal those of the voxels.

use std::collections::BTreeMap;
use std::sync::Arc;

use exacta_components::{Components, label, label_image, naive_label, neighbours};
use exacta_core::ndarray::{ArrayD, ArrayViewD, Axis, Dimension, IxDyn, Slice};
use exacta_core::parallel::Threads;
use exacta_core::stages::{Component, Overlap};
use exacta_core::testing::levels;
use exacta_core::{Bits, Connectivity, Cpu, Level};
use proptest::prelude::*;

fn cpus() -> Vec<Cpu> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(6).build().expect("a pool");
    let threads = Threads::Pool(Arc::new(pool));
    let mut out: Vec<Cpu> = levels().into_iter().map(|level| Cpu { level, threads: Threads::Serial }).collect();
    out.push(Cpu { level: Level::new(), threads });
    out
}

/// Masks of one to three axes, with rows around the length of a word, of any density; now and then of blocks.
fn masks(longest: usize) -> impl Strategy<Value = ArrayD<bool>> {
    let axis = 1..=longest;
    let row = prop_oneof![3 => 1..=longest, 1 => prop::sample::select(vec![63usize, 64, 65, 127, 130])];
    let shape = prop_oneof![
        4 => (axis.clone(), axis.clone(), row.clone()).prop_map(|(d, h, w)| vec![d, h, w]),
        2 => (axis, row.clone()).prop_map(|(h, w)| vec![h, w]),
        1 => row.prop_map(|w| vec![w]),
    ];
    let density = prop::sample::select(vec![0.0, 0.05, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 1.0]);
    (shape, density, any::<u64>()).prop_map(|(shape, density, seed)| noise(&shape, density, seed))
}

fn noise(shape: &[usize], density: f64, seed: u64) -> ArrayD<bool> {
    let mut state = seed | 1;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 <= density
    })
}

/// The same mask in other layouts: as it is, in Fortran order, with a gap between columns, with an axis backwards.
fn layouts(mask: &ArrayD<bool>) -> Vec<ArrayD<bool>> {
    let mut fortran = mask.t().as_standard_layout().into_owned();
    fortran = fortran.reversed_axes();
    vec![mask.clone(), fortran]
}

fn components(cpu: &Cpu, mask: ArrayViewD<'_, bool>, connectivity: usize) -> Components {
    let axes = mask.ndim();
    let found = label_image(cpu, mask.view(), connectivity).expect("few runs");
    let bits = Bits::nonzero(cpu, mask).expect("one to three axes");
    let apart = label(cpu, bits, Connectivity::new(connectivity, axes).expect("in range")).expect("few runs");
    assert!(found == apart, "read and labelled at once, or one after the other");
    found
}

/// The table of a volume of numbers, by its voxels.
fn naive_table(labels: &ArrayD<i32>, count: i32) -> Vec<Component> {
    let mut table = vec![Component::EMPTY; count as usize];
    for (at, &number) in labels.indexed_iter().filter(|&(_, &number)| number > 0) {
        let component = &mut table[number as usize - 1];
        component.voxels += 1;
        let lead = 3 - labels.ndim();
        for axis in 0..3 {
            let index = if axis < lead { 0 } else { at.as_array_view()[axis - lead] };
            component.low[axis] = component.low[axis].min(index);
            component.high[axis] = component.high[axis].max(index);
            component.index_sums[axis] += index as u64;
        }
    }
    table
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn labels_and_tables_equal_the_definition(mask in masks(12)) {
        for connectivity in 1..=mask.ndim() {
            let (labels, count) = naive_label(&mask, connectivity);
            let table = naive_table(&labels, count);
            let sizes: Vec<u64> = table.iter().map(|component| component.voxels).collect();
            for cpu in cpus() {
                for mask in layouts(&mask) {
                    let found = components(&cpu, mask.view(), connectivity);
                    prop_assert_eq!(found.count() as i32, count);
                    prop_assert_eq!(&found.labels(&cpu), &labels);
                    prop_assert_eq!(&found.sizes(&cpu), &sizes);
                    prop_assert_eq!(&found.table(&cpu, None).expect("one grid").components, &table);
                    let mut written = vec![-1; mask.len()];
                    found.write_labels(&cpu, &mut written, false).expect("as long");
                    prop_assert_eq!(written.iter().map(|&n| i64::from(n)).sum::<i64>(), labels.iter().map(|&n| i64::from(n)).sum::<i64>());
                }
            }
        }
    }

    #[test]
    fn views_equal_copies(mask in masks(9)) {
        let cpu = Cpu::serial();
        let connectivity = mask.ndim();
        for axis in 0..mask.ndim() {
            for step in [-1, 2] {
                let view = mask.slice_axis(Axis(axis), Slice::new(0, None, step));
                let copy = view.as_standard_layout().into_owned();
                let (labels, _) = naive_label(&copy, connectivity);
                prop_assert_eq!(components(&cpu, view, connectivity).labels(&cpu), labels);
            }
        }
    }

    #[test]
    fn dilation_equals_the_definition(mask in masks(7), steps in 1..4usize) {
        for connectivity in 1..=mask.ndim() {
            let mut grown = mask.clone();
            for _ in 0..steps {
                let before = grown.clone();
                for (at, value) in grown.indexed_iter_mut() {
                    let near = neighbours(at.as_array_view().to_vec(), mask.shape(), connectivity);
                    *value |= near.iter().any(|near| before[IxDyn(near)]);
                }
            }
            for cpu in cpus() {
                for mask in layouts(&mask) {
                    let bits = Bits::nonzero(&cpu, mask.view()).expect("one to three axes");
                    let want = Bits::nonzero_as(&cpu, grown.view(), bits.grid()).expect("one shape");
                    let connectivity = Connectivity::new(connectivity, mask.ndim()).expect("in range");
                    prop_assert_eq!(bits.dilate(&cpu, connectivity, steps), want);
                }
            }
        }
    }

    #[test]
    fn overlaps_equal_the_definition(pred in masks(10), seed in any::<u64>(), kept in any::<u64>()) {
        let target = noise(pred.shape(), 0.4, seed);
        let within = noise(pred.shape(), 0.7, kept);
        let (axes, second) = (pred.ndim(), 1);
        let (p, p_count) = naive_label(&pred, axes);
        let (t, _) = naive_label(&target, second);
        for only in [None, Some(&within)] {
            let mut want = BTreeMap::new();
            let inside = |at: &IxDyn| only.is_none_or(|only| only[at]);
            for (at, &number) in p.indexed_iter() {
                if number > 0 && t[&at] > 0 && inside(&at) {
                    *want.entry((number as u32, t[&at] as u32)).or_insert(0) += 1;
                }
            }
            let want: Vec<Overlap> =
                want.into_iter().map(|((pred, target), voxels)| Overlap { pred, target, voxels }).collect();
            let mut p_within = p.clone();
            p_within.indexed_iter_mut().for_each(|(at, n)| if !inside(&at) { *n = 0 });
            for cpu in cpus() {
                let found = components(&cpu, pred.view(), axes);
                let bits = Bits::nonzero_as(&cpu, target.view(), found.mask().grid()).expect("one shape");
                let other = label(&cpu, bits, Connectivity::new(second, axes).expect("in range")).expect("few runs");
                let only = only.map(|only| Bits::nonzero_as(&cpu, only.view(), found.mask().grid()).expect("one shape"));
                prop_assert_eq!(found.contingency(&cpu, &other, only.as_ref()).expect("one grid").overlaps, want.clone());
                let table = found.table(&cpu, only.as_ref()).expect("one grid").components;
                prop_assert_eq!(table, naive_table(&p_within, p_count));
            }
        }
    }
}

/// Volumes of several slabs, so that seams are joined, against one thread; and one thread against the definition.
#[test]
fn seams_join_slabs() {
    for (shape, density) in [([70, 33, 65], 0.3), ([90, 20, 130], 0.15), ([64, 40, 64], 0.6), ([1, 900, 200], 0.5)] {
        let mask = noise(&shape, density, 7);
        for mask in layouts(&mask) {
            for connectivity in 1..=3 {
                let (labels, count) = naive_label(&mask, connectivity);
                for cpu in cpus() {
                    let found = components(&cpu, mask.view(), connectivity);
                    assert_eq!(found.count() as i32, count);
                    assert_eq!(found.table(&cpu, None).expect("one grid").components, naive_table(&labels, count));
                    let itself = found.contingency(&cpu, &found, None).expect("one grid").overlaps;
                    assert!(
                        itself
                            .iter()
                            .zip(naive_table(&labels, count))
                            .all(|(o, c)| o.pred == o.target && o.voxels == c.voxels)
                    );
                    assert_eq!(itself.len(), found.count() as usize);
                    assert_eq!(found.labels(&cpu), labels, "{shape:?} {connectivity}");
                    assert_eq!(
                        found.sizes(&cpu),
                        naive_table(&labels, count).iter().map(|c| c.voxels).collect::<Vec<_>>()
                    );
                }
            }
        }
    }
}
