//! What holds for every metric, from the registry: range, perfect match, symmetry, snapshot of the list.

use exacta_components::CpuComponents;
use exacta_core::testing::{Case, cases};
use exacta_core::{Batch, Error, LabelSpec, Spacing, Stages};
use exacta_metrics::{Family, METRICS, MetricInfo, MetricSet, OptionValue, Options, evaluate};
use exacta_surface::CpuSurface;
use proptest::prelude::*;

fn stages() -> Stages<CpuSurface, CpuComponents> {
    Stages::default()
}

fn options(info: &MetricInfo) -> Options {
    let required = info.options.iter().any(|(_, default)| default.is_none());
    if required { Options::new().with("tolerance", OptionValue::Number(1.0)) } else { Options::new() }
}

fn values(info: &MetricInfo, case: &Case, swap: bool) -> Vec<f64> {
    let mut set = MetricSet::default();
    set.push(info.name, &options(info)).expect("valid options");
    let (pred, target) = if swap { (&case.target, &case.pred) } else { (&case.pred, &case.target) };
    let batch = Batch::new(pred.view(), target.view(), case.spec(), None).expect("a valid batch");
    let spacings = vec![Spacing::new(&[1.5, 0.8, 0.7][3 - case.shape.len()..]).expect("in range"); batch.cases()];
    evaluate(&stages(), &batch, Some(&spacings), &set).expect("measured").remove(0).into_values()
}

/// Whether the metric is one of images with this number of axes.
fn applies(info: &MetricInfo, axes: usize) -> bool {
    info.family != Family::Size || (axes == 2) == (info.unit == "mm2")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn range_and_symmetry(case in cases(8)) {
        for info in METRICS.iter().filter(|info| applies(info, case.shape.len())) {
            let (values, swapped) = (values(info, &case, false), values(info, &case, true));
            for (a, b) in values.iter().zip(&swapped) {
                prop_assert!(a.is_nan() || (info.range.0..=info.range.1).contains(a), "{} {a}", info.name);
                if info.symmetric {
                    // Pooled sums add the two directions in another order.
                    prop_assert!(a.total_cmp(b).is_eq() || (a - b).abs() <= 1e-12 * a.abs() || a.is_nan(), "{} {a} {b}", info.name);
                    prop_assert_eq!(a.is_nan(), b.is_nan());
                }
            }
        }
    }

    #[test]
    fn a_perfect_match(mut case in cases(8)) {
        case.pred = case.target.clone();
        for info in METRICS.iter().filter(|info| applies(info, case.shape.len())) {
            let wanted = match (info.family, info.name) {
                (Family::Overlap, "relative_volume_difference") => 0.0,
                (Family::Overlap, _) | (_, "nsd") => 1.0,
                (Family::Surface, _) | (_, "volume_error" | "area_error") => 0.0,
                // A skeleton may vanish, and then it is 0.
                (Family::Size | Family::Topology | Family::Probability | Family::Ranking, _) => continue,
            };
            for value in values(info, &case, false) {
                prop_assert!(value.is_nan() || value == wanted, "{} {value}", info.name);
            }
        }
    }

    #[test]
    fn together_as_apart(case in cases(8)) {
        // One run of the stages for all metrics gives what each gives alone.
        let names: Vec<&MetricInfo> = METRICS.iter().filter(|info| applies(info, case.shape.len())).collect();
        let mut set = MetricSet::default();
        for info in &names {
            set.push(info.name, &options(info)).expect("valid options");
        }
        let batch = Batch::new(case.pred.view(), case.target.view(), case.spec(), None).expect("a valid batch");
        let spacings = vec![Spacing::new(&[1.5, 0.8, 0.7][3 - case.shape.len()..]).expect("in range"); batch.cases()];
        let together = evaluate(&stages(), &batch, Some(&spacings), &set).expect("measured");
        for (info, table) in names.iter().zip(together) {
            for (a, b) in table.into_values().iter().zip(values(info, &case, false)) {
                prop_assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "{} {a} {b}", info.name);
            }
        }
    }
}

#[test]
fn the_list_of_metrics() {
    let rows: Vec<String> = METRICS
        .iter()
        .map(|info| {
            let options: Vec<String> = info
                .options
                .iter()
                .map(|(name, default)| match default.map(|default| default.value()) {
                    None => (*name).to_owned(),
                    Some(OptionValue::Number(value)) => format!("{name}={value}"),
                    Some(OptionValue::Text(value)) => format!("{name}={value}"),
                    Some(OptionValue::Flag(value)) => format!("{name}={value}"),
                    Some(OptionValue::Numbers(values)) => format!("{name}={values:?}"),
                })
                .collect();
            let (low, high) = info.range;
            format!(
                "{} | {} | {} | [{low}, {high}] | {} | {}",
                info.name,
                info.family.name(),
                info.unit,
                info.better.name(),
                options.join(", ")
            )
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn errors_name_what_is_wrong() {
    let push =
        |name: &str, options: Options| MetricSet::default().push(name, &options).expect_err("refused").to_string();
    let image = exacta_core::ndarray::ArrayD::<u8>::zeros(exacta_core::ndarray::IxDyn(&[1, 3, 4]));
    let batch = Batch::new(image.view(), image.view(), LabelSpec::index(2), None).expect("a valid batch");
    let run = |names: &[&str], spacing: Option<&[Spacing]>| {
        let set = MetricSet::named(names).expect("known");
        evaluate(&stages(), &batch, spacing, &set).expect_err("refused").to_string()
    };
    let messages = [
        push("nope", Options::new()),
        push("nsd", Options::new()),
        push("dice", Options::new().with("smooth", OptionValue::Number(1.0))),
        push("hd95", Options::new().with("combine", OptionValue::Text("sum".into()))),
        push("hausdorff_distance", Options::new().with("percentile", OptionValue::Number(101.0))),
        push("nsd", Options::new().with("tolerance", OptionValue::Number(-1.0))),
        push("predicted_volume", Options::new().with("unit", OptionValue::Text("mm2".into()))),
        run(&["hd95"], None),
        run(&["predicted_volume"], Some(&[Spacing::isotropic(1.0, 2).expect("in range")])),
        run(&["hd95"], Some(&[Spacing::isotropic(1.0, 3).expect("in range")])),
        Error::LabelOutOfRange { num_classes: 2, min: 0, max: 255, hint: "" }.to_string(),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
