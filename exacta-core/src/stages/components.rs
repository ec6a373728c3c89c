//! Components of masks and their tables.

use ndarray::ArrayViewD;

use crate::{Backend, Batch, Bits, Connectivity, Labels, Reduction, Result, Side};

/// One connected component. Axes are those of the image, taken as 3-D: an image of fewer axes has leading ones of length 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Number of voxels.
    pub voxels: u64,
    /// Smallest index along each axis.
    pub low: [usize; 3],
    /// Largest index along each axis, inclusive.
    pub high: [usize; 3],
    /// Sum of the voxels' indices along each axis.
    pub index_sums: [u64; 3],
}

impl Component {
    /// No voxel yet: `low` above `high`.
    pub const EMPTY: Self = Self { voxels: 0, low: [usize::MAX; 3], high: [0; 3], index_sums: [0; 3] };

    /// Mean index along each axis; NaN without voxels.
    pub fn centroid(&self) -> [f64; 3] {
        #[expect(clippy::cast_precision_loss, reason = "both are whole; exact below 2^53")]
        self.index_sums.map(|sum| sum as f64 / self.voxels as f64)
    }
}

/// The components of a mask: number `i + 1` is `components[i]`, in C order of each component's first voxel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ComponentTable {
    /// One row a component.
    pub components: Vec<Component>,
}

/// Voxels that two components share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Overlap {
    /// Number of the component of the prediction, from 1.
    pub pred: u32,
    /// Number of the component of the reference, from 1.
    pub target: u32,
    /// Number of voxels in both.
    pub voxels: u64,
}

/// Which components of two masks meet: the pairs that share a voxel, in ascending order of `(pred, target)`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contingency {
    /// One row a pair.
    pub overlaps: Vec<Overlap>,
}

impl Contingency {
    /// Number of voxels that a pair shares, in a logarithmic search.
    pub fn shared(&self, pred: u32, target: u32) -> u64 {
        let found = self.overlaps.binary_search_by_key(&(pred, target), |overlap| (overlap.pred, overlap.target));
        found.map_or(0, |at| self.overlaps[at].voxels)
    }
}

/// Connected components, and what lesions are judged by. Voxels stay on the backend; tables come back.
pub trait ComponentStage: Backend {
    /// A mask, as this backend keeps it.
    type Mask;
    /// The components of a mask, as this backend keeps them.
    type Components;
    /// The masks of all classes of a batch, as this backend keeps them.
    type Masks;

    /// The masks of all classes of a batch, from one read of the labels.
    ///
    /// # Errors
    /// As [`SurfaceStage::surfaces`](super::SurfaceStage::surfaces).
    fn masks(&self, batch: &Batch<'_>) -> Result<Self::Masks, Self::Error>;

    /// One side of one case and selected class, in the box around both sides, which is widened by `margin` voxels within the image;
    /// and where the box begins, along the axes of the image taken as 3-D. Nothing where neither side has a voxel.
    ///
    /// # Errors
    /// Those of the backend.
    fn mask_of(
        &self,
        masks: &Self::Masks,
        case: usize,
        class: usize,
        side: Side,
        margin: usize,
    ) -> Result<Option<(Self::Mask, [usize; 3])>, Self::Error>;

    /// `f(stage, 0), f(stage, 1), ..`, several at the same time where the backend can; `stage` is this one, or one that works alone.
    fn each<T: Send>(&self, count: usize, f: impl Fn(&Self, usize) -> T + Sync) -> Vec<T> {
        (0..count).map(|i| f(self, i)).collect()
    }

    /// The voxels of an image of one to three axes that are not 0. With `like`, kept so that the two can be compared.
    ///
    /// # Errors
    /// [`crate::Error::ImageRank`]; [`crate::Error::ShapeMismatch`] with `like`.
    fn mask(&self, image: Labels<'_>, like: Option<&Self::Mask>) -> Result<Self::Mask, Self::Error>;

    /// The mask grown by a neighbourhood, some times; nothing enters from outside the image.
    ///
    /// # Errors
    /// Those of the backend.
    fn dilate(&self, mask: &Self::Mask, connectivity: Connectivity, steps: usize) -> Result<Self::Mask, Self::Error>;

    /// The components of a mask, numbered from 1 in C order of the first voxel of each.
    ///
    /// # Errors
    /// [`crate::Error::InvalidConnectivity`] if the mask has fewer axes; [`crate::Error::TooLarge`].
    fn components(&self, mask: Self::Mask, connectivity: Connectivity) -> Result<Self::Components, Self::Error>;

    /// Shape of the mask that these are components of.
    fn shape(&self, components: &Self::Components) -> Vec<usize>;

    /// Size, box and index sums of every component; `within`, over the voxels of that mask alone.
    ///
    /// # Errors
    /// [`crate::Error::ShapeMismatch`], [`crate::Error::GridMismatch`].
    fn table(&self, components: &Self::Components, within: Option<&Self::Mask>) -> Result<ComponentTable, Self::Error>;

    /// Pairs of components that share voxels; `within`, voxels of that mask alone.
    ///
    /// # Errors
    /// [`crate::Error::ShapeMismatch`], [`crate::Error::GridMismatch`].
    fn contingency(
        &self,
        pred: &Self::Components,
        target: &Self::Components,
        within: Option<&Self::Mask>,
    ) -> Result<Contingency, Self::Error>;

    /// The voxels of the components `numbers` (ascending) in the box from `low` to `high` (inclusive), as a mask of the host of the box's
    /// size; `within`, those of that mask alone.
    ///
    /// # Errors
    /// [`crate::Error::ShapeMismatch`], [`crate::Error::GridMismatch`].
    ///
    /// # Panics
    /// If the box reaches beyond the mask.
    fn crop(
        &self,
        components: &Self::Components,
        numbers: &[u32],
        within: Option<&Self::Mask>,
        low: [usize; 3],
        high: [usize; 3],
    ) -> Result<Bits, Self::Error>;

    /// One number a component from the `values` of its voxels: the largest, or the mean; the sum of a mean runs in C order of the voxels.
    /// `values` has the shape of the mask.
    ///
    /// # Errors
    /// [`crate::Error::ShapeMismatch`].
    fn reduce<T: Copy + Into<f64> + Sync>(
        &self,
        components: &Self::Components,
        values: &ArrayViewD<'_, T>,
        reduction: Reduction,
    ) -> Result<Vec<f64>, Self::Error>;
}
