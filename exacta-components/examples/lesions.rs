//! Which lesions of a prediction meet which of a reference, from runs alone:
//! `cargo run -p exacta-components --example lesions`.
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use exacta_components::CpuComponents;
use exacta_core::ndarray::array;
use exacta_core::stages::ComponentStage;
use exacta_core::{Connectivity, Result};

fn main() -> Result<()> {
    let target = array![[0u8, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1]].into_dyn();
    let pred = array![[0u8, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]].into_dyn();
    let stage = CpuComponents::default();
    let eight = Connectivity::new(2, 2)?;

    let target = stage.mask(target.view().into(), None)?;
    let pred = stage.mask(pred.view().into(), Some(&target))?;
    let lesions = stage.components(target.clone(), eight)?;
    let found = stage.components(pred, eight)?;
    for (number, lesion) in (1..).zip(&stage.table(&lesions, None)?.components) {
        let [_, row, column] = lesion.centroid();
        println!("lesion {number}: {} voxels around ({row:.2}, {column:.2})", lesion.voxels);
    }
    for overlap in &stage.contingency(&found, &lesions, None)?.overlaps {
        println!("prediction {} and lesion {} share {} voxels", overlap.pred, overlap.target, overlap.voxels);
    }

    // Lesions whose dilations touch are one; they keep their own voxels.
    let dilated = stage.components(stage.dilate(&target, eight, 1)?, eight)?;
    let merged = stage.table(&dilated, Some(&target))?.components;
    println!("dilated by one step: {} lesions, the first of {} voxels", merged.len(), merged[0].voxels);
    Ok(())
}
