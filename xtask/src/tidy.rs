//! `cargo xtask tidy`: the rules of the house that no compiler checks.
//!
//! This file holds the tables that a person edits and gathers what the rules read; the rules themselves are functions
//! of text in `tidy/`, each with its tests.

use std::path::Path;

use serde_json::Value;
use xshell::{Shell, cmd};

use crate::Result;
use crate::env::root;

mod manifests;
mod metrics;
mod source;

/// What each crate may depend on outside the workspace. A new name here is a commit of its own, with the reason.
const DEPENDENCIES: &[manifests::Row] = &[
    manifests::Row {
        krate: "exacta-core",
        outside: &["fearless_simd", "ndarray", "rayon", "thiserror"],
        optional: &["proptest"],
    },
    manifests::Row { krate: "exacta-edt", outside: &["fearless_simd"], optional: &[] },
    manifests::Row { krate: "exacta-components", outside: &[], optional: &[] },
    manifests::Row { krate: "exacta-surface", outside: &["nalgebra", "rayon"], optional: &[] },
    manifests::Row { krate: "exacta-losses", outside: &["fearless_simd"], optional: &[] },
    manifests::Row { krate: "exacta-metrics", outside: &[], optional: &[] },
    manifests::Row { krate: "exacta-lesions", outside: &[], optional: &[] },
    manifests::Row { krate: "exacta-py", outside: &["arc-swap", "ndarray", "numpy", "pyo3", "rayon"], optional: &[] },
    manifests::Row { krate: "xtask", outside: &["clap", "serde_json", "xshell"], optional: &[] },
];

/// Crates that put the others together; every other crate depends on exacta-core alone.
const ASSEMBLERS: &[&str] = &["exacta-py", "xtask"];

/// The only crates that may hold `unsafe`; every other one forbids it.
const UNSAFE_CRATES: &[&str] = &["exacta-py"];

/// The only files with `unsafe` in them. ARCHITECTURE.md names each and says why.
const UNSAFE_FILES: &[&str] = &[];

/// A file longer than this fails.
const MOST_LINES: usize = 700;

/// A file longer than this is named.
const MANY_LINES: usize = 500;

/// The largest file that is tracked.
const MOST_BYTES: usize = 1 << 20;

/// What the rules found.
#[derive(Default)]
struct Report {
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl Report {
    fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    fn warning(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }
}

pub(crate) fn run(sh: &Shell) -> Result {
    let mut report = Report::default();
    let files = files(sh)?;
    let metadata = cmd!(sh, "cargo metadata --format-version 1 --no-deps").quiet().read()?;
    let metadata: Value = serde_json::from_str(&metadata)?;

    manifests::check(&metadata, DEPENDENCIES, ASSEMBLERS, &mut report)?;
    check_roots(sh, &metadata, &mut report)?;
    for (name, bytes) in &files {
        check_file(name, bytes, &mut report);
    }
    check_unsafe_list(&files, &mut report);
    metrics::check(&files, &mut report);

    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    if report.problems.is_empty() {
        println!("{} files, no rule broken", files.len());
        return Ok(());
    }
    Err(format!("{} broken\n  {}", count(report.problems.len()), report.problems.join("\n  ")).into())
}

fn count(rules: usize) -> String {
    if rules == 1 { "1 rule is".to_owned() } else { format!("{rules} rules are") }
}

/// Name and content of each file that is tracked or would be by `git add --all`, so that a rule speaks before the
/// commit.
fn files(sh: &Shell) -> Result<Vec<(String, Vec<u8>)>> {
    let list = cmd!(sh, "git ls-files -z --cached --others --exclude-standard").quiet().read()?;
    let mut names: Vec<&str> = list.split('\0').filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    let mut files = Vec::new();
    for name in names {
        let path = root().join(name);
        // Deleted in the work tree but not in the index, or a link to a folder: nothing to read.
        if path.is_file() {
            files.push((name.to_owned(), sh.read_binary_file(path)?));
        }
    }
    Ok(files)
}

/// Each crate root forbids `unsafe`, but for the crates that have a list of files with it.
fn check_roots(sh: &Shell, metadata: &Value, report: &mut Report) -> Result {
    for target in manifests::crate_roots(metadata)? {
        if UNSAFE_CRATES.contains(&target.krate) {
            continue;
        }
        if !source::forbids_unsafe(&sh.read_file(target.path)?) {
            report.problem(format!("{}: {} lacks `#![forbid(unsafe_code)]`", target.krate, target.path));
        }
    }
    Ok(())
}

fn check_file(name: &str, bytes: &[u8], report: &mut Report) {
    if bytes.len() > MOST_BYTES {
        report.problem(format!("{name} is {} KiB; the most is {} KiB", bytes.len() >> 10, MOST_BYTES >> 10));
        return;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for (line, path) in source::home_paths(text) {
        report.problem(format!("{name}:{line}: a path of one person's machine: {path}"));
    }
    let rust = has_extension(name, "rs");
    if rust || has_extension(name, "py") {
        let lines = text.lines().count();
        if lines > MOST_LINES {
            report.problem(format!("{name} has {lines} lines; the most is {MOST_LINES}"));
        } else if lines > MANY_LINES {
            report.warning(format!("{name} has {lines} lines"));
        }
    }
    if rust {
        for (line, what) in source::left_overs(text) {
            report.problem(format!("{name}:{line}: `{what}`"));
        }
    }
}

/// `unsafe` stands in the listed files and in no other, and ARCHITECTURE.md has the same list.
fn check_unsafe_list(files: &[(String, Vec<u8>)], report: &mut Report) {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    for (name, bytes) in files.iter().filter(|(name, _)| has_extension(name, "rs")) {
        let lines = source::lines_with_word(&text(bytes), "unsafe");
        let listed = UNSAFE_FILES.contains(&name.as_str());
        if let (Some(line), false) = (lines.first(), listed) {
            report.problem(format!("{name}:{line}: `unsafe` in a file that is not on the list in xtask/src/tidy.rs"));
        }
        if lines.is_empty() && listed {
            report.problem(format!("{name} has no `unsafe`: take it off the list in xtask/src/tidy.rs"));
        }
    }
    let page = files.iter().find(|(name, _)| name == "ARCHITECTURE.md").map(|(_, bytes)| text(bytes));
    for name in UNSAFE_FILES {
        if !files.iter().any(|(file, _)| file == name) {
            report.problem(format!(
                "the list of files with `unsafe` in xtask/src/tidy.rs names {name}, which is not there"
            ));
        }
        if !page.as_ref().is_some_and(|page| page.contains(name)) {
            report.problem(format!("ARCHITECTURE.md does not name {name} among the files with `unsafe`"));
        }
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(name: &str, text: &str) -> Vec<String> {
        let mut report = Report::default();
        check_file(name, text.as_bytes(), &mut report);
        report.problems
    }

    #[test]
    fn long_files_fail_and_longish_ones_are_named() {
        let lines = |count| "\n".repeat(count);
        assert!(problems("a.rs", &lines(MOST_LINES)).is_empty());
        assert_eq!(problems("a.rs", &lines(MOST_LINES + 1)), ["a.rs has 701 lines; the most is 700"]);
        assert_eq!(problems("a.py", &lines(MOST_LINES + 1)).len(), 1);
        assert!(problems("a.json", &lines(MOST_LINES + 1)).is_empty());
        let mut report = Report::default();
        check_file("a.py", lines(MANY_LINES + 1).as_bytes(), &mut report);
        assert_eq!((report.problems.len(), report.warnings.len()), (0, 1));
    }

    #[test]
    fn large_files_fail() {
        assert!(problems("a.npz", &" ".repeat(MOST_BYTES)).is_empty());
        assert_eq!(problems("a.npz", &" ".repeat(MOST_BYTES + 1024)), ["a.npz is 1025 KiB; the most is 1024 KiB"]);
    }

    #[test]
    fn unsafe_outside_the_list_fails() {
        let mut report = Report::default();
        let file = |text: &str| ("some-crate/src/a.rs".to_owned(), text.as_bytes().to_vec());
        check_unsafe_list(&[file("// unsafe\nfn f() {}")], &mut report);
        assert!(!report.problems.iter().any(|problem| problem.starts_with("some-crate")));
        check_unsafe_list(&[file("fn f() {\n    unsafe { g() }\n}")], &mut report);
        assert!(report.problems.iter().any(|problem| problem.starts_with("some-crate/src/a.rs:2: `unsafe`")));
    }
}
