//! An export of a flash image in the time of the simulated flash.

use crate::block_device::BlockDevice;
use crate::clock::SimClock;
use crate::error::BlockError;
use crate::payload::{self, NbdPayload};
use crate::simulated_timing::SimulatedTiming;
use crate::status::Status;
use gordon_nand::Timing;
use gordon_nbd::threads::spawn;
use gordon_nbd::{Export, ExportInfo, Request};
use gordon_store::{Completion, Engine, IoError, Syncer};
use gordon_units::{Bytes, Ns};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

/// An export whose operations take the time of the simulated flash.
pub(super) struct TimedExport {
    clock: Arc<SimClock<SimulatedTiming<NbdPayload>>>,
    /// Latency of the host, added to each request.
    latency: Ns,
    /// Rate of the host's link in bytes a second; `None` if transfers take no time.
    link: Option<Bytes>,
    info: ExportInfo,
    taken: AtomicU64,
    /// When the last request arrived, in ns.
    last: AtomicU64,
    /// The thread that syncs the image before durable requests are answered.
    sync_thread: Mutex<Option<JoinHandle<()>>>,
}

impl TimedExport {
    pub fn start(
        engine: Engine<NbdPayload>,
        (timing, latency, link): (Timing, Ns, Option<Bytes>),
    ) -> Result<Arc<Self>, BlockError> {
        let (info, syncer) = (payload::export_info(&engine), engine.syncer());
        let (sender, receiver) = mpsc::channel::<Completion<NbdPayload>>();
        let answer = move |completion: Completion<NbdPayload>| {
            if completion.needs_sync && completion.result.is_ok() {
                // If the thread is gone, the request is dropped, which answers it with an error.
                let _ = sender.send(completion);
            } else {
                payload::reply(completion);
            }
        };
        let clock = SimClock::start(SimulatedTiming::new(engine, &timing), answer)?;
        let sync = move || sync_and_answer(&syncer, &receiver);
        let thread = spawn("block-sync", sync)?;
        let (taken, last) = (AtomicU64::new(0), AtomicU64::new(0));
        let sync_thread = Mutex::new(Some(thread));
        Ok(Arc::new(Self { clock, latency, link, info, taken, last, sync_thread }))
    }
}

/// The loop of the sync thread. One sync serves all completions that wait.
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
                // Requests do not wait for each other on the link: that is not modelled.
                let bytes = Bytes(request.data().len() as u64);
                let transfer = self.link.map_or(Ns::ZERO, |rate| bytes.time_at(rate));
                let engine = &sim.engine;
                let converted = payload::to_command(request, |look| look(engine));
                if let Some((command, payload)) = converted {
                    let link_time = self.latency + transfer;
                    sim.engine.start(command, NbdPayload { arrived_at: now, link_time, ..payload });
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
            // The operations that it starts take simulated time, so there is nothing more to do
            // now.
            sim.engine.idle();
            sim.issue(now);
        });
        false
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn close(&self) -> Result<(), BlockError> {
        // The thread of the clock owns the sender, so the sync thread ends after it.
        self.clock.stop();
        let thread = self.sync_thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
        self.clock.after(|sim| {
            sim.complete_all();
            sim.engine.close().map_err(BlockError::Close)
        })
    }
}
