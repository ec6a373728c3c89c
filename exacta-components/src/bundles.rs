//! Rows in bundles, whose runs are the nodes that are linked.
//!
//! Where diagonal neighbours count, voxels of neighbouring rows that lie in the same column or in columns side by side are
//! neighbours, so two rows (18 neighbours), or two by two (26), form one *bundle*: a run of the OR of its rows is connected
//! whatever row its voxels lie in. With 6 neighbours a bundle is a row. Bundles of four rows have a quarter of the rows to link
//! and, on noise, a fifth of the runs; this is the 2x2x2 block of Allegretti et al. without its third axis, which words give.

use exacta_core::{Bits, Connectivity, Grid};

/// How rows make bundles. An image of one slice is walked as slices of one row, which is the same memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) slices: usize,
    pub(crate) rows: usize,
    pub(crate) words: usize,
    /// Slices and rows of a bundle: 1 or 2.
    pub(crate) tall: usize,
    pub(crate) wide: usize,
    /// 1, 2, or 3; in an image of one slice every diagonal counts as 3.
    connectivity: usize,
}

impl Layout {
    pub(crate) fn new(grid: &Grid, connectivity: Connectivity) -> Self {
        let [slices, rows, _] = grid.size();
        let (slices, rows) = if slices == 1 { (rows, 1) } else { (slices, rows) };
        let connectivity = match connectivity.get() {
            2 if rows == 1 => 3,
            other => other,
        };
        let tall = if connectivity == 3 { 2 } else { 1 };
        let wide = if connectivity > 1 && rows > 1 { 2 } else { 1 };
        Self { slices, rows, words: grid.words(), tall, wide, connectivity }
    }

    /// Bundles along the slices.
    pub(crate) fn high(&self) -> usize {
        self.slices.div_ceil(self.tall)
    }

    /// Bundles along the rows.
    pub(crate) fn across(&self) -> usize {
        (self.rows + self.wide - 1) >> (self.wide - 1)
    }

    /// Rows of a bundle.
    pub(crate) fn bundle(&self) -> usize {
        self.tall * self.wide
    }

    /// The bundle of a row of a slice, counted through the whole image. Shifts, as this is asked for each row.
    #[inline(always)]
    pub(crate) fn bundle_of(&self, slice: usize, row: usize) -> usize {
        (slice >> (self.tall - 1)) * self.across() + (row >> (self.wide - 1))
    }

    /// Slice and row of row `k` of a bundle.
    #[inline(always)]
    pub(crate) fn place_of(&self, high: usize, across: usize, k: usize) -> [usize; 2] {
        [high * self.tall + (k >> (self.wide - 1)), across * self.wide + (k & (self.wide - 1))]
    }

    /// The rows of a bundle, counted through the whole image: slice by slice; one outside the image is None.
    pub(crate) fn rows_of<const N: usize>(&self, high: usize, across: usize) -> [Option<usize>; N] {
        std::array::from_fn(|k| {
            let [slice, row] = self.place_of(high, across, k);
            (slice < self.slices && row < self.rows).then_some(slice * self.rows + row)
        })
    }
}

/// Rows of a mask, from some row on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) words: &'a [u64],
    pub(crate) first_row: usize,
}

impl<'a> Part<'a> {
    /// All rows of a mask.
    pub(crate) fn whole(bits: &'a Bits) -> Self {
        Self { words: bits.words(), first_row: 0 }
    }

    /// The words of a row, counted through the whole image.
    #[inline(always)]
    pub(crate) fn row(self, row: usize, layout: &Layout) -> &'a [u64] {
        &self.words[(row - self.first_row) * layout.words..][..layout.words]
    }
}

/// One bundle: the words of its rows, of their OR, and the number of its first node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bundle<'a, const N: usize> {
    pub(crate) rows: [&'a [u64]; N],
    pub(crate) joined: &'a [u64],
    pub(crate) first: u32,
}

/// The words of the rows of a bundle; `zeros` stands for one outside the image.
#[inline(always)]
pub(crate) fn rows<'a, const N: usize>(
    part: Part<'a>,
    layout: &Layout,
    zeros: &'a [u64],
    high: usize,
    across: usize,
) -> [&'a [u64]; N] {
    layout.rows_of::<N>(high, across).map(|row| row.map_or(zeros, |row| part.row(row, layout)))
}

/// Writes the OR of the rows of each bundle of a layer.
#[inline(always)]
pub(crate) fn join_layer(part: Part<'_>, layout: &Layout, high: usize, out: &mut [u64]) {
    let (words, of_slice) = (layout.words, layout.rows * layout.words);
    let slices = high * layout.tall..((high + 1) * layout.tall).min(layout.slices);
    for (k, slice) in slices.enumerate() {
        let first = slice * of_slice - part.first_row * words;
        let of_bundles = part.words[first..][..of_slice].chunks(layout.wide * words);
        for (out, rows) in out.chunks_exact_mut(words).zip(of_bundles) {
            let (first, second) = rows.split_at(words);
            match k {
                0 => out.copy_from_slice(first),
                _ => out.iter_mut().zip(first).for_each(|(out, word)| *out |= word),
            }
            out.iter_mut().zip(second).for_each(|(out, word)| *out |= word);
        }
    }
}

/// The first bit of each run, given the last bit of the word before.
#[inline(always)]
pub(crate) fn starts(word: u64, carry: u64) -> u64 {
    word & !(word << 1 | carry)
}

/// The lowest run of a word that is not 0.
#[inline(always)]
pub(crate) fn lowest_run(word: u64) -> u64 {
    let low = word & word.wrapping_neg();
    word & !word.wrapping_add(low)
}

/// Links the nodes of a bundle with those of one before it, `(high, across)` away: `(0, -1)`, `(-1, -1)`, `(-1, 0)` or `(-1, 1)`.
#[inline(always)]
pub(crate) fn connect<const N: usize>(
    layout: &Layout,
    before: &Bundle<'_, N>,
    here: &Bundle<'_, N>,
    away: (isize, isize),
    mut unite: impl FnMut(u32, u32),
) {
    let (a, b) = (before.rows, here.rows);
    let last = N - 1;
    match (layout.connectivity, away) {
        (1, (0, _) | (_, 0)) => {
            link(before, here, |i| a[0][i], |i| b[0][i], (true, false), &mut unite);
        }
        (1, _) => {}
        (2, (0, _)) => link(before, here, |i| a[last][i], |i| b[0][i], (true, true), &mut unite),
        (2, (_, 0)) => {
            // Every pair of rows shares columns; only rows side by side share neighbouring ones.
            let (f, g) = (|i: usize| a[0][i] | a[last][i], |i: usize| b[0][i] | b[last][i]);
            link(before, here, f, g, (true, false), &mut unite);
            for k in 0..N {
                link(before, here, |i| a[k][i], |i| b[k][i], (false, true), &mut unite);
            }
        }
        (2, (_, -1)) => link(before, here, |i| a[last][i], |i| b[0][i], (true, false), &mut unite),
        (2, _) => link(before, here, |i| a[0][i], |i| b[last][i], (true, false), &mut unite),
        (_, (0, _)) => {
            let (f, g) = (|i: usize| a[1][i] | a[last][i], |i: usize| b[0][i] | b[N / 2][i]);
            link(before, here, f, g, (true, true), &mut unite);
        }
        (_, (_, 0)) => {
            let (f, g) = (|i: usize| a[N / 2][i] | a[last][i], |i: usize| b[0][i] | b[N / 2 - 1][i]);
            link(before, here, f, g, (true, true), &mut unite);
        }
        (_, (_, -1)) => link(before, here, |i| a[last][i], |i| b[0][i], (true, true), &mut unite),
        _ => link(before, here, |i| a[N / 2][i], |i| b[N / 2 - 1][i], (true, true), &mut unite),
    }
}

/// Unites the nodes of voxels of `f` with those of voxels of `g` in the same column (`straight`), in the columns beside it
/// (`diagonal`). A pair that follows from another of the same two bundles is left out. `diagonal` without `straight` counts on
/// pairs of the same column having been united before.
#[inline(always)]
fn link<const N: usize>(
    before: &Bundle<'_, N>,
    here: &Bundle<'_, N>,
    f: impl Fn(usize) -> u64,
    g: impl Fn(usize) -> u64,
    (straight, diagonal): (bool, bool),
    unite: &mut impl FnMut(u32, u32),
) {
    /// The node at bit `x`, after `nodes` that started in words before.
    #[inline(always)]
    fn at(nodes: u32, starts: u64, x: u32) -> u32 {
        nodes + (starts & !0 >> (63 - x)).count_ones() - 1
    }
    /// The node at bit `x - 1`, which may be in the word before.
    #[inline(always)]
    fn left_of(nodes: u32, starts: u64, x: u32) -> u32 {
        nodes + (starts & ((1 << x) - 1)).count_ones() - 1
    }

    let (mut nodes_a, mut nodes_b) = (before.first, here.first);
    // The last bits of the word before.
    let (mut carry_a, mut carry_b, mut carry_f, mut carry_g) = (0, 0, 0, 0);
    for (i, (&a, &b)) in before.joined.iter().zip(here.joined).enumerate() {
        if a == 0 && b == 0 {
            (carry_a, carry_b, carry_f, carry_g) = (0, 0, 0, 0);
            continue;
        }
        let (starts_a, starts_b) = (starts(a, carry_a), starts(b, carry_b));
        let (f, g) = (f(i), g(i));
        let (f_left, g_left) = (f << 1 | carry_f, g << 1 | carry_g);
        if straight {
            let mut left = f & g & !(f_left & g_left);
            while left != 0 {
                let x = left.trailing_zeros();
                left &= left - 1;
                unite(at(nodes_a, starts_a, x), at(nodes_b, starts_b, x));
            }
        }
        if diagonal {
            let mut left = f & g_left & !g & !f_left;
            while left != 0 {
                let x = left.trailing_zeros();
                left &= left - 1;
                unite(at(nodes_a, starts_a, x), left_of(nodes_b, starts_b, x));
            }
            let mut left = g & f_left & !f & !g_left;
            while left != 0 {
                let x = left.trailing_zeros();
                left &= left - 1;
                unite(left_of(nodes_a, starts_a, x), at(nodes_b, starts_b, x));
            }
        }
        nodes_a += starts_a.count_ones();
        nodes_b += starts_b.count_ones();
        (carry_a, carry_b, carry_f, carry_g) = (a >> 63, b >> 63, f >> 63, g >> 63);
    }
}
