//! A few steps of gradient descent on logits alone, with Dice and cross-entropy: `cargo run --example value_and_gradient`.

use std::error::Error;
use std::io::Write;

use exacta_core::{Cpu, ndarray::Array};
use exacta_losses::{Activation, CrossEntropy, Dice, Loss, LossBatch, Overlap, Pointwise, Target, Terms};

fn main() -> Result<(), Box<dyn Error>> {
    // A ball of class 1 in a cube of class 0, and a third class that nothing has; labels 255 do not count.
    let side = 16usize;
    let target = Array::from_shape_fn(vec![1, side, side, side], |at| {
        let far: f64 = (1..4).map(|axis| (at[axis] as f64 - 7.5).powi(2)).sum();
        if at[3] == 0 { 255u8 } else { u8::from(far < 25.0) }
    });
    let mut logits = Array::<f32, _>::zeros(vec![1, 3, side, side, side]);
    let mut gradient = logits.clone();

    let loss = Terms::new(Activation::Softmax)
        .with_overlap(1.0, Overlap::Dice(Dice::default()))
        .with_pointwise(1.0, Pointwise::CrossEntropy(CrossEntropy));
    let cpu = Cpu::new();
    let mut out = std::io::stdout().lock();
    for step in 0..=50 {
        let batch =
            LossBatch::new(logits.view().into(), Target::Index(target.view().into()), None)?.ignoring(Some(255))?;
        let forward = loss.forward(&cpu, &batch)?;
        loss.backward(&cpu, &batch, &forward.saved, &[1.0], gradient.view_mut().into())?;
        if step % 10 == 0 {
            writeln!(out, "step {step:2}: loss {:.6}", forward.values[0])?;
        }
        logits.scaled_add(-2000.0, &gradient);
    }
    Ok(())
}
