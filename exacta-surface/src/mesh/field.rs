//! The cells of one surface: in raster order of the image's axes, as bits to look around in, and in bricks to look far.

use exacta_core::Grid;

use crate::cells::Cells;
use crate::words::ones;

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
        let held: [bool; 256] = std::array::from_fn(|code| holds(code as u8));
        let sorted = grid.order() == [0, 1, 2];
        let [slices, rows, columns] = grid.size();
        let words = grid.words() as u32;
        assert!([slices, rows, columns].iter().all(|&n| i32::try_from(n).is_ok()), "an axis fits 31 bits");
        let (mut out, mut kept) = (Self::default(), Vec::new());
        out.at.reserve(cells.codes.len());
        out.codes.reserve(cells.codes.len());
        let mut codes = cells.codes.iter();
        for (word, bits) in cells.words.iter() {
            let row = word / words;
            let (slice, row, first) = (row / rows as u32, row % rows as u32, word % words * 64);
            for (bit, &code) in ones(bits).zip(codes.by_ref()) {
                if !held[usize::from(code)] {
                    continue;
                }
                let at = [slice as i32, row as i32, (first + bit) as i32];
                if sorted {
                    out.at.push(at);
                    out.codes.push(code);
                } else {
                    kept.push((grid.by_axis(at), code));
                }
            }
        }
        if !sorted {
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
    /// How far each row that is looked at lies in memory.
    pub(crate) steps: Vec<isize>,
}

/// Where a cell is in a field, which it may lie beside.
#[derive(Debug)]
pub(crate) struct View {
    slice: i32,
    row: i32,
    /// The word that the window of the cell's own row begins in, if there were such a row, and the bit.
    word: isize,
    shift: u32,
}

impl<'a> Field<'a> {
    /// A field to look at in rows of these offsets.
    pub(crate) fn new(cells: &'a Sorted, offsets: impl Iterator<Item = [i32; 2]>) -> Self {
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
        for at in &cells.at {
            let [slice, row, column] = [0, 1, 2].map(|k| (at[k] - low[k]) as usize);
            bits[(slice * rows + row) * pitch + 1 + column / 64] |= 1 << (column % 64);
        }
        let mut passed = 0;
        let count = |word: &u64| {
            passed += word.count_ones();
            passed - word.count_ones()
        };
        let before = bits.iter().map(count).collect();
        let far = |slice: i32, row: i32| (slice as isize * size[1] as isize + row as isize) * pitch as isize;
        let steps = offsets.map(|[slice, row]| far(slice, row)).collect();
        Self { low, size, pitch, bits, before, cells, steps }
    }

    /// The field as seen from a cell, if anything can be in its windows.
    #[inline(always)]
    pub(crate) fn view(&self, at: [i32; 3]) -> Option<View> {
        let [slice, row, column] = [at[0] - self.low[0], at[1] - self.low[1], at[2] - self.low[2]];
        let start = column + 64 - BEFORE;
        // Further out there is nothing but zeros.
        (start > 0 && start < 64 + self.size[2]).then(|| {
            let own = (slice as isize * self.size[1] as isize + row as isize) * self.pitch as isize;
            View { slice, row, word: own + start as isize / 64, shift: start as u32 % 64 }
        })
    }

    /// Index of the word that the window of a row begins in, if the row is within the box.
    #[inline(always)]
    pub(crate) fn step(&self, view: &View, [slice, row]: [i32; 2], step: isize) -> Option<usize> {
        let within =
            ((view.slice + slice) as u32) < self.size[0] as u32 && ((view.row + row) as u32) < self.size[1] as u32;
        within.then(|| (view.word + step) as usize)
    }

    /// Bit `BEFORE + i` of the window is the cell `i` columns on.
    #[inline(always)]
    pub(crate) fn window(&self, place: usize, view: &View) -> u64 {
        self.bits[place] >> view.shift | self.bits[place + 1] << 1 << (63 - view.shift)
    }

    /// Code of the cell `columns` on, which must be there.
    #[inline(always)]
    pub(crate) fn code(&self, place: usize, view: &View, columns: i32) -> u8 {
        let bit = (view.shift as i32 + BEFORE + columns) as usize;
        let (word, bit) = (place + bit / 64, bit % 64);
        let before = self.before[word] + (self.bits[word] & !(!0 << bit)).count_ones();
        self.cells.codes[before as usize]
    }
}
