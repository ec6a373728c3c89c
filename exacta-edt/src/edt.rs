//! What is asked of the transform, and the images of an array one after the other.

use exacta_core::ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn};
use exacta_core::parallel::Threads;
use exacta_core::separable::whole;
use exacta_core::{Border, Cpu, Error, Features, Labels, Result, Spacing};

use crate::output::Output;
use crate::rule::{Kind, Rule};
use crate::source::Place;
use crate::transform::{Arithmetic, Finish, transform};

/// Below this number of voxels a second thread costs more than it brings.
const SERIAL: usize = 1 << 15;

/// A distance transform: the spacing of an image's axes and the two conventions.
///
/// The number of spacings is that of the image's axes, 0 to 3. They are the last axes of the array; all before them count
/// images that have nothing to do with each other. Masks may be of any dtype that [`Labels`] has: what is not zero is
/// foreground, NaN too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edt {
    spacing: [f64; 3],
    axes: usize,
    features: Features,
    border: Border,
}

impl Edt {
    /// The transform with one spacing for each axis of the image, to its [zeros](Features::Zeros), edges
    /// [open](Border::Open).
    ///
    /// # Errors
    /// [`Error::SpacingLength`] for more than three values, [`Error::InvalidSpacing`] for one outside [`Spacing::RANGE`].
    pub fn new(spacing: &[f64]) -> Result<Self> {
        if spacing.len() > 3 {
            return Err(Error::SpacingLength { expected: 3, found: spacing.len() });
        }
        let (low, high) = Spacing::RANGE;
        let mut values = [0.0; 3];
        for (axis, &value) in spacing.iter().enumerate() {
            if !(low..=high).contains(&value) {
                return Err(Error::InvalidSpacing { axis, value, low, high });
            }
            values[axis] = value;
        }
        Ok(Self { spacing: values, axes: spacing.len(), features: Features::Zeros, border: Border::Open })
    }

    /// The same to other features.
    #[must_use]
    pub fn features(self, features: Features) -> Self {
        Self { features, ..self }
    }

    /// The same with another outside.
    #[must_use]
    pub fn border(self, border: Border) -> Self {
        Self { border, ..self }
    }

    /// Squared distance of each voxel to its nearest feature.
    ///
    /// `min over features p of ((h0 d0)^2 + (h1 d1)^2) + (h2 d2)^2`, rounded operation by operation.
    ///
    /// # Returns
    /// An array of the mask's shape, its image axes in the mask's memory order: 0 at features, infinite where an image has
    /// none. An empty array for an empty one.
    /// # Errors
    /// [`Error::SpacingLength`] if the array has fewer axes than spacings.
    /// # Agreement
    /// `scipy.ndimage.distance_transform_edt(mask, sampling=spacing)` squared, for `Features::Zeros` and open edges;
    /// `edt.edtsq` but for its single precision.
    /// # Reference
    /// Saito and Toriwaki 1994; Felzenszwalb and Huttenlocher, Distance transforms of sampled functions, 2012.
    pub fn squared_distances(&self, cpu: &Cpu, mask: &Labels<'_>) -> Result<ArrayD<f64>> {
        self.run(cpu, mask, Rule::new(self.features, self.border), Finish::Squared)
    }

    /// Distance of each voxel to its nearest feature: the correctly rounded root of
    /// [`squared_distances`](Self::squared_distances).
    ///
    /// # Errors
    /// As there.
    pub fn distances(&self, cpu: &Cpu, mask: &Labels<'_>) -> Result<ArrayD<f64>> {
        self.run(cpu, mask, Rule::new(self.features, self.border), Finish::Root)
    }

    /// Signed distances: minus the distance to the background in the mask, the distance to the mask outside of it.
    ///
    /// Distances run from voxel centre to voxel centre, so no value is 0 and the surface lies between -h and h; in one
    /// transform. Which features were chosen does not matter.
    ///
    /// # Returns
    /// As [`squared_distances`](Self::squared_distances); infinite without foreground, minus infinite without background
    /// unless the border is one.
    /// # Errors
    /// As there.
    /// # Agreement
    /// `distance_transform_edt(mask == 0) - distance_transform_edt(mask)` of SciPy. SimpleITK's `SignedMaurerDistanceMap`
    /// measures to the border voxels of the mask, which have 0 there.
    pub fn signed_distances(&self, cpu: &Cpu, mask: &Labels<'_>) -> Result<ArrayD<f64>> {
        let rule = Rule { kind: Kind::Sides, outside: self.border == Border::Background };
        self.run(cpu, mask, rule, Finish::Signed)
    }

    /// Indices of the nearest feature of each voxel, those of the array's features alone: the outside has none.
    ///
    /// Of several nearest features it is the one with the smallest index along the last axis, of these along the axis
    /// before it, then along the first; nearest at each of the separable steps, to which sums rounded to the same value are equal.
    ///
    /// # Returns
    /// An array of shape `(axes of the image, *shape of the mask)`, -1 where an image has no feature.
    /// # Errors
    /// [`Error::SpacingLength`] as above; [`Error::Unavailable`] for [`Features::OtherLabels`] and
    /// [`Border::Background`].
    pub fn nearest(&self, cpu: &Cpu, mask: &Labels<'_>) -> Result<ArrayD<i64>> {
        if self.features == Features::OtherLabels {
            let names = &["zeros", "nonzeros"];
            return Err(Error::Unavailable { argument: "features", value: self.features.name(), names });
        }
        if self.border == Border::Background {
            return Err(Error::Unavailable { argument: "border", value: self.border.name(), names: &["open"] });
        }
        let images = self.images(mask)?;
        let mut out = ArrayD::from_elem(IxDyn(&[&[self.axes], mask.shape()].concat()), -1);
        if out.is_empty() {
            return Ok(out);
        }
        let cpu = images.threads(cpu);
        for leading in images.each() {
            // The order of axes decides ties, so it is always the array's.
            let place = Place { leading, axes: lifted(&self.kept(&images.shape, true)) };
            let mut view = out.view_mut();
            for &index in &place.leading {
                view = view.index_axis_move(Axis(1), index);
            }
            for (lifted, axis) in place.axes.iter().enumerate() {
                if axis.is_none() {
                    view = view.insert_axis(Axis(1 + lifted));
                }
            }
            let view = view.into_dimensionality().expect("an axis of indices and three of the kernel");
            let spacing = place.axes.map(|axis| axis.map_or(0.0, |axis| self.spacing[axis]));
            let source = place.source(mask, false)?;
            crate::nearest::nearest(&cpu, &*source, Rule::new(self.features, self.border), spacing, &place.axes, view);
        }
        Ok(out)
    }

    fn run(&self, cpu: &Cpu, mask: &Labels<'_>, rule: Rule, finish: Finish) -> Result<ArrayD<f64>> {
        let images = self.images(mask)?;
        let (axes, arithmetic) = self.plan(&images, rule);
        let place = |leading: Vec<usize>| Place { leading, axes };
        // The result lies in memory as the mask does.
        let memory = images.memory_order();
        let lengths: Vec<usize> = memory.iter().map(|&axis| images.shape[axis]).collect();
        let mut out = ArrayD::zeros(IxDyn(&[&images.batch[..], &lengths].concat()));
        let lead = images.batch.len();
        let mut order: Vec<usize> = (0..lead + self.axes).collect();
        for (place, &axis) in memory.iter().enumerate() {
            order[lead + axis] = lead + place;
        }
        if out.is_empty() {
            return Ok(out.permuted_axes(order));
        }
        let each = images.each();
        let one = |cpu: &Cpu, leading: Vec<usize>, out: ArrayViewMutD<'_, f64>| -> Result<()> {
            let place = place(leading);
            let source = place.source(mask, rule.kind == Kind::Sides)?;
            let image_order: Vec<usize> = order[lead..].iter().map(|axis| axis - lead).collect();
            transform(cpu, &*source, rule, arithmetic, finish, place.of_image(out.permuted_axes(image_order)));
            Ok(())
        };
        if images.voxels() >= SERIAL || each.len() == 1 {
            let cpu = images.threads(cpu);
            for leading in each {
                let mut view = out.view_mut();
                for &index in &leading {
                    view = view.index_axis_move(Axis(0), index);
                }
                one(&cpu, leading, view)?;
            }
        } else {
            // Small images, each by one thread.
            let serial = Cpu { threads: Threads::Serial, ..cpu.clone() };
            let flat = out.as_slice_mut().expect("just made");
            let parts: Vec<_> = flat.chunks_exact_mut(images.voxels()).map(std::sync::Mutex::new).collect();
            let threads = if mask.shape().iter().product::<usize>() < SERIAL { &Threads::Serial } else { &cpu.threads };
            let results = threads.map(parts.len(), |i| {
                let mut part = parts[i].lock().expect("one task a part");
                let view = ArrayViewMutD::from_shape(IxDyn(&lengths), &mut part[..]).expect("one image");
                one(&serial, each[i].clone(), view)
            });
            results.into_iter().collect::<Result<Vec<()>>>()?;
        }
        Ok(out.permuted_axes(order))
    }

    /// In which arithmetic distances of an image in C order are found, its axes taken as the last of three.
    pub(crate) fn arithmetic(&self, shape: &[usize]) -> Arithmetic {
        let axes: Vec<(f64, usize)> = (0..self.axes).map(|axis| (self.spacing[axis], shape[axis])).collect();
        let mut spacing = [1.0; 3];
        spacing[3 - self.axes..].copy_from_slice(&self.spacing[..self.axes]);
        match whole(&axes) {
            Some(whole) if whole.largest < 1 << 24 => {
                Arithmetic { spacing: spacing.map(|h| h / whole.unit), unit: whole.unit * whole.unit, single: true }
            }
            _ => Arithmetic { spacing, unit: 1.0, single: false },
        }
    }

    /// One image of a byte a voxel in C order, which has both sides, to its other side: `out` as `finish` says.
    pub(crate) fn sides<O: Output>(
        &self,
        cpu: &Cpu,
        mask: &[u8],
        shape: &[usize],
        finish: Finish,
        out: &mut [O],
    ) -> Result<()> {
        let rule = Rule { kind: Kind::Sides, outside: self.border == Border::Background };
        let mask = Labels::from(ArrayViewD::from_shape(IxDyn(shape), mask).expect("checked by the caller"));
        let images = self.images(&mask)?;
        let (axes, arithmetic) = self.plan(&images, rule);
        let place = Place { leading: Vec::new(), axes };
        let source = place.source(&mask, true)?;
        let out = ArrayViewMutD::from_shape(IxDyn(shape), out).expect("checked by the caller");
        transform(&images.threads(cpu), &*source, rule, arithmetic, finish, place.of_image(out));
        Ok(())
    }

    fn images(&self, mask: &Labels<'_>) -> Result<Images> {
        let shape = mask.shape();
        let Some(lead) = shape.len().checked_sub(self.axes) else {
            return Err(Error::SpacingLength { expected: shape.len(), found: self.axes });
        };
        if let Some(&length) = shape.iter().find(|&&length| u32::try_from(length).is_err()) {
            return Err(Error::TooLarge { what: "an axis of the mask", value: length, limit: u32::MAX as usize });
        }
        let strides = mask.strides()[lead..].iter().map(|stride| stride.unsigned_abs()).collect();
        Ok(Images { batch: shape[..lead].to_vec(), shape: shape[lead..].to_vec(), strides })
    }

    /// The image's axes that the kernel needs: an axis of length 1 adds 0, but has an outside.
    fn kept(&self, shape: &[usize], units: bool) -> Vec<usize> {
        (0..self.axes).filter(|&axis| units || shape[axis] > 1).collect()
    }

    /// In which order the axes are walked, and in which arithmetic.
    fn plan(&self, images: &Images, rule: Rule) -> ([Option<usize>; 3], Arithmetic) {
        let mut axes = self.kept(&images.shape, rule.outside);
        let whole = whole(&axes.iter().map(|&axis| (self.spacing[axis], images.shape[axis])).collect::<Vec<_>>());
        if whole.is_some() {
            let memory = images.memory_order();
            axes.sort_by_key(|axis| memory.iter().position(|other| other == axis));
        }
        let axes = lifted(&axes);
        let spacing = axes.map(|axis| axis.map_or(0.0, |axis| self.spacing[axis]));
        let arithmetic = match whole {
            Some(whole) if whole.largest < 1 << 24 => {
                Arithmetic { spacing: spacing.map(|h| h / whole.unit), unit: whole.unit * whole.unit, single: true }
            }
            _ => Arithmetic { spacing, unit: 1.0, single: false },
        };
        (axes, arithmetic)
    }
}

/// The shape of an array, as images.
struct Images {
    batch: Vec<usize>,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

impl Images {
    fn voxels(&self) -> usize {
        self.shape.iter().product()
    }

    /// Who works on one image.
    fn threads(&self, cpu: &Cpu) -> Cpu {
        let threads = if self.voxels() < SERIAL { Threads::Serial } else { cpu.threads.clone() };
        Cpu { threads, ..cpu.clone() }
    }

    /// The image's axes, slowest in memory first.
    fn memory_order(&self) -> Vec<usize> {
        let walked: Vec<usize> = (0..self.shape.len()).filter(|&a| self.shape[a] > 1 && self.strides[a] > 0).collect();
        let mut sorted = walked.clone();
        sorted.sort_by_key(|&axis| std::cmp::Reverse(self.strides[axis]));
        let mut order: Vec<usize> = (0..self.shape.len()).collect();
        for (place, axis) in walked.into_iter().zip(sorted) {
            order[place] = axis;
        }
        order
    }

    /// Leading indices of each image.
    fn each(&self) -> Vec<Vec<usize>> {
        let mut out = vec![Vec::new()];
        for &length in &self.batch {
            out = out.iter().flat_map(|lead| (0..length).map(move |i| [&lead[..], &[i]].concat())).collect();
        }
        out
    }
}

/// Up to three axes as the kernel's: parallel over the first, contiguous along the last.
fn lifted(axes: &[usize]) -> [Option<usize>; 3] {
    match *axes {
        [] => [None; 3],
        [a] => [None, None, Some(a)],
        [a, b] => [Some(a), None, Some(b)],
        [a, b, c] => [Some(a), Some(b), Some(c)],
        _ => unreachable!("an image has up to three axes"),
    }
}
