//! Surfaces and distances: `surface/<side>/<part>/<need>`.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{Criterion, criterion_group, criterion_main};
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

criterion_group!(benches, surface);
criterion_main!(benches);
