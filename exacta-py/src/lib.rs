//! The extension module `exacta._native`: arrays in, tables out. What a function means lies in the crates below; which
//! arguments it takes, and their checks, lie in the Python package above.

mod arrays;
mod components;
mod counts;
mod edt;
mod error;
mod evaluate;
mod lesions;
mod loss_maps;
mod losses;
mod pool;
mod registry;
mod scores;

use pyo3::prelude::*;

/// Kernels of the Python package `exacta`.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("METRICS", registry::metrics(module.py(), exacta_metrics::METRICS)?)?;
    module.add("SCORE_METRICS", registry::metrics(module.py(), exacta_metrics::SCORE_METRICS)?)?;
    module.add_function(wrap_pyfunction!(edt::distance_transform, module)?)?;
    module.add_function(wrap_pyfunction!(edt::signed_distance, module)?)?;
    module.add_function(wrap_pyfunction!(edt::nearest, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(components::label_components, module)?)?;
    module.add_function(wrap_pyfunction!(components::filter_components, module)?)?;
    module.add_function(wrap_pyfunction!(components::component_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(scores::evaluate_scores, module)?)?;
    module.add_function(wrap_pyfunction!(scores::reliability_sums, module)?)?;
    module.add_function(wrap_pyfunction!(scores::reliability_values, module)?)?;
    module.add_function(wrap_pyfunction!(scores::rank_curves, module)?)?;
    module.add_function(wrap_pyfunction!(scores::rank_histograms, module)?)?;
    module.add_function(wrap_pyfunction!(scores::histogram_curve, module)?)?;
    module.add_function(wrap_pyfunction!(scores::selected_scores, module)?)?;
    module.add_function(wrap_pyfunction!(components::skeletonize, module)?)?;
    module.add_function(wrap_pyfunction!(lesions::lesion_scores, module)?)?;
    module.add_function(wrap_pyfunction!(lesions::instance_scores, module)?)?;
    module.add_function(wrap_pyfunction!(lesions::brats_regions, module)?)?;
    module.add_function(wrap_pyfunction!(lesions::detect, module)?)?;
    module.add_function(wrap_pyfunction!(lesions::detection_curve, module)?)?;
    module.add_function(wrap_pyfunction!(losses::loss_forward, module)?)?;
    module.add_function(wrap_pyfunction!(losses::loss_backward, module)?)?;
    module.add_function(wrap_pyfunction!(losses::loss_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(losses::loss_from_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(counts::count, module)?)?;
    module.add_function(wrap_pyfunction!(counts::of_counts, module)?)?;
    module.add_function(wrap_pyfunction!(loss_maps::soft_skeleton, module)?)?;
    module.add_function(wrap_pyfunction!(loss_maps::distance_maps, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::simd_level, module)?)
}
