//! Arrays `(B, C, *spatial)` read and written in pieces of their voxels, whatever their strides.

use exacta_core::ndarray::{ArrayBase, ArrayView1, ArrayViewD, Axis, Ix6, IxDyn, RawData, Slice};
use exacta_core::{Error, Result};

use crate::dispatch::dispatch;

/// An array as batch, channel and four spatial axes, neighbouring axes merged where memory allows.
///
/// Voxels are numbered in C order of the spatial axes as the caller has them, so no layout changes a sum.
pub(crate) type View<'a, T> = exacta_core::ndarray::ArrayView<'a, T, Ix6>;

/// Gives an array of any rank the six axes; without channels, an axis of length 1 stands for them.
pub(crate) fn six_axes<S: RawData>(mut array: ArrayBase<S, IxDyn>, channels: bool) -> Result<ArrayBase<S, Ix6>> {
    if !channels {
        array = array.insert_axis(Axis(1));
    }
    let last = array.ndim() - 1;
    let mut into = last;
    for take in (2..last).rev() {
        if !array.merge_axes(Axis(take), Axis(into)) {
            into = take;
        }
    }
    for axis in (2..last).rev() {
        if array.len_of(Axis(axis)) == 1 && array.ndim() > 3 {
            array = array.index_axis_move(Axis(axis), 0);
        }
    }
    while array.ndim() < 6 {
        array = array.insert_axis(Axis(2));
    }
    let axes = array.ndim() - 2;
    array.into_dimensionality().map_err(|_| Error::TooLarge { what: "number of spatial axes", value: axes, limit: 4 })
}

/// Six axes of a borrowed array.
pub(crate) fn view<'a, T>(array: &ArrayViewD<'a, T>, channels: bool) -> Result<View<'a, T>> {
    six_axes(array.clone(), channels)
}

/// Some consecutive voxels of a channel.
pub(crate) enum Piece<'a, T> {
    /// They are neighbours in memory.
    Slice(&'a [T]),
    /// They lie apart.
    Line(ArrayView1<'a, T>),
}

/// Calls `f` with consecutive pieces that cover voxels `start..start + len` of a channel.
pub(crate) fn pieces<T>(
    view: &View<'_, T>,
    [case, channel]: [usize; 2],
    start: usize,
    len: usize,
    mut f: impl FnMut(usize, Piece<'_, T>),
) {
    let (_, channels, n0, n1, n2, n3) = view.dim();
    if let Some(flat) = view.to_slice() {
        let from = (case * channels + channel) * (n0 * n1 * n2 * n3) + start;
        return f(0, Piece::Slice(&flat[from..from + len]));
    }
    let image = view.index_axis(Axis(0), case).index_axis_move(Axis(0), channel);
    let mut done = 0;
    while done < len {
        let at = start + done;
        let (row, x) = (at / n3, at % n3);
        let piece = (n3 - x).min(len - done);
        let mut line = image
            .index_axis(Axis(0), row / n2 / n1)
            .index_axis_move(Axis(0), row / n2 % n1)
            .index_axis_move(Axis(0), row % n2);
        line.slice_axis_inplace(Axis(0), Slice::from(x..x + piece));
        match line.to_slice() {
            Some(slice) => f(done, Piece::Slice(slice)),
            None => f(done, Piece::Line(line)),
        }
        done += piece;
    }
}

/// Writes `convert` of voxels `start..start + out.len()` of a channel.
pub(crate) fn read<T: Copy, F>(
    level: exacta_core::Level,
    view: &View<'_, T>,
    at: [usize; 2],
    start: usize,
    out: &mut [F],
    convert: impl Fn(T) -> F + Copy,
) {
    pieces(view, at, start, out.len(), |done, piece| match piece {
        Piece::Slice(slice) => {
            let out = &mut out[done..done + slice.len()];
            dispatch!(level, simd => convert_all(simd, slice, convert, out));
        }
        Piece::Line(line) => {
            for (out, &value) in out[done..].iter_mut().zip(line) {
                *out = convert(value);
            }
        }
    });
}

/// A plain loop, compiled for each instruction set.
#[inline(always)]
fn convert_all<S, T: Copy, F>(_: S, values: &[T], convert: impl Fn(T) -> F, out: &mut [F]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = convert(value);
    }
}
