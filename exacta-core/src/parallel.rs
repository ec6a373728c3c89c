//! One fork-join, in which the calling thread takes part.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How often the calling thread looks for its helpers before it sleeps: some 50 µs.
const PATIENCE: usize = 2000;

/// Who does the work of a stage. Results never depend on it.
#[derive(Debug, Clone)]
pub enum Threads {
    /// The calling thread alone; no pool is touched.
    Serial,
    /// The calling thread and rayon's current pool.
    Current,
    /// The calling thread and the workers of this pool.
    Pool(Arc<rayon::ThreadPool>),
}

impl Threads {
    /// Number of threads that take part.
    pub fn count(&self) -> usize {
        match self {
            Self::Serial => 1,
            // A worker that calls is itself one of the pool.
            Self::Current => rayon::current_num_threads(),
            Self::Pool(pool) => pool.current_num_threads() + 1,
        }
    }

    /// `f(0), f(1), .., f(items - 1)`, in order. Items are handed out one by one, so uneven ones balance.
    pub fn map<T: Send>(&self, items: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let helpers = self.count().min(items).saturating_sub(1);
        if helpers == 0 {
            return (0..items).map(f).collect();
        }
        let next = AtomicUsize::new(0);
        let awaited = AtomicUsize::new(helpers);
        let done = Mutex::new(Vec::with_capacity(items));
        let work = || {
            let mut mine = Vec::new();
            loop {
                let item = next.fetch_add(1, Ordering::Relaxed);
                if item >= items {
                    break;
                }
                mine.push((item, f(item)));
            }
            if !mine.is_empty() {
                done.lock().expect("no holder of the lock panics").append(&mut mine);
            }
        };
        let help = || {
            work();
            awaited.fetch_sub(1, Ordering::Release);
        };
        let take_part = || {
            work();
            // A helper is mostly about to end; sleeping until it has would cost more than the waking of this thread.
            for _ in 0..PATIENCE {
                if awaited.load(Ordering::Acquire) == 0 {
                    break;
                }
                std::hint::spin_loop();
            }
        };
        match self {
            Self::Serial => work(),
            Self::Current => rayon::in_place_scope(|scope| {
                (0..helpers).for_each(|_| scope.spawn(|_| help()));
                take_part();
            }),
            Self::Pool(pool) => pool.in_place_scope(|scope| {
                (0..helpers).for_each(|_| scope.spawn(|_| help()));
                take_part();
            }),
        }
        let mut done = done.into_inner().expect("no holder of the lock panics");
        done.sort_unstable_by_key(|&(item, _)| item);
        done.into_iter().map(|(_, value)| value).collect()
    }

    /// Calls `f` with ranges of rows and their elements of `out`, `per_row` each; every row is in one range.
    ///
    /// `out` is split in up to `parts` pieces, each of whole rows.
    pub fn split_rows<T: Send>(
        &self,
        parts: usize,
        out: &mut [T],
        per_row: usize,
        f: impl Fn(Range<usize>, &mut [T]) + Sync,
    ) {
        if out.is_empty() {
            return;
        }
        let rows = out.len() / per_row;
        let step = rows.div_ceil(parts.max(1));
        let chunks: Vec<_> = out.chunks_mut(step * per_row).map(Mutex::new).collect();
        self.map(chunks.len(), |i| {
            let mut chunk = chunks[i].try_lock().expect("each chunk is taken once");
            f(i * step..rows.min((i + 1) * step), &mut chunk);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_whoever_works() {
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool"));
        for threads in [Threads::Serial, Threads::Current, Threads::Pool(pool)] {
            for items in [0, 1, 2, 100] {
                assert_eq!(threads.map(items, |i| i * i), (0..items).map(|i| i * i).collect::<Vec<_>>());
            }
        }
    }
}
