//! Lesion scores of many small lesions, with and without distances, beside labelling both volumes.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use exacta_components::{CpuComponents, label, label_image};
use exacta_core::ndarray::{Array4, ArrayD};
use exacta_core::scan::region_channels;
use exacta_core::{Batch, Bits, Connectivity, Cpu, LabelSpec, Labels, MatchRule, Matching, Spacing, SurfaceKind};
use exacta_lesions::{BRATS_REGIONS, Challenge, LesionOptions, brats_2023, evaluate};
use exacta_surface::CpuSurface;

/// `count` balls of radius 1 to `largest` on a lattice of `n^3`, moved by `shift` columns; labels 1 to 3 from outside in.
fn lesions(n: usize, count: usize, largest: f64, shift: usize) -> ArrayD<u8> {
    let mut out = Array4::<u8>::zeros((1, n, n, n));
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let reach = largest.ceil() as usize + 1;
    for _ in 0..count {
        let at: [usize; 3] = std::array::from_fn(|_| reach + next(n - 2 * reach - shift));
        let r = 1.0 + next(1000) as f64 / 1000.0 * (largest - 1.0);
        for (label, r) in [(2, r), (1, 0.65 * r), (3, 0.45 * r)] {
            let span = r.ceil() as isize;
            for (z, y, x) in
                (-span..=span).flat_map(|z| (-span..=span).flat_map(move |y| (-span..=span).map(move |x| (z, y, x))))
            {
                if ((z * z + y * y + x * x) as f64) < r * r {
                    let [a, b, c] = [at[0], at[1], at[2] + shift];
                    out[[0, a.wrapping_add_signed(z), b.wrapping_add_signed(y), c.wrapping_add_signed(x)]] = label;
                }
            }
        }
    }
    out.into_dyn()
}

fn scores(c: &mut Criterion) {
    let (pred, target) = (lesions(256, 2500, 3.0, 1), lesions(256, 2500, 3.0, 0));
    let cpu = Cpu::new();
    let stages = (CpuComponents { cpu: cpu.clone() }, CpuSurface { cpu: cpu.clone() });
    let spacings = [Spacing::new(&[1.0, 1.0, 1.0]).expect("in range")];
    let mut group = c.benchmark_group("lesions");
    group.sample_size(10);
    let three = Connectivity::new(3, 3).expect("in range");
    group.bench_function("label both 256", |b| {
        b.iter(|| {
            for image in [&pred, &target] {
                let image = image.view().index_axis_move(exacta_core::ndarray::Axis(0), 0);
                let bits = Bits::nonzero(&cpu, image).expect("three axes");
                black_box(label(&cpu, bits, three).expect("few").labels(&cpu));
            }
        });
    });
    let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(4).without_background(), None).expect("valid");
    let options = LesionOptions::new(MatchRule::new(Matching::Greedy), 3);
    for (name, spacings) in [("greedy 256", None), ("greedy hd95 256", Some(&spacings[..]))] {
        group.bench_function(name, |b| b.iter(|| evaluate(&stages.0, &stages.1, &batch, spacings, &options)));
    }
    let channels = |image: &ArrayD<u8>| region_channels(&cpu, &Labels::from(image.view()), &BRATS_REGIONS);
    group.bench_function("brats_regions 256", |b| b.iter(|| channels(&pred)));
    let [pred, target] = [&pred, &target].map(|image| {
        let channels = channels(image).expect("three axes").0;
        ArrayD::from_shape_vec(exacta_core::ndarray::IxDyn(&[1, 3, 256, 256, 256]), channels).expect("as long")
    });
    let batch = Batch::new(pred.view(), target.view(), LabelSpec::one_hot(3), None).expect("valid");
    let options = LesionOptions { surface: SurfaceKind::Voxels, ..brats_2023(Challenge::Gli) };
    group.bench_function("brats2023 voxels 256", |b| {
        b.iter(|| evaluate(&stages.0, &stages.1, &batch, Some(&spacings), &options));
    });
    group.finish();
}

/// 5,000 small lesions in 512^3: scores with HD95 have to take at most three times as long as labelling the two volumes.
fn many(c: &mut Criterion) {
    let binary = |shift| lesions(512, 5000, 4.0, shift).mapv(|label| u8::from(label > 0));
    let (pred, target) = (binary(1), binary(0));
    let cpu = Cpu::new();
    let stages = (CpuComponents { cpu: cpu.clone() }, CpuSurface { cpu: cpu.clone() });
    let spacings = [Spacing::new(&[1.5, 0.8, 0.8]).expect("in range")];
    let mut group = c.benchmark_group("many lesions");
    group.sample_size(10);
    let mut out = vec![0; target.len()];
    group.bench_function("label both 512", |b| {
        b.iter(|| {
            for image in [&pred, &target] {
                let image = image.view().index_axis_move(exacta_core::ndarray::Axis(0), 0);
                let found = label_image(&cpu, image, 3).expect("few");
                found.write_labels(&cpu, &mut out, false).expect("as long");
            }
        });
    });
    let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(2).without_background(), None).expect("valid");
    let rule = MatchRule { threshold: 0.2, ..MatchRule::new(Matching::Greedy) };
    for (name, surface) in [("voxels", SurfaceKind::Voxels), ("surfels", SurfaceKind::Surfels)] {
        let options = LesionOptions { surface, ..LesionOptions::new(rule, 3) };
        group.bench_function(format!("greedy hd95 {name} 512"), |b| {
            b.iter(|| evaluate(&stages.0, &stages.1, &batch, Some(&spacings), &options));
        });
    }
    group.finish();
}

criterion_group!(benches, scores, many);
criterion_main!(benches);
