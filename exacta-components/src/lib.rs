//! Connected components of masks, numbered as SciPy numbers them.
//!
//! [`label`] finds the components of a mask of one to three axes for any [`Connectivity`]; [`Components`] then answers for
//! sizes, boxes, centroids, overlaps with another mask's components, the largest, or the volume of numbers. [`CpuComponents`] is
//! the host's [`ComponentStage`], and its [`SkeletonStage`](exacta_core::stages::SkeletonStage): [`skeleton`] thins a mask.
//!
//! The mask is kept as a bit a voxel ([`Bits`]), and runs of bits are what is united and counted; neither the numbers nor the
//! statistics go through a volume of labels, which is written only if asked for. Numbers are the same for every instruction set,
//! number of threads and memory layout.
//!
//! # Example
//! ```
//! use exacta_components::label;
//! use exacta_core::{Bits, Connectivity, Cpu};
//! use exacta_core::ndarray::array;
//!
//! let mask = array![[1u8, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 0, 1]].into_dyn();
//! let cpu = Cpu::new();
//! let bits = Bits::nonzero(&cpu, mask.view())?;
//! let components = label(&cpu, bits, Connectivity::new(2, 2)?)?;
//! assert_eq!(components.count(), 4);
//! assert_eq!(components.labels(&cpu), array![[1, 0, 0, 2], [0, 1, 0, 2], [0, 0, 0, 0], [3, 3, 0, 4]].into_dyn());
//! assert_eq!(components.sizes(&cpu), [2, 2, 2, 1]);
//! # Ok::<(), exacta_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod bundles;
mod components;
mod crop;
mod forest;
mod label;
#[cfg(feature = "testing")]
mod naive;
#[cfg(feature = "testing")]
mod naive_skeleton;
mod neighbourhood;
mod padded;
mod reduce;
mod skeletons;
mod statistics;
mod thinning;

use exacta_core::ndarray::ArrayViewD;
use exacta_core::parallel::Threads;
use exacta_core::stages::{ComponentStage, ComponentTable, Contingency};
use exacta_core::{Backend, Batch, Bits, Connectivity, Cpu, Error, Labels, Masks, Reduction, Result, Side};

pub use components::Components;
pub use label::{label, label_image};
#[cfg(feature = "testing")]
pub use naive::{naive_label, neighbours};
#[cfg(feature = "testing")]
pub use naive_skeleton::naive_skeleton;
pub use thinning::skeleton;

/// Components on the host.
#[derive(Debug, Clone, Default)]
pub struct CpuComponents {
    /// Instruction set and threads.
    pub cpu: Cpu,
}

impl Backend for CpuComponents {
    type Error = Error;
}

impl ComponentStage for CpuComponents {
    type Mask = Bits;
    type Components = Components;
    type Masks = Masks;

    fn masks(&self, batch: &Batch<'_>) -> Result<Masks> {
        Masks::new(&self.cpu, batch)
    }

    fn mask_of(
        &self,
        masks: &Masks,
        case: usize,
        class: usize,
        side: Side,
        margin: usize,
    ) -> Result<Option<(Bits, [usize; 3])>> {
        Ok(masks.joint_region(case, class).map(|region| {
            let region = region.widened(margin, masks.grid()).from_whole_word();
            (masks.bits(case, class, side, &region), masks.grid().by_axis(region.low()))
        }))
    }

    fn each<T: Send>(&self, count: usize, f: impl Fn(&Self, usize) -> T + Sync) -> Vec<T> {
        let threads = &self.cpu.threads;
        if count < threads.count() {
            return (0..count).map(|i| f(self, i)).collect();
        }
        let alone = Self { cpu: Cpu { level: self.cpu.level, threads: Threads::Serial } };
        threads.map(count, |i| f(&alone, i))
    }

    fn mask(&self, image: Labels<'_>, like: Option<&Bits>) -> Result<Bits> {
        match like {
            None => Bits::nonzero(&self.cpu, image),
            Some(like) => Bits::nonzero_as(&self.cpu, image, like.grid()),
        }
    }

    fn dilate(&self, mask: &Bits, connectivity: Connectivity, steps: usize) -> Result<Bits> {
        Ok(mask.dilate(&self.cpu, connectivity, steps))
    }

    fn components(&self, mask: Bits, connectivity: Connectivity) -> Result<Components> {
        label(&self.cpu, mask, connectivity)
    }

    fn shape(&self, components: &Components) -> Vec<usize> {
        components.mask().grid().shape()
    }

    fn table(&self, components: &Components, within: Option<&Bits>) -> Result<ComponentTable> {
        components.table(&self.cpu, within)
    }

    fn contingency(&self, pred: &Components, target: &Components, within: Option<&Bits>) -> Result<Contingency> {
        pred.contingency(&self.cpu, target, within)
    }

    fn crop(
        &self,
        components: &Components,
        numbers: &[u32],
        within: Option<&Bits>,
        low: [usize; 3],
        high: [usize; 3],
    ) -> Result<Bits> {
        components.crop(numbers, within, low, high)
    }

    fn reduce<T: Copy + Into<f64> + Sync>(
        &self,
        components: &Components,
        values: &ArrayViewD<'_, T>,
        reduction: Reduction,
    ) -> Result<Vec<f64>> {
        components.reduce(&self.cpu, values, reduction)
    }
}
