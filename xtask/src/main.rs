//! The commands of this repository: `cargo xtask <command>`.
//!
//! It starts other programs and reads files. It knows nothing of how a metric is computed, links no other crate of
//! the workspace, and so builds in seconds on a machine that has Rust and nothing else.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks through its output")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xshell::Shell;

mod bench;
mod ci;
mod demo;
mod env;
mod reference_refresh;
mod steps;
mod tables;
mod test;
mod tidy;
mod wheel;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The commands of this repository")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure a real brain: environment, wheel, `exacta evaluate`, its table and a picture in demo/
    Demo,
    /// Run all Rust and Python tests
    Test(test::Args),
    /// Run the criterion benches, then the comparison with the peer where ../shared/peer exists
    Bench(bench::Args),
    /// Compute the reference fixtures again from the pinned tools and say what changed
    ReferenceRefresh(reference_refresh::Args),
    /// Make the case tables of the mesh surface again from VTK
    Tables(tables::Args),
    /// Check the rules of the house that no compiler checks
    Tidy,
    /// Run every check but the tests: formatting, lints, tidy, docs, types, stubs
    Ci,
    /// Build the abi3 wheel into dist/
    Wheel,
}

fn run(cli: Cli) -> Result {
    let sh = Shell::new()?;
    sh.change_dir(env::root());
    match cli.command {
        Command::Demo => demo::run(&sh),
        Command::Test(args) => test::run(&sh, &args),
        Command::Bench(args) => bench::run(&sh, &args),
        Command::ReferenceRefresh(args) => reference_refresh::run(&sh, &args),
        Command::Tables(args) => tables::run(&sh, &args),
        Command::Tidy => tidy::run(&sh),
        Command::Ci => ci::run(&sh),
        Command::Wheel => wheel::run(&sh),
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
