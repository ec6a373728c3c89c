//! Indices of the nearest feature: the same separable minimum, every line by its lower envelope.

use std::sync::Mutex;

use exacta_core::Cpu;
use exacta_core::ndarray::{Array3, ArrayViewMut4, Axis};
use exacta_core::separable::Envelope;

use crate::counters::{Counter, Counters};
use crate::rule::Rule;
use crate::source::Source;

/// Writes indices along the axes of the image; `out` has one entry of its first axis for each, then the kernel's axes.
pub(crate) fn nearest(
    cpu: &Cpu,
    source: &dyn Source,
    rule: Rule,
    spacing: [f64; 3],
    axes: &[Option<usize>; 3],
    mut out: ArrayViewMut4<'_, i64>,
) {
    let (_, slices, rows, columns) = out.dim();
    let counters = Counters::new(cpu, [slices, rows, columns], source, rule);
    let chunk = slices.div_ceil(4 * cpu.threads.count());
    let parts: Vec<_> = out.axis_chunks_iter_mut(Axis(1), chunk).map(Mutex::new).collect();
    cpu.threads.map(parts.len(), |i| {
        let mut part = parts[i].lock().expect("one task a part");
        let part = part.view_mut();
        match &counters {
            Counters::U8(counters) => some_slices(counters, spacing, axes, i * chunk, part),
            Counters::U16(counters) => some_slices(counters, spacing, axes, i * chunk, part),
            Counters::U32(counters) => some_slices(counters, spacing, axes, i * chunk, part),
        }
    });
}

/// `(spacing * steps)^2`, as the distance has it.
fn square(spacing: f64, steps: u32) -> f64 {
    let way = spacing * f64::from(steps);
    way * way
}

fn some_slices<C: Counter>(
    counters: &Array3<C>,
    spacing: [f64; 3],
    axes: &[Option<usize>; 3],
    first: usize,
    mut out: ArrayViewMut4<'_, i64>,
) {
    let (_, rows, columns) = counters.dim();
    let squares =
        |axis: usize, n: usize| (0..u32::try_from(n).expect("fits")).map(|d| square(spacing[axis], d)).collect();
    let mut along_rows = Envelope::new(spacing[1], squares(1, rows));
    let mut along_columns = Envelope::new(spacing[2], squares(2, columns));
    let (mut line, mut middle) = (vec![0.0; rows], vec![f64::INFINITY; rows * columns]);
    let mut row_of = vec![0; rows * columns];
    let whole = |n: usize| i64::try_from(n).expect("an axis fits 32 bits");
    for k in 0..out.dim().1 {
        let z = first + k;
        for x in 0..columns {
            for (y, value) in line.iter_mut().enumerate() {
                let steps = counters[[z, y, x]];
                *value = if steps == C::NONE { f64::INFINITY } else { square(spacing[0], steps.steps()) };
            }
            let (middle, row_of) = (&mut middle, &mut row_of);
            let any = rows > 1
                && along_rows.line(&line, |y, value, site| {
                    middle[y * columns + x] = value;
                    row_of[y * columns + x] = site;
                });
            if !any {
                (0..rows).for_each(|y| middle[y * columns + x] = if rows == 1 { line[y] } else { f64::INFINITY });
            }
        }
        for y in 0..rows {
            let row = &middle[y * columns..][..columns];
            along_columns.line(row, |x, _, column| {
                let row = row_of[y * columns + column];
                let steps = counters[[z, row, column]].steps() as usize;
                // Of two as near, the first.
                let before = z.checked_sub(steps).filter(|&slice| counters[[slice, row, column]] == C::ZERO);
                let found = [before.unwrap_or(z + steps), row, column];
                for (index, axis) in found.into_iter().zip(axes) {
                    if let Some(axis) = *axis {
                        out[[axis, k, y, x]] = whole(index);
                    }
                }
            });
        }
    }
}
