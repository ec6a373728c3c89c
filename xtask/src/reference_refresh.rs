//! `cargo xtask reference-refresh`: the values of other tools that the tests compare with.

use xshell::{Shell, cmd};

use crate::Result;
use crate::env::Venv;
use crate::steps::section;

/// What to do with the values.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if a value would change
    #[arg(long)]
    check: bool,
    /// Recompute the values of MeshMetrics too, from this path or URL: it is not on PyPI
    #[arg(long, value_name = "PATH_OR_URL")]
    mesh_metrics: Option<String>,
    /// Recompute the scores of BraTS-2023-Metrics too, from this path or URL: it is not on PyPI, and needs PYTHON=python3.10
    #[arg(long, value_name = "PATH_OR_URL")]
    brats: Option<String>,
}

pub(crate) fn run(sh: &Shell, args: &Args) -> Result {
    // An environment of its own: the pinned tools ask for older NumPy and torch than the tests use.
    let venv = Venv::open(sh, ".venv-reference")?;
    venv.install(sh, "xtask/reference/requirements.txt")?;
    let python = venv.python();
    let check = args.check.then_some("--check");
    section("surfel normals", || Ok(cmd!(sh, "{python} xtask/reference/surfels.py {check...}").quiet().run()?))?;
    section("reference values", || Ok(cmd!(sh, "{python} xtask/reference/refresh.py {check...}").quiet().run()?))?;
    meshes(sh, args)?;
    brats(sh, args)
}

/// The scores of BraTS 2023, in the environment that its script needs.
fn brats(sh: &Shell, args: &Args) -> Result {
    let Some(source) = &args.brats else { return Ok(()) };
    let venv = Venv::open(sh, ".venv-brats")?;
    venv.install(sh, "xtask/reference/brats.txt")?;
    let (python, check) = (venv.python(), args.check.then_some("--check"));
    section("BraTS 2023", || Ok(cmd!(sh, "{python} xtask/reference/brats.py {source} {check...}").quiet().run()?))
}

/// The values measured on meshes, in the environment that has VTK.
fn meshes(sh: &Shell, args: &Args) -> Result {
    let venv = Venv::open(sh, ".venv-tables")?;
    venv.install_without_dependencies(sh, "xtask/tables/requirements.txt")?;
    let python = venv.python();
    if let Some(source) = &args.mesh_metrics {
        section("install MeshMetrics", || Ok(cmd!(sh, "{python} -m pip install --quiet {source}").quiet().run()?))?;
    }
    let check = args.check.then_some("--check");
    section("meshes", || Ok(cmd!(sh, "{python} xtask/reference/mesh.py {check...}").quiet().run()?))
}
