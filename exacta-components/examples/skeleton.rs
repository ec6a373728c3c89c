//! The skeleton of a mask, and how two masks' skeletons lie in each other: `cargo run -p exacta-components --example skeleton`.
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use exacta_components::{CpuComponents, skeleton};
use exacta_core::ndarray::{Array2, Axis};
use exacta_core::stages::SkeletonStage;
use exacta_core::{Batch, Bits, Cpu, LabelSpec, Result, Thinning};

/// A tube of some width along a wave.
fn tube(half_width: f64) -> Array2<u8> {
    Array2::from_shape_fn((15, 60), |(row, column)| {
        let middle = 7.0 + 4.0 * (column as f64 / 8.0).sin();
        u8::from((row as f64 - middle).abs() <= half_width && (3..57).contains(&column))
    })
}

fn main() -> Result<()> {
    let (thin, thick) = (tube(1.0), tube(2.5));
    let cpu = Cpu::new();
    let bits = Bits::nonzero(&cpu, thick.view().into_dyn())?;
    let mut found = vec![0; thick.len()];
    skeleton(&cpu, &bits, Thinning::Lee).write_bytes(&cpu, &mut found, false)?;
    for (mask, skeleton) in thick.rows().into_iter().zip(found.chunks(60)) {
        let drawn = mask
            .iter()
            .zip(skeleton)
            .map(|(&inside, &kept)| if kept == 1 { '#' } else { [' ', '.'][usize::from(inside)] });
        println!("{}", drawn.collect::<String>());
    }

    let (thin, thick) = (thin.insert_axis(Axis(0)).into_dyn(), thick.insert_axis(Axis(0)).into_dyn());
    let batch = Batch::new(thin.view(), thick.view(), LabelSpec::index(2).without_background(), None)?;
    let (_, counts) = CpuComponents::default().skeletons(&batch, Thinning::Lee)?;
    let counts = counts.get(0, 0);
    println!("{} of {} skeleton voxels of the thin tube lie in the thick one", counts.pred_in_target, counts.pred);
    println!("{} of {} skeleton voxels of the thick tube lie in the thin one", counts.target_in_pred, counts.target);
    Ok(())
}
