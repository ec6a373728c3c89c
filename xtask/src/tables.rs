//! `cargo xtask tables`: the case tables of the mesh surface, from VTK itself.

use xshell::{Shell, cmd};

use crate::Result;
use crate::env::Venv;
use crate::steps::section;

/// What to do with the tables.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if a table would change
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(sh: &Shell, args: &Args) -> Result {
    // An environment of its own: VTK is large, and nothing else needs it.
    let venv = Venv::open(sh, ".venv-tables")?;
    venv.install_without_dependencies(sh, "xtask/tables/requirements.txt")?;
    let python = venv.python();
    let check = args.check.then_some("--check");
    section("case tables", || Ok(cmd!(sh, "{python} xtask/tables/mesh.py {check...}").quiet().run()?))
}
