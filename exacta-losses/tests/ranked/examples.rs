//! Sections 6 to 9 of the specification: values and gradients to the digits printed there.

use exacta_core::Cpu;
use exacta_core::ndarray::ArrayD;

use crate::{Case, array};

fn za() -> ArrayD<f64> {
    let values = [1.0, -0.5, 0.25, 0.0, 1.5, -1.0, -1.0, 0.5, 2.0, 0.2, -0.3, 0.8, 1.1, 0.4, -0.6, -0.7, 0.9, 0.1];
    array(&[2, 3, 3], &values)
}

fn ya() -> ArrayD<i64> {
    array(&[2, 3], &[0, 1, 2, 2, 1, 1])
}

fn yi() -> ArrayD<i64> {
    array(&[2, 3], &[0, 1, 2, -100, 1, -100])
}

fn zb() -> [f64; 8] {
    [0.5, -1.0, 2.0, 0.0, -0.25, 1.0, -2.0, 0.75]
}

fn z2() -> ArrayD<f64> {
    array(&[1, 2, 2, 3], &[0.5, 0.0, -1.0, 1.0, -0.5, 0.25, -0.5, 1.0, 0.5, 0.0, 1.5, -0.75])
}

fn y2() -> ArrayD<i64> {
    array(&[1, 2, 3], &[0, 1, 1, 0, 1, 0])
}

fn z3() -> ArrayD<f64> {
    array(&[1, 1, 2, 2, 3], &[0.3, -0.2, 0.8, 0.0, -1.0, 0.5, 1.0, -0.5, 0.1, 0.2, -0.7, 0.4])
}

fn g3() -> ArrayD<i64> {
    array(&[1, 1, 2, 2, 3], &[1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])
}

fn p5() -> ArrayD<f64> {
    array(&[1, 1, 3, 5], &[0.1, 0.2, 0.3, 0.2, 0.1, 0.4, 0.8, 0.9, 0.7, 0.5, 0.2, 0.3, 0.1, 0.25, 0.15])
}

fn g5() -> ArrayD<i64> {
    array(&[1, 1, 3, 5], &[0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
}

fn ma() -> ArrayD<bool> {
    array(&[2, 3], &[true, true, false, false, false, false])
}

fn check(case: &Case, value: f64, gradient: &[f64]) {
    let (values, found) = case.run(&Cpu::serial()).expect("computed");
    assert!((values.iter().sum::<f64>() - value).abs() < 1e-10, "{case:?}: {values:?}, not {value}");
    for (i, (found, expected)) in found.iter().zip(gradient).enumerate() {
        // Eight digits are printed.
        assert!((found - expected).abs() < 6e-9, "{case:?}: gradient[{i}] {found}, not {expected}");
    }
    assert_eq!(found.len(), gradient.len());
}

#[test]
fn topk_ce() {
    let none = [0.0; 9];
    check(
        &Case::new("topk_ce", za(), ya()),
        2.25226506962,
        &[&none[..], &[0.25865373, 0.0, 0.0, 0.63618551, 0.0, 0.0, -0.89483924, 0.0, 0.0]].concat(),
    );
    let half = [
        0.086217909,
        0.052627123,
        0.19122116,
        0.21206184,
        -0.22735532,
        -0.28617878,
        -0.29827975,
        0.1747282,
        0.094957617,
    ];
    check(&Case::new("topk_ce", za(), ya()).number("fraction", 0.5), 1.78462958911, &[&none[..], &half].concat());
    // Two voxels tie at the cut: the first is taken.
    let first = [-0.16737952, 0.0, 0.0, 0.12236424, 0.0, 0.0, 0.045015287, 0.0, 0.0];
    let second = [0.0, 0.078940684, 0.0, 0.0, -0.34103298, 0.0, 0.0, 0.2620923, 0.0];
    check(
        &Case::new("topk_ce", za(), yi()).number("fraction", 0.5).ignoring(-100),
        0.776758664906,
        &[first, second].concat(),
    );
}

#[test]
fn dice_topk_ce() {
    check(
        &Case::new("dice_topk_ce", za(), ya()).number("fraction", 0.5).flag("include_background", false),
        2.32255382269,
        &[
            -0.019515982,
            0.0081721281,
            0.016221173,
            0.014213351,
            -0.05197985,
            0.0082043769,
            0.0053026312,
            0.043807722,
            -0.02442555,
            0.088987955,
            0.058343933,
            0.20003853,
            0.23412469,
            -0.25957475,
            -0.3034627,
            -0.32311264,
            0.20123082,
            0.10342417,
        ],
    );
    let case = Case::new("dice_topk_ce", za(), yi()).number("fraction", 0.5).flag("squared_pred", true);
    check(
        &case.number("lambda_dice", 0.5).number("lambda_ce", 2.0).ignoring(-100),
        1.77779283662,
        &[
            -0.34920106,
            0.0029998037,
            0.0043189137,
            0.25632957,
            -0.014309977,
            0.00080731886,
            0.092871491,
            0.011310174,
            -0.0051262326,
            0.0,
            0.16413954,
            0.0,
            0.0,
            -0.70888627,
            0.0,
            0.0,
            0.54474672,
            0.0,
        ],
    );
}

#[test]
fn lovasz_softmax() {
    check(
        &Case::new("lovasz_softmax", za(), ya()),
        0.570584270631,
        &[
            -0.037115904,
            0.0046237846,
            0.007738239,
            0.0271339,
            -0.021271342,
            0.0022170426,
            0.0099820041,
            0.016647558,
            -0.0099552816,
            -3.7511724e-05,
            0.00097959655,
            0.045239755,
            0.017579556,
            -0.033353338,
            -0.028139478,
            -0.017542044,
            0.032373742,
            -0.017100277,
        ],
    );
    check(
        &Case::new("lovasz_softmax", za(), ya()).flag("per_image", true),
        0.563491602857,
        &[
            -0.037115904,
            0.008145917,
            0.0096727987,
            0.0271339,
            -0.050682855,
            0.0027713032,
            0.0099820041,
            0.042536938,
            -0.012444102,
            0.0068000555,
            0.0062744825,
            0.010144068,
            0.016725438,
            -0.027106498,
            -0.015181463,
            -0.023525493,
            0.020832015,
            0.0050373949,
        ],
    );
    let empty = array(&[2, 3], &[0, 0, 1, 0, 0, 0]);
    let case = Case::new("lovasz_softmax", za(), empty).text("classes", "all").flag("include_background", false);
    let first = [0.0, 0.0, -0.055147311, 0.0, 0.0, -0.036145121, 0.0, 0.0, 0.091292431];
    check(&case, 0.888298140613, &[first, [0.0; 9]].concat());
    let given = array(&[1, 2, 3], &[0.9, 0.2, 0.6, 0.1, 0.8, 0.4]);
    let case = Case::new("lovasz_softmax", given, array(&[1, 3], &[0, 1, 1])).flag("from_logits", false);
    check(&case, 23.0 / 60.0, &[-0.16666667, 0.083333333, 0.25, 0.0, -0.25, -0.25]);
    let ties = Case::new("lovasz_softmax", ArrayD::zeros(vec![1, 2, 4]), array(&[1, 4], &[0, 1, 0, 1]));
    let one = [-0.10416667, 0.0625, -0.052083333, 0.03125];
    check(&ties, 0.5, &[one, one.map(|value| -value)].concat());
}

#[test]
fn lovasz_hinge() {
    let (first, hot) = (array(&[1, 1, 4], &zb()[..4]), [1, 0, 1, 0, 0, 1, 0, 0]);
    let third = 1.0 / 3.0;
    check(&Case::new("lovasz_hinge", first.clone(), array(&[1, 4], &hot[..4])), 0.5, &[-third, 0.0, 0.0, third]);
    let both = array(&[1, 2, 4], &zb());
    let case = |target: &[i64]| {
        Case::new("lovasz_hinge", both.clone(), array(&[1, 2, 4], target)).flag("multilabel", true).one_hot()
    };
    let sixth = 1.0 / 6.0;
    check(&case(&hot), 0.75, &[-sixth, 0.0, 0.0, sixth, 1.0 / 12.0, 0.0, 0.0, 0.25]);
    check(&case(&[0; 8]).flag("per_image", false), 2.5, &[0.0, 0.0, 0.5, 0.0, 0.0, 0.5, 0.0, 0.0]);
    let ignored = Case::new("lovasz_hinge", first, array(&[1, 4], &[1, 255, 0, 0])).ignoring(255);
    check(&ignored, 11.0 / 6.0, &[-third, 0.0, 0.5, sixth]);
}

#[test]
fn boundary() {
    let half = [-0.032768656, 0.032768656, 0.024857742, -0.032768656, 0.017498931, -0.032768656];
    check(
        &Case::new("boundary", z2(), y2()).numbers("spacing", &[2.0, 1.0]),
        -0.270434311449,
        &[half, half.map(|value| -value)].concat(),
    );
    let half = [-0.039322387, 0.039322387, 0.0, -0.039322387, 0.020998717, -0.039322387];
    let mask = array(&[1, 2, 3], &[true, true, false, true, true, true]);
    check(
        &Case::new("boundary", z2(), y2())
            .numbers("spacing", &[1.0, 1.0])
            .flag("include_background", true)
            .masked(mask),
        -0.2610062785,
        &[half, half.map(|value| -value)].concat(),
    );
    let case = Case::new("boundary", z3(), g3()).one_hot().text("activation", "sigmoid");
    check(
        &case.flag("include_background", true).numbers("spacing", &[3.0, 1.0, 0.5]),
        0.279391843116,
        &[
            -0.010185763,
            -0.010313191,
            0.008912904,
            0.020833333,
            0.016384328,
            0.021895178,
            0.0081921639,
            -0.0097918213,
            0.010390668,
            0.023060995,
            0.018476073,
            0.022384973,
        ],
    );
}

#[test]
fn hausdorff_dt() {
    let half = [-0.035251395, 0.035251395, 0.072554986, -0.035251395, 0.0083436948, -0.035251395];
    check(
        &Case::new("hausdorff_dt", z2(), y2()).numbers("spacing", &[2.0, 1.0]),
        0.145547858692,
        &[half, half.map(|value| -value)].concat(),
    );
    let case = Case::new("hausdorff_dt", z3(), g3()).one_hot().text("activation", "sigmoid");
    let case = case.flag("include_background", true).numbers("spacing", &[3.0, 1.0, 0.5]);
    check(
        &case,
        0.292887813759,
        &[
            -0.021673138,
            -0.011341086,
            0.012299353,
            0.041666667,
            0.011016061,
            0.036570063,
            0.011977903,
            -0.012190021,
            0.010909769,
            0.034023257,
            0.015326467,
            0.035960286,
        ],
    );
    let mask = array(&[1, 2, 2, 3], &[true, true, false, true, true, false, true, true, false, true, true, false]);
    check(
        &case.masked(mask),
        0.252499499888,
        &[
            -0.032509707,
            -0.017011628,
            0.0,
            0.0625,
            0.016524091,
            0.0,
            0.017966855,
            -0.018285032,
            0.0,
            0.051034885,
            0.022989701,
            0.0,
        ],
    );
}

#[test]
fn soft_cldice() {
    let case = |input, target| {
        let case = Case::new("soft_cldice", input, target).one_hot().number("iterations", 1.0);
        case.flag("include_background", true)
    };
    check(
        &case(p5(), g5()).text("activation", "none"),
        0.212564822818,
        &[
            -0.16186445,
            -0.046509053,
            0.082308074,
            -0.084843951,
            -0.091453416,
            -0.11382263,
            -0.11250074,
            -0.11382263,
            -0.11250074,
            -0.11382263,
            0.091453416,
            0.091453416,
            0.0,
            0.091453416,
            0.091453416,
        ],
    );
    check(
        &case(z3(), g3()).text("activation", "sigmoid"),
        0.454695763599,
        &[
            -0.051356324,
            -0.20604894,
            0.022835046,
            0.030270325,
            0.0,
            0.028454555,
            0.022717416,
            0.022567194,
            0.028814015,
            0.029969628,
            -0.04098124,
            0.029091083,
        ],
    );
}

#[test]
fn generalized_wasserstein_dice() {
    let matrix = [0.0, 1.0, 1.0, 1.0, 0.0, 0.5, 1.0, 0.5, 0.0];
    let case = |target| Case::new("generalized_wasserstein_dice", za(), target).numbers("dist_matrix", &matrix);
    let first = [
        -0.023080097,
        0.010557228,
        0.017711831,
        0.016872903,
        -0.021036534,
        0.0020454341,
        0.0062071942,
        0.010479306,
        -0.019757265,
        0.017868819,
        0.014947037,
        0.026582711,
        -0.0079692747,
        -0.021793933,
        -0.016534652,
        -0.0098995441,
        0.0068468955,
        -0.010048059,
    ];
    check(&case(ya()), 0.289346215748, &first);
    // Twice as large in all, and the sum of two cases is twice their mean.
    let twice = Case::new("generalized_wasserstein_dice", za(), ya()).numbers("dist_matrix", &matrix.map(|m| m * 3.0));
    for reduction in ["sum", "none"] {
        check(&twice.clone().text("reduction", reduction), 2.0 * 0.289346215748, &first.map(|value| 2.0 * value));
    }
    let weighted = [
        -0.023869367,
        0.0076002556,
        0.012750927,
        0.017449906,
        -0.015144415,
        0.0014725288,
        0.0064194616,
        0.007544159,
        -0.014223456,
    ];
    let rest = [
        0.023000781,
        0.012826572,
        0.022811548,
        -0.010258067,
        -0.018702131,
        -0.014188959,
        -0.012742714,
        0.0058755588,
        -0.0086225881,
    ];
    check(&case(ya()).text("weighting_mode", "GDL"), 0.267222171066, &[weighted, rest].concat());
    let rest = [0.0, 0.036681179, 0.0, 0.0, -0.053483987, 0.0, 0.0, 0.016802808, 0.0];
    let ignored = case(yi()).text("weighting_mode", "GDL").ignoring(-100);
    check(&ignored, 0.199955433134, &[weighted, rest].concat());
    let masked = [-0.077876906, 0.042023203, 0.0, 0.05693258, -0.083736237, 0.0, 0.020944326, 0.041713034, 0.0];
    check(&case(ya()).masked(ma()), 0.257802721011, &[masked, [0.0; 9]].concat());
    // Pitfall P68.
    let logits = |p: f64| (p / (1.0 - p)).ln();
    let two = |p: [f64; 6]| -> Vec<f64> {
        p.chunks(3).flat_map(|p| [[0.0; 3], [logits(p[0]), logits(p[1]), logits(p[2])]].concat()).collect()
    };
    let input = array(&[2, 2, 3], &two([0.9, 0.2, 0.6, 0.3, 0.8, 0.1]));
    let case = Case::new("generalized_wasserstein_dice", input, array(&[2, 3], &[1, 0, 1, 1, 1, 0]));
    let case = case.numbers("dist_matrix", &[0.0, 1.0, 1.0, 0.0]).number("smooth", 0.0).text("reduction", "none");
    let (values, _) = case.run(&Cpu::serial()).expect("computed");
    assert!((values[0] - 0.1891892).abs() < 1e-7 && (values[1] - 0.3125).abs() < 1e-7, "{values:?}");
}
