//! Distances of a mask in text: `cargo run -p exacta-edt --example distance_map`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use exacta_core::ndarray::array;
use exacta_core::{Border, Cpu, Features, Labels};
use exacta_edt::Edt;

fn main() -> exacta_core::Result<()> {
    let cpu = Cpu::new();
    let labels = array![[0u8, 0, 0, 0, 0, 0], [0, 1, 1, 2, 2, 0], [0, 1, 1, 2, 2, 0], [0, 0, 0, 0, 0, 0]].into_dyn();
    let labels: Labels<'_> = labels.view().into();
    // Rows lie 2 mm apart, columns 1 mm.
    let edt = Edt::new(&[2.0, 1.0])?;
    println!("to the background\n{}", edt.distances(&cpu, &labels)?);
    println!("to any other label\n{}", edt.features(Features::OtherLabels).distances(&cpu, &labels)?);
    println!("signed\n{:.2}", edt.border(Border::Background).signed_distances(&cpu, &labels)?);
    println!(
        "column of the nearest background\n{}",
        edt.nearest(&cpu, &labels)?.index_axis(exacta_core::ndarray::Axis(0), 1)
    );
    Ok(())
}
