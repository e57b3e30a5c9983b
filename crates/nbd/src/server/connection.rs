//! The thread of a client: it receives requests, submits them, and sends the replies.
//!
//! If the export completes requests inside `submit`, a turn of the loop is one `recv`, which may
//! bring many requests, and one `sendmsg` for all their replies, and the thread sleeps in `recv`.
//! While requests are in flight on other threads, or replies wait for the client, the thread sleeps
//! in `poll`, and a completion wakes it through `wake_fd`.

use super::budget::MemoryBudget;
use super::inbox::{CompletedRequest, Inbox, SleepState};
use super::output::ReplyQueue;
use super::state::ServerState;
use super::stream::ClientStream;
use super::wait::TICK;
use crate::codec::Agreed;
use crate::codec::handshake::{Handshake, HandshakeStep};
use crate::codec::reply::Reply;
use crate::codec::request::{ParsedRequest, RequestParser};
use crate::export::{Errno, Export, Request, RequestError};
use std::fmt;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of requests in a batch. Replies are sent after each batch, so that the client can
/// work while the next one is served.
const BATCH: usize = 16;
/// Maximum payload of a batch.
const BATCH_BYTES: usize = 256 << 10;
/// Requests are not accepted while this many bytes of replies are unsent.
const BACKLOG: usize = 1 << 20;
/// Interval at which a connection that lacks memory tries again.
const RETRY: Duration = Duration::from_millis(5);
/// Bytes that a client must transfer in each
/// [`ConnectionLimits::stall`](super::options::ConnectionLimits::stall) while it uses shared
/// memory.
const MIN_TRANSFER: u64 = 1 << 20;

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum ConnectionEnd {
    Client,
    Refused(&'static str),
    Handshake,
    Slow,
    Stopped,
    Io(io::Error),
}

impl From<io::Error> for ConnectionEnd {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for ConnectionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => f.write_str("the client left"),
            Self::Refused(why) => f.write_str(why),
            Self::Handshake => f.write_str("the handshake took too long"),
            Self::Slow => f.write_str("too slow for the memory it held"),
            Self::Stopped => f.write_str("the server stopped"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

/// Serves a client until the connection ends.
pub(super) fn serve(
    shared: &ServerState,
    mut stream: ClientStream,
    inbox: Arc<Inbox>,
) -> ConnectionEnd {
    let (agreed, early) = match handshake(shared, &mut stream, &inbox) {
        Ok(done) => done,
        Err(end) => {
            stream.close();
            return end;
        }
    };
    let budget = MemoryBudget::new(
        Arc::clone(&shared.memory_pool),
        shared.limits.reserve_bytes(),
        shared.limits.connection_bytes(),
    );
    let mut transmission = Transmission {
        shared,
        stream,
        inbox,
        export: &*shared.exports[agreed.export],
        requests: RequestParser::new(shared.offers[agreed.export].info, agreed, &early),
        structured: agreed.structured,
        budget,
        output: ReplyQueue::default(),
        batch: Vec::with_capacity(BATCH),
        completed: Vec::new(),
        in_flight: 0,
        ended: false,
        stopping: false,
        moved: 0,
        stalled_since: None,
    };
    let end = transmission.run().unwrap_or_else(|end| end);
    transmission.close_and_drain();
    end
}

fn handshake(
    shared: &ServerState,
    stream: &mut ClientStream,
    inbox: &Inbox,
) -> Result<(Agreed, Vec<u8>), ConnectionEnd> {
    let deadline = Instant::now() + shared.limits.handshake;
    let mut machine = Handshake::new(Arc::clone(&shared.offers), shared.tls_policy());
    let mut out = Vec::new();
    Handshake::greet(&mut out);
    send_all(stream, inbox, &mut out, deadline)?;
    let mut room = [0; 4096];
    loop {
        let count = match stream.receive(&mut room, false) {
            Ok(0) => return Err(ConnectionEnd::Client),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                sleep(stream, inbox, true, deadline)?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let mut bytes = &room[..count];
        while !bytes.is_empty() {
            let (used, step) = machine.receive(bytes, &mut out);
            bytes = &bytes[used..];
            send_all(stream, inbox, &mut out, deadline)?;
            match step {
                HandshakeStep::More => {}
                HandshakeStep::Transmit(agreed) => return Ok((agreed, bytes.to_vec())),
                HandshakeStep::Close(why) => return Err(ConnectionEnd::Refused(why)),
                HandshakeStep::StartTls => {
                    // They would count as encrypted, but an attacker on the path could have
                    // inserted them.
                    if !bytes.is_empty() {
                        return Err(ConnectionEnd::Refused("plain bytes after STARTTLS"));
                    }
                    if let Some(tls) = &shared.tls {
                        stream.start_tls(Arc::clone(&tls.config))?;
                    }
                }
            }
        }
    }
}

/// Waits for the client. Fails at the deadline, or if the server stops.
fn sleep(
    stream: &mut ClientStream,
    inbox: &Inbox,
    read: bool,
    deadline: Instant,
) -> Result<(), ConnectionEnd> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ConnectionEnd::Handshake);
    }
    if !inbox.sleep(SleepState::Polling, false) {
        return Err(ConnectionEnd::Stopped);
    }
    let waited = stream.wait(read, !read || stream.unsent(), inbox.wake_fd(), left);
    inbox.mark_awake();
    waited?;
    Ok(stream.flush()?)
}

fn send_all(
    stream: &mut ClientStream,
    inbox: &Inbox,
    out: &mut Vec<u8>,
    deadline: Instant,
) -> Result<(), ConnectionEnd> {
    while !out.is_empty() {
        match stream.send(&[IoSlice::new(out)]) {
            Ok(count) => drop(out.drain(..count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                sleep(stream, inbox, false, deadline)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The reason why the connection does not accept requests now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockedOn {
    /// Nothing: the next request can be accepted.
    Nothing,
    /// Bytes of the client.
    Bytes,
    /// A buffer.
    Memory,
    /// Completions, or a client that receives replies.
    Space,
}

struct Transmission<'a> {
    shared: &'a ServerState,
    stream: ClientStream,
    inbox: Arc<Inbox>,
    export: &'a dyn Export,
    requests: RequestParser,
    structured: bool,
    budget: MemoryBudget,
    output: ReplyQueue,
    batch: Vec<Request>,
    completed: Vec<CompletedRequest>,
    /// Requests that were submitted and have not completed.
    in_flight: usize,
    /// The client has disconnected, or has closed its side of the stream.
    ended: bool,
    stopping: bool,
    /// Bytes received and sent.
    moved: u64,
    /// Since when the client has been stalled, and the value of `moved` at that time.
    stalled_since: Option<(Instant, u64)>,
}

impl Transmission<'_> {
    fn run(&mut self) -> Result<ConnectionEnd, ConnectionEnd> {
        loop {
            let moved = self.moved;
            let blocked = self.take();
            if !self.batch.is_empty() {
                self.export.submit(&mut self.batch);
                // Requests that the export did not take are answered with an error.
                self.batch.clear();
            }
            let blocked = blocked?;
            self.collect();
            self.send()?;
            let quiet = self.in_flight == 0 && self.output.is_empty() && !self.stream.unsent();
            if quiet {
                if self.stopping && (self.ended || self.requests.at_message_boundary()) {
                    return Ok(ConnectionEnd::Stopped);
                }
                if self.ended {
                    return Ok(ConnectionEnd::Client);
                }
            }
            // Memory or space may have become available since `take`.
            let again = match blocked {
                BlockedOn::Nothing => true,
                BlockedOn::Bytes => false,
                BlockedOn::Memory => self.moved != moved,
                BlockedOn::Space => self.can_take_request(),
            };
            if !again {
                self.wait(blocked, quiet)?;
            }
        }
    }

    /// Whether the limits allow one more request.
    fn can_take_request(&self) -> bool {
        let open = self.in_flight + self.output.replies();
        !self.ended && open < self.shared.limits.requests && self.output.bytes() < BACKLOG
    }

    /// Takes the requests of one batch.
    fn take(&mut self) -> Result<BlockedOn, ConnectionEnd> {
        let mut bytes = 0;
        for _ in 0..BATCH {
            if !self.can_take_request() {
                return Ok(BlockedOn::Space);
            }
            let budget = &mut self.budget;
            match self.requests.next(|length| budget.buffer(length)) {
                ParsedRequest::More => return Ok(BlockedOn::Bytes),
                ParsedRequest::NoBuffer => return Ok(BlockedOn::Memory),
                ParsedRequest::Garbage => return Err(ConnectionEnd::Refused("not an NBD request")),
                ParsedRequest::Disconnect => self.ended = true,
                ParsedRequest::Refused { cookie, fault } => {
                    self.output.push(Reply::refused(cookie, fault, self.structured));
                }
                ParsedRequest::Request { cookie, op, data } => {
                    bytes += data.len();
                    self.in_flight += 1;
                    let sink = Arc::clone(&self.inbox);
                    self.batch.push(Request::new(cookie, op, data, sink));
                }
            }
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        Ok(BlockedOn::Nothing)
    }

    /// Queues the replies of completed requests.
    fn collect(&mut self) {
        let stopping = self.inbox.take(&mut self.completed);
        if stopping && !self.stopping {
            self.stopping = true;
            let why = "the server is stopping";
            self.requests.refuse_all(RequestError { errno: Errno::Shutdown, why });
        }
        self.in_flight -= self.completed.len();
        for CompletedRequest { cookie, op, data, outcome } in self.completed.drain(..) {
            let (reply, spare) = Reply::answer(cookie, op, data, outcome, self.structured);
            self.output.push(reply);
            self.budget.give(spare);
        }
    }

    /// Sends as many replies as the client takes without waiting.
    fn send(&mut self) -> Result<(), ConnectionEnd> {
        while !self.output.is_empty() {
            let stream = &mut self.stream;
            match self.output.send(|parts| stream.send(parts)) {
                Ok(count) => self.moved += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
            let budget = &mut self.budget;
            self.output.spent(|buffer| budget.give(buffer));
        }
        Ok(self.stream.flush()?)
    }

    /// Sleeps until the client or a completion needs attention.
    fn wait(&mut self, blocked: BlockedOn, quiet: bool) -> Result<(), ConnectionEnd> {
        let read = blocked == BlockedOn::Bytes;
        if read && quiet && self.requests.at_message_boundary() {
            if self.inbox.sleep(SleepState::Receiving, self.stopping) {
                let received = self.stream.receive(self.requests.free_buffer(), true);
                self.inbox.mark_awake();
                if !self.received(received)? {
                    // The client was idle for a tick.
                    self.budget.release_idle();
                }
            }
            return Ok(());
        }
        if read {
            let received = self.stream.receive(self.requests.free_buffer(), false);
            if self.received(received)? {
                return self.check_stall(blocked);
            }
        }
        if self.inbox.sleep(SleepState::Polling, self.stopping) {
            let write = !self.output.is_empty() || self.stream.unsent();
            let time = if blocked == BlockedOn::Memory { RETRY } else { TICK };
            let waited = self.stream.wait(read, write, self.inbox.wake_fd(), time);
            self.inbox.mark_awake();
            waited?;
        }
        self.check_stall(blocked)
    }

    /// Closes the connection, and waits until the export has completed all requests, because their
    /// buffers count as memory of this connection.
    fn close_and_drain(mut self) {
        self.in_flight -= self.completed.len();
        self.stream.close();
        while self.in_flight > 0 {
            let count = self.inbox.await_completions();
            if count == 0 {
                break;
            }
            self.in_flight -= count;
        }
    }

    /// Accounts for the result of a receive. Returns false if there was nothing to receive.
    fn received(&mut self, result: io::Result<usize>) -> Result<bool, ConnectionEnd> {
        match result {
            Ok(0) => self.ended = true,
            Ok(count) => {
                self.requests.filled(count);
                self.moved += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Fails if the client has stalled while it uses memory that other clients may need.
    fn check_stall(&mut self, blocked: BlockedOn) -> Result<(), ConnectionEnd> {
        let partial = blocked == BlockedOn::Bytes && !self.requests.at_message_boundary();
        let stalled = (partial || !self.output.is_empty()) && self.budget.above() > 0;
        if !stalled {
            self.stalled_since = None;
            return Ok(());
        }
        let (since, moved) =
            *self.stalled_since.get_or_insert_with(|| (Instant::now(), self.moved));
        if since.elapsed() >= self.shared.limits.stall {
            self.stalled_since = None;
            if self.moved - moved < MIN_TRANSFER {
                return Err(ConnectionEnd::Slow);
            }
        }
        Ok(())
    }
}
