//! Each metric has one name everywhere: its file, its registry row, its Python function, its row in the docs.

use super::Report;

const CRATE: &str = "exacta-metrics/src/";
const REGISTRY: &str = "exacta-metrics/src/registry.rs";
const PYTHON: &str = "exacta-py/python/exacta/functional/";
const DOCS: &str = "docs/metrics.md";

/// Checks that each formula is found by its one name.
pub(super) fn check(files: &[(String, Vec<u8>)], report: &mut Report) {
    let read = |keep: &dyn Fn(&str) -> bool| -> String {
        let kept = files.iter().filter(|(name, _)| keep(name));
        kept.map(|(_, bytes)| String::from_utf8_lossy(bytes) + "\n").collect()
    };
    let registry = read(&|name| name == REGISTRY);
    let python = read(&|name| name.starts_with(PYTHON) && name.ends_with(".py"));
    let docs = read(&|name| name == DOCS);

    for (file, bytes) in files {
        let Some((family, name)) = formula(file) else {
            continue;
        };
        if !has_info(&String::from_utf8_lossy(bytes), name) {
            report.problem(format!("{file} has no `INFO` that is named \"{name}\""));
        }
        if !has_registry_row(&registry, family, name) {
            report.problem(format!("{name} has no row in {REGISTRY}"));
        }
        if !has_function(&python, name) {
            report.problem(format!("{name} has no function in {PYTHON}"));
        }
        if !has_docs_row(&docs, name) {
            report.problem(format!("{name} has no row in {DOCS}"));
        }
    }
}

/// Family and name of the metric that a file holds the formula of: `exacta-metrics/src/<family>/<name>.rs`.
fn formula(file: &str) -> Option<(&str, &str)> {
    let (family, name) = file.strip_prefix(CRATE)?.strip_suffix(".rs")?.split_once('/')?;
    (!name.contains('/') && name != "mod").then_some((family, name))
}

fn has_info(text: &str, name: &str) -> bool {
    text.contains("const INFO: MetricInfo") && text.contains(&format!("name: \"{name}\","))
}

fn has_registry_row(registry: &str, family: &str, name: &str) -> bool {
    let row = format!("{family}::{name}::INFO,");
    registry.lines().any(|line| line.trim() == row)
}

fn has_function(python: &str, name: &str) -> bool {
    let start = format!("def {name}(");
    python.lines().any(|line| line.starts_with(&start))
}

fn has_docs_row(docs: &str, name: &str) -> bool {
    docs.lines().any(|line| line.trim_start().starts_with('|') && line.contains(&format!("`{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
        let mut report = Report::default();
        check(&files, &mut report);
        report.problems
    }

    const INFO: &str = "pub(crate) const INFO: MetricInfo = MetricInfo {\n    name: \"dice\",\n";

    #[test]
    fn a_metric_is_named_in_all_places() {
        let places = [
            ("exacta-metrics/src/overlap/dice.rs", INFO),
            (REGISTRY, "    overlap::dice::INFO,\n"),
            ("exacta-py/python/exacta/functional/_overlap.py", "def dice(\n    pred,\n"),
            (DOCS, "| `dice` | ... |\n"),
        ];
        assert!(problems(&places).is_empty());
        for missing in 1..places.len() {
            let kept: Vec<_> = (0..places.len()).filter(|at| *at != missing).map(|at| places[at]).collect();
            assert_eq!(problems(&kept).len(), 1, "without {}", places[missing].0);
        }
        let renamed = INFO.replace("dice", "dsc");
        assert_eq!(problems(&[(places[0].0, &renamed), places[1], places[2], places[3]]).len(), 1);
    }

    #[test]
    fn names_are_whole() {
        let formula = ("exacta-metrics/src/overlap/dice.rs", INFO);
        let registry = (REGISTRY, "    // overlap::dice::INFO,\n    overlap::dice::INFOS,\n");
        let python = ("exacta-py/python/exacta/functional/_overlap.py", "def dice_of(pred):\n");
        let docs = (DOCS, "`dice`\n| `dice_of` |\n");
        assert_eq!(problems(&[formula, registry, python, docs]).len(), 3);
    }

    #[test]
    fn only_files_of_a_family_are_formulas() {
        assert_eq!(formula("exacta-metrics/src/size/volume_error.rs"), Some(("size", "volume_error")));
        for other in [
            "exacta-metrics/src/lib.rs",
            "exacta-metrics/src/size/mod.rs",
            "exacta-metrics/src/size/deep/er.rs",
            "exacta-core/src/conventions/spacing.rs",
        ] {
            assert_eq!(formula(other), None, "{other}");
        }
    }
}
