//! As fast as it can: whoever submits carries out.

use super::carried::{self, Carried};
use super::status::Status;
use super::{Served, info};
use crate::export::{Export, Info, Request};
use gordon_nand::Timing;
use gordon_store::{Command, Fault, Store};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A store behind an export.
pub(super) struct Direct {
    store: Store<Carried>,
    info: Info,
    timing: Option<Timing>,
    since: Instant,
    taken: AtomicU64,
}

thread_local! {
    /// A list of this connection's thread, used over and over.
    static BATCH: RefCell<Vec<(Command, Carried)>> = const { RefCell::new(Vec::new()) };
}

impl Direct {
    pub fn new(store: Store<Carried>, timing: Option<Timing>) -> Self {
        let info = store.with(|engine| info(engine.image()));
        Self { store, info, timing, since: Instant::now(), taken: AtomicU64::new(0) }
    }
}

impl Export for Direct {
    fn info(&self) -> Info {
        self.info
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        self.taken.fetch_add(batch.len() as u64, Ordering::Relaxed);
        BATCH.with_borrow_mut(|commands| {
            let look = |see: &mut dyn FnMut(&_)| self.store.with(|engine| see(engine));
            commands.extend(batch.drain(..).filter_map(|request| carried::take(request, look)));
            if !commands.is_empty() {
                self.store.submit(commands, carried::answer);
            }
        });
    }
}

impl Served for Direct {
    fn status(&self) -> Status {
        self.store
            .with(|engine| Status::of(engine, self.timing.as_ref(), self.since.elapsed(), None))
    }

    fn idle(&self) -> bool {
        self.store.idle()
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn close(&self) -> Result<(), Fault> {
        self.store.close()
    }
}
