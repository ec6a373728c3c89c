//! Surfaces and distances: `surface/<side>/<part>/<need>`, and worst cases.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{Criterion, criterion_group, criterion_main};
use exacta_core::ndarray::{ArrayD, IxDyn};
use exacta_core::stages::{Need, SurfaceStage};
use exacta_core::testing::organs;
use exacta_core::{Batch, LabelSpec, Spacing, SurfaceKind};
use exacta_surface::CpuSurface;

fn surface(c: &mut Criterion) {
    for n in [128, 256] {
        let mut group = c.benchmark_group(format!("surface/{n}"));
        group.sample_size(20);
        let (pred, target) = organs(n);
        let spec = LabelSpec::index(4).without_background();
        let batch = Batch::new(pred.view(), target.view(), spec, None).expect("a valid batch");
        let stage = CpuSurface::default();
        let spacings = [Spacing::new(&[1.5, 0.8, 0.8]).expect("in range")];
        let (_, surfaces) = stage.surfaces(&batch, SurfaceKind::Voxels).expect("valid labels");
        assert!(matches!(surfaces, exacta_surface::Surfaces::Voxels(_)));
        group.bench_function("read int64", |b| b.iter(|| stage.surfaces(&batch, SurfaceKind::Voxels)));
        let none = Need::default();
        for (name, need) in [
            ("all", Need::ALL),
            ("max", Need { max: true, ..none }),
            ("percentile 95", Need { directed_percentile: Some(95.0), ..none }),
            ("within 1", Need { within: Some(1.0), ..none }),
        ] {
            group.bench_function(format!("distances/{name}"), |b| {
                b.iter(|| stage.distances(&surfaces, &spacings, &[need; 3]));
            });
        }
        for (kind, surface) in
            [("surfels", SurfaceKind::Surfels), ("mesh", SurfaceKind::Mesh), ("faces", SurfaceKind::Faces)]
        {
            let (_, surfaces) = stage.surfaces(&batch, surface).expect("valid labels");
            for (name, need) in [
                ("all", Need::ALL),
                ("percentile 95", Need { directed_percentile: Some(95.0), ..none }),
                ("within 1", Need { within: Some(1.0), ..none }),
            ] {
                group.bench_function(format!("{kind}/{name}"), |b| {
                    b.iter(|| stage.distances(&surfaces, &spacings, &[need; 3]));
                });
            }
        }
    }
}

/// Masks for which lists of elements, searches or shells would be the wrong tool: `worst/<kind>/<masks>`.
fn worst(c: &mut Criterion) {
    let n = 192;
    let mask = |f: &dyn Fn([usize; 3]) -> bool| {
        ArrayD::from_shape_fn(IxDyn(&[1, n, n, n]), |at| u8::from(f([at[1], at[2], at[3]])))
    };
    let board =
        |k: usize, shift: usize| mask(&|at| at.iter().map(|i| (i + shift) / k).sum::<usize>().is_multiple_of(2));
    let noise =
        |seed: usize| mask(&|[z, y, x]| ((z * n + y) * n + x + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0);
    let half = mask(&|[z, ..]| z < n / 2);
    let voxel = mask(&|at| at == [n - 1; 3]);
    let pairs = [
        ("halves", half.clone(), mask(&|[z, ..]| z >= n / 2)),
        ("checkerboard, inverse", board(1, 0), board(1, 1)),
        ("checkerboard of 8, shifted", board(8, 0), board(8, 4)),
        ("checkerboard, half", board(1, 0), half),
        ("noise, noise", noise(1), noise(2)),
        ("noise, far voxel", noise(1), voxel.clone()),
        ("voxel, far voxel", mask(&|at| at == [0; 3]), voxel),
    ];
    let stage = CpuSurface::default();
    let spacings = [Spacing::new(&[1.5, 0.8, 0.8]).expect("in range")];
    let need = Need { directed_percentile: Some(95.0), ..Need::default() };
    for (name, kind) in [("voxels", SurfaceKind::Voxels), ("surfels", SurfaceKind::Surfels)] {
        let mut group = c.benchmark_group(format!("worst/{name}"));
        group.sample_size(10);
        for (masks, pred, target) in &pairs {
            let spec = LabelSpec::index(2).without_background();
            let batch = Batch::new(pred.view(), target.view(), spec, None).expect("a valid batch");
            group.bench_function(*masks, |b| {
                b.iter(|| {
                    let (_, surfaces) = stage.surfaces(&batch, kind).expect("valid labels");
                    stage.distances(&surfaces, &spacings, &[need])
                });
            });
        }
    }
}

criterion_group!(benches, surface, worst);
criterion_main!(benches);
