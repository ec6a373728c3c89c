//! `cargo xtask test`: every test of both languages.

use xshell::{Shell, cmd};

use crate::Result;
use crate::env::Venv;
use crate::steps::section;
use crate::wheel;

/// Which half to run; both without an option.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the Rust tests
    #[arg(long, conflicts_with = "python")]
    rust: bool,
    /// Only the Python tests
    #[arg(long)]
    python: bool,
}

pub(crate) fn run(sh: &Shell, args: &Args) -> Result {
    if !args.python {
        section("Rust tests", || rust(sh))?;
    }
    if !args.rust {
        python(sh)?;
    }
    Ok(())
}

fn rust(sh: &Shell) -> Result {
    // exacta-py is all bindings: it has no Rust test, and its cdylib would link against one machine's libpython.
    Ok(cmd!(sh, "cargo test --workspace --exclude exacta-py").quiet().run()?)
}

fn python(sh: &Shell) -> Result {
    let everything = Venv::open(sh, ".venv")?;
    everything.install(sh, "exacta-py/tests/requirements.txt")?;
    let wheel = wheel::build(sh, &everything)?;
    // Tests skip a framework that an environment lacks: the first run has all of them, the second shows that NumPy
    // is enough. `--pyargs` finds the doctests in the installed package, not in the sources beside it.
    let numpy_only = Venv::open(sh, ".venv-numpy")?;
    numpy_only.install(sh, "exacta-py/tests/requirements-numpy.txt")?;
    let numpy =
        ["functional", "metrics", "lesions", "detection", "edt", "components"].map(|name| format!("exacta.{name}"));
    let runs = [
        (everything, vec!["exacta".to_owned()], "Python tests, every framework"),
        (numpy_only, numpy.to_vec(), "Python tests, NumPy alone"),
    ];
    // A test that hangs in native code holds off signals, so it is the fault handler's own thread that ends the run.
    let limit = ["-o", "faulthandler_timeout=600", "-o", "faulthandler_exit_on_timeout=true"];
    for (venv, doctests, what) in runs {
        venv.install_wheel(sh, &wheel)?;
        let python = venv.python();
        section(what, || {
            Ok(cmd!(sh, "{python} -m pytest {limit...} --pyargs exacta-py/tests {doctests...}").quiet().run()?)
        })?;
    }
    Ok(())
}
