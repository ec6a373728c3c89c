//! From bits to numbered components.
//!
//! Slabs of bundles are labelled at the same time, each for itself, then joined at their seams; what a seam unites are the sets of
//! its two slabs, so that serial part is small. Union-find with the smallest root after He, Chao, Suzuki (2008), on runs of
//! bundles (`bundles`). Memory: four bytes a run, the OR of each bundle, and the bits themselves.
//!
//! Exact in any order of uniting: a set is what the links make it, and its number comes from its first voxel.

use std::ops::Range;

use exacta_core::parallel::Threads;
use exacta_core::{Bits, Connectivity, Cpu, Error, Grid, Labels, Result};

use crate::bundles::{Bundle, Layout, Part, connect, join_layer, lowest_run, rows, starts};
use crate::components::{Components, SERIAL};
use crate::forest::Forest;

/// Labels the components of a mask.
///
/// # Errors
/// [`Error::InvalidConnectivity`] if the image has fewer axes than the connectivity; [`Error::TooLarge`] from 2^31
/// components or 2^32 runs on. The number of voxels has no limit of its own.
pub fn label(cpu: &Cpu, bits: Bits, connectivity: Connectivity) -> Result<Components> {
    let connectivity = Connectivity::new(connectivity.get(), bits.grid().axes())?;
    let layout = Layout::new(bits.grid(), connectivity);
    let alone = cpu.threads.count() == 1 || work(&bits) <= SERIAL;
    let threads = if alone { &Threads::Serial } else { &cpu.threads };
    let slabs = slabs(threads, &layout);
    let found = threads.map(slabs.len(), |slab| {
        let (range, first_row) = (slabs[slab].clone(), slabs[slab].start * layout.tall * layout.rows);
        let words = &bits.words()[first_row * layout.words..];
        label_part(cpu, bits.grid(), &layout, Part { words, first_row }, range)
    });
    numbered(bits, layout, found, &slabs)
}

/// Labels the components of what is not 0 in an image: the same as [`label`] of [`Bits::nonzero`], where parts of the mask are labelled
/// by the thread that has just read them.
///
/// # Errors
/// As [`label`]; [`Error::ImageRank`].
pub fn label_image<'a>(cpu: &Cpu, image: impl Into<Labels<'a>>, connectivity: usize) -> Result<Components> {
    let image = image.into();
    let grid = image.grid()?;
    let connectivity = Connectivity::new(connectivity, grid.axes())?;
    let threads = if grid.voxels() <= SERIAL_IMAGE { &Threads::Serial } else { &cpu.threads };
    let cpu = Cpu { level: cpu.level, threads: threads.clone() };
    let layout = Layout::new(&grid, connectivity);
    let slabs = slabs(threads, &layout);
    let end = |slab: &Range<usize>| (slab.end * layout.tall).min(layout.slices) * layout.rows;
    let ends: Vec<usize> = slabs.iter().map(end).collect();
    let (bits, found) = Bits::nonzero_in_parts(&cpu, image, &ends, |slab, words| {
        let (range, first_row) = (slabs[slab].clone(), slabs[slab].start * layout.tall * layout.rows);
        label_part(&cpu, &grid, &layout, Part { words, first_row }, range)
    })?;
    numbered(bits, layout, found, &slabs)
}

/// Below this many voxels, one thread reads and labels an image.
const SERIAL_IMAGE: usize = 1 << 17;

/// The layers of bundles of each slab.
fn slabs(threads: &Threads, layout: &Layout) -> Vec<Range<usize>> {
    let high = layout.high();
    let slabs = if threads.count() == 1 { 1 } else { (2 * threads.count()).min(high / 4).max(1) };
    (0..slabs).map(|slab| slab * high / slabs..(slab + 1) * high / slabs).collect()
}

/// Labels the bundles of a slab, for whatever layout.
fn label_part(cpu: &Cpu, grid: &Grid, layout: &Layout, part: Part<'_>, range: Range<usize>) -> Option<Slab> {
    let strides = strides(grid, layout);
    // Nodes come in the order of their first voxels where a bundle is a row and rows are walked in C order.
    let raster = layout.bundle() == 1 && strides.is_sorted_by(|a, b| a >= b);
    let strides = (!raster).then_some(strides);
    match layout.bundle() {
        1 => exacta_core::dispatch!(cpu.level, simd => label_slab::<_, 1>(simd, part, layout, range, strides)),
        2 => exacta_core::dispatch!(cpu.level, simd => label_slab::<_, 2>(simd, part, layout, range, strides)),
        _ => exacta_core::dispatch!(cpu.level, simd => label_slab::<_, 4>(simd, part, layout, range, strides)),
    }
}

fn numbered(bits: Bits, layout: Layout, found: Vec<Option<Slab>>, slabs: &[Range<usize>]) -> Result<Components> {
    let found: Vec<Slab> = found.into_iter().collect::<Option<_>>().ok_or(Error::TooLarge {
        what: "the number of runs of a mask",
        value: usize::MAX,
        limit: u32::MAX as usize,
    })?;
    let (joined, ends, numbers, count) = number(&bits, layout, found, slabs)?;
    Ok(Components::new(bits, layout, joined, ends, numbers, count))
}

/// How far apart, in C order of the image, two slices, rows and columns of the layout are.
fn strides(grid: &Grid, layout: &Layout) -> [u64; 3] {
    let shape = grid.by_axis(grid.size());
    let by_axis = [shape[1] * shape[2], shape[2], 1].map(|n| n as u64);
    let [slice, row, column] = grid.walked(by_axis);
    if layout.slices == grid.size()[0] && layout.rows == grid.size()[1] {
        [slice, row, column]
    } else {
        [row, slice, column]
    }
}

/// Words and sixteen times the runs, estimated from every sixteenth row.
fn work(bits: &Bits) -> usize {
    let sample = bits.words().chunks(bits.grid().words().max(1)).step_by(16);
    let runs: u32 = sample.map(count_runs).sum();
    bits.words().len() + 256 * runs as usize
}

/// What a slab found by itself.
#[derive(Debug, Default)]
struct Slab {
    /// The OR of each bundle; empty where a bundle is a row.
    joined: Vec<u64>,
    /// The number of nodes up to and with each bundle.
    ends: Vec<u32>,
    /// The set of each node.
    sets: Vec<u32>,
    /// The first voxel of each set, in C order; empty where the order of nodes is that of voxels.
    firsts: Vec<u64>,
    count: u32,
}

/// Labels the bundles of some slices. None where their nodes cannot be numbered in 32 bits.
#[inline(always)]
fn label_slab<S, const N: usize>(
    _: S,
    part: Part<'_>,
    layout: &Layout,
    range: Range<usize>,
    strides: Option<[u64; 3]>,
) -> Option<Slab> {
    let (words, across) = (layout.words, layout.across());
    let zeros = vec![0; words];
    let (mut slab, mut forest, mut firsts) = (Slab::default(), Forest::default(), Vec::new());
    if N > 1 {
        slab.joined = vec![0; range.len() * across * words];
    }
    let mut nodes = 0u32;
    for (z, high) in range.clone().enumerate() {
        if N > 1 {
            join_layer(part, layout, high, &mut slab.joined[z * across * words..][..across * words]);
        }
        for y in 0..across {
            let at = z * across + y;
            let joined = if N > 1 { &slab.joined[at * words..][..words] } else { part.row(high * across + y, layout) };
            // Most bundles of most masks hold nothing.
            if joined.iter().all(|&word| word == 0) {
                slab.ends.push(nodes);
                continue;
            }
            let here = rows::<N>(part, layout, &zeros, high, y);
            let first = nodes;
            nodes = first.checked_add(count_runs(joined))?;
            slab.ends.push(nodes);
            forest.grow(nodes);
            if let Some(strides) = strides {
                // A row outside the image holds no voxel.
                let at = std::array::from_fn(|k| {
                    let [slice, row] = layout.place_of(high, y, k);
                    slice as u64 * strides[0] + row as u64 * strides[1]
                });
                first_voxels(here, joined, at, strides[2], &mut firsts);
            }
            let here = Bundle { rows: here, joined, first };
            for (dz, dy) in NEIGHBOURS {
                let (Some(before_z), Some(before_y)) = (z.checked_add_signed(dz), y.checked_add_signed(dy)) else {
                    continue;
                };
                if before_y >= across {
                    continue;
                }
                let before_at = before_z * across + before_y;
                let before_first = if before_at == 0 { 0 } else { slab.ends[before_at - 1] };
                if slab.ends[before_at] == before_first {
                    continue;
                }
                let rows = rows::<N>(part, layout, &zeros, range.start + before_z, before_y);
                let joined = if N > 1 { &slab.joined[before_at * words..][..words] } else { rows[0] };
                let before = Bundle { rows, joined, first: before_first };
                let mut last = (u32::MAX, u32::MAX);
                connect(layout, &before, &here, (dz, dy), |a, b| {
                    if (a, b) != last {
                        forest.unite(a, b);
                        last = (a, b);
                    }
                });
            }
        }
    }
    (slab.sets, slab.count) = forest.into_sets();
    if strides.is_some() {
        slab.firsts = vec![u64::MAX; slab.count as usize];
        for (&set, &first) in slab.sets.iter().zip(&firsts) {
            let known = &mut slab.firsts[set as usize];
            *known = first.min(*known);
        }
    }
    Some(slab)
}

/// Where a bundle before this one can touch it.
const NEIGHBOURS: [(isize, isize); 4] = [(0, -1), (-1, -1), (-1, 0), (-1, 1)];

#[inline(always)]
fn count_runs(words: &[u64]) -> u32 {
    let (mut carry, mut runs) = (0, 0);
    for &word in words {
        runs += starts(word, carry).count_ones();
        carry = word >> 63;
    }
    runs
}

/// Appends the first voxel of each node in C order: the smallest over the bundle's rows, and over the words that a run spans.
#[inline(always)]
fn first_voxels<const N: usize>(
    rows: [&[u64]; N],
    joined: &[u64],
    row_at: [u64; N],
    stride: u64,
    firsts: &mut Vec<u64>,
) {
    let mut carry = 0;
    for (i, &word) in joined.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            let run = lowest_run(left);
            left &= !run;
            let mut first = u64::MAX;
            for k in 0..N {
                let here = rows[k][i] & run;
                let column = i as u64 * 64 + u64::from(here.trailing_zeros());
                let found = row_at[k] + column * stride;
                // No branch, which noise would make unpredictable.
                first = first.min(if here == 0 { u64::MAX } else { found });
            }
            if run & carry != 0 {
                let known = firsts.last_mut().expect("the run began in a word before");
                *known = first.min(*known);
            } else {
                firsts.push(first);
            }
        }
        carry = word >> 63;
    }
}

type Numbered = (Vec<u64>, Vec<u32>, Vec<u32>, u32);

/// Joins slabs at their seams and numbers the components by their first voxels.
fn number(bits: &Bits, layout: Layout, mut slabs: Vec<Slab>, ranges: &[Range<usize>]) -> Result<Numbered> {
    let too_many = |what, value: u64| Error::TooLarge {
        what,
        value: usize::try_from(value).unwrap_or(usize::MAX),
        limit: i32::MAX as usize,
    };
    let nodes: u64 = slabs.iter().map(|slab| slab.sets.len() as u64).sum();
    let sets: u64 = slabs.iter().map(|slab| u64::from(slab.count)).sum();
    let (Ok(_), Ok(sets)) = (u32::try_from(nodes), u32::try_from(sets)) else {
        return Err(too_many("the number of runs of a mask", nodes));
    };
    let mut forest = Forest::singles(sets);
    let mut base = 0;
    for (i, pair) in slabs.windows(2).enumerate() {
        let next = base + pair[0].count;
        let (before, here) = ((&pair[0], ranges[i].clone(), base), (&pair[1], ranges[i + 1].clone(), next));
        match layout.bundle() {
            1 => seam::<1>(bits, &layout, before, here, &mut forest),
            2 => seam::<2>(bits, &layout, before, here, &mut forest),
            _ => seam::<4>(bits, &layout, before, here, &mut forest),
        }
        base = next;
    }
    let (mut numbers, count) = forest.into_sets();
    if i32::try_from(count).is_err() {
        return Err(too_many("the number of components", u64::from(count)));
    }
    if slabs.iter().any(|slab| !slab.firsts.is_empty()) {
        let mut firsts = vec![u64::MAX; count as usize];
        let of_slabs = slabs.iter().flat_map(|slab| &slab.firsts);
        for (&set, &first) in numbers.iter().zip(of_slabs) {
            let known = &mut firsts[set as usize];
            *known = first.min(*known);
        }
        let row = bits.grid().by_axis(bits.grid().size())[2];
        let ranks = ranks(&firsts, row.max(1) as u64);
        numbers.iter_mut().for_each(|set| *set = ranks[*set as usize]);
    } else {
        numbers.iter_mut().for_each(|set| *set += 1);
    }
    // The tables of all slabs, one after the other; those of the first are reused.
    let total = usize::try_from(nodes).expect("below 2^32");
    let mut slabs = slabs.drain(..);
    let mut all = slabs.next().unwrap_or_default();
    let (mut numbers, mut set_base) = (&numbers[..], all.count as usize);
    all.sets.iter_mut().for_each(|set| *set = numbers[*set as usize]);
    all.sets.reserve_exact(total - all.sets.len());
    for slab in slabs {
        let node_base = u32::try_from(all.sets.len()).expect("below 2^32");
        numbers = &numbers[set_base..];
        set_base = slab.count as usize;
        all.sets.extend(slab.sets.iter().map(|&set| numbers[set as usize]));
        all.ends.extend(slab.ends.iter().map(|&end| end + node_base));
        all.joined.extend_from_slice(&slab.joined);
    }
    Ok((all.joined, all.ends, all.sets, count))
}

/// Unites the sets that meet between the last bundles of a slab and the first of the next.
fn seam<const N: usize>(
    bits: &Bits,
    layout: &Layout,
    (before, before_range, before_base): (&Slab, Range<usize>, u32),
    (here, here_range, here_base): (&Slab, Range<usize>, u32),
    forest: &mut Forest,
) {
    let (words, across) = (layout.words, layout.across());
    let zeros = vec![0; words];
    let bundle = |slab: &'_ Slab, z: usize, high: usize, y: usize| {
        let at = z * across + y;
        let first = if at == 0 { 0 } else { slab.ends[at - 1] };
        (at, first, slab.ends[at] > first, rows::<N>(Part::whole(bits), layout, &zeros, high, y))
    };
    for y in 0..across {
        let (at, first, any, rows) = bundle(here, 0, here_range.start, y);
        if !any {
            continue;
        }
        let joined = if N > 1 { &here.joined[at * words..][..words] } else { rows[0] };
        let bundle_here = Bundle { rows, joined, first };
        for (dz, dy) in &NEIGHBOURS[1..] {
            let Some(before_y) = y.checked_add_signed(*dy).filter(|&y| y < across) else {
                continue;
            };
            let (at, first, any, rows) = bundle(before, before_range.len() - 1, before_range.end - 1, before_y);
            if !any {
                continue;
            }
            let joined = if N > 1 { &before.joined[at * words..][..words] } else { rows[0] };
            let bundle_before = Bundle { rows, joined, first };
            connect(layout, &bundle_before, &bundle_here, (*dz, *dy), |a, b| {
                forest.unite(before_base + before.sets[a as usize], here_base + here.sets[b as usize]);
            });
        }
    }
}

/// The rank of each value, from 1, in ascending order; values are different. They are sorted by buckets of `width`.
fn ranks(values: &[u64], width: u64) -> Vec<u32> {
    let mut order: Vec<(u64, u32)> = (0..).zip(values).map(|(i, &value)| (value, i)).collect();
    // Sets come almost in order of their voxels, in rows; a stable merge sort finds the runs.
    if values.len() > 64 {
        let buckets = usize::try_from(values.iter().max().expect("not empty") / width).expect("a row") + 2;
        if buckets < 4 * values.len() {
            let mut ends = vec![0u32; buckets];
            let bucket = |value: u64| usize::try_from(value / width).expect("a row");
            order.iter().for_each(|&(value, _)| ends[bucket(value) + 1] += 1);
            for i in 1..buckets {
                ends[i] += ends[i - 1];
            }
            let unsorted = order.clone();
            for entry in unsorted {
                let end = &mut ends[bucket(entry.0)];
                order[*end as usize] = entry;
                *end += 1;
            }
        }
    }
    order.sort();
    let mut ranks = vec![0; values.len()];
    for (rank, &(_, i)) in (1..).zip(&order) {
        ranks[i as usize] = rank;
    }
    ranks
}
