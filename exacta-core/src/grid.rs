//! The axes of an image in the order in which kernels walk them.

/// An image of one to three axes, as three: which array axis is walked slowest, and which fastest.
///
/// Axes are never dropped or merged: a 2-D image is one slice of a [`Grid`] whose [`axes`](Self::axes) is 2, so that
/// its slice has no neighbours, not even outside. Kernels walk memory in its own order (`order`), but every sum of
/// squares is taken in the order of the array's axes, so results do not depend on the memory layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    size: [usize; 3],
    order: [usize; 3],
    axes: usize,
}

impl Grid {
    /// The grid of an image of `shape` (one to three axes) with `strides`, walked in the order of its memory.
    pub(crate) fn new(shape: &[usize], strides: &[isize]) -> Self {
        let axes = shape.len();
        let lead = 3 - axes;
        let mut order = [0, 1, 2];
        // A unit axis may carry any stride; it stays where it is relative to the others.
        let stride = |axis: usize| if axis < lead { usize::MAX } else { strides[axis - lead].unsigned_abs() };
        let length = |axis: usize| if axis < lead { 1 } else { shape[axis - lead] };
        let walked: Vec<usize> = (lead..3).filter(|&axis| length(axis) > 1 && stride(axis) > 0).collect();
        let mut sorted = walked.clone();
        sorted.sort_by_key(|&axis| std::cmp::Reverse(stride(axis)));
        for (place, axis) in walked.into_iter().zip(sorted) {
            order[place] = axis;
        }
        Self { size: order.map(length), order, axes }
    }

    /// The grid of a box of these lengths along the walked axes, walked in the same order.
    pub const fn resized(&self, size: [usize; 3]) -> Self {
        Self { size, ..*self }
    }

    /// Lengths along the walked axes: slices, rows, columns.
    pub const fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Which axis of the image (taken as 3-D) each walked axis is.
    pub const fn order(&self) -> [usize; 3] {
        self.order
    }

    /// Number of axes of the image, 1 to 3.
    pub const fn axes(&self) -> usize {
        self.axes
    }

    /// Shape of the image.
    pub fn shape(&self) -> Vec<usize> {
        self.by_axis(self.size)[3 - self.axes..].to_vec()
    }

    /// The grid of the voxels' corners: one more along each axis of the image, walked in the same order.
    pub fn corners(&self) -> Self {
        let mut size = self.size;
        for (n, axis) in size.iter_mut().zip(self.order) {
            *n += usize::from(axis + self.axes >= 3);
        }
        Self { size, ..*self }
    }

    /// The same image, walked in the order of its axes.
    pub fn in_axis_order(&self) -> Self {
        Self { size: self.by_axis(self.size), order: [0, 1, 2], ..*self }
    }

    /// Number of voxels.
    pub const fn voxels(&self) -> usize {
        self.size[0] * self.size[1] * self.size[2]
    }

    /// Number of 64-bit words that hold the bits of a row.
    pub const fn words(&self) -> usize {
        self.size[2].div_ceil(64)
    }

    /// Values of the image's axes, as those of the walked axes.
    pub fn walked<T: Copy>(&self, by_axis: [T; 3]) -> [T; 3] {
        self.order.map(|axis| by_axis[axis])
    }

    /// Values of the walked axes, as those of the image's axes.
    pub fn by_axis<T: Copy>(&self, walked: [T; 3]) -> [T; 3] {
        let mut out = walked;
        for (place, axis) in self.order.into_iter().enumerate() {
            out[axis] = walked[place];
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_memory_and_remembers_axes() {
        let c = Grid::new(&[4, 5, 6], &[30, 6, 1]);
        assert_eq!((c.size(), c.order()), ([4, 5, 6], [0, 1, 2]));
        let f = Grid::new(&[4, 5, 6], &[1, 4, 20]);
        assert_eq!((f.size(), f.order()), ([6, 5, 4], [2, 1, 0]));
        assert_eq!(f.by_axis(f.walked(['a', 'b', 'c'])), ['a', 'b', 'c']);
        let rotated = Grid::new(&[4, 5, 6], &[6, 24, 1]);
        assert_eq!(rotated.by_axis(rotated.walked([7, 8, 9])), [7, 8, 9]);
    }

    #[test]
    fn two_axes_are_one_slice() {
        let f = Grid::new(&[5, 6], &[1, 5]);
        assert_eq!((f.size(), f.order(), f.axes()), ([1, 6, 5], [0, 2, 1], 2));
        assert_eq!((f.corners().size(), f.corners().order()), ([1, 7, 6], [0, 2, 1]));
        assert_eq!(Grid::new(&[1, 5, 6], &[30, 6, 1]).corners().size(), [2, 6, 7]);
    }

    #[test]
    fn unit_and_broadcast_axes_stay() {
        assert_eq!(Grid::new(&[1, 5, 6], &[1, 6, 1]).order(), [0, 1, 2]);
        assert_eq!(Grid::new(&[3, 5, 6], &[0, 6, 1]).order(), [0, 1, 2]);
    }
}
