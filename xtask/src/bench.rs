//! `cargo xtask bench`: our own benches, and side by side with the peer package.

use std::path::{Path, PathBuf};

use xshell::{Shell, cmd};

use crate::Result;
use crate::env::{Venv, root};
use crate::steps::{section, step};
use crate::wheel;

/// The published package that shares our Python interface.
const PEER: &str = "exacta==0.0.1a5";

/// What to time.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fewer repeats: a first look, not a claim
    #[arg(long)]
    quick: bool,
    /// Labels and distance transforms beside connected-components-3d and edt from PyPI, and nothing else
    #[arg(long)]
    others: bool,
    /// Leave the criterion benches out
    #[arg(long)]
    peer_only: bool,
    /// Edge lengths of the volumes compared with the peer
    #[arg(long, num_args = 1.., default_values_t = [128, 256])]
    sizes: Vec<u32>,
    /// Threads on each side of the comparison
    #[arg(long, default_value_t = 2)]
    threads: u32,
    /// Rows of the comparison, a regular expression
    #[arg(long, default_value = "^(dice|hd95 voxels|assd voxels|nsd voxels|evaluate)")]
    only: String,
    /// File for the comparison's numbers as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Compare values with the peer on random inputs as well
    #[arg(long)]
    conform: bool,
    /// Rounds of random inputs of `--conform`
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// Seed of `--conform`
    #[arg(long, default_value_t = 11)]
    seed: u32,
    /// Functions of `--conform`, a regular expression
    #[arg(
        long,
        default_value = "^(dice|iou|sensitivity|precision|specificity|volume_similarity|relative|predicted|target_|\
                         volume_error|area_error|hausdorff_distance voxels|assd voxels|nsd voxels|evaluate|\
                         bad input (overlap|surface))"
    )]
    conform_only: String,
}

pub(crate) fn run(sh: &Shell, args: &Args) -> Result {
    if args.others {
        return section("speed beside cc3d and edt", || others(sh, args));
    }
    if !args.peer_only {
        section("criterion", || criterion(sh, args))?;
    }
    let tools = root().join("../shared/peer");
    if !tools.is_dir() {
        println!("no ../shared/peer here: no comparison");
        return Ok(());
    }
    let venv = Venv::open(sh, ".venv")?;
    venv.install(sh, "exacta-py/tests/requirements.txt")?;
    let wheel = wheel::build(sh, &venv)?;
    let (peer, ours) = (root().join("target/peer"), root().join("target/ours"));
    step(format!("install {PEER} and our wheel side by side"), || {
        // Never into an environment: the two are both called exacta.
        pip_target(sh, &venv, &peer, PEER.as_ref())?;
        pip_target(sh, &venv, &ours, &wheel.path)
    })?;
    section("speed beside the peer", || compare(sh, &venv, &tools, &peer, &ours, args))?;
    if args.conform {
        section("values beside the peer", || conform(sh, &venv, &tools, &peer, &ours, args))?;
    }
    Ok(())
}

fn others(sh: &Shell, args: &Args) -> Result {
    let venv = Venv::open(sh, ".venv-others")?;
    venv.install(sh, "xtask/bench/requirements.txt")?;
    let wheel = wheel::build(sh, &venv)?;
    venv.install_wheel(sh, &wheel)?;
    let (python, script) = (venv.python(), root().join("xtask/bench/others.py"));
    let sizes: Vec<String> = args.sizes.iter().map(u32::to_string).collect();
    let threads = args.threads.to_string();
    Ok(cmd!(sh, "{python} {script} --threads {threads} --sizes {sizes...}").quiet().run()?)
}

fn criterion(sh: &Shell, args: &Args) -> Result {
    let quick = args.quick.then_some("--quick");
    // `--bench *` names the bench targets alone: the unit tests' harness would not know criterion's options.
    let pattern = "*";
    Ok(cmd!(sh, "cargo bench --workspace --exclude exacta-py --exclude xtask --bench {pattern} -- {quick...}")
        .quiet()
        .run()?)
}

/// Fills the folder `target` anew with one package, without what it depends on.
fn pip_target(sh: &Shell, venv: &Venv, target: &Path, package: &Path) -> Result {
    sh.remove_path(target)?;
    let python = venv.python();
    let cmd =
        cmd!(sh, "{python} -m pip install --quiet --disable-pip-version-check --no-deps --target {target} {package}");
    crate::steps::quietly(cmd)
}

fn compare(sh: &Shell, venv: &Venv, tools: &Path, peer: &Path, ours: &Path, args: &Args) -> Result {
    let (python, script) = (venv.python(), tools.join("compare.py"));
    let sizes: Vec<String> = args.sizes.iter().map(u32::to_string).collect();
    let (threads, only) = (args.threads.to_string(), &args.only);
    let mut extra: Vec<String> = Vec::new();
    if args.quick {
        extra.extend(["--repeat", "5", "--row-seconds", "2"].map(String::from));
    }
    if let Some(file) = &args.json {
        extra.extend(["--json".to_owned(), file.display().to_string()]);
    }
    Ok(cmd!(
        sh,
        "{python} {script} --peer {peer} --ours {ours} --threads {threads} --sizes {sizes...} --only {only} {extra...}"
    )
    .quiet()
    .run()?)
}

fn conform(sh: &Shell, venv: &Venv, tools: &Path, peer: &Path, ours: &Path, args: &Args) -> Result {
    let (python, script) = (venv.python(), tools.join("conform.py"));
    let (rounds, seed, only) = (args.rounds.to_string(), args.seed.to_string(), &args.conform_only);
    Ok(cmd!(sh, "{python} {script} --peer {peer} --ours {ours} --rounds {rounds} --seed {seed} --only {only}")
        .quiet()
        .run()?)
}
