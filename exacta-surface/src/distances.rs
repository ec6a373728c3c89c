//! From boundary voxels to the distances of every case and class.
//!
//! Each class works in the box of its two surfaces: two bit planes of the box are all that is allocated beside the
//! sparse words, and classes are taken in groups that end once they hold [`memory`].

use std::sync::Arc;

use exacta_core::parallel::Threads;
use exacta_core::stages::{Directed, Need, SurfaceDistances};
use exacta_core::{Cpu, Spacing, Table};

use crate::dense::{Dense, WordBox};
use crate::shells::{Resolved, Shells, resolve};
use crate::tail::{Place, Start, finish};
use crate::words::{BoundaryVoxels, Words};

/// Bytes of planes and words alive at a time: half a byte a voxel of an image, but no less than keeps all threads busy and no more
/// than is of use.
fn memory(surfaces: &BoundaryVoxels) -> usize {
    (surfaces.grid().voxels() / 2).clamp(4 << 20, 64 << 20)
}

/// Query words handed to a thread at a time.
const SHARE: usize = 512;
/// Below this many query words in all, one thread is quicker than waking another.
const SERIAL: usize = 1024;

/// A class of a case with both surfaces there.
#[derive(Debug)]
struct Job<'a> {
    place: usize,
    surfaces: [Words<'a>; 2],
    bounds: WordBox,
    spacing: [f64; 3],
    need: Need,
    shells: Arc<Shells>,
}

impl Job<'_> {
    fn bytes(&self) -> usize {
        let [slices, rows, words] = self.bounds.size;
        let owned: usize = self.surfaces.iter().map(Words::owned_bytes).sum();
        owned + 2 * 8 * (slices + 2 * self.shells.margin[0]) * (rows + 2 * self.shells.margin[1]) * (words + 2)
    }
}

/// Distances of each case and class; `spacings` by case, `needs` by class.
pub(crate) fn distances(
    cpu: &Cpu,
    surfaces: &BoundaryVoxels,
    spacings: &[Spacing],
    needs: &[Need],
) -> Table<SurfaceDistances> {
    let (cases, classes) = (surfaces.cases(), surfaces.classes());
    let mut out: Vec<SurfaceDistances> = Vec::new();
    out.resize_with(cases * classes, SurfaceDistances::default);
    let mut jobs: Vec<Job<'_>> = Vec::new();
    let (mut bytes, mut shells) = (0, Vec::new());
    for case in 0..cases {
        for class in 0..classes {
            let sides = [0, 1].map(|side| surfaces.words(case, class, side));
            let place = case * classes + class;
            if sides[0].is_empty() || sides[1].is_empty() {
                let lone = |words: &Words<'_>| Directed::lone_points(words.voxels());
                out[place] = SurfaceDistances { pred_to_target: lone(&sides[0]), target_to_pred: lone(&sides[1]) };
                continue;
            }
            let job = job(surfaces, place, sides, &spacings[case], needs[class], &mut shells);
            bytes += job.bytes();
            jobs.push(job);
            if bytes >= memory(surfaces) {
                run(cpu, surfaces, &jobs, &mut out);
                jobs.clear();
                bytes = 0;
            }
        }
    }
    run(cpu, surfaces, &jobs, &mut out);
    Table::new(cases, classes, out)
}

/// What shells depend on: spacing, size of the box, and the only tolerance.
type ShellKey = ([f64; 3], [usize; 3], Option<f64>);

/// A job; its shells are taken from `known` where a job before it had the same.
fn job<'a>(
    surfaces: &BoundaryVoxels,
    place: usize,
    sides: [Words<'a>; 2],
    spacing: &Spacing,
    need: Need,
    known: &mut Vec<(ShellKey, Arc<Shells>)>,
) -> Job<'a> {
    let grid = surfaces.grid();
    let bounds = WordBox::around(grid, [&sides[0], &sides[1]]);
    let [slices, rows, words] = bounds.size;
    // A need for distances up to a tolerance alone asks for no shell beyond it.
    let only_within = !need.all && !need.max && need.directed_percentile.is_none() && need.pooled_percentile.is_none();
    let within = if only_within { need.within } else { None };
    let spacing = spacing.volume();
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
    Job { place, surfaces: sides, bounds, spacing, need, shells }
}

/// Runs jobs together, so that few large classes and many small ones both keep all threads busy.
fn run(cpu: &Cpu, surfaces: &BoundaryVoxels, jobs: &[Job<'_>], out: &mut [SurfaceDistances]) {
    let words: usize = jobs.iter().flat_map(|job| &job.surfaces).map(Words::len).sum();
    let serial = Cpu { level: cpu.level, threads: Threads::Serial };
    let cpu = if words < SERIAL { &serial } else { cpu };
    let layouts: Vec<_> = jobs.iter().map(|job| crate::dense::Layout::new(&job.bounds, job.shells.margin)).collect();
    let planes = cpu.threads.map(2 * jobs.len(), |i| {
        let (job, layout) = (&jobs[i / 2], layouts[i / 2]);
        Dense::new(&job.bounds, layout, &job.surfaces[i % 2])
    });
    let steps: Vec<_> = jobs.iter().zip(&layouts).map(|(job, layout)| job.shells.steps(layout)).collect();
    let mut shares = Vec::new();
    for (i, job) in jobs.iter().enumerate() {
        for side in 0..2 {
            let n = job.surfaces[side].len();
            shares.extend((0..n.div_ceil(SHARE)).map(|share| (i, side, share * SHARE..((share + 1) * SHARE).min(n))));
        }
    }
    let parts = cpu.threads.map(shares.len(), |share| {
        let (i, side, range) = &shares[share];
        let job = &jobs[*i];
        resolve(&steps[*i], &job.bounds, &planes[2 * i + 1 - side], job.surfaces[*side].range(range.clone()))
    });
    drop(planes);
    let mut resolved: Vec<[Resolved; 2]> = Vec::new();
    resolved.resize_with(jobs.len(), Default::default);
    for ((i, side, _), part) in shares.into_iter().zip(parts) {
        let whole = &mut resolved[i][side];
        whole.counts.resize(part.counts.len(), 0);
        whole.counts.iter_mut().zip(part.counts).for_each(|(a, b)| *a += b);
        whole.left.extend(part.left);
    }
    let resolved: Vec<_> = resolved.into_iter().map(|sides| std::sync::Mutex::new(Some(sides))).collect();
    let records = cpu.threads.map(jobs.len(), |i| {
        let sides = resolved[i].lock().expect("no holder panics").take().expect("taken once");
        tail(cpu, surfaces, &jobs[i], sides)
    });
    for (job, record) in jobs.iter().zip(records) {
        out[job.place] = record;
    }
}

fn tail(cpu: &Cpu, surfaces: &BoundaryVoxels, job: &Job<'_>, sides: [Resolved; 2]) -> SurfaceDistances {
    let place = Place { grid: surfaces.grid(), bounds: &job.bounds, spacing: job.spacing };
    let mut side = 0;
    let starts = sides.map(|resolved| {
        let known = job.shells.list.iter().map(|shell| shell.squared).zip(resolved.counts).collect();
        let start = Start {
            total: job.surfaces[side].voxels(),
            known,
            left: resolved.left,
            beyond: job.shells.beyond,
            features: &job.surfaces[1 - side],
        };
        side += 1;
        start
    });
    let [pred_to_target, target_to_pred] = finish(cpu, place, &job.need, starts);
    SurfaceDistances { pred_to_target, target_to_pred }
}
