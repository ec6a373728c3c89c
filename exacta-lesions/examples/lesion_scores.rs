//! Lesion scores and a row for each lesion: `cargo run -p exacta-lesions --example lesion_scores`.
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use exacta_components::CpuComponents;
use exacta_core::ndarray::Array4;
use exacta_core::{Batch, LabelSpec, MatchRule, Matching, Result, Spacing};
use exacta_lesions::{LesionOptions, LesionScores, report};
use exacta_surface::CpuSurface;

fn main() -> Result<()> {
    // Balls: the second is found in two parts, the third not at all; the last prediction is false.
    let balls = |list: &[(f64, f64, f64, f64)]| {
        Array4::from_shape_fn((1, 24, 40, 60), |(_, z, y, x)| {
            let inside = |&(a, b, c, r): &(f64, f64, f64, f64)| {
                (z as f64 - a).powi(2) + (y as f64 - b).powi(2) + (x as f64 - c).powi(2) < r * r
            };
            u8::from(list.iter().any(inside))
        })
        .into_dyn()
    };
    let target = balls(&[(8.0, 8.0, 8.0, 5.0), (12.0, 20.0, 30.0, 8.0), (18.0, 34.0, 8.0, 3.0)]);
    let pred = balls(&[(8.0, 9.0, 8.0, 5.0), (12.0, 15.0, 30.0, 4.0), (12.0, 26.0, 31.0, 4.0), (4.0, 34.0, 52.0, 2.0)]);
    let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(2).without_background(), None)?;
    let spacings = [Spacing::new(&[1.5, 0.8, 0.8])?];

    let rule = MatchRule { threshold: 0.05, ..MatchRule::new(Matching::Merge) };
    let options = LesionOptions { missed_distance: 100.0, ..LesionOptions::new(rule, 3) };
    let found = report(&CpuComponents::default(), &CpuSurface::default(), &batch, Some(&spacings), &options)?;
    let found = found.get(0, 0);
    for lesion in &found.lesions {
        let (number, predictions, dice, hd95) = (lesion.number, &lesion.predictions, lesion.dice, lesion.hd95);
        println!("lesion {number}: predictions {predictions:?}, Dice {dice:.3}, HD95 {hd95:?}");
    }
    let scores = LesionScores::new(found, &options, true);
    for (name, value) in LesionScores::NAMES.iter().zip(scores.values()) {
        println!("{name:12} {value:.4}");
    }
    Ok(())
}
