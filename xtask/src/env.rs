//! Python environments: found, made, filled. Each lies at the root of the repository and may be deleted at any time.

use std::path::{Path, PathBuf};

use xshell::{Shell, cmd};

use crate::Result;
use crate::steps::{already, fingerprint, quietly, step};
use crate::wheel::Wheel;

/// The oldest Python that the wheel supports.
const OLDEST: (u32, u32) = (3, 10);

/// Where else to look when `python3` is too old.
const OTHERS: [&str; 5] = ["python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    // Cargo tells at run time; the compiled-in value would be another checkout's where both share a target folder.
    let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&manifest).parent().expect("xtask lies in the root").to_owned()
}

/// A virtual environment with pip.
pub(crate) struct Venv {
    name: &'static str,
    dir: PathBuf,
}

impl Venv {
    /// Opens the environment `name` in the root; makes it if it is not there, is broken, or is of another Python.
    pub(crate) fn open(sh: &Shell, name: &'static str) -> Result<Self> {
        let base = BasePython::find(sh)?;
        let venv = Self { name, dir: root().join(name) };
        let made = format!("make {name} (Python {})", base.version);
        if venv.is_of(sh, &base) {
            already(made);
            return Ok(venv);
        }
        step(made, || {
            sh.remove_path(&venv.dir)?;
            let (program, dir) = (&base.program, &venv.dir);
            quietly(cmd!(sh, "{program} -m venv {dir}"))
        })?;
        Ok(venv)
    }

    /// Whether the environment is there, whole, and made from `base`.
    fn is_of(&self, sh: &Shell, base: &BasePython) -> bool {
        let python = self.python();
        identity(sh, &python).is_some_and(|(version, prefix)| version == base.version && prefix == base.prefix)
            && cmd!(sh, "{python} -c 'import pip'").quiet().ignore_stderr().run().is_ok()
    }

    /// The environment's interpreter.
    pub(crate) fn python(&self) -> PathBuf {
        let below = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        self.dir.join(below)
    }

    /// Installs what a requirements file lists, unless that very text was installed before.
    pub(crate) fn install(&self, sh: &Shell, file: &str) -> Result {
        self.install_with(sh, file, &[])
    }

    /// As [`Venv::install`], but without what the listed packages depend on.
    pub(crate) fn install_without_dependencies(&self, sh: &Shell, file: &str) -> Result {
        self.install_with(sh, file, &["--no-deps"])
    }

    fn install_with(&self, sh: &Shell, file: &str, flags: &[&str]) -> Result {
        let text = sh.read_file(file)?;
        let what = format!("install {file} into {}", self.name);
        self.once(sh, what, file, &fingerprint([text.as_bytes()]), || {
            let python = self.python();
            quietly(cmd!(sh, "{python} -m pip install --quiet --disable-pip-version-check {flags...} -r {file}"))
        })
    }

    /// Installs the wheel, unless that very build is installed already.
    pub(crate) fn install_wheel(&self, sh: &Shell, wheel: &Wheel) -> Result {
        let what = format!("install exacta into {}", self.name);
        self.once(sh, what, "exacta", &wheel.fingerprint, || {
            let (python, path) = (self.python(), &wheel.path);
            // Without its dependencies: each environment says itself what it has, and one of them must lack torch.
            quietly(cmd!(
                sh,
                "{python} -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps {path}"
            ))
        })
    }

    /// Does `work` unless the stamp `key` in this environment holds `fingerprint` from an earlier time.
    fn once(&self, sh: &Shell, what: String, key: &str, fingerprint: &str, work: impl FnOnce() -> Result) -> Result {
        let stamp = self.dir.join("xtask-stamps").join(key.replace('/', "-"));
        if sh.read_file(&stamp).is_ok_and(|old| old == fingerprint) {
            already(what);
            return Ok(());
        }
        step(what, work)?;
        sh.write_file(stamp, fingerprint)?;
        Ok(())
    }
}

/// The Python that environments are made from.
struct BasePython {
    program: PathBuf,
    version: String,
    prefix: String,
}

impl BasePython {
    fn find(sh: &Shell) -> Result<Self> {
        let asked = sh.var_os("PYTHON").filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = if cfg!(windows) { "python" } else { "python3" };
        let names = match &asked {
            Some(program) => vec![program.clone()],
            None => std::iter::once(usual).chain(OTHERS).map(PathBuf::from).collect(),
        };
        let mut seen = Vec::new();
        for program in names {
            let Some((version, prefix)) = identity(sh, &program) else {
                continue;
            };
            if !is_new_enough(&version) {
                seen.push(format!("{} is {version}", program.display()));
                continue;
            }
            if cmd!(sh, "{program} -c 'import ensurepip, venv'").quiet().ignore_stderr().run().is_err() {
                seen.push(format!("{} {version} lacks venv (Debian, Ubuntu: install python3-venv)", program.display()));
                continue;
            }
            return Ok(Self { program, version, prefix });
        }
        let found = match (seen.is_empty(), &asked) {
            (false, _) => seen.join("; "),
            (true, Some(program)) => {
                format!("PYTHON names {}, which does not run", program.display())
            }
            (true, None) => format!("no {usual} on the PATH"),
        };
        let (major, minor) = OLDEST;
        Err(format!(
            "Python {major}.{minor} or newer with venv is needed: {found}. Set PYTHON to the interpreter to use"
        )
        .into())
    }
}

/// Version and base prefix of an interpreter, which an environment shares with the Python that made it.
fn identity(sh: &Shell, python: &Path) -> Option<(String, String)> {
    let code = "import platform, sys; print(platform.python_version(), sys.base_prefix)";
    let text = cmd!(sh, "{python} -c {code}").quiet().ignore_stderr().read().ok()?;
    let (version, prefix) = text.split_once(' ')?;
    Some((version.to_owned(), prefix.to_owned()))
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= OLDEST
}

#[cfg(test)]
mod tests {
    use super::is_new_enough;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(is_new_enough("3.10.0"));
        assert!(is_new_enough("3.14.0rc1"));
        assert!(is_new_enough("4.0"));
        assert!(!is_new_enough("3.9.21"));
        assert!(!is_new_enough("2.7.18"));
    }
}
