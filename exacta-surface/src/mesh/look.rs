//! Looking around a cell: rows of the other surface in order of how near they can be.
//!
//! A query is a cell and one of the centres of its code, a candidate an offset and a code, so what lies between them depends on
//! small whole numbers alone; distances to the adjacent cells are looked up once they are known ([`Memo`]).
//!
//! A candidate first gives an upper bound: the distance to the centres of its elements, three look-ups each. Often that is near enough.
//! Else the candidates wait until all rows were seen, and elements are measured to where the bounds of a cell are below all of that.
//! Nothing is ever left out for the distance between the middles of two cells: only for the distance of a centre to the box that
//! holds all elements of a cell.

use super::field::{BEFORE, Field};
use super::near::{COORDINATES, Centre, Geometry};
use super::patch::{Patch, vector};
use super::shape::MOST;

/// Offsets up to this one are remembered.
const REMEMBERED: i32 = 1;
/// Candidates that were near to the last query of each of so many columns.
const COLUMNS: usize = 64;
/// Candidates that wait at most.
const WAITING: usize = 32;
/// More than rounding adds to a squared distance.
const ROUNDING: f64 = 1e-12;

/// A cell that looks for the other surface, with the centres that still look.
#[derive(Debug)]
pub(crate) struct Query {
    at: [i32; 3],
    code: u8,
    centres: [Centre; MOST],
    /// Squared distance of the nearest element found, for each centre that looks.
    best: [f64; MOST],
    /// Which element each is the centre of.
    slots: [u8; MOST],
    len: usize,
    /// Elements that were found near enough, one bit each.
    pub(crate) near: u8,
    /// Cells that elements may have to be measured to.
    waits: [([i32; 3], u8); WAITING],
    waiting: usize,
}

impl Query {
    pub(crate) fn new() -> Self {
        let (at, code) = ([0; 3], 0);
        let (centres, waits) = ([Centre::default(); MOST], [([0; 3], 0); WAITING]);
        Self { at, code, centres, best: [0.0; MOST], slots: [0; MOST], len: 0, near: 0, waits, waiting: 0 }
    }

    /// Begins with another cell.
    #[inline(always)]
    pub(crate) fn begin(&mut self, at: [i32; 3], code: u8) {
        (self.at, self.code, self.len, self.near, self.waiting) = (at, code, 0, 0, 0);
    }

    /// Adds the centre of an element, which looks for what is nearer than `best`.
    #[inline(always)]
    pub(crate) fn push(&mut self, slot: usize, centre: Centre, best: f64) {
        (self.centres[self.len], self.best[self.len], self.slots[self.len]) = (centre, best, slot as u8);
        self.len += 1;
    }

    /// Elements that still look, and how near something is.
    pub(crate) fn found(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.slots[..self.len].iter().zip(self.best).map(|(&slot, best)| (usize::from(slot), best))
    }

    #[inline(always)]
    fn widest(&self) -> f64 {
        self.best[..self.len].iter().fold(0.0, |most, &b| if b > most { b } else { most })
    }

    /// Lets go of centres that found something at most `enough` away.
    #[inline(always)]
    fn leave(&mut self, enough: f64) {
        let mut i = 0;
        while i < self.len {
            if self.best[i] <= enough {
                self.near |= 1 << self.slots[i];
                self.len -= 1;
                self.centres[i] = self.centres[self.len];
                self.best[i] = self.best[self.len];
                self.slots[i] = self.slots[self.len];
            } else {
                i += 1;
            }
        }
    }
}

/// Cells of the other surface that were near to a query, by the column of the query: the next one there may be its neighbour.
#[derive(Debug)]
pub(crate) struct Guesses([([i32; 3], u8); COLUMNS]);

impl Guesses {
    pub(crate) fn new() -> Self {
        Self([([i32::MIN / 2; 3], 0); COLUMNS])
    }

    #[inline(always)]
    fn of(&mut self, at: [i32; 3]) -> &mut ([i32; 3], u8) {
        &mut self.0[(at[2] >> 1) as usize % COLUMNS]
    }
}

impl<P: Patch> Geometry<'_, P> {
    /// A new memo.
    pub(crate) fn memo(&self) -> Memo {
        let pitch = self.centres.len().next_power_of_two();
        let side = 2 * REMEMBERED as usize + 1;
        let offsets = if self.shape.span[0] == [0, 0] { side * side } else { side * side * side };
        Memo { pitch, codes: self.shape.codes(), squared: vec![0.0; offsets * self.shape.codes() * pitch] }
    }

    /// Looks through rows `rows` of the list for what is nearer to the centres of a query than they know; `false` once no
    /// centre can gain from the rows left. Centres that find something at most `enough` away leave.
    #[inline(always)]
    pub(crate) fn look(
        &self,
        field: &Field<'_>,
        memo: &mut Memo,
        rows: std::ops::Range<usize>,
        query: &mut Query,
        guesses: &mut Guesses,
        enough: f64,
    ) -> bool {
        let more = self.scan(field, memo, rows, query, guesses, enough);
        self.measure(memo, query, enough);
        more
    }

    #[inline(always)]
    fn scan(
        &self,
        field: &Field<'_>,
        memo: &mut Memo,
        rows: std::ops::Range<usize>,
        query: &mut Query,
        guesses: &mut Guesses,
        enough: f64,
    ) -> bool {
        let [z, y, x] = query.at;
        let Some(view) = field.view(query.at) else { return true };
        if rows.start == 0 {
            let own = field.step(&view, [0, 0], 0).filter(|&place| field.window(place, &view) >> BEFORE & 1 == 1);
            if let Some(place) = own {
                let code = field.code(place, &view, 0);
                if code == query.code {
                    query.best = [0.0; MOST];
                    query.leave(enough);
                    return false;
                }
                self.note(query, [0; 3], code, enough);
            }
        }
        let guess = guesses.of(query.at);
        let guessed = [guess.0[0] - z, guess.0[1] - y, guess.0[2] - x];
        if guessed != [0; 3] && query.len > 0 {
            self.note(query, guessed, guess.1, enough);
        }
        if query.len == 0 {
            return false;
        }
        let mut most = query.widest();
        let mut width = BEFORE as usize;
        for (row, &step) in self.rows[rows.clone()].iter().zip(&field.steps[rows]) {
            if row.bound >= most {
                return false;
            }
            // Bounds ascend, so what is too far along a row stays so.
            while width > 0 && row.bound + self.narrow[width] >= most {
                width -= 1;
            }
            let [dz, dy] = row.offset;
            let Some(place) = field.step(&view, row.offset, step) else { continue };
            let window = field.window(place, &view) & (!0 >> (63 - 2 * width)) << (BEFORE as usize - width);
            if window == 0 {
                continue;
            }
            let (mut across, mut open) = ([0.0; MOST], false);
            for i in 0..query.len {
                across[i] = self.across(query.centres[i], row.offset);
                open |= across[i] < query.best[i];
            }
            if !open {
                continue;
            }
            let (mut right, mut left) = (window >> BEFORE, window << (64 - BEFORE));
            while right | left != 0 {
                let (r, l) = (right.trailing_zeros() as i32, left.leading_zeros() as i32 + 1);
                let dx = if r <= l {
                    right &= right.wrapping_sub(1);
                    r
                } else {
                    left &= !(1 << (64 - l));
                    -l
                };
                // The cells to come are as far to either side at least.
                let beside = &self.beside[dx.unsigned_abs() as usize];
                let gain =
                    |i: usize| across[i] + beside[usize::from(query.centres[i].at[2]) % COORDINATES] < query.best[i];
                if !(0..query.len).any(gain) {
                    break;
                }
                let offset = [dz, dy, dx];
                if offset == guessed || offset == [0; 3] {
                    continue;
                }
                let looking = query.len;
                if query.waiting == WAITING {
                    self.measure(memo, query, enough);
                    most = query.widest();
                }
                let code = field.code(place, &view, dx);
                if self.note(query, offset, code, enough) {
                    *guess = ([z + dz, y + dy, x + dx], code);
                    most = query.widest();
                }
                if query.len < looking {
                    if query.len == 0 {
                        return false;
                    }
                    most = query.widest();
                    for i in 0..query.len {
                        across[i] = self.across(query.centres[i], row.offset);
                    }
                }
            }
        }
        true
    }

    /// Squared gap between a centre and a row.
    #[inline(always)]
    fn across(&self, centre: Centre, [dz, dy]: [i32; 2]) -> f64 {
        let [z, y, _] = centre.at;
        self.gap(0, dz, usize::from(z), self.whole[0]) + self.gap(1, dy, usize::from(y), self.whole[1])
    }

    /// Bounds the distances of the centres by those to the centres of a cell's elements; whether any bound is less than what was known.
    /// The cell waits if it can be nearer still.
    #[inline(always)]
    fn note(&self, query: &mut Query, offset: [i32; 3], code: u8, enough: f64) -> bool {
        let [dz, dy, dx] = offset;
        let most = BEFORE as u32;
        // Of what was guessed, nothing is known.
        if dz.unsigned_abs() > most || dy.unsigned_abs() > most || dx.unsigned_abs() > most {
            return false;
        }
        let (unit, extent) = (self.shape.per_voxel(), self.extents[usize::from(code)]);
        let start = |n: i32| (n + BEFORE) * unit + self.aside;
        let (z, y, x) = (start(dz), start(dy), start(dx));
        let others = &self.queries[usize::from(code)][..usize::from(self.lens[usize::from(code)])];
        let [along_z, along_y, along_x] = &self.along;
        let (mut changed, mut near, mut waits) = (false, false, false);
        for i in 0..query.len {
            let (centre, best) = (query.centres[i], query.best[i]);
            // Where it may be enough to be near, most are.
            if enough < 0.0 && self.bound(centre, offset, extent) >= best {
                continue;
            }
            waits = true;
            let [from_z, from_y, from_x] = centre.at;
            let (z, y, x) = (z - i32::from(from_z), y - i32::from(from_y), x - i32::from(from_x));
            let mut least = f64::INFINITY;
            for other in others {
                let [to_z, to_y, to_x] = other.at;
                let (a, b) = (along_z[(z + i32::from(to_z)) as usize], along_y[(y + i32::from(to_y)) as usize]);
                let squared = (a + b) + along_x[(x + i32::from(to_x)) as usize];
                least = if squared < least { squared } else { least };
            }
            least *= 1.0 + ROUNDING;
            if least < best {
                (query.best[i], changed) = (least, true);
                near |= least <= enough;
            }
        }
        if near {
            query.leave(enough);
        }
        if waits && query.len > 0 {
            query.waits[query.waiting] = (offset, code);
            query.waiting += 1;
        }
        changed
    }

    /// The least squared distance of a centre to what lies within an extent of a cell.
    #[inline(always)]
    fn bound(&self, centre: Centre, [dz, dy, dx]: [i32; 3], extent: [u8; 3]) -> f64 {
        let [z, y, x] = centre.at;
        let across = self.gap(0, dz, usize::from(z), extent[0]) + self.gap(1, dy, usize::from(y), extent[1]);
        across + self.gap(2, dx, usize::from(x), extent[2])
    }

    /// Measures to the elements of the cells that wait.
    #[inline(always)]
    fn measure(&self, memo: &mut Memo, query: &mut Query, enough: f64) {
        for waiting in 0..std::mem::take(&mut query.waiting) {
            let (offset, code) = query.waits[waiting];
            let extent = self.extents[usize::from(code)];
            let [dz, dy, dx] = offset;
            let adjacent = dz.abs() <= REMEMBERED && dy.abs() <= REMEMBERED && dx.abs() <= REMEMBERED;
            let mut changed = false;
            for i in 0..query.len {
                let best = query.best[i];
                if self.bound(query.centres[i], offset, extent) >= best {
                    continue;
                }
                let centre = usize::from(query.centres[i].index);
                let point = || self.centres[centre] - vector(offset) * f64::from(self.shape.per_voxel());
                let squared = if adjacent {
                    let known = &mut memo.squared[memo_index(memo.codes, memo.pitch, offset, code) + centre];
                    if known.to_bits() == 0 {
                        let squared = self.nearest(code, &point(), f64::INFINITY);
                        // Zero is marked by its sign, so that it is not taken for unknown.
                        *known = if squared == 0.0 { -0.0 } else { squared };
                    }
                    known.abs()
                } else {
                    self.nearest(code, &point(), best)
                };
                if squared < best {
                    (query.best[i], changed) = (squared, true);
                }
            }
            if changed {
                query.leave(enough);
            }
        }
    }
}

/// Squared distances of centres to the elements of adjacent cells, as they were found; 0 where they were not.
#[derive(Debug)]
pub(crate) struct Memo {
    pitch: usize,
    codes: usize,
    squared: Vec<f64>,
}

/// Where the centres' distances to a code at an offset lie.
#[inline(always)]
fn memo_index(codes: usize, pitch: usize, [dz, dy, dx]: [i32; 3], code: u8) -> usize {
    let side = 2 * REMEMBERED + 1;
    // Without slices there is none before the first.
    let slice = if codes == 16 { 0 } else { dz + REMEMBERED };
    let offset = (slice * side + dy + REMEMBERED) * side + dx + REMEMBERED;
    (offset as usize * codes + usize::from(code)) * pitch
}
