//! The cells of one surface: in raster order of the image's axes, as bits to look around in, and in bricks to look far.

use exacta_core::Grid;

use crate::cells::Cells;

/// Cells of one surface, whatever the memory order of the image: in raster order of its axes, taken as three.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// Corner of each cell.
    pub(crate) at: Vec<[i32; 3]>,
    /// Code of each cell.
    pub(crate) codes: Vec<u8>,
}

impl Sorted {
    /// The cells that `holds` an element.
    pub(crate) fn new(grid: &Grid, cells: &Cells<'_>, holds: impl Fn(u8) -> bool) -> Self {
        let mut out = Self::default();
        let kept = cells.iter(grid).filter(|&(_, code)| holds(code));
        if grid.order() == [0, 1, 2] {
            out.at.reserve(cells.codes.len());
            out.codes.reserve(cells.codes.len());
            for (at, code) in kept {
                out.at.push(at.map(whole));
                out.codes.push(code);
            }
        } else {
            let mut kept: Vec<([i32; 3], u8)> = kept.map(|(at, code)| (at.map(whole), code)).collect();
            kept.sort_unstable();
            (out.at, out.codes) = kept.into_iter().unzip();
        }
        out
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        self.codes.len()
    }
}

fn whole(n: u32) -> i32 {
    i32::try_from(n).expect("an axis fits 31 bits")
}

/// How far [`Field::window`] sees before its middle.
pub(crate) const BEFORE: i32 = 31;

/// One bit a cell within the box of a surface, and the codes behind the bits.
#[derive(Debug)]
pub(crate) struct Field<'a> {
    low: [i32; 3],
    size: [i32; 3],
    /// Words of a row; one of zeros on each side of it.
    pitch: usize,
    bits: Vec<u64>,
    /// Number of cells before each word.
    before: Vec<u32>,
    cells: &'a Sorted,
}

impl<'a> Field<'a> {
    pub(crate) fn new(cells: &'a Sorted) -> Self {
        let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
        for at in &cells.at {
            for k in 0..3 {
                low[k] = low[k].min(at[k]);
                high[k] = high[k].max(at[k]);
            }
        }
        let size: [i32; 3] = std::array::from_fn(|k| high[k] - low[k] + 1);
        let [slices, rows, columns] = size.map(|n| usize::try_from(n).expect("a surface has a cell"));
        let pitch = columns.div_ceil(64) + 2;
        let mut bits = vec![0u64; slices * rows * pitch];
        let mut field = Self { low, size, pitch, bits: Vec::new(), before: Vec::new(), cells };
        for at in &cells.at {
            let x = (at[2] - low[2]) as usize + 64;
            let row = field.row(at[0], at[1]).expect("within the box");
            bits[row + x / 64] |= 1 << (x % 64);
        }
        let mut before = 0;
        field.before = bits
            .iter()
            .map(|word| {
                before += word.count_ones();
                before - word.count_ones()
            })
            .collect();
        field.bits = bits;
        field
    }

    /// Where a row starts among the words, if it is within the box.
    #[inline(always)]
    pub(crate) fn row(&self, slice: i32, row: i32) -> Option<usize> {
        let (slice, row) = (slice - self.low[0], row - self.low[1]);
        let within = (0..self.size[0]).contains(&slice) && (0..self.size[1]).contains(&row);
        within.then(|| (slice as usize * self.size[1] as usize + row as usize) * self.pitch)
    }

    /// Bit `i` of the window is the cell at column `x - BEFORE + i` of a row.
    #[inline(always)]
    pub(crate) fn window(&self, row: usize, x: i32) -> u64 {
        let start = x - self.low[2] + 64 - BEFORE;
        // Further out there is nothing but zeros.
        if start <= 0 || start >= 64 + self.size[2] {
            return 0;
        }
        let (word, shift) = (row + start as usize / 64, start as usize % 64);
        let low = self.bits[word] >> shift;
        if shift == 0 { low } else { low | self.bits[word + 1] << (64 - shift) }
    }

    /// Code of the cell at column `x` of a row, which must have one.
    #[inline(always)]
    pub(crate) fn code(&self, row: usize, x: i32) -> u8 {
        let x = (x - self.low[2] + 64) as usize;
        let (word, bit) = (row + x / 64, x % 64);
        let before = self.before[word] + (self.bits[word] & !(!0 << bit)).count_ones();
        self.cells.codes[before as usize]
    }
}
