//! Exact rankings: sort the few, stream the many.
//!
//! The area under the ROC curve needs, for each positive, how many negatives lie below and tie; precision needs how many
//! lie above. So where positives are few, only they are sorted; every other voxel is placed among them by a table on the
//! highest bits of its key and counted. Where positives are many, the area swaps the roles, and precisions sort both
//! sides. All of it is integer arithmetic on counts: exact, ties included, whatever the order of the work.
//!
//! Memory touched: each label once, each score once and those of the few once more; allocated: a byte a voxel, the
//! sorted keys, two counters a key and thread.

use std::sync::Mutex;

use super::batch::{ScoreBatch, ScoreMap};
use super::diagnose::diagnose;
use super::groups::{Fold, merge};
use super::real::Real;
use super::search::Index;
use super::select::{Codes, codes, source};
use super::sort::radix_sort;
use super::tile::{Activation, Invalid, TILE, Tile};
use crate::parallel::Threads;
use crate::stages::{RankNeed, RankStep, RankSums, RankTable};
use crate::{Cpu, Result, Table};

/// The side that is sorted may be this part of all voxels, else both are.
const FEW: usize = 8;
/// The side that is sorted may be so large: beyond, the table and its counters leave the cache, and sorting all by radix
/// is quicker than placing the many.
const MOST: usize = 1 << 17;

pub(crate) fn rank_sums(cpu: &Cpu, batch: &ScoreBatch<'_>, need: RankNeed, first: usize) -> Result<Table<RankSums>> {
    each_map(cpu, batch, first, |ranking, classes| {
        let kind = source(batch);
        if kind.double {
            ranking.sums::<f64>(kind.activation, need, classes)
        } else {
            ranking.sums::<f32>(kind.activation, need, classes)
        }
    })
}

pub(crate) fn rank_tables(cpu: &Cpu, batch: &ScoreBatch<'_>, first: usize) -> Result<Table<RankTable>> {
    each_map(cpu, batch, first, |ranking, classes| {
        let kind = source(batch);
        if kind.double {
            ranking.tables::<f64>(kind.activation, classes)
        } else {
            ranking.tables::<f32>(kind.activation, classes)
        }
    })
}

/// Runs `f` for every map: many small ones at once, a large one with all threads.
pub(super) fn each_map<T: Send>(
    cpu: &Cpu,
    batch: &ScoreBatch<'_>,
    first: usize,
    f: impl Fn(&Ranking<'_, '_>, &[u32]) -> Result<Vec<T>, Invalid> + Sync,
) -> Result<Table<T>> {
    let threads = batch.threads(&cpu.threads);
    let small = batch.voxels() <= super::SHARE;
    let (outer, inner) = if small { (threads, &Threads::Serial) } else { (&Threads::Serial, threads) };
    let rows = outer.map(batch.maps(), |map| {
        let classes: Vec<u32> = match (batch.spec().multilabel, batch.channels()) {
            (true, channels) if map % channels < first => vec![],
            (true, _) | (false, 1) => vec![1],
            (false, channels) => (first..channels).map(|class| u32::try_from(class).expect("few channels")).collect(),
        };
        let map = batch.map(map);
        let codes = codes(cpu, inner, batch, &map)?;
        f(&Ranking { cpu, threads: inner, batch, map, codes }, &classes)
    });
    let mut values = Vec::new();
    for row in rows {
        values.append(&mut row.map_err(|Invalid| diagnose(cpu, batch))?);
    }
    let single = batch.channels() == 1 && !batch.spec().multilabel;
    let columns = if single { 1 } else { batch.channels().saturating_sub(first) };
    Ok(Table::new(batch.cases(), columns, values))
}

/// One map with its labels as codes.
pub(super) struct Ranking<'b, 'a> {
    pub(super) cpu: &'b Cpu,
    pub(super) threads: &'b Threads,
    pub(super) batch: &'b ScoreBatch<'a>,
    pub(super) map: ScoreMap<'a>,
    pub(super) codes: Codes,
}

/// A class whose few sorted scores the others are placed among.
struct Sought<K> {
    class: u32,
    /// Whether the few are the positives.
    positives: bool,
    index: Index<K>,
}

impl Ranking<'_, '_> {
    /// Positives and negatives of a class.
    fn sides(&self, class: u32) -> (usize, usize) {
        let positives = self.codes.count(class);
        (positives, self.codes.counted() - positives)
    }

    fn sums<T: Real>(&self, activation: Activation, need: RankNeed, classes: &[u32]) -> Result<Vec<RankSums>, Invalid> {
        // The few: positives, or for the area whichever side is smaller.
        let few = |class: u32| {
            let (positives, negatives) = self.sides(class);
            let swap = need == RankNeed::Wins && negatives < positives;
            let few = if swap { negatives } else { positives };
            (few <= MOST && few * FEW <= positives + negatives).then_some((class, !swap))
        };
        let sought: Vec<(u32, bool)> = classes.iter().filter_map(|&class| few(class)).collect();
        let mut keys = self.gather::<T>(activation, &sought);
        let indices = self.threads.map(sought.len(), |i| {
            let mut keys = std::mem::take(&mut *keys[i].lock().expect("taken once"));
            radix_sort(&mut keys, &mut Vec::new());
            Index::new(keys)
        });
        keys.clear();
        let sought: Vec<Sought<T::Key>> = sought
            .into_iter()
            .zip(indices)
            .map(|((class, positives), index)| Sought { class, positives, index })
            .collect();
        let mut placed = self.stream::<T>(activation, &sought)?;
        let mut placed = sought.iter().zip(placed.drain(..)).peekable();
        let mut out = Vec::with_capacity(classes.len());
        for &class in classes {
            let mut sums = match placed.next_if(|(sought, _)| sought.class == class) {
                Some((sought, places)) => self.fold(sought, &places),
                None => {
                    let (positives, negatives) = self.sides(class);
                    let mut fold = Fold::new(positives as u64, negatives as u64);
                    self.sort_both::<T>(activation, class, |_, positives, negatives| fold.add(positives, negatives));
                    fold.sums()
                }
            };
            match need {
                RankNeed::Precisions => sums.wins = 0,
                RankNeed::Wins => sums.precision_sum = 0.0,
            }
            out.push(sums);
        }
        Ok(out)
    }

    fn tables<T: Real>(&self, activation: Activation, classes: &[u32]) -> Result<Vec<RankTable>, Invalid> {
        self.stream::<T>(activation, &[])?;
        let table = |&class: &u32| {
            let mut steps = Vec::new();
            self.sort_both::<T>(activation, class, |key, positives, negatives| {
                steps.push(RankStep { threshold: T::of_key(key).to_f64(), positives, negatives });
            });
            RankTable { steps }
        };
        Ok(classes.iter().map(table).collect())
    }

    /// Groups of equal scores of a class, from the highest down, by sorting both sides.
    fn sort_both<T: Real>(&self, activation: Activation, class: u32, f: impl FnMut(T::Key, u64, u64)) {
        let mut sides = self.gather::<T>(activation, &[(class, true), (class, false)]);
        let mut negatives = sides.pop().and_then(|keys| keys.into_inner().ok()).unwrap_or_default();
        let mut positives = sides.pop().and_then(|keys| keys.into_inner().ok()).unwrap_or_default();
        if self.threads.count() > 1 && positives.len().min(negatives.len()) > super::SHARE {
            let sides = [Mutex::new(positives), Mutex::new(negatives)];
            self.threads.map(2, |i| radix_sort(&mut sides[i].lock().expect("taken once"), &mut Vec::new()));
            let [p, n] = sides;
            positives = p.into_inner().unwrap_or_default();
            negatives = n.into_inner().unwrap_or_default();
        } else {
            let mut scratch = Vec::new();
            radix_sort(&mut positives, &mut scratch);
            radix_sort(&mut negatives, &mut scratch);
        }
        merge(&positives, &negatives, f);
    }

    /// Keys of the voxels that are of a class, or are not, for each of `sides`.
    fn gather<T: Real>(&self, activation: Activation, sides: &[(u32, bool)]) -> Vec<Mutex<Vec<T::Key>>> {
        let shares = self.batch.shares();
        let zero = T::ZERO.key();
        // Each share writes its own piece, so nothing is held twice.
        let mut keys: Vec<Vec<T::Key>> = sides
            .iter()
            .map(|&(class, positives)| vec![zero; if positives { self.sides(class).0 } else { self.sides(class).1 }])
            .collect();
        let mut pieces: Vec<Vec<&mut [T::Key]>> = (0..shares).map(|_| Vec::with_capacity(sides.len())).collect();
        for (&(class, positives), keys) in sides.iter().zip(&mut keys) {
            let mut rest = &mut keys[..];
            for (share, pieces) in pieces.iter_mut().enumerate() {
                let (piece, after) = rest.split_at_mut(self.codes.of_share(share, class, positives));
                pieces.push(piece);
                rest = after;
            }
        }
        let pieces: Vec<Mutex<Vec<&mut [T::Key]>>> = pieces.into_iter().map(Mutex::new).collect();
        if !sides.is_empty() {
            self.threads.map(shares, |share| {
                let mut pieces = pieces[share].lock().expect("each share is taken once");
                if pieces.iter().any(|piece| !piece.is_empty()) {
                    self.gather_share::<T>(activation, sides, &mut pieces, share);
                }
            });
        }
        drop(pieces);
        keys.into_iter().map(Mutex::new).collect()
    }

    fn gather_share<T: Real>(
        &self,
        activation: Activation,
        sides: &[(u32, bool)],
        pieces: &mut [&mut [T::Key]],
        share: usize,
    ) {
        let voxels = self.batch.share(share);
        let mut tile = Tile::<T>::new(&self.map);
        let mut written = vec![0; sides.len()];
        for start in voxels.clone().step_by(TILE) {
            let len = TILE.min(voxels.end - start);
            // Most tiles of an organ-like map hold a class or two: only channels that are needed are read.
            let wanted = self.codes.wanted(start, len, sides);
            if !wanted.iter().any(|&wanted| wanted) {
                continue;
            }
            let binary = self.batch.is_binary();
            tile.load_coded(&self.map, &self.codes, start, len, |channel| {
                activation != Activation::Raw
                    || binary
                    || sides.iter().zip(&wanted).any(|(side, &wanted)| wanted && side.0 as usize == channel)
            });
            tile.activate(activation);
            for (i, &(class, positives)) in sides.iter().enumerate() {
                if !wanted[i] {
                    continue;
                }
                let values = tile.channel(if binary { 0 } else { class as usize });
                let (out, at) = (&mut *pieces[i], &mut written[i]);
                for (&value, &label) in values.iter().zip(tile.labels()) {
                    if (label == class) == positives {
                        out[*at] = value.key();
                        *at += 1;
                    }
                }
            }
        }
    }

    /// Reads and checks every score, and counts the many of each sought class by their place among the few.
    fn stream<T: Real>(&self, activation: Activation, sought: &[Sought<T::Key>]) -> Result<Vec<Vec<u64>>, Invalid> {
        let shares = self.batch.shares();
        // Counters are a thread's own; together they take no more than eight bytes a voxel.
        let keys: usize = sought.iter().map(|sought| sought.index.len()).sum();
        let most = self.batch.voxels() / keys.max(1);
        let items = self.threads.count().min(shares).min(most).max(shares.div_ceil(1 << 14)).max(1);
        let parts = self.threads.map(items, |item| {
            let range = shares * item / items..shares * (item + 1) / items;
            let mut places: Vec<Vec<u32>> = sought.iter().map(|sought| vec![0; 2 * sought.index.len() + 1]).collect();
            let mut waiting: Vec<Waiting<T::Key>> = sought.iter().map(|_| Waiting::new(T::ZERO.key())).collect();
            let mut tile = Tile::<T>::new(&self.map);
            for share in range {
                let voxels = self.batch.share(share);
                for start in voxels.clone().step_by(TILE) {
                    let len = TILE.min(voxels.end - start);
                    tile.load_coded(&self.map, &self.codes, start, len, |_| true);
                    tile.check(self.cpu.level, self.batch, true)?;
                    if !sought.is_empty() {
                        tile.activate(activation);
                    }
                    for (i, sought) in sought.iter().enumerate() {
                        let values = tile.channel(if self.batch.is_binary() { 0 } else { sought.class as usize });
                        waiting[i].add(values, tile.labels(), sought);
                        if waiting[i].is_full() {
                            waiting[i].place(&sought.index, &mut places[i]);
                        }
                    }
                }
            }
            for ((waiting, sought), places) in waiting.iter_mut().zip(sought).zip(&mut places) {
                waiting.place(&sought.index, places);
            }
            Ok(places)
        });
        let mut whole: Vec<Vec<u64>> = sought.iter().map(|sought| vec![0; 2 * sought.index.len() + 1]).collect();
        for part in parts {
            for (whole, part) in whole.iter_mut().zip(part?) {
                for (whole, part) in whole.iter_mut().zip(part) {
                    *whole += u64::from(part);
                }
            }
        }
        Ok(whole)
    }

    /// The sums of a class from the places of the many.
    fn fold<K: super::sort::Key>(&self, sought: &Sought<K>, places: &[u64]) -> RankSums {
        let (positives, negatives) = self.sides(sought.class);
        let mut fold = Fold::new(positives as u64, negatives as u64);
        let mut add = |few: u64, many: u64| {
            if sought.positives { fold.add(few, many) } else { fold.add(many, few) }
        };
        for i in (0..=sought.index.len()).rev() {
            add(0, places[2 * i]);
            if i > 0 {
                add(sought.index.count(i - 1), places[2 * i - 1]);
            }
        }
        fold.sums()
    }
}

/// Keys of the many that wait to be placed, so that one table at a time is in cache.
struct Waiting<K> {
    keys: Vec<K>,
    len: usize,
}

impl<K: super::sort::Key> Waiting<K> {
    fn new(zero: K) -> Self {
        Self { keys: vec![zero; 16 * TILE], len: 0 }
    }

    /// Those voxels of a tile that are not among the few.
    fn add<T: Real<Key = K>>(&mut self, values: &[T], labels: &[u32], sought: &Sought<K>) {
        let keys = &mut self.keys[self.len..][..values.len()];
        let mut kept = 0;
        for (&value, &label) in values.iter().zip(labels) {
            keys[kept] = value.key();
            kept += usize::from((label == sought.class) != sought.positives);
        }
        self.len += kept;
    }

    /// Whether another tile may not fit.
    fn is_full(&self) -> bool {
        self.len + TILE > self.keys.len()
    }

    /// Counts each by its place.
    fn place(&mut self, index: &Index<K>, places: &mut [u32]) {
        for &key in &self.keys[..self.len] {
            places[index.place(key)] += 1;
        }
        self.len = 0;
    }
}
