//! How a command tells what it does: one line per step, with its time.

use std::fmt::Display;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::time::Instant;

use xshell::Cmd;

use crate::Result;

/// Runs `work`, which prints nothing itself: one line, the time at its end.
pub(crate) fn step<T>(what: impl Display, work: impl FnOnce() -> Result<T>) -> Result<T> {
    print!("{what} ... ");
    std::io::stdout().flush()?;
    let start = Instant::now();
    let result = work();
    let verdict = if result.is_ok() { "" } else { "failed after " };
    println!("{verdict}{:.1} s", start.elapsed().as_secs_f64());
    result
}

/// The line of a step that an earlier run already did.
pub(crate) fn already(what: impl Display) {
    println!("{what} ... up to date");
}

/// Runs `work`, whose own output stands between a line before and a line after.
pub(crate) fn section<T>(what: impl Display, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("== {what}");
    let start = Instant::now();
    let result = work();
    let verdict = if result.is_ok() { "done in" } else { "failed after" };
    println!("== {what}: {verdict} {:.1} s\n", start.elapsed().as_secs_f64());
    result
}

/// Runs a program and shows what it printed only if it fails.
pub(crate) fn quietly(cmd: Cmd<'_>) -> Result {
    let cmd = cmd.quiet().ignore_status();
    let output = cmd.output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("`{cmd}` ended with {}:\n{}", output.status, String::from_utf8_lossy(&text).trim_end()).into())
}

/// A short hash of `parts`, by which a later run sees whether a step's inputs are still the same.
///
/// Nothing but "the same or not" hangs on it: a new hash function in a later Rust only repeats the step once.
pub(crate) fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn fingerprint_sees_where_a_part_ends() {
        let of = |parts: &[&str]| fingerprint(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab", "c"]), of(&["ab"]));
    }
}
