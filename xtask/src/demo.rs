//! `cargo xtask demo`: from a bare machine to a table of a real brain's metrics.

use xshell::{Shell, cmd};

use crate::Result;
use crate::env::Venv;
use crate::steps::section;
use crate::wheel;

pub(crate) fn run(sh: &Shell) -> Result {
    let venv = Venv::open(sh, ".venv")?;
    venv.install(sh, "xtask/demo/requirements.txt")?;
    // Only nilearn's data files are wanted, not the machine learning stack that it depends on.
    venv.install_without_dependencies(sh, "xtask/demo/requirements-nodeps.txt")?;
    let wheel = wheel::build(sh, &venv)?;
    venv.install_wheel(sh, &wheel)?;
    let python = venv.python();
    section("measure", || Ok(cmd!(sh, "{python} xtask/demo/demo.py --out demo").quiet().run()?))
}
