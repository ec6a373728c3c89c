//! Labels as codes, and scores taken out or counted in bins, for rankings.

use super::batch::{ScoreBatch, ScoreMap};
use super::ranks::{Ranking, each_map};
use super::real::Real;
use super::tile::{Activation, Invalid, TILE, Tile};
use crate::parallel::Threads;
use crate::stages::{Selected, SelectedScores};
use crate::{Bins, Cpu, Result, Table};

/// In which precision scores are ranked, and as what.
pub(super) struct Source {
    pub(super) double: bool,
    pub(super) activation: Activation,
}

/// Values as they are; log-probabilities in double precision for logits of several classes.
pub(super) fn source(batch: &ScoreBatch<'_>) -> Source {
    let softmax = batch.spec().from_logits && !batch.is_binary();
    Source {
        double: softmax || batch.is_double(),
        activation: if softmax { Activation::LogSoftmax } else { Activation::Raw },
    }
}

/// Labels of a map, read once: bytes where they fit; the largest value marks a voxel that does not count.
pub(super) struct Codes {
    store: Store,
    /// Voxels of each class, by share.
    shares: Vec<Vec<u32>>,
    totals: Vec<usize>,
    masked: bool,
}

enum Store {
    Bytes(Vec<u8>),
    Words(Vec<u32>),
}

impl Codes {
    /// Number of voxels of a class.
    pub(super) fn count(&self, class: u32) -> usize {
        self.totals[class as usize]
    }

    /// Number of voxels that count.
    pub(super) fn counted(&self) -> usize {
        self.totals.iter().sum()
    }

    /// Voxels of a share that are of a class, or count and are not.
    pub(super) fn of_share(&self, share: usize, class: u32, positives: bool) -> usize {
        let of_class = self.shares[share][class as usize] as usize;
        if positives { of_class } else { self.shares[share].iter().map(|&n| n as usize).sum::<usize>() - of_class }
    }

    /// Whether a piece holds voxels of each side.
    pub(super) fn wanted(&self, start: usize, len: usize, sides: &[(u32, bool)]) -> Vec<bool> {
        fn any<C: Copy + PartialEq>(codes: &[C], class: C, excluded: C, positives: bool) -> bool {
            codes.iter().fold(false, |any, &code| any | (((code == class) == positives) & (code != excluded)))
        }
        let has = |&(class, positives): &(u32, bool)| match &self.store {
            #[expect(clippy::cast_possible_truncation, reason = "bytes hold all classes")]
            Store::Bytes(codes) => any(&codes[start..start + len], class as u8, u8::MAX, positives),
            Store::Words(codes) => any(&codes[start..start + len], class, u32::MAX, positives),
        };
        sides.iter().map(has).collect()
    }

    /// Labels and whether they count.
    #[inline(always)]
    pub(super) fn read(&self, start: usize, labels: &mut [u32], keep: &mut [u8]) {
        match &self.store {
            Store::Bytes(codes) => {
                for ((label, keep), &code) in labels.iter_mut().zip(keep).zip(&codes[start..]) {
                    *label = u32::from(code);
                    *keep = u8::from(code != u8::MAX);
                }
            }
            Store::Words(codes) => {
                for ((label, keep), &code) in labels.iter_mut().zip(keep).zip(&codes[start..]) {
                    *label = code;
                    *keep = u8::from(code != u32::MAX);
                }
            }
        }
    }

    pub(super) fn is_masked(&self) -> bool {
        self.masked
    }
}

/// Reads the labels of a map.
pub(super) fn codes(
    cpu: &Cpu,
    threads: &Threads,
    batch: &ScoreBatch<'_>,
    map: &ScoreMap<'_>,
) -> Result<Codes, Invalid> {
    let voxels = batch.voxels();
    let bytes = map.classes < u32::from(u8::MAX);
    let mut store = if bytes { Store::Bytes(vec![0; voxels]) } else { Store::Words(vec![0; voxels]) };
    let mut pieces: Vec<std::sync::Mutex<Piece<'_>>> = match &mut store {
        Store::Bytes(codes) => codes.chunks_mut(super::SHARE).map(|piece| Piece::Bytes(piece).into()).collect(),
        Store::Words(codes) => codes.chunks_mut(super::SHARE).map(|piece| Piece::Words(piece).into()).collect(),
    };
    let shares = threads.map(pieces.len(), |share| {
        let mut counts = vec![0u32; map.classes as usize];
        let (mut labels, mut keep) = (vec![0; TILE], vec![1; TILE]);
        let mut piece = pieces[share].lock().expect("each share is taken once");
        let voxels = batch.share(share);
        for start in voxels.clone().step_by(TILE) {
            let len = TILE.min(voxels.end - start);
            if map.is_masked() {
                map.keep(cpu.level, start, &mut keep[..len]);
            }
            if !map.labels(cpu.level, start, &keep[..len], &mut labels[..len]) {
                return Err(Invalid);
            }
            for (&label, &keep) in labels[..len].iter().zip(&keep) {
                counts[label as usize] += u32::from(keep);
            }
            piece.write(start - voxels.start, &labels[..len], &keep[..len]);
        }
        Ok(counts)
    });
    pieces.clear();
    let mut shares: Vec<Vec<u32>> = shares.into_iter().collect::<Result<_, _>>()?;
    shares.resize(batch.shares(), vec![0; map.classes as usize]);
    let mut totals = vec![0; map.classes as usize];
    for counts in &shares {
        for (total, &count) in totals.iter_mut().zip(counts) {
            *total += count as usize;
        }
    }
    drop(pieces);
    Ok(Codes { store, shares, totals, masked: map.is_masked() })
}

/// A share of the codes, being written.
enum Piece<'a> {
    Bytes(&'a mut [u8]),
    Words(&'a mut [u32]),
}

impl Piece<'_> {
    #[expect(clippy::cast_possible_truncation, reason = "bytes hold all classes")]
    fn write(&mut self, at: usize, labels: &[u32], keep: &[u8]) {
        match self {
            Self::Bytes(codes) => {
                for ((code, &label), &keep) in codes[at..].iter_mut().zip(labels).zip(keep) {
                    *code = if keep != 0 { label as u8 } else { u8::MAX };
                }
            }
            Self::Words(codes) => {
                for ((code, &label), &keep) in codes[at..].iter_mut().zip(labels).zip(keep) {
                    *code = if keep != 0 { label } else { u32::MAX };
                }
            }
        }
    }
}

/// Histograms of probabilities, in double precision.
pub(crate) fn histograms(cpu: &Cpu, batch: &ScoreBatch<'_>, bins: Bins, first: usize) -> Result<Table<Vec<[u64; 2]>>> {
    each_map(cpu, batch, first, |ranking, classes| histograms_of(ranking, bins, classes))
}

fn histograms_of(ranking: &Ranking<'_, '_>, bins: Bins, classes: &[u32]) -> Result<Vec<Vec<[u64; 2]>>, Invalid> {
    let batch = ranking.batch;
    let shares = batch.shares();
    let items = ranking.threads.count().min(shares).max(1);
    let binary = batch.is_binary();
    let parts = ranking.threads.map(items, |item| {
        let mut counts = vec![vec![[0u64; 2]; bins.count()]; classes.len()];
        let mut tile = Tile::<f64>::new(&ranking.map);
        for share in shares * item / items..shares * (item + 1) / items {
            let voxels = batch.share(share);
            for start in voxels.clone().step_by(TILE) {
                let len = TILE.min(voxels.end - start);
                tile.load_coded(&ranking.map, &ranking.codes, start, len, |_| true);
                tile.check(ranking.cpu.level, batch, true)?;
                let logits = batch.spec().from_logits;
                if logits {
                    tile.activate(if binary { Activation::Probability } else { Activation::LogSoftmax });
                }
                for (&class, counts) in classes.iter().zip(&mut counts) {
                    let values = tile.channel(if binary { 0 } else { class as usize });
                    for (&value, &label) in values.iter().zip(tile.labels()) {
                        let value = if logits && !binary { value.exp() } else { value };
                        counts[bins.of(value) as usize][usize::from(label == class)] += 1;
                    }
                }
            }
        }
        Ok(counts)
    });
    let mut whole = vec![vec![[0u64; 2]; bins.count()]; classes.len()];
    for part in parts {
        for (whole, part) in whole.iter_mut().zip(part?) {
            for (whole, part) in whole.iter_mut().zip(part) {
                whole[0] += part[0];
                whole[1] += part[1];
            }
        }
    }
    Ok(whole)
}

/// The scores themselves.
pub(crate) fn selected(cpu: &Cpu, batch: &ScoreBatch<'_>, first: usize) -> Result<Table<Selected>> {
    each_map(cpu, batch, first, |ranking, classes| {
        let kind = source(batch);
        if kind.double {
            taken::<f64>(ranking, kind.activation, classes, SelectedScores::Double)
        } else {
            taken::<f32>(ranking, kind.activation, classes, SelectedScores::Single)
        }
    })
}

fn taken<T: Real>(
    ranking: &Ranking<'_, '_>,
    activation: Activation,
    classes: &[u32],
    wrap: fn(Vec<T>) -> SelectedScores,
) -> Result<Vec<Selected>, Invalid> {
    let (batch, counted) = (ranking.batch, ranking.codes.counted());
    let mut out: Vec<(Vec<T>, Vec<bool>)> =
        classes.iter().map(|_| (Vec::with_capacity(counted), Vec::with_capacity(counted))).collect();
    let mut tile = Tile::<T>::new(&ranking.map);
    for start in (0..batch.voxels()).step_by(TILE) {
        tile.load_coded(&ranking.map, &ranking.codes, start, TILE.min(batch.voxels() - start), |_| true);
        tile.check(ranking.cpu.level, batch, true)?;
        tile.activate(activation);
        for (&class, (scores, positives)) in classes.iter().zip(&mut out) {
            scores.extend_from_slice(tile.channel(if batch.is_binary() { 0 } else { class as usize }));
            positives.extend(tile.labels().iter().map(|&label| label == class));
        }
    }
    Ok(out.into_iter().map(|(scores, positives)| Selected { scores: wrap(scores), positives }).collect())
}
