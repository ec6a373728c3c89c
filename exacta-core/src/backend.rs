//! Where stages run.

use crate::Level;
use crate::parallel::Threads;

/// Something that stages can run on.
pub trait Backend {
    /// What its stages return on failure. A device adds its own failures to [`crate::Error`].
    type Error: std::error::Error + From<crate::Error>;
}

/// The host: an instruction set and a number of threads. Neither changes a result.
#[derive(Debug, Clone)]
pub struct Cpu {
    /// Instruction set, chosen at run time.
    pub level: Level,
    /// Who does the work.
    pub threads: Threads,
}

impl Cpu {
    /// The best instruction set of this machine, and rayon's current pool.
    pub fn new() -> Self {
        Self { level: Level::new(), threads: Threads::Current }
    }

    /// The best instruction set of this machine, on the calling thread alone.
    pub fn serial() -> Self {
        Self { level: Level::new(), threads: Threads::Serial }
    }

    /// Name of the instruction set, for reports.
    pub fn level_name(&self) -> &'static str {
        #[cfg(target_arch = "x86_64")]
        {
            if self.level.as_avx512().is_some() {
                return "avx512";
            }
            if self.level.as_avx2().is_some() {
                return "avx2";
            }
            if self.level.as_sse4_2().is_some() {
                return "sse4.2";
            }
            if self.level.as_sse2().is_some() {
                return "sse2";
            }
        }
        #[cfg(target_arch = "aarch64")]
        if self.level.as_neon().is_some() {
            return "neon";
        }
        "scalar"
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend for Cpu {
    type Error = crate::Error;
}
