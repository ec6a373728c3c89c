//! Losses of rankings, distances and skeletons: worked examples, finite differences, and the same bits however they are run.

mod examples;
mod laws;

use exacta_core::ndarray::{ArrayD, ArrayViewD, IxDyn};
use exacta_core::{Cpu, Result};
use exacta_edt::CpuMaps;
use exacta_losses::{Logits, LogitsMut, LossBatch, Param, Params, Target, loss};

/// A target and what goes with it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) params: Params,
    pub(crate) input: ArrayD<f64>,
    pub(crate) target: ArrayD<i64>,
    pub(crate) one_hot: bool,
    pub(crate) mask: Option<ArrayD<bool>>,
    pub(crate) ignore: Option<i64>,
    pub(crate) map: Option<ArrayD<f64>>,
}

/// An array of a shape.
pub(crate) fn array<T: Clone>(shape: &[usize], values: &[T]) -> ArrayD<T> {
    ArrayD::from_shape_vec(IxDyn(shape), values.to_vec()).expect("as many values")
}

impl Case {
    pub(crate) fn new(name: &'static str, input: ArrayD<f64>, target: ArrayD<i64>) -> Self {
        let params = Params::new();
        Self { name, params, input, target, one_hot: false, mask: None, ignore: None, map: None }
    }

    pub(crate) fn number(self, name: &str, value: f64) -> Self {
        Self { params: self.params.with(name, Param::Number(value)), ..self }
    }

    pub(crate) fn numbers(self, name: &str, value: &[f64]) -> Self {
        Self { params: self.params.with(name, Param::Numbers(value.to_vec())), ..self }
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        Self { params: self.params.with(name, Param::Text(value.to_owned())), ..self }
    }

    pub(crate) fn flag(self, name: &str, value: bool) -> Self {
        Self { params: self.params.with(name, Param::Flag(value)), ..self }
    }

    pub(crate) fn one_hot(self) -> Self {
        Self { one_hot: true, ..self }
    }

    pub(crate) fn masked(self, mask: ArrayD<bool>) -> Self {
        Self { mask: Some(mask), ..self }
    }

    pub(crate) fn ignoring(self, label: i64) -> Self {
        Self { ignore: Some(label), ..self }
    }

    pub(crate) fn with_map(self, map: ArrayD<f64>) -> Self {
        Self { map: Some(map), ..self }
    }

    fn batch<'a>(&'a self, input: Logits<'a>, maps: &'a CpuMaps) -> Result<LossBatch<'a>> {
        let target = self.target.view().into();
        let target = if self.one_hot { Target::OneHot(target) } else { Target::Index(target) };
        let mask = self.mask.as_ref().map(|mask| exacta_core::Labels::Bool(mask.view()));
        let map = self.map.as_ref().map(|map| map.view().into());
        Ok(LossBatch::new(input, target, mask)?.ignoring(self.ignore)?.with_map(map).with_distances(maps))
    }

    /// Values, and the gradient of their sum, in double precision.
    pub(crate) fn run(&self, cpu: &Cpu) -> Result<(Vec<f64>, ArrayD<f64>)> {
        self.run_view(cpu, self.input.view(), ArrayD::from_elem(self.input.raw_dim(), 99.0))
    }

    /// The same of another view of the input, into an array of any layout.
    pub(crate) fn run_view(
        &self,
        cpu: &Cpu,
        input: ArrayViewD<'_, f64>,
        mut gradient: ArrayD<f64>,
    ) -> Result<(Vec<f64>, ArrayD<f64>)> {
        let loss = loss(self.name, &self.params)?;
        let batch = self.batch(Logits::F64(input), &CpuMaps)?;
        let forward = loss.forward(cpu, &batch)?;
        let ones = vec![1.0; forward.values.len()];
        loss.backward(cpu, &batch, &forward.saved, &ones, LogitsMut::F64(gradient.view_mut()))?;
        Ok((forward.values, gradient))
    }

    /// The same in single precision.
    pub(crate) fn run_single(&self, cpu: &Cpu) -> Result<(Vec<f64>, ArrayD<f32>)> {
        let loss = loss(self.name, &self.params)?;
        let input = self.input.mapv(|value| value as f32);
        let batch = self.batch(Logits::F32(input.view()), &CpuMaps)?;
        let forward = loss.forward(cpu, &batch)?;
        let mut gradient = ArrayD::from_elem(self.input.raw_dim(), 99.0f32);
        let ones = vec![1.0; forward.values.len()];
        loss.backward(cpu, &batch, &forward.saved, &ones, LogitsMut::F32(gradient.view_mut()))?;
        Ok((forward.values, gradient))
    }
}
