//! From surfaces to the distances of every case and class.
//!
//! Each class works in the box of its two surfaces: two bit planes of the box are all that is allocated beside the
//! sparse words, and classes are taken in groups that end once they hold [`memory`].

use std::sync::Arc;

use exacta_core::parallel::Threads;
use exacta_core::stages::{Directed, Need, SurfaceDistances};
use exacta_core::{Cpu, Grid, Spacing, Table};

use crate::bulk::{self, Bulk};
use crate::dense::{AxisBox, Dense, WordBox};
use crate::shells::{Resolved, Shells, resolve};
use crate::sweep::Queries;
use crate::tags::{Surface, SurfaceSet, Tag, Weights};
use crate::tail::{Left, Place, Start, finish};
use crate::tally::Known;
use crate::words::Words;

/// Bytes of planes and words alive at a time: half a byte a voxel of an image, but no less than keeps all threads busy and no more
/// than is of use.
fn memory(grid: &Grid) -> usize {
    (grid.voxels() / 2).clamp(4 << 20, 64 << 20)
}

/// Query words handed to a thread at a time.
const SHARE: usize = 512;
/// Below this many query words in all, one thread is quicker than waking another.
const SERIAL: usize = 1024;

/// A class of a case with both surfaces there.
#[derive(Debug)]
struct Job<'a, T: Tag> {
    place: usize,
    surfaces: [Surface<'a, T>; 2],
    weights: Arc<Weights>,
    bounds: WordBox,
    spacing: [f64; 3],
    need: Need,
    shells: Arc<Shells>,
}

impl<T: Tag> Job<'_, T> {
    fn bytes(&self) -> usize {
        let [slices, rows, words] = self.bounds.size;
        let owned: usize = self.surfaces.iter().map(Surface::owned_bytes).sum();
        owned + 2 * 8 * (slices + 2 * self.shells.margin[0]) * (rows + 2 * self.shells.margin[1]) * (words + 2)
    }
}

/// Distances of each case and class; `spacings` by case, `needs` by class.
pub(crate) fn distances<S: SurfaceSet>(
    cpu: &Cpu,
    surfaces: &S,
    spacings: &[Spacing],
    needs: &[Need],
) -> Table<SurfaceDistances> {
    distances_of(cpu, surfaces, spacings, needs, Bulk::default())
}

/// The same, with another opinion of what is many.
pub(crate) fn distances_of<S: SurfaceSet>(
    cpu: &Cpu,
    surfaces: &S,
    spacings: &[Spacing],
    needs: &[Need],
    bulk: Bulk,
) -> Table<SurfaceDistances> {
    let [cases, classes] = surfaces.shape();
    let grid = surfaces.grid();
    let mut out: Vec<SurfaceDistances> = Vec::new();
    out.resize_with(cases * classes, SurfaceDistances::default);
    let mut jobs: Vec<Job<'_, S::Tag>> = Vec::new();
    let (mut bytes, mut shells) = (0, Vec::new());
    let mut weights: Option<([f64; 3], Arc<Weights>)> = None;
    for case in 0..cases {
        let spacing = spacings[case].volume();
        let weights = match &mut weights {
            Some((of, weights)) if *of == spacing => weights,
            other => &mut other.insert((spacing, Arc::new(surfaces.weights(spacing)))).1,
        };
        for class in 0..classes {
            let mut sides = [0, 1].map(|side| surfaces.surface(case, class, side));
            let place = case * classes + class;
            let both = sides.iter().all(|side| !side.words.is_empty());
            let elements = sides.iter().map(|side| side.words.voxels()).sum();
            let bounds = WordBox::around(grid, [&sides[0].words, &sides[1].words]);
            let place_of = Place { grid, bounds: &bounds, spacing };
            if both && bulk.is_met(elements, AxisBox::new(grid, &bounds).size) {
                let words = sides.map(|side| side.words);
                out[place] = many(cpu, surfaces, [case, class], words, weights, place_of, &needs[class]);
                continue;
            }
            for (i, side) in sides.iter_mut().enumerate().filter(|(_, side)| side.tags.is_none()) {
                side.tags = Some(surfaces.tags(case, class, i));
            }
            if sides.iter().any(|side| side.words.is_empty()) {
                let [pred_to_target, target_to_pred] = sides.map(|side| lone(&side, weights));
                out[place] = SurfaceDistances { pred_to_target, target_to_pred };
                continue;
            }
            let job = job(place_of, place, sides, weights, needs[class], &mut shells);
            bytes += job.bytes();
            jobs.push(job);
            if bytes >= memory(grid) {
                run(cpu, grid, &jobs, &mut out);
                jobs.clear();
                bytes = 0;
            }
        }
    }
    run(cpu, grid, &jobs, &mut out);
    Table::new(cases, classes, out)
}

/// The record of a surface without another to measure to.
fn lone<T: Tag>(surface: &Surface<'_, T>, weights: &Weights) -> Directed {
    let counts = surface.counts(weights);
    let (total, weight) = (counts.iter().sum(), weights.sum(&counts));
    Directed { elements: T::ELEMENTS, total, weight, ..Directed::default() }
}

/// What shells depend on: spacing, size of the box, and the only tolerance.
type ShellKey = ([f64; 3], [usize; 3], Option<f64>);

/// The tolerance of a need for distances up to it alone, which asks for no shell beyond.
fn only_within(need: &Need) -> Option<f64> {
    let more = need.all || need.max || need.directed_percentile.is_some() || need.pooled_percentile.is_some();
    if more { None } else { need.within }
}

/// Distances of a class with elements nearly everywhere.
fn many<S: SurfaceSet>(
    cpu: &Cpu,
    surfaces: &S,
    [case, class]: [usize; 2],
    words: [Words<'_>; 2],
    weights: &Weights,
    place: Place<'_>,
    need: &Need,
) -> SurfaceDistances {
    let space = AxisBox::new(place.grid, place.bounds);
    let shells = Shells::new(&space.grid(), place.spacing, space.size.map(|n| n.min(64)), only_within(need));
    let sides = cpu.threads.map(2, |side| {
        let plane = space.plane(words[side].iter(), shells.margin);
        (plane, surfaces.carried([case, class, side], &space, weights))
    });
    drop(words);
    let kinds = weights.values.len();
    let starts = [0, 1].map(|side| {
        let ((plane, carried), (features, _)) = (&sides[side], &sides[1 - side]);
        let (found, beyond) = bulk::resolve(cpu, &space, &shells, [plane, features], carried, kinds);
        Start {
            known: known(&shells, &found.counts, kinds),
            totals: found.totals,
            weights,
            left: Left::Planes(Queries { size: space.size, left: found.left, plane, carried, features }),
            beyond,
        }
    });
    let [pred_to_target, target_to_pred] = finish(cpu, place, need, starts);
    SurfaceDistances { pred_to_target, target_to_pred }
}

/// What shells counted, by distance and weight.
fn known<T: Tag>(shells: &Shells, counts: &[u64], kinds: usize) -> Vec<Known<T>> {
    let known = shells.list.iter().zip(counts.chunks_exact(kinds));
    let known = known.flat_map(|(shell, counts)| {
        let found = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        found.map(|(place, &count)| (shell.squared, T::from_place(place), count))
    });
    known.collect()
}

/// A job; its shells are taken from `known` where a job before it had the same.
fn job<'a, T: Tag>(
    Place { grid, bounds, spacing }: Place<'_>,
    place: usize,
    sides: [Surface<'a, T>; 2],
    weights: &Arc<Weights>,
    need: Need,
    known: &mut Vec<(ShellKey, Arc<Shells>)>,
) -> Job<'a, T> {
    let [slices, rows, words] = bounds.size;
    let within = only_within(&need);
    // Beyond the reach of shells the size of a box makes no difference.
    let size = [slices, rows, (words * 64).min(grid.size()[2])].map(|n| n.min(64));
    let key = (spacing, size, within);
    let shells = match known.iter().find(|(of, _)| *of == key) {
        Some((_, shells)) => Arc::clone(shells),
        None => {
            let shells = Arc::new(Shells::new(grid, spacing, size, within));
            known.push((key, Arc::clone(&shells)));
            shells
        }
    };
    Job { place, surfaces: sides, weights: Arc::clone(weights), bounds: *bounds, spacing, need, shells }
}

/// Runs jobs together, so that few large classes and many small ones both keep all threads busy.
fn run<T: Tag>(cpu: &Cpu, grid: &Grid, jobs: &[Job<'_, T>], out: &mut [SurfaceDistances]) {
    let words: usize = jobs.iter().flat_map(|job| &job.surfaces).map(|surface| surface.words.len()).sum();
    let serial = Cpu { level: cpu.level, threads: Threads::Serial };
    let cpu = if words < SERIAL { &serial } else { cpu };
    let layouts: Vec<_> = jobs.iter().map(|job| crate::dense::Layout::new(&job.bounds, job.shells.margin)).collect();
    let planes = cpu.threads.map(2 * jobs.len(), |i| {
        let (job, layout) = (&jobs[i / 2], layouts[i / 2]);
        Dense::new(&job.bounds, layout, &job.surfaces[i % 2].words)
    });
    let steps: Vec<_> = jobs.iter().zip(&layouts).map(|(job, layout)| job.shells.steps(layout)).collect();
    let mut shares = Vec::new();
    for (i, job) in jobs.iter().enumerate() {
        for side in 0..2 {
            let words = &job.surfaces[side].words;
            let mut tags = 0;
            for start in (0..words.len()).step_by(SHARE) {
                let range = start..(start + SHARE).min(words.len());
                let first = tags;
                tags += words.bits[range.clone()].iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
                shares.push((i, side, range, first..tags));
            }
        }
    }
    let parts = cpu.threads.map(shares.len(), |share| {
        let (i, side, range, tags) = &shares[share];
        let job = &jobs[*i];
        let surface = &job.surfaces[*side];
        let (queries, tags) = (surface.words.range(range.clone()), &surface.tags()[tags.clone()]);
        resolve(&steps[*i], &job.bounds, &planes[2 * i + 1 - side], &job.weights, queries, tags)
    });
    drop(planes);
    let mut resolved: Vec<[Resolved<T>; 2]> = Vec::new();
    resolved.resize_with(jobs.len(), Default::default);
    for ((i, side, ..), part) in shares.into_iter().zip(parts) {
        let whole = &mut resolved[i][side];
        whole.counts.resize(part.counts.len(), 0);
        whole.counts.iter_mut().zip(part.counts).for_each(|(a, b)| *a += b);
        whole.left.extend(part.left);
        whole.tags.extend(part.tags);
    }
    let resolved: Vec<_> = resolved.into_iter().map(|sides| std::sync::Mutex::new(Some(sides))).collect();
    let records = cpu.threads.map(jobs.len(), |i| {
        let sides = resolved[i].lock().expect("no holder panics").take().expect("taken once");
        tail(cpu, grid, &jobs[i], sides)
    });
    for (job, record) in jobs.iter().zip(records) {
        out[job.place] = record;
    }
}

fn tail<T: Tag>(cpu: &Cpu, grid: &Grid, job: &Job<'_, T>, sides: [Resolved<T>; 2]) -> SurfaceDistances {
    let place = Place { grid, bounds: &job.bounds, spacing: job.spacing };
    let mut side = 0;
    let starts = sides.map(|resolved| {
        let start = Start {
            totals: job.surfaces[side].counts(&job.weights),
            weights: &job.weights,
            known: known(&job.shells, &resolved.counts, job.weights.values.len()),
            left: Left::Words { left: resolved.left, tags: resolved.tags, features: &job.surfaces[1 - side].words },
            beyond: job.shells.beyond,
        };
        side += 1;
        start
    });
    let [pred_to_target, target_to_pred] = finish(cpu, place, &job.need, starts);
    SurfaceDistances { pred_to_target, target_to_pred }
}
