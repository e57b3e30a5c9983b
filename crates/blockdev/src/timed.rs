//! In the time that the simulated flash would take.

use crate::block_device::BlockDevice;
use crate::clock::SimClock;
use crate::error::BlockError;
use crate::payload::{self, NbdPayload};
use crate::simulated_timing::SimulatedTiming;
use crate::status::Status;
use crate::threads::spawn;
use gordon_nand::Timing;
use gordon_nbd::{Export, ExportInfo, Request};
use gordon_store::{Completion, Engine, IoError, Syncer};
use gordon_units::{Bytes, Ns};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

/// A store whose operations take flash time.
pub(super) struct TimedExport {
    clock: Arc<SimClock<SimulatedTiming<NbdPayload>>>,
    latency: Ns,
    link: Option<Bytes>,
    info: ExportInfo,
    taken: AtomicU64,
    /// When the last request came.
    last: AtomicU64,
    /// Syncs for answers that have to be durable.
    syncing: Mutex<Option<JoinHandle<()>>>,
}

impl TimedExport {
    pub fn start(
        engine: Engine<NbdPayload>,
        (timing, latency, link): (Timing, Ns, Option<Bytes>),
    ) -> Result<Arc<Self>, BlockError> {
        let (info, syncer) = (payload::export_info(&engine), engine.syncer());
        let (sender, receiver) = mpsc::channel::<Completion<NbdPayload>>();
        let tell = move |completion: Completion<NbdPayload>| {
            if completion.durable && completion.result.is_ok() {
                // Where that thread is gone, the request is dropped, which answers an error.
                let _ = sender.send(completion);
            } else {
                payload::reply(completion);
            }
        };
        let clock = SimClock::start(SimulatedTiming::new(engine, &timing), tell)?;
        let sync = move || sync_and_answer(&syncer, &receiver);
        let thread = spawn("block-sync", sync)?;
        let (taken, last) = (AtomicU64::new(0), AtomicU64::new(0));
        let syncing = Mutex::new(Some(thread));
        Ok(Arc::new(Self { clock, latency, link, info, taken, last, syncing }))
    }
}

/// One sync for all who wait.
fn sync_and_answer(syncer: &Syncer, receiver: &mpsc::Receiver<Completion<NbdPayload>>) {
    while let Ok(first) = receiver.recv() {
        let all: Vec<_> = std::iter::once(first).chain(receiver.try_iter()).collect();
        let synced = syncer.sync().is_ok();
        for mut completion in all {
            if !synced {
                completion.result = Err(IoError::Medium);
            }
            payload::reply(completion);
        }
    }
}

impl Export for TimedExport {
    fn info(&self) -> ExportInfo {
        self.info
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        self.taken.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.clock.with(|sim, now| {
            let after = now.0 - self.last.swap(now.0, Ordering::Relaxed);
            sim.engine.record_arrival(after, batch.len());
            for request in batch.drain(..) {
                // Not modelled: requests that wait for each other on the link.
                let bytes = Bytes(request.data().len() as u64);
                let crossing = self.link.map_or(Ns::ZERO, |rate| bytes.time_at(rate));
                let engine = &sim.engine;
                let taken = payload::to_command(request, |see| see(engine));
                if let Some((command, payload)) = taken {
                    let way = self.latency + crossing;
                    sim.engine
                        .start(command, NbdPayload { arrived_at: now, link_time: way, ..payload });
                }
            }
            sim.issue(now);
        });
    }
}

impl BlockDevice for TimedExport {
    fn status(&self) -> Status {
        self.clock.observe(|sim, now, lateness| {
            Status::of_flash(&sim.engine, Some(sim.busy()), now, Some(lateness))
        })
    }

    fn idle(&self) -> bool {
        self.clock.with(|sim, now| {
            // What it begins takes its time.
            sim.engine.idle();
            sim.issue(now);
        });
        false
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn close(&self) -> Result<(), BlockError> {
        // With its thread goes the last who sends to the other.
        self.clock.stop();
        if let Some(thread) = self.syncing.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
        self.clock.after(|sim| {
            // What is in flight is done: nobody waits for it any more.
            sim.land();
            sim.engine.close().map_err(BlockError::Close)
        })
    }
}
