//! What elements carry beside their place: nothing for points, a weight for patches.

use std::borrow::Cow;
use std::fmt::Debug;

use exacta_core::Grid;
use exacta_core::quantile::compensated;
use exacta_core::stages::Elements;

use crate::carried::{Carried, Codes};
use crate::cells::CornerCells;
use crate::codes::Places;
use crate::dense::AxisBox;
use crate::surfels;
use crate::words::{BoundaryVoxels, Words};

/// The distinct weights of elements, ascending, and which of them each code has.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    pub(crate) values: Vec<f64>,
    of_code: Vec<u8>,
}

impl Weights {
    /// Every element weighs 1.
    fn equal() -> Self {
        Self { values: vec![1.0], of_code: Vec::new() }
    }

    /// The weight of each code.
    fn by_code(weights: &[f64]) -> Self {
        let mut values = weights.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let place = |weight: &f64| values.partition_point(|value| value < weight);
        let of_code = weights.iter().map(|weight| u8::try_from(place(weight)).expect("at most 256 codes")).collect();
        Self { values, of_code }
    }

    /// Weight in all of so many elements of each weight, smallest weight first.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(crate) fn sum(&self, counts: &[u64]) -> f64 {
        compensated(self.values.iter().zip(counts).map(|(weight, &count)| weight * count as f64))
    }
}

/// What an element carries: found with it, sorted with it, and all that statistics need.
pub(crate) trait Tag: Copy + Ord + Debug + Send + Sync + 'static {
    /// What the elements are.
    const ELEMENTS: Elements;
    /// The tag of the first place.
    const FIRST: Self;

    /// The place of the weight of an element, given what was found with it.
    fn class(self, weights: &Weights) -> Self;

    /// The tag of a place, and the place of such a tag.
    fn from_place(place: usize) -> Self;
    fn place(self) -> usize;

    /// Counts the elements `some` of those at `bits` by the place of their weight; `tags` are of all bits, as found.
    fn count(weights: &Weights, bits: u64, some: u64, tags: &[Self], counts: &mut [u64]);

    /// Counts the elements at `bits` by their tags, which are places of weights, each at its position.
    fn gather(bits: u64, tags: &[Self; 64], counts: &mut [u64]);
}

impl Tag for () {
    const ELEMENTS: Elements = Elements::Points;
    const FIRST: Self = ();

    fn class(self, _: &Weights) -> Self {}

    fn from_place(_: usize) -> Self {}

    fn place(self) -> usize {
        0
    }

    #[inline(always)]
    fn count(_: &Weights, _: u64, some: u64, _: &[Self], counts: &mut [u64]) {
        counts[0] += u64::from(some.count_ones());
    }

    #[inline(always)]
    fn gather(bits: u64, _: &[Self; 64], counts: &mut [u64]) {
        counts[0] += u64::from(bits.count_ones());
    }
}

impl Tag for u8 {
    const ELEMENTS: Elements = Elements::Patches;
    const FIRST: Self = 0;

    fn class(self, weights: &Weights) -> Self {
        weights.of_code[usize::from(self)]
    }

    fn from_place(place: usize) -> Self {
        u8::try_from(place).expect("at most 256 weights")
    }

    fn place(self) -> usize {
        usize::from(self)
    }

    #[inline(always)]
    fn count(weights: &Weights, bits: u64, mut some: u64, tags: &[Self], counts: &mut [u64]) {
        while some != 0 {
            let lowest = some & some.wrapping_neg();
            let tag = tags[(bits & (lowest - 1)).count_ones() as usize];
            counts[usize::from(weights.of_code[usize::from(tag)])] += 1;
            some ^= lowest;
        }
    }

    #[inline(always)]
    fn gather(bits: u64, tags: &[Self; 64], counts: &mut [u64]) {
        if bits == !0 {
            tags.iter().for_each(|&tag| counts[usize::from(tag)] += 1);
        } else {
            crate::words::ones(bits).for_each(|bit| counts[usize::from(tags[bit as usize])] += 1);
        }
    }
}

/// The elements of one surface: words of set bits, and a tag for each bit in order, unless those have to be found first.
#[derive(Debug, Clone)]
pub(crate) struct Surface<'a, T: Tag> {
    pub(crate) words: Words<'a>,
    pub(crate) tags: Option<Cow<'a, [T]>>,
}

impl<T: Tag> Surface<'_, T> {
    /// The tags of all elements.
    pub(crate) fn tags(&self) -> &[T] {
        self.tags.as_deref().expect("listed before they are asked for")
    }

    /// Number of elements of each weight.
    pub(crate) fn counts(&self, weights: &Weights) -> Vec<u64> {
        let mut counts = vec![0; weights.values.len()];
        self.tags().iter().for_each(|tag| counts[tag.class(weights).place()] += 1);
        counts
    }

    /// Bytes that this surface holds itself.
    pub(crate) fn owned_bytes(&self) -> usize {
        let tags = if let Some(Cow::Owned(tags)) = &self.tags { size_of::<T>() * tags.len() } else { 0 };
        self.words.owned_bytes() + tags
    }
}

/// The surfaces of a batch, whose distances can be found.
pub(crate) trait SurfaceSet: Sync {
    type Tag: Tag;

    /// The grid that elements lie on.
    fn grid(&self) -> &Grid;

    /// Number of cases and of selected classes.
    fn shape(&self) -> [usize; 2];

    /// A case, selected class and side (0 prediction, 1 reference).
    fn surface(&self, case: usize, class: usize, side: usize) -> Surface<'_, Self::Tag>;

    /// The tags of all elements, where a surface came without.
    fn tags(&self, case: usize, class: usize, side: usize) -> Cow<'_, [Self::Tag]>;

    /// What the elements carry, for planes of a box.
    fn carried(&self, place: [usize; 3], space: &AxisBox<'_>, weights: &Weights) -> Carried<Self::Tag>;

    /// What elements weigh at a spacing (as of a volume).
    fn weights(&self, spacing: [f64; 3]) -> Weights;
}

impl SurfaceSet for BoundaryVoxels {
    type Tag = ();

    fn grid(&self) -> &Grid {
        self.grid()
    }

    fn shape(&self) -> [usize; 2] {
        [self.cases(), self.classes()]
    }

    fn surface(&self, case: usize, class: usize, side: usize) -> Surface<'_, ()> {
        let words = self.words(case, class, side);
        let count = usize::try_from(words.voxels()).expect("an image fits memory");
        Surface { words, tags: Some(vec![(); count].into()) }
    }

    fn tags(&self, case: usize, class: usize, side: usize) -> Cow<'_, [()]> {
        let count = usize::try_from(self.words(case, class, side).voxels()).expect("an image fits memory");
        vec![(); count].into()
    }

    fn carried(&self, _: [usize; 3], _: &AxisBox<'_>, _: &Weights) -> Carried<()> {
        Carried::Nothing
    }

    fn weights(&self, _: [f64; 3]) -> Weights {
        Weights::equal()
    }
}

impl SurfaceSet for CornerCells {
    type Tag = u8;

    fn grid(&self) -> &Grid {
        self.grid()
    }

    fn shape(&self) -> [usize; 2] {
        [self.cases(), self.classes()]
    }

    fn surface(&self, case: usize, class: usize, side: usize) -> Surface<'_, u8> {
        let tags = self.listed(case, class, side).map(Cow::Borrowed);
        Surface { words: self.words(case, class, side), tags }
    }

    fn tags(&self, case: usize, class: usize, side: usize) -> Cow<'_, [u8]> {
        self.cells(case, class, side).codes
    }

    fn carried(&self, [case, class, side]: [usize; 3], space: &AxisBox<'_>, weights: &Weights) -> Carried<u8> {
        let mut voxels = space.spare();
        self.voxels(case, class, side, |at, bits| space.set(&mut voxels, at, bits));
        let grid = space.grid();
        let of_code = std::array::from_fn(|code| weights.of_code.get(code).copied().unwrap_or(0));
        Carried::Codes(Codes { voxels, axes: grid.axes(), places: Places::new(&grid), of_code })
    }

    fn weights(&self, spacing: [f64; 3]) -> Weights {
        Weights::by_code(&surfels::by_code(spacing, self.grid().axes()))
    }
}
