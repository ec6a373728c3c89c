//! One pool of worker threads a process, safe to use after `fork`.
//!
//! A pool's threads do not survive a fork, so a child that used its parent's would wait for ever. The pool is kept with
//! the number of its process; a child finds another number, builds its own and leaks the parent's, whose locks may be
//! held by threads that are gone.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use exacta_core::parallel::Threads;

/// The pool of a process.
struct Slot {
    process: u32,
    workers: usize,
    pool: Arc<rayon::ThreadPool>,
}

static SLOT: ArcSwapOption<Slot> = ArcSwapOption::const_empty();

/// `count` threads: the calling one, and workers of this process's pool.
///
/// Without workers, because the system refuses threads, the calling thread does all the work.
pub(crate) fn threads(count: usize) -> Threads {
    let workers = count.saturating_sub(1);
    if workers == 0 {
        return Threads::Serial;
    }
    let process = std::process::id();
    if let Some(slot) = SLOT.load_full()
        && slot.process == process
        && slot.workers == workers
    {
        return Threads::Pool(Arc::clone(&slot.pool));
    }
    let name = |i| format!("exacta-{i}");
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(workers).thread_name(name).build() else {
        return Threads::Serial;
    };
    let pool = Arc::new(pool);
    let old = SLOT.swap(Some(Arc::new(Slot { process, workers, pool: Arc::clone(&pool) })));
    if let Some(old) = old
        && old.process != process
    {
        std::mem::forget(old);
    }
    Threads::Pool(pool)
}
