//! `cargo xtask ci`: everything that must hold before the tests are worth running.

use xshell::{Shell, cmd};

use crate::env::Venv;
use crate::steps::section;
use crate::{Result, tidy, wheel};

pub(crate) fn run(sh: &Shell) -> Result {
    section("formatting", || Ok(cmd!(sh, "cargo fmt --all --check").quiet().run()?))?;
    section("tidy", || tidy::run(sh))?;
    let venv = Venv::open(sh, ".venv")?;
    rust(sh, &venv)?;
    python(sh, &venv)
}

fn rust(sh: &Shell, venv: &Venv) -> Result {
    // The one Python that maturin is told too, so that pyo3's build script decides once.
    let _python = sh.push_env("PYO3_PYTHON", venv.python());
    section("clippy", || Ok(cmd!(sh, "cargo clippy --workspace --all-targets -- -D warnings").quiet().run()?))?;
    section("documentation", || {
        // RUSTDOCFLAGS leaves the compiled dependencies alone, which RUSTFLAGS would not.
        Ok(cmd!(sh, "cargo doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings").quiet().run()?)
    })
}

fn python(sh: &Shell, venv: &Venv) -> Result {
    venv.install(sh, "xtask/requirements-lint.txt")?;
    // What the package imports decides what mypy sees: always the whole set, or results would differ by machine.
    venv.install(sh, "exacta-py/tests/requirements.txt")?;
    let wheel = wheel::build(sh, venv)?;
    venv.install_wheel(sh, &wheel)?;
    let python = venv.python();
    section("ruff", || {
        cmd!(sh, "{python} -m ruff check exacta-py xtask").quiet().run()?;
        Ok(cmd!(sh, "{python} -m ruff format --check exacta-py xtask").quiet().run()?)
    })?;
    section("mypy", || {
        let _dir = sh.push_dir("exacta-py");
        Ok(cmd!(sh, "{python} -m mypy").quiet().run()?)
    })?;
    section("stubtest", || {
        Ok(cmd!(sh, "{python} -m mypy.stubtest --allowlist xtask/stubtest-allowlist.txt exacta._native")
            .quiet()
            .run()?)
    })
}
