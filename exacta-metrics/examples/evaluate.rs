//! Measures two phantoms: `cargo run --release --package exacta-metrics --example evaluate`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use exacta_components::CpuComponents;
use exacta_core::ndarray::{ArrayD, IxDyn};
use exacta_core::{Batch, LabelSpec, Result, Spacing, Stages};
use exacta_metrics::{MetricSet, OptionValue, Options, evaluate};
use exacta_surface::CpuSurface;

/// A ball of label 1 in an image of 64x96x96 voxels.
fn ball(radius: f64, shift: f64) -> ArrayD<u8> {
    ArrayD::from_shape_fn(IxDyn(&[1, 64, 96, 96]), |at| {
        let offset = [at[1] as f64 - 32.0, at[2] as f64 - 48.0 - shift, at[3] as f64 - 48.0];
        u8::from(offset.iter().map(|d| d * d).sum::<f64>() < radius * radius)
    })
}

fn main() -> Result<()> {
    let (pred, target) = (ball(20.0, 3.0), ball(21.0, 0.0));
    let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(2).without_background(), None)?;
    let mut metrics = MetricSet::named(&["dice", "cldice", "target_volume", "hd95", "assd"])?;
    metrics.push("nsd", &Options::new().with("tolerance", OptionValue::Number(2.0)))?;
    // Slices are 1.5 mm thick: spacing follows the axes of the array.
    let spacing = [Spacing::new(&[1.5, 0.8, 0.8])?];
    let stages = Stages { surfaces: CpuSurface::default(), skeletons: CpuComponents::default() };
    let values = evaluate(&stages, &batch, Some(&spacing), &metrics)?;
    let names = ["dice", "cldice", "target_volume [mm3]", "hd95 [mm]", "assd [mm]", "nsd at 2 mm"];
    for (name, table) in names.iter().zip(values) {
        println!("{name:20} {:.4}", table.get(0, 0));
    }
    Ok(())
}
