//! Rules about the crates' manifests: who depends on whom, and what a manifest says of its crate.

use serde_json::Value;

use super::Report;
use crate::Result;

/// What one crate may depend on outside the workspace, build dependencies included and dev-dependencies left free.
pub(super) struct Row {
    /// The crate's name.
    pub(super) krate: &'static str,
    /// Names it may depend on.
    pub(super) outside: &'static [&'static str],
    /// Names it may depend on behind a feature only.
    pub(super) optional: &'static [&'static str],
}

/// The file that a crate starts with.
pub(super) struct CrateRoot<'a> {
    pub(super) krate: &'a str,
    pub(super) path: &'a str,
}

/// Checks each workspace member of `cargo metadata`'s answer.
pub(super) fn check(metadata: &Value, table: &[Row], assemblers: &[&str], report: &mut Report) -> Result {
    let packages = packages(metadata)?;
    let names: Vec<&str> = packages.iter().map(|package| text(package, "name")).collect();
    for package in packages {
        check_fields(package, report);
        let name = text(package, "name");
        let Some(row) = table.iter().find(|row| row.krate == name) else {
            report.problem(format!("{name} has no row in the table of dependencies in xtask/src/tidy.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if dependency["kind"] == "dev" {
                continue;
            }
            let other = text(dependency, "name");
            let optional = dependency["optional"] == true && row.optional.contains(&other);
            if names.contains(&other) {
                if other != "exacta-core" && !assemblers.contains(&name) {
                    report.problem(format!(
                        "{name} depends on {other}; a kernel or formula crate depends on exacta-core alone"
                    ));
                }
            } else if !optional && !row.outside.contains(&other) {
                report.problem(format!("{name} depends on {other}, which its row in xtask/src/tidy.rs does not have"));
            }
        }
    }
    Ok(())
}

/// The roots of all libraries and programs in the workspace.
pub(super) fn crate_roots(metadata: &Value) -> Result<Vec<CrateRoot<'_>>> {
    let mut roots = Vec::new();
    for package in packages(metadata)? {
        for target in package["targets"].as_array().into_iter().flatten() {
            let built = |kind: &Value| matches!(kind.as_str(), Some("lib" | "cdylib" | "bin"));
            if target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(built)) {
                roots.push(CrateRoot { krate: text(package, "name"), path: text(target, "src_path") });
            }
        }
    }
    Ok(roots)
}

/// A crate says what it is, under which licence and from which Rust on; one that is published shows a readme too.
fn check_fields(package: &Value, report: &mut Report) {
    let name = text(package, "name");
    let published = package["publish"].as_array().is_none_or(|registries| !registries.is_empty());
    let fields: &[&str] = if published {
        &["description", "license", "rust_version", "readme"]
    } else {
        &["description", "license", "rust_version"]
    };
    for field in fields {
        if text(package, field).is_empty() {
            report.problem(format!("{name}: its Cargo.toml lacks `{}`", field.replace('_', "-")));
        }
    }
}

fn packages(metadata: &Value) -> Result<&Vec<Value>> {
    Ok(metadata["packages"].as_array().ok_or("cargo metadata names no packages")?)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: &[Row] = &[
        Row { krate: "exacta-core", outside: &["rayon"], optional: &["proptest"] },
        Row { krate: "exacta-surface", outside: &[], optional: &[] },
        Row { krate: "exacta-py", outside: &["pyo3"], optional: &[] },
    ];

    fn package(name: &str, dependencies: &[Value]) -> Value {
        json!({
            "name": name, "description": "d", "license": "l", "rust_version": "1.89", "readme": "r", "publish": null,
            "dependencies": dependencies,
            "targets": [
                {"kind": ["lib"], "src_path": format!("{name}/src/lib.rs")},
                {"kind": ["bench"], "src_path": format!("{name}/benches/b.rs")},
            ],
        })
    }

    fn on(name: &str) -> Value {
        json!({"name": name, "kind": null, "optional": false})
    }

    fn problems(packages: &[Value]) -> Vec<String> {
        let mut report = Report::default();
        check(&json!({ "packages": packages }), TABLE, &["exacta-py"], &mut report).unwrap();
        report.problems
    }

    #[test]
    fn allowed_dependencies_pass() {
        let dev = json!({"name": "exacta-surface", "kind": "dev", "optional": false});
        let behind_a_feature = json!({"name": "proptest", "kind": null, "optional": true});
        let core = package("exacta-core", &[on("rayon"), behind_a_feature, dev]);
        let surface = package("exacta-surface", &[on("exacta-core")]);
        let py = package("exacta-py", &[on("exacta-core"), on("exacta-surface")]);
        assert!(problems(&[core, surface, py]).is_empty());
    }

    #[test]
    fn an_arrow_between_kernel_crates_fails() {
        let core = package("exacta-core", &[on("exacta-surface")]);
        let surface = package("exacta-surface", &[]);
        let found = problems(&[core, surface]);
        assert_eq!(
            found,
            ["exacta-core depends on exacta-surface; a kernel or formula crate depends on exacta-core alone"]
        );
    }

    #[test]
    fn outside_dependencies_must_be_listed() {
        let build = json!({"name": "cc", "kind": "build", "optional": false});
        assert_eq!(problems(&[package("exacta-surface", &[on("rayon")])]).len(), 1);
        assert_eq!(problems(&[package("exacta-core", &[on("proptest"), build])]).len(), 2);
    }

    #[test]
    fn a_crate_without_a_row_fails() {
        assert_eq!(problems(&[package("exacta-new", &[])]).len(), 1);
    }

    #[test]
    fn manifests_describe_their_crates() {
        let mut core = package("exacta-core", &[]);
        core["readme"] = Value::Null;
        core["license"] = Value::Null;
        assert_eq!(problems(&[core.clone()]).len(), 2);
        core["publish"] = json!([]);
        assert_eq!(problems(&[core]), ["exacta-core: its Cargo.toml lacks `license`"]);
    }

    #[test]
    fn roots_are_of_libraries_and_programs() {
        let metadata = json!({"packages": [package("exacta-core", &[])]});
        let roots = crate_roots(&metadata).unwrap();
        assert_eq!(roots.iter().map(|root| root.path).collect::<Vec<_>>(), ["exacta-core/src/lib.rs"]);
    }
}
