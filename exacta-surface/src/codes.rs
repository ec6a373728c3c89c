//! Codes of the blocks around 64 corners in a row, from the eight words of voxels around them.

/// Which voxels of a block, as walked (slices, then rows, then columns), set which bit of its code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// Bit of the code that each voxel of the block sets.
    pub(crate) of_voxel: [u8; 8],
    /// Voxel of the block that sets each bit of the code.
    of_bit: [u8; 8],
}

impl Places {
    /// For images of two or three axes, walked in the order of `grid`.
    pub(crate) fn new(grid: &exacta_core::Grid) -> Self {
        let last = (1 << grid.axes()) - 1;
        let of_voxel = std::array::from_fn(|i| {
            let [a, b, c] = grid.by_axis([i >> 2 & 1, i >> 1 & 1, i & 1]);
            // In two dimensions there is no voxel before the slice; the words of those are zeros.
            (last - (if grid.axes() == 3 { 4 * a } else { 0 } + 2 * b + c)) as u8
        });
        let mut of_bit = [0; 8];
        // Voxels of the slice come last, so in two dimensions it is they that count.
        for (voxel, &bit) in of_voxel.iter().enumerate() {
            of_bit[usize::from(bit)] = voxel as u8;
        }
        Self { of_voxel, of_bit }
    }

    /// The bits of the code, for images of so many axes.
    pub(crate) const fn bits(axes: usize) -> usize {
        1 << axes
    }

    /// The code of the corner at each position of the words of `block`; words as walked. Without a third axis the words of the
    /// slice before are zeros.
    #[inline(always)]
    pub(crate) fn codes(&self, axes: usize, block: &[u64; 8]) -> [u8; 64] {
        let mut words = [0u64; 8];
        for (word, &voxel) in words[..Self::bits(axes)].iter_mut().zip(&self.of_bit) {
            *word = block[usize::from(voxel)];
        }
        let mut codes = [0; 64];
        for (byte, codes) in codes.chunks_exact_mut(8).enumerate() {
            let rows = words.iter().rev().fold(0, |rows, word| rows << 8 | (word >> (8 * byte) & 0xff));
            codes.copy_from_slice(&transposed(rows).to_le_bytes());
        }
        codes
    }
}

/// A matrix of 8 by 8 bits, a byte a row, with rows and columns exchanged.
#[inline(always)]
const fn transposed(mut rows: u64) -> u64 {
    let swap = (rows ^ rows >> 7) & 0x00aa_00aa_00aa_00aa;
    rows ^= swap ^ swap << 7;
    let swap = (rows ^ rows >> 14) & 0x0000_cccc_0000_cccc;
    rows ^= swap ^ swap << 14;
    let swap = (rows ^ rows >> 28) & 0x0000_0000_f0f0_f0f0;
    rows ^ swap ^ swap << 28
}

/// Corners whose block is neither empty nor full; without a third axis the first four words do not count.
#[inline(always)]
pub(crate) fn mixed(axes: usize, block: &[u64; 8]) -> u64 {
    let whole = if axes == 3 { &block[..] } else { &block[4..] };
    let (any, all) = whole.iter().fold((0, !0), |(any, all), &word| (any | word, all & word));
    any & !all
}

#[cfg(test)]
mod tests {
    use exacta_core::Batch;
    use exacta_core::ndarray::{ArrayD, IxDyn};

    use super::*;

    #[test]
    fn a_bit_a_voxel() {
        for shape in [vec![1, 3, 3], vec![1, 3, 3, 3]] {
            let axes = shape.len() - 1;
            let image = ArrayD::<u8>::zeros(IxDyn(&shape));
            let spec = exacta_core::LabelSpec::index(1);
            let batch = Batch::new(image.view(), image.view(), spec, None).expect("valid");
            let places = Places::new(batch.grid());
            let mut state = 9u64;
            let block: [u64; 8] = std::array::from_fn(|i| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if axes == 3 || i >= 4 { state ^ state >> 29 } else { 0 }
            });
            let codes = places.codes(axes, &block);
            let mut between = 0u64;
            for (corner, &code) in codes.iter().enumerate() {
                let wanted = block.iter().zip(places.of_voxel).skip(if axes == 3 { 0 } else { 4 });
                let wanted = wanted.fold(0, |code, (word, bit)| code | u8::from(word >> corner & 1 == 1) << bit);
                assert_eq!(code, wanted, "corner {corner} of {axes} axes");
                let full = u8::MAX >> (8 - Places::bits(axes));
                between |= u64::from(code != 0 && code != full) << corner;
            }
            assert_eq!(mixed(axes, &block), between);
        }
    }
}
