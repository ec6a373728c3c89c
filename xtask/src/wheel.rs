//! `cargo xtask wheel`: one abi3 wheel for every Python that the project supports.

use std::path::{Path, PathBuf};

use xshell::{Shell, cmd};

use crate::Result;
use crate::env::{Venv, root};
use crate::steps::{already, fingerprint, quietly, step};

/// Folders that no wheel holds a file of.
const NOT_IN_A_WHEEL: [&str; 4] = ["tests", "benches", "examples", "__pycache__"];

/// A built wheel and the fingerprint of what it was built from.
pub(crate) struct Wheel {
    pub(crate) path: PathBuf,
    pub(crate) fingerprint: String,
}

/// Builds the wheel into `dist/` and prints its path.
pub(crate) fn run(sh: &Shell) -> Result {
    let venv = Venv::open(sh, ".venv")?;
    println!("{}", build(sh, &venv)?.path.display());
    Ok(())
}

/// Builds the wheel with the maturin of `venv`, unless `dist/` holds one of the same sources and compiler.
pub(crate) fn build(sh: &Shell, venv: &Venv) -> Result<Wheel> {
    venv.install(sh, "xtask/requirements.txt")?;
    let stamp = root().join("dist/wheel-stamp");
    let fingerprint = inputs(sh)?;
    let what = "build the wheel in release";
    if sh.read_file(&stamp).is_ok_and(|old| old == fingerprint)
        && let Some(path) = newest(sh)?
    {
        already(what);
        return Ok(Wheel { path, fingerprint });
    }
    step(what, || {
        if let Some(old) = newest(sh)? {
            sh.remove_path(old)?;
        }
        let python = venv.python();
        quietly(cmd!(
            sh,
            "{python} -m maturin build --release --manifest-path exacta-py/Cargo.toml --interpreter {python} --out dist"
        ))
    })?;
    let path = newest(sh)?.ok_or("maturin ended well, but there is no wheel in dist")?;
    sh.write_file(stamp, &fingerprint)?;
    Ok(Wheel { path, fingerprint })
}

/// The wheel in `dist/`; there is one at most, since a build removes the one before.
fn newest(sh: &Shell) -> Result<Option<PathBuf>> {
    let dist = root().join("dist");
    if !dist.exists() {
        return Ok(None);
    }
    Ok(sh.read_dir(dist)?.into_iter().rfind(|path| path.extension().is_some_and(|end| end == "whl")))
}

/// The fingerprint of all that decides the wheel's bytes: manifests, sources, compiler, flags.
fn inputs(sh: &Shell) -> Result<String> {
    let mut files: Vec<PathBuf> =
        ["Cargo.toml", "Cargo.lock", "README.md"].iter().map(|name| root().join(name)).collect();
    for entry in sh.read_dir(root())? {
        if entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with("exacta-")) {
            collect(sh, &entry, &mut files)?;
        }
    }
    let mut parts = vec![cmd!(sh, "rustc --version --verbose").quiet().read()?.into_bytes()];
    parts.push(sh.var_os("RUSTFLAGS").unwrap_or_default().into_encoded_bytes());
    for path in files {
        parts.push(path.strip_prefix(root())?.as_os_str().as_encoded_bytes().to_vec());
        // A lock file or readme that is not there yet is an input too: its absence.
        parts.push(sh.read_binary_file(&path).unwrap_or_default());
    }
    Ok(fingerprint(parts.iter().map(Vec::as_slice)))
}

/// Adds the files below `dir` to `files`, in the order of their names.
fn collect(sh: &Shell, dir: &Path, files: &mut Vec<PathBuf>) -> Result {
    for path in sh.read_dir(dir)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !NOT_IN_A_WHEEL.contains(&name.as_str()) {
                collect(sh, &path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}
