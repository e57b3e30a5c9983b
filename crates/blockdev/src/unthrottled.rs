//! An export of a flash image at full speed.
//!
//! The thread that submits a batch carries it out, unless the batch is large. A large batch takes
//! longer than waking a thread does, so another thread carries it out while the connection receives
//! and sends other requests.

use crate::block_device::BlockDevice;
use crate::error::BlockError;
use crate::payload::{self, NbdPayload};
use crate::status::{Busy, Status};
use gordon_blockio::Command;
use gordon_nand::Timing;
use gordon_nbd::threads::spawn;
use gordon_nbd::{Export, ExportInfo, Request};
use gordon_store::{Payload, Store};
use gordon_units::Ns;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

/// Payload from which a batch is passed to the other thread.
const LARGE: usize = 256 << 10;

/// A store behind an export.
pub(super) struct UnthrottledExport {
    store: Arc<Store<NbdPayload>>,
    info: ExportInfo,
    timing: Option<Timing>,
    since: Instant,
    taken: AtomicU64,
    large: Option<Sender<Batch>>,
    thread: Option<JoinHandle<()>>,
}

type Batch = Vec<(Command, NbdPayload)>;

thread_local! {
    /// The batch of the connection's thread, kept to reuse its memory.
    static BATCH: RefCell<Batch> = const { RefCell::new(Vec::new()) };
}

impl UnthrottledExport {
    pub fn new(store: Store<NbdPayload>, timing: Option<Timing>) -> io::Result<Self> {
        let info = store.with(|engine| payload::export_info(engine));
        let store = Arc::new(store);
        let (large, batches) = mpsc::channel::<Batch>();
        let work = {
            let store = Arc::clone(&store);
            move || batches.into_iter().for_each(|mut all| store.submit(&mut all, payload::reply))
        };
        let thread = spawn("block-large", work)?;
        let (since, taken) = (Instant::now(), AtomicU64::new(0));
        let (large, thread) = (Some(large), Some(thread));
        Ok(Self { store, info, timing, since, taken, large, thread })
    }

    /// Passes a large batch to the other thread. A batch that waits for a sync stays here, because
    /// it would delay the batches behind it.
    fn hand_to_thread(&self, batch: &mut Batch) {
        let bytes: usize = batch.iter().map(|(_, payload)| payload.bytes().len()).sum();
        let durable = batch.iter().any(|(command, _)| command.wants_durable());
        if bytes >= LARGE
            && !durable
            && let Some(large) = &self.large
        {
            // If the thread has panicked, the batch is dropped, which answers it with errors.
            drop(large.send(std::mem::take(batch)));
        }
    }
}

impl Drop for UnthrottledExport {
    fn drop(&mut self) {
        self.large = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}

impl Export for UnthrottledExport {
    fn info(&self) -> ExportInfo {
        self.info
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        self.taken.fetch_add(batch.len() as u64, Ordering::Relaxed);
        BATCH.with_borrow_mut(|commands| {
            let look = |look: &mut dyn FnMut(&_)| self.store.with(|engine| look(engine));
            commands
                .extend(batch.drain(..).filter_map(|request| payload::to_command(request, look)));
            self.hand_to_thread(commands);
            if !commands.is_empty() {
                self.store.submit(commands, payload::reply);
            }
        });
    }
}

impl BlockDevice for UnthrottledExport {
    fn status(&self) -> Status {
        let now = Ns(u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX));
        self.store.with(|engine| {
            let busy = self.timing.as_ref().map(|timing| Busy::of(engine, timing));
            Status::of_flash(engine, busy, now, None)
        })
    }

    fn idle(&self) -> bool {
        self.store.idle()
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn close(&self) -> Result<(), BlockError> {
        self.store.close().map_err(BlockError::Close)
    }
}
