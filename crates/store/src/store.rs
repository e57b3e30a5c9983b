//! A store that many threads share.
//!
//! Whoever submits takes the lock, hands in its whole batch and carries out operations until none
//! is left; so nobody is woken for a request but whoever asked. Syncs are waited for without the
//! lock, and one serves all who wait.

use crate::background_syncer::BackgroundSyncer;
use crate::device::DeviceParams;
use crate::engine::{Command, Completion, Engine, Payload};
use crate::error::{ImageError, IoError};
use crate::image::Image;
use crate::media::Backend;
use crate::sync_tracker::Syncer;
use crate::telemetry::Telemetry;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A block device in an image.
///
/// All that was completed before a flush was submitted is durable when the flush is completed,
/// whoever submitted it; so is a request with `fua` when it is completed.
pub struct Store<P> {
    engine: Mutex<StoreState<P>>,
    syncer: Syncer,
    background_syncer: BackgroundSyncer,
}

struct StoreState<P> {
    engine: Engine<P>,
    /// Lists that are not in use.
    spare: Vec<Vec<Completion<P>>>,
    last: Instant,
}

impl<P: Payload> Store<P> {
    /// Makes an image of an erased array in a new file, and opens it.
    pub fn create(path: &Path, device: DeviceParams, backend: Backend) -> Result<Self, ImageError> {
        Self::open_image(Image::create(path, device, backend)?)
    }

    /// Opens an image, to write.
    pub fn open(path: &Path, backend: Backend) -> Result<Self, ImageError> {
        Self::open_image(Image::open(path, backend, true)?)
    }

    /// Shares an engine.
    pub fn new(engine: Engine<P>) -> Self {
        let syncer = engine.syncer();
        let shared = StoreState { engine, spare: Vec::new(), last: Instant::now() };
        Self {
            engine: Mutex::new(shared),
            background_syncer: BackgroundSyncer::new(syncer.clone()),
            syncer,
        }
    }

    /// Opens an image that is open as a file.
    pub fn open_image(image: Image) -> Result<Self, ImageError> {
        Engine::open(image).map(Self::new)
    }

    /// To look at it: a thread that panicked may have left work half done.
    fn lock(&self) -> MutexGuard<'_, StoreState<P>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all requests of the batch, and calls `finish` for each request that has ended, those
    /// of other threads among them.
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
        if let Some(changes) = shared.engine.overdue() {
            self.background_syncer.sync_to(changes);
        }
        drop(shared);
        let durable = ended.iter().any(|completion| completion.durable);
        let synced = !durable || self.syncer.sync().is_ok();
        for mut completion in ended.drain(..) {
            if completion.durable && !synced {
                completion.result = Err(IoError::Medium);
            }
            finish(completion);
        }
        self.lock().spare.push(ended);
    }

    /// A time for work in the background; true if there was some, so that there may be more.
    pub fn idle(&self) -> bool {
        let Ok(mut shared) = self.engine.lock() else { return false };
        let busy = shared.engine.background_work();
        shared.engine.run();
        busy
    }

    /// Looks at, or drives, the engine, while nobody else does.
    pub fn with<T>(&self, look: impl FnOnce(&mut Engine<P>) -> T) -> T {
        look(&mut self.lock().engine)
    }

    /// The state at this moment.
    pub fn telemetry(&self) -> Telemetry {
        self.lock().engine.telemetry()
    }

    /// Bytes of the device.
    pub fn capacity(&self) -> u64 {
        self.with(|engine| engine.image().device().capacity.0)
    }
}

/// A thread has panicked while it held the engine: nothing is done on what it left.
#[cold]
fn stop<P>(batch: &mut Vec<(Command, P)>, mut finish: impl FnMut(Completion<P>)) {
    for (command, payload) in batch.drain(..) {
        finish(Completion { command, payload, result: Err(IoError::Stopped), durable: false });
    }
}

impl<P: Payload + Default> Store<P> {
    /// Writes everything out and leaves the image in order. A store that is dropped instead is as
    /// if its process had been killed. After it nothing more is to be asked; the file is free for
    /// others when the store is dropped.
    pub fn close(&self) -> Result<(), IoError> {
        let Ok(mut shared) = self.engine.lock() else { return Err(IoError::Stopped) };
        shared.engine.close()
    }
}
