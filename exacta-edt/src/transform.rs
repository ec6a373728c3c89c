//! One image: counters along axis 0, then every slice by [`Passes`], written once.

use std::sync::Mutex;

use exacta_core::ndarray::{Array3, ArrayView3, ArrayViewMut3, Axis};
use exacta_core::separable::{Edges, Lane, Passes};
use exacta_core::{Cpu, Level};

use crate::counters::{Counter, Counters, backward, forward};
use crate::output::Output;
use crate::rule::Rule;
use crate::source::Source;

/// What is written for a squared distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    Squared,
    Root,
    /// The root, negative where the mask is not zero.
    Signed,
}

/// The arithmetic of an image, chosen from its spacing and size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arithmetic {
    /// Spacings along the kernel's axes, in `unit`.
    pub(crate) spacing: [f64; 3],
    /// What squared distances are multiples of, squared; 1 where they are what they are.
    pub(crate) unit: f64,
    /// Whether single precision is exact.
    pub(crate) single: bool,
}

/// Slices written together where a slice lies scattered in memory: the doubles of a cache line.
const TOGETHER: usize = 8;

/// Writes the distances of one image. `out` and `source` have the kernel's axes.
pub(crate) fn transform<O: Output>(
    cpu: &Cpu,
    source: &dyn Source,
    rule: Rule,
    arithmetic: Arithmetic,
    finish: Finish,
    mut out: ArrayViewMut3<'_, O>,
) {
    let (slices, rows, columns) = out.dim();
    let size = [slices, rows, columns];
    // An axis that the image lacks has no outside.
    let along_first = Rule { outside: rule.outside && arithmetic.spacing[0] > 0.0, ..rule };
    let counters = Counters::new(cpu, size, source, along_first);
    // Some four tasks a thread, in whole cache lines where slices share them.
    let chunk =
        slices.div_ceil(4 * cpu.threads.count()).next_multiple_of(if out.is_standard_layout() { 1 } else { TOGETHER });
    let parts: Vec<_> = out.axis_chunks_iter_mut(Axis(0), chunk.max(1)).map(Mutex::new).collect();
    let image = Image { level: cpu.level, source, rule, arithmetic, finish, size };
    cpu.threads.map(parts.len(), |i| {
        let mut part = parts[i].lock().expect("one task a part");
        let first = i * chunk;
        match (&counters, arithmetic.single) {
            (Counters::U8(counters), true) => image.slices::<f32, 32, _, O>(counters, first, part.view_mut()),
            (Counters::U16(counters), true) => image.slices::<f32, 32, _, O>(counters, first, part.view_mut()),
            (Counters::U32(counters), true) => image.slices::<f32, 32, _, O>(counters, first, part.view_mut()),
            (Counters::U8(counters), false) => image.slices::<f64, 16, _, O>(counters, first, part.view_mut()),
            (Counters::U16(counters), false) => image.slices::<f64, 16, _, O>(counters, first, part.view_mut()),
            (Counters::U32(counters), false) => image.slices::<f64, 16, _, O>(counters, first, part.view_mut()),
        }
    });
}

struct Image<'a> {
    level: Level,
    source: &'a dyn Source,
    rule: Rule,
    arithmetic: Arithmetic,
    finish: Finish,
    size: [usize; 3],
}

impl Image<'_> {
    /// The slices from `first` on, as many as `out` has.
    fn slices<L: Lane, const B: usize, C: Counter, O: Output>(
        &self,
        counters: &Array3<C>,
        first: usize,
        mut out: ArrayViewMut3<'_, O>,
    ) {
        let [_, rows, columns] = self.size;
        let mut passes = Passes::<L, B>::new(self.size, self.arithmetic.spacing);
        let mut edges = self.edges();
        let direct = out.is_standard_layout();
        let mut together = if direct { Vec::new() } else { vec![O::ZERO; TOGETHER.min(out.dim().0) * rows * columns] };
        for (i, mut out) in out.axis_chunks_iter_mut(Axis(0), if direct { 1 } else { TOGETHER }).enumerate() {
            let (count, first) = (out.dim().0, first + i * if direct { 1 } else { TOGETHER });
            for k in 0..count {
                let here = counters.index_axis(Axis(0), first + k);
                let here = here.to_slice().expect("counters are contiguous");
                let written = match out.as_slice_mut() {
                    Some(slice) if direct => slice,
                    _ => &mut together[k * rows * columns..][..rows * columns],
                };
                self.slice(&mut passes, &mut edges, here, first + k, written);
            }
            if !direct {
                let done = ArrayView3::from_shape((count, rows, columns), &together[..count * rows * columns]);
                scatter(out, done.expect("as large as its shape"));
            }
        }
    }

    fn slice<L: Lane, const B: usize, C: Counter, O: Output>(
        &self,
        passes: &mut Passes<L, B>,
        edges: &mut Edges,
        steps: &[C],
        z: usize,
        out: &mut [O],
    ) {
        if edges.steps.is_none() && steps.iter().all(|&steps| steps == C::NONE) {
            out.fill(O::of(f64::INFINITY));
        } else {
            self.relative_edges(edges, z);
            let (columns, unit, finish) = (self.size[2], self.arithmetic.unit, self.finish);
            exacta_core::dispatch!(self.level, simd => passes.fill(simd, steps, C::NONE, C::steps));
            exacta_core::dispatch!(self.level, simd => run(simd, passes, edges, columns, unit, finish, out));
        }
        if self.finish == Finish::Signed {
            let mut inside = vec![0; self.size[2]];
            for (y, out) in out.chunks_exact_mut(self.size[2]).enumerate() {
                self.source.nonzero(self.level, [z, y], &mut inside);
                for (out, &inside) in out.iter_mut().zip(&inside) {
                    *out = if inside != 0 { out.negated() } else { *out };
                }
            }
        }
    }

    /// Steps to the outside along axes 1 and 2, which are those of every slice unless voxels are features of each other.
    fn edges(&self) -> Edges {
        let [_, rows, columns] = self.size;
        if self.rule.relative() {
            return Edges { steps: Some([vec![u32::MAX; rows * columns], vec![u32::MAX; rows * columns]]) };
        }
        let outside = |at: usize, n: usize| u32::try_from((at + 1).min(n - at)).expect("an axis fits 32 bits");
        let steps = |axis: usize| {
            let length = self.size[1 + axis];
            (0..rows * columns).map(|i| outside([i / columns, i % columns][axis], length)).collect()
        };
        // An axis that the image lacks has no outside.
        let none = || vec![u32::MAX; rows * columns];
        Edges {
            steps: self
                .rule
                .outside
                .then(|| [if self.has(1) { steps(0) } else { none() }, if self.has(2) { steps(1) } else { none() }]),
        }
    }

    /// Whether the image has the kernel's axis.
    fn has(&self, axis: usize) -> bool {
        self.arithmetic.spacing[axis] > 0.0
    }

    /// The steps of slice `z` to voxels that its voxels measure to, along axes 1 and 2.
    fn relative_edges(&self, edges: &mut Edges, z: usize) {
        let (true, Some([along_rows, along_columns])) = (self.rule.relative(), &mut edges.steps) else { return };
        let [_, rows, columns] = self.size;
        let (level, source, rule) = (self.level, self.source, self.rule);
        let (feature, mut cut) = (vec![0; columns], vec![0; columns]);
        let none = vec![u32::MAX; columns];
        for y in 0..rows {
            let cuts = match y {
                0 => self.has(1) && rule.edge(level, source, [z, y], &mut cut),
                _ => rule.between(level, source, 1, [z, y], &mut cut),
            };
            let (before, here) = along_rows.split_at_mut(y * columns);
            let before = if y == 0 { &none } else { &before[(y - 1) * columns..] };
            forward(level, &feature, cuts.then_some(&cut[..]), before, &mut here[..columns]);
        }
        for y in (0..rows).rev() {
            let cuts = match rows - 1 - y {
                0 => self.has(1) && rule.edge(level, source, [z, y], &mut cut),
                _ => rule.between(level, source, 1, [z, y + 1], &mut cut),
            };
            let (here, after) = along_rows.split_at_mut((y + 1) * columns);
            let after = if y + 1 == rows { &none } else { &after[..columns] };
            backward(level, cuts.then_some(&cut[..]), after, &mut here[y * columns..]);
        }
        let mut inside = vec![0; columns];
        for (y, steps) in along_columns.chunks_exact_mut(columns).enumerate() {
            source.differs(level, 2, [z, y], &mut cut);
            let outside = self.has(2) && rule.edge(level, source, [z, y], &mut inside);
            let edge = |x: usize| if outside && inside[x] != 0 { 1 } else { u32::MAX };
            let mut before = edge(0);
            steps[0] = before;
            for x in 1..columns {
                before = if cut[x] != 0 { 1 } else { before.saturating_add(1) };
                steps[x] = before;
            }
            let mut after = edge(columns - 1);
            for x in (0..columns).rev() {
                steps[x] = steps[x].min(after);
                after = if cut[x] != 0 { 1 } else { after.saturating_add(1) };
            }
        }
    }
}

#[inline(always)]
fn run<S: Copy, L: Lane, const B: usize, O: Output>(
    simd: S,
    passes: &mut Passes<L, B>,
    edges: &Edges,
    columns: usize,
    unit: f64,
    finish: Finish,
    out: &mut [O],
) {
    passes.run(
        simd,
        edges,
        |_| true,
        |row, values| {
            let out = &mut out[row * columns..][..columns];
            if finish == Finish::Squared {
                for (out, value) in out.iter_mut().zip(values) {
                    *out = O::of(value.wide() * unit);
                }
            } else {
                for (out, value) in out.iter_mut().zip(values) {
                    *out = O::of((value.wide() * unit).sqrt());
                }
            }
        },
    );
}

/// Copies slices to where they lie, along the axis that is contiguous there.
fn scatter<O: Output>(out: ArrayViewMut3<'_, O>, from: ArrayView3<'_, O>) {
    let mut order = [0, 1, 2];
    order.sort_by_key(|&axis| std::cmp::Reverse(out.strides()[axis].unsigned_abs()));
    let (mut out, from) = (out.permuted_axes(order), from.permuted_axes(order));
    for (mut out, from) in out.outer_iter_mut().zip(from.outer_iter()) {
        for (mut out, from) in out.outer_iter_mut().zip(from.outer_iter()) {
            for (out, &from) in out.iter_mut().zip(&from) {
                *out = from;
            }
        }
    }
}
