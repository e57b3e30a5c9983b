//! Requests for one key that wait for one fetch.
//!
//! The fetch is a task of its own, so that it does not end with the client that caused it. It
//! publishes the head of the response, then passes the body through a window from which all clients
//! read. A client that attaches while the window still has the first byte gets the body from there;
//! later ones fetch on their own. When the window is full the fetch waits for the slowest client,
//! unless others wait for that client for longer than [`PATIENCE`]: then it is disconnected.

use crate::budget::{Budget, Reserved};
use crate::frames::{BodyError, FRAME};
use crate::meta::StoredResponse;
use bytes::Bytes;
use http::Response;
use hyper::body::Incoming;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::watch;

/// How long the slowest of several clients may delay the others.
const PATIENCE: Duration = Duration::from_secs(10);

/// The head of a fetched response, or what came instead.
pub(crate) enum Outcome {
    /// A response that will be stored; its body is in the window.
    Shared {
        response: Arc<StoredResponse>,
        length: Option<u64>,
        /// The values of the request fields that Vary names, in one text.
        selecting: Vec<u8>,
    },
    /// The response `stored` is current; its metadata was replaced.
    Validated { stored: StoredResponse, response: Arc<StoredResponse> },
    /// A response for one client only: the first that takes it.
    Alone { status: http::StatusCode, response: Mutex<Option<Response<Incoming>>> },
    /// The origin failed: the status for the client, and the reason.
    Failed(http::StatusCode, &'static str),
}

/// One fetch.
pub(crate) struct Flight {
    pub key: Vec<u8>,
    outcome: watch::Receiver<Option<Arc<Outcome>>>,
    window: Arc<Window>,
    /// What is fetched was purged or changed meanwhile: it must not be stored.
    is_revoked: AtomicBool,
    /// Held while the response is being stored.
    storing: tokio::sync::Mutex<()>,
}

impl Flight {
    /// The head, once it is known; `None` if the fetch died without one.
    pub async fn outcome(&self) -> Option<Arc<Outcome>> {
        let mut receiver = self.outcome.clone();
        let found = receiver.wait_for(Option::is_some).await.ok()?;
        found.clone()
    }

    /// A reader of the body from its first byte, if the window still has that.
    pub fn attach(&self) -> Option<Reader> {
        let mut state = self.window.lock();
        if state.first > 0 || state.ending == Some(Ending::Failed) {
            return None;
        }
        let id = state.next_reader;
        state.next_reader += 1;
        state.readers.push(ReaderState { id, next: 0, waker: None });
        let window = Arc::clone(&self.window);
        Some(Reader { window, id, skip: 0, left: None, rest: Bytes::new() })
    }

    /// Stores the response by `store`, unless it was revoked.
    pub async fn store<T>(&self, store: impl Future<Output = T>) -> Option<T> {
        let _storing = self.storing.lock().await;
        if self.is_revoked.load(Ordering::Acquire) {
            return None;
        }
        Some(store.await)
    }
}

/// The fetch's side of a flight. Dropping it ends the flight: with an error if it was not finished.
pub(crate) struct Pilot {
    pub flight: Arc<Flight>,
    outcome: watch::Sender<Option<Arc<Outcome>>>,
    flights: Arc<Flights>,
}

impl Pilot {
    /// Publishes the head.
    pub fn publish(&self, outcome: Outcome) {
        self.outcome.send_replace(Some(Arc::new(outcome)));
    }

    /// Reserves memory for the next bytes. While there is none, bytes that all clients have read
    /// leave the window: otherwise fetches could wait for memory that only their windows hold.
    pub async fn reserve(&self, budget: &Arc<Budget>, size: u64) -> Reserved {
        budget.reserve_releasing(size, || self.flight.window.lock().drop_read(0, 0)).await
    }

    /// Adds bytes to the window, after all clients have read what does not fit with them.
    pub async fn push(&self, bytes: Bytes) {
        self.flight.window.push(bytes).await;
    }

    /// Ends the body.
    pub fn finish(&self) {
        self.flight.window.end(Ending::Whole);
    }
}

impl Drop for Pilot {
    fn drop(&mut self) {
        self.flights.remove(&self.flight);
        self.flights.running.fetch_sub(1, Ordering::Relaxed);
        self.flight.window.end(Ending::Failed);
    }
}

/// All fetches that run.
#[derive(Default)]
pub(crate) struct Flights {
    /// Those that requests can join.
    joinable: Mutex<HashMap<Vec<u8>, Arc<Flight>>>,
    running: AtomicUsize,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Arc<Flight>>> {
        self.joinable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of running fetches, including those that requests can no longer join.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Whether a request for a key would join a fetch that runs.
    pub fn has(&self, key: &[u8]) -> bool {
        self.lock().contains_key(key)
    }

    /// The flight of a key, with its pilot if it was not under way yet. `window` is the number of
    /// bytes by which clients may lag.
    pub fn join(self: &Arc<Self>, key: &[u8], window: usize) -> (Arc<Flight>, Option<Pilot>) {
        let mut flights = self.lock();
        if let Some(flight) = flights.get(key) {
            return (Arc::clone(flight), None);
        }
        let (sender, receiver) = watch::channel(None);
        let flight = Arc::new(Flight {
            key: key.into(),
            outcome: receiver,
            window: Arc::new(Window::new(window)),
            is_revoked: AtomicBool::new(false),
            storing: tokio::sync::Mutex::new(()),
        });
        flights.insert(key.into(), Arc::clone(&flight));
        self.running.fetch_add(1, Ordering::Relaxed);
        let pilot =
            Pilot { flight: Arc::clone(&flight), outcome: sender, flights: Arc::clone(self) };
        (flight, Some(pilot))
    }

    /// Number of fetches that run.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    fn remove(&self, flight: &Arc<Flight>) {
        let mut flights = self.lock();
        if flights.get(&flight.key).is_some_and(|found| Arc::ptr_eq(found, flight)) {
            flights.remove(&flight.key);
        }
    }

    /// Keeps the running fetches of these keys from being stored; later requests fetch again. When
    /// this returns none of them is being stored.
    pub async fn revoke(&self, concerns: impl Fn(&[u8]) -> bool) {
        let revoked: Vec<_> = {
            let mut flights = self.lock();
            let found: Vec<_> =
                flights.values().filter(|flight| concerns(&flight.key)).cloned().collect();
            for flight in &found {
                flight.is_revoked.store(true, Ordering::Release);
                flights.remove(&flight.key);
            }
            found
        };
        for flight in revoked {
            drop(flight.storing.lock().await);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Whole,
    Failed,
}

struct ReaderState {
    id: u64,
    /// Number of the next chunk.
    next: u64,
    waker: Option<Waker>,
}

#[derive(Default)]
struct WindowState {
    chunks: VecDeque<Bytes>,
    /// Number of the first chunk that is held.
    first: u64,
    held: usize,
    ending: Option<Ending>,
    readers: Vec<ReaderState>,
    next_reader: u64,
    /// The fetch, if it waits.
    fetch: Option<Waker>,
}

/// The part of a body that clients have yet to read.
struct Window {
    limit: usize,
    state: Mutex<WindowState>,
}

impl Window {
    fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, WindowState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn push(&self, bytes: Bytes) {
        let size = bytes.len();
        loop {
            let waiting = poll_fn(|cx| {
                let mut state = self.lock();
                state.drop_read(self.limit, size);
                if state.held == 0 || state.held + size <= self.limit {
                    return Poll::Ready(());
                }
                state.fetch = Some(cx.waker().clone());
                Poll::Pending
            });
            if tokio::time::timeout(PATIENCE, waiting).await.is_ok() {
                break;
            }
            self.lock().disconnect_slowest();
        }
        let mut state = self.lock();
        if state.readers.is_empty() && state.held + size > self.limit {
            // Nobody reads, and nobody can begin any more.
            state.first += state.chunks.len() as u64 + 1;
            state.chunks.clear();
            state.held = 0;
        } else {
            state.held += size;
            state.chunks.push_back(bytes);
        }
        state.wake_readers();
    }

    fn end(&self, ending: Ending) {
        let mut state = self.lock();
        state.ending.get_or_insert(ending);
        state.wake_readers();
    }
}

impl WindowState {
    /// Drops chunks that all readers have, until `size` more bytes are within the limit.
    fn drop_read(&mut self, limit: usize, size: usize) {
        let reached = self.readers.iter().map(|reader| reader.next).min();
        while self.held + size > limit
            && self.chunks.front().is_some()
            && reached.is_none_or(|next| next > self.first)
        {
            let chunk = self.chunks.pop_front();
            self.held -= chunk.map_or(0, |chunk| chunk.len());
            self.first += 1;
        }
    }

    /// Disconnects the readers for which others wait.
    fn disconnect_slowest(&mut self) {
        let Some(next) = self.readers.iter().map(|reader| reader.next).min() else { return };
        if self.readers.iter().any(|reader| reader.next > next) {
            self.wake_readers();
            self.readers.retain(|reader| reader.next > next);
        }
    }

    fn wake_readers(&mut self) {
        for reader in &mut self.readers {
            if let Some(waker) = reader.waker.take() {
                waker.wake();
            }
        }
    }
}

/// A client's side of a flight.
pub(crate) struct Reader {
    window: Arc<Window>,
    id: u64,
    /// Bytes to leave out first.
    skip: u64,
    /// Bytes still to send, if the length is known.
    left: Option<u64>,
    rest: Bytes,
}

impl Reader {
    /// Reads only a part, or declares the length.
    pub fn limit(mut self, skip: u64, length: Option<u64>) -> Self {
        self.skip = skip;
        self.left = length;
        self
    }

    /// Bytes still to come, if that is known.
    pub fn length(&self) -> Option<u64> {
        self.left
    }

    /// The next bytes; `None` at the end.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            if self.left == Some(0) {
                return Poll::Ready(None);
            }
            if !self.rest.is_empty() {
                let mut frame = self.rest.split_to(self.rest.len().min(FRAME));
                let skipped = self.skip.min(frame.len() as u64);
                self.skip -= skipped;
                drop(frame.split_to(usize::try_from(skipped).unwrap_or(usize::MAX)));
                if let Some(left) = &mut self.left {
                    frame.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= frame.len() as u64;
                }
                if frame.is_empty() {
                    continue;
                }
                return Poll::Ready(Some(Ok(frame)));
            }
            let mut guard = self.window.lock();
            let state = &mut *guard;
            let id = self.id;
            let Some(reader) = state.readers.iter_mut().find(|reader| reader.id == id) else {
                return Poll::Ready(Some(Err(BodyError::Slow)));
            };
            let at = usize::try_from(reader.next - state.first).unwrap_or(usize::MAX);
            match (state.chunks.get(at), state.ending) {
                (Some(chunk), _) => {
                    self.rest = chunk.clone();
                    reader.next += 1;
                    if let Some(fetch) = state.fetch.take() {
                        fetch.wake();
                    }
                }
                (None, Some(Ending::Whole)) => {
                    return Poll::Ready(self.left.map(|_| Err(BodyError::Incomplete)));
                }
                (None, Some(Ending::Failed)) => {
                    return Poll::Ready(Some(Err(BodyError::Incomplete)));
                }
                (None, None) => {
                    reader.waker = Some(cx.waker().clone());
                    return Poll::Pending;
                }
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.window.lock();
        let id = self.id;
        state.readers.retain(|reader| reader.id != id);
        if let Some(fetch) = state.fetch.take() {
            fetch.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
        runtime.block_on(test);
    }

    async fn next(reader: &mut Reader) -> Option<Result<Bytes, BodyError>> {
        poll_fn(|cx| reader.poll_next(cx)).await
    }

    async fn rest(mut reader: Reader) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(bytes) = next(&mut reader).await {
            all.extend_from_slice(&bytes.ok()?);
        }
        Some(all)
    }

    const PART: Bytes = Bytes::from_static(b"0123456789");

    #[test]
    fn all_clients_read_one_body_and_parts_of_it() {
        run(async {
            let flights = Arc::new(Flights::default());
            let (flight, pilot) = flights.join(b"key", 100);
            let pilot = pilot.expect("the first one fetches");
            assert!(flights.join(b"key", 100).1.is_none());
            let whole = flight.attach().expect("at the start");
            let part = flight.attach().expect("at the start").limit(8, Some(5));
            pilot.push(PART).await;
            pilot.push(PART).await;
            let late = flight.attach().expect("nothing has left the window");
            pilot.finish();
            drop(pilot);
            assert_eq!(flights.len(), 0);
            assert_eq!(rest(whole).await.as_deref(), Some(&b"01234567890123456789"[..]));
            assert_eq!(rest(late).await.map(|all| all.len()), Some(20));
            assert_eq!(rest(part).await.as_deref(), Some(&b"89012"[..]));
        });
    }

    #[test]
    fn a_body_without_its_end_is_an_error_for_all() {
        run(async {
            let flights = Arc::new(Flights::default());
            let (flight, pilot) = flights.join(b"key", 100);
            let reader = flight.attach().expect("at the start");
            let short = flight.attach().expect("at the start").limit(0, Some(11));
            let pilot = pilot.expect("the first one fetches");
            pilot.push(PART).await;
            pilot.finish();
            assert_eq!(rest(short).await, None);
            assert_eq!(rest(reader).await.map(|all| all.len()), Some(10));
            let (flight, pilot) = flights.join(b"other", 100);
            let reader = flight.attach().expect("at the start");
            let pilot = pilot.expect("the first one fetches");
            pilot.push(PART).await;
            // As a panic of the fetch does.
            drop(pilot);
            assert_eq!(rest(reader).await, None);
            assert!(flight.outcome().await.is_none());
            assert!(flight.attach().is_none());
        });
    }

    #[test]
    fn a_fetch_waits_for_its_only_client_and_disconnects_one_that_delays_others() {
        run(async {
            let flights = Arc::new(Flights::default());
            let (flight, pilot) = flights.join(b"key", 25);
            let pilot = pilot.expect("the first one fetches");
            let mut slow = flight.attach().expect("at the start");
            let mut fast = flight.attach().expect("at the start");
            for _ in 0..2 {
                pilot.push(PART).await;
                assert!(next(&mut fast).await.is_some_and(|bytes| bytes.is_ok()));
            }
            assert!(flight.attach().is_some());
            // The window is full, and the slow client has not read its first part.
            pilot.push(PART).await;
            assert!(next(&mut slow).await.is_some_and(|bytes| bytes.is_err()));
            drop(slow);
            assert!(flight.attach().is_none());
            assert!(next(&mut fast).await.is_some_and(|bytes| bytes.is_ok()));
            // Alone, the other one may take its time.
            pilot.push(PART).await;
            pilot.push(PART).await;
            let full = tokio::time::timeout(10 * PATIENCE, pilot.push(PART)).await;
            assert!(full.is_err());
            assert!(next(&mut fast).await.is_some_and(|bytes| bytes.is_ok()));
            // Without clients the fetch does not wait.
            drop(fast);
            for _ in 0..10 {
                pilot.push(PART).await;
            }
        });
    }

    #[test]
    fn a_fetch_does_not_wait_for_memory_that_its_own_window_holds() {
        run(async {
            let flights = Arc::new(Flights::default());
            let (flight, pilot) = flights.join(b"key", 100);
            let pilot = pilot.expect("the first one fetches");
            let mut reader = flight.attach().expect("at the start");
            let budget = Budget::new(20);
            for _ in 0..2 {
                let reserved = pilot.reserve(&budget, 10).await;
                pilot.push(reserved.hold(PART)).await;
            }
            // Nothing has been read.
            let waiting = tokio::time::timeout(PATIENCE, pilot.reserve(&budget, 10));
            assert!(waiting.await.is_err());
            assert!(next(&mut reader).await.is_some_and(|bytes| bytes.is_ok()));
            let waiting = tokio::time::timeout(PATIENCE, pilot.reserve(&budget, 10));
            assert!(waiting.await.is_ok());
            // Without clients, the bytes in the window are not needed.
            drop(reader);
            let waiting = tokio::time::timeout(PATIENCE, pilot.reserve(&budget, 20));
            assert!(waiting.await.is_ok());
            assert!(flight.attach().is_none());
        });
    }

    #[test]
    fn fetches_count_until_they_end_also_when_they_are_revoked() {
        run(async {
            let flights = Arc::new(Flights::default());
            let (_, pilot) = flights.join(b"/a", 100);
            assert!(flights.has(b"/a"));
            flights.revoke(|_| true).await;
            assert_eq!((flights.has(b"/a"), flights.len(), flights.running()), (false, 0, 1));
            drop(pilot);
            assert_eq!(flights.running(), 0);
        });
    }

    #[test]
    fn what_is_revoked_is_not_stored_and_what_is_being_stored_is_waited_for() {
        run(async {
            let flights = Arc::new(Flights::default());
            let (flight, _pilot) = flights.join(b"/a", 100);
            let (other, _pilot) = flights.join(b"/b", 100);
            flights.revoke(|key| key == b"/a").await;
            assert_eq!(flight.store(async {}).await, None);
            assert_eq!(other.store(async {}).await, Some(()));
            assert!(flights.join(b"/a", 100).1.is_some());
            let storing = other.store(tokio::time::sleep(Duration::from_secs(5)));
            let before = tokio::time::Instant::now();
            tokio::join!(storing, flights.revoke(|key| key == b"/b"));
            assert!(before.elapsed() >= Duration::from_secs(5));
        });
    }
}
