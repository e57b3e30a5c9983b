//! A store shared by several threads.
//!
//! The submitting thread takes the lock, submits its whole batch, and carries out operations until
//! none is left. So a request never requires waking another thread. Threads wait for syncs without
//! holding the lock, and one sync serves all waiting threads.

use crate::background_syncer::BackgroundSyncer;
use crate::device::DeviceParams;
use crate::engine::{Completion, Engine, Payload};
use crate::error::{ImageError, IoError};
use crate::image::Image;
use crate::media::Backend;
use crate::sync_tracker::Syncer;
use crate::telemetry::Telemetry;
use gordon_blockio::Command;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A block device in an image.
///
/// When a flush completes, all requests completed before its submission are durable, whichever
/// thread submitted them. A request with `fua` is durable when it completes.
pub struct Store<P> {
    engine: Mutex<StoreState<P>>,
    syncer: Syncer,
    background_syncer: BackgroundSyncer,
}

struct StoreState<P> {
    engine: Engine<P>,
    /// Unused lists, for reuse.
    spare: Vec<Vec<Completion<P>>>,
    last: Instant,
}

impl<P: Payload> Store<P> {
    /// Creates an image of an erased array in a new file, and opens it.
    pub fn create(path: &Path, device: DeviceParams, backend: Backend) -> Result<Self, ImageError> {
        Self::open_image(Image::create(path, device, backend)?)
    }

    /// Opens an image for reading and writing.
    pub fn open(path: &Path, backend: Backend) -> Result<Self, ImageError> {
        Self::open_image(Image::open(path, backend, true)?)
    }

    /// Shares an engine among threads.
    pub fn new(engine: Engine<P>) -> Self {
        let syncer = engine.syncer();
        let shared = StoreState { engine, spare: Vec::new(), last: Instant::now() };
        Self {
            engine: Mutex::new(shared),
            background_syncer: BackgroundSyncer::new(syncer.clone()),
            syncer,
        }
    }

    /// Mounts an image that is already open.
    pub fn open_image(image: Image) -> Result<Self, ImageError> {
        Engine::open(image).map(Self::new)
    }

    /// Locks the engine for inspection, even if a thread that panicked has left work unfinished.
    fn lock(&self) -> MutexGuard<'_, StoreState<P>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits all requests of the batch, and calls `finish` for each completed request, including
    /// those of other threads.
    pub fn submit(&self, batch: &mut Vec<(Command, P)>, mut finish: impl FnMut(Completion<P>)) {
        let now = Instant::now();
        let Ok(mut shared) = self.engine.lock() else {
            return stop(batch, finish);
        };
        let after = now.saturating_duration_since(shared.last).as_nanos();
        shared.last = now;
        shared.engine.record_arrival(u64::try_from(after).unwrap_or(u64::MAX), batch.len());
        for (command, payload) in batch.drain(..) {
            shared.engine.start(command, payload);
        }
        shared.engine.run();
        let mut ended = shared.spare.pop().unwrap_or_default();
        shared.engine.finished(&mut ended);
        if let Some(changes) = shared.engine.take_due_sync() {
            self.background_syncer.sync_to(changes);
        }
        drop(shared);
        let needs_sync = ended.iter().any(|completion| completion.needs_sync);
        let synced = !needs_sync || self.syncer.sync().is_ok();
        for mut completion in ended.drain(..) {
            if completion.needs_sync && !synced {
                completion.result = Err(IoError::Medium);
            }
            finish(completion);
        }
        self.lock().spare.push(ended);
    }

    /// Does background work; returns true if there was any, in which case there may be more.
    pub fn idle(&self) -> bool {
        let Ok(mut shared) = self.engine.lock() else { return false };
        let busy = shared.engine.background_work();
        shared.engine.run();
        busy
    }

    /// Calls `look` with exclusive access to the engine.
    pub fn with<T>(&self, look: impl FnOnce(&mut Engine<P>) -> T) -> T {
        look(&mut self.lock().engine)
    }

    /// The current state and counters.
    pub fn telemetry(&self) -> Telemetry {
        self.lock().engine.telemetry()
    }

    /// Size of the device in bytes.
    pub fn capacity(&self) -> u64 {
        self.with(|engine| engine.image().device().capacity.0)
    }
}

/// Fails a batch after a thread has panicked while it held the engine.
#[cold]
fn stop<P>(batch: &mut Vec<(Command, P)>, mut finish: impl FnMut(Completion<P>)) {
    for (command, payload) in batch.drain(..) {
        finish(Completion { command, payload, result: Err(IoError::Stopped), needs_sync: false });
    }
}

impl<P: Payload + Default> Store<P> {
    /// Writes everything out and shuts the image down in order. A store dropped without this is as
    /// after a kill of its process. No requests may follow; the lock on the file is released when
    /// the store is dropped.
    pub fn close(&self) -> Result<(), IoError> {
        let Ok(mut shared) = self.engine.lock() else { return Err(IoError::Stopped) };
        shared.engine.close()
    }
}
