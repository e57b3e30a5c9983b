//! One client, one thread: receive, hand over, reply.
//!
//! With an export that completes inside `submit`, a turn is one `recv` that may bring many requests
//! and one `sendmsg` for all their replies; the thread sleeps in `recv`. While requests are in
//! flight elsewhere, or replies wait for the client, it sleeps in `poll`, and a bell wakes it.

use super::budget::Budget;
use super::inbox::{Completion, Inbox, Sleep};
use super::output::Output;
use super::stream::Stream;
use super::{End, Shared};
use crate::codec::Agreed;
use crate::codec::handshake::{Handshake, Step};
use crate::codec::reply::Reply;
use crate::codec::request::{Next, Requests};
use crate::export::{Errno, Export, Fault, Request};
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Requests taken before their replies are sent, so that the client works meanwhile.
const BATCH: usize = 16;
/// And so many bytes of them.
const BATCH_BYTES: usize = 256 << 10;
/// Bytes of replies that wait before no more requests are taken.
const BACKLOG: usize = 1 << 20;
/// How often an idle connection looks whether it holds what it need not.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// How often a connection asks again for memory.
const RETRY: Duration = Duration::from_millis(5);
/// What a client must move in each [`Limits::stall`](super::Limits::stall) while it holds of the
/// share.
const SLOWEST: u64 = 1 << 20;

/// Serves a client to its end.
pub(super) fn serve(shared: &Shared, mut stream: Stream, inbox: Arc<Inbox>) -> End {
    let (agreed, early) = match handshake(shared, &mut stream, &inbox) {
        Ok(done) => done,
        Err(end) => {
            stream.close();
            return end;
        }
    };
    let budget = Budget::new(
        Arc::clone(&shared.share),
        shared.limits.reserve_bytes(),
        shared.limits.connection_bytes(),
    );
    let mut transmission = Transmission {
        shared,
        stream,
        inbox,
        export: &*shared.exports[agreed.export],
        requests: Requests::new(shared.offers[agreed.export].info, agreed, &early),
        structured: agreed.structured,
        budget,
        output: Output::default(),
        batch: Vec::with_capacity(BATCH),
        completed: Vec::new(),
        in_flight: 0,
        ended: false,
        stopping: false,
        moved: 0,
        slow: None,
    };
    let end = transmission.run().unwrap_or_else(|end| end);
    transmission.leave();
    end
}

fn handshake(
    shared: &Shared,
    stream: &mut Stream,
    inbox: &Inbox,
) -> Result<(Agreed, Vec<u8>), End> {
    let deadline = Instant::now() + shared.limits.handshake;
    let mut machine = Handshake::new(Arc::clone(&shared.offers), shared.tls_policy());
    let mut out = Vec::new();
    Handshake::greet(&mut out);
    send_all(stream, inbox, &mut out, deadline)?;
    let mut room = [0; 4096];
    loop {
        let count = match stream.receive(&mut room, false) {
            Ok(0) => return Err(End::Client),
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
                Step::More => {}
                Step::Transmit(agreed) => return Ok((agreed, bytes.to_vec())),
                Step::Close(why) => return Err(End::Refused(why)),
                Step::StartTls => {
                    // They would count as encrypted, and whoever sits between could have sent them.
                    if !bytes.is_empty() {
                        return Err(End::Refused("plain bytes after STARTTLS"));
                    }
                    if let Some(tls) = &shared.tls {
                        stream.start_tls(Arc::clone(&tls.config))?;
                    }
                }
            }
        }
    }
}

/// Waits for the client until the deadline, or until the server stops.
fn sleep(stream: &mut Stream, inbox: &Inbox, read: bool, deadline: Instant) -> Result<(), End> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(End::Handshake);
    }
    if !inbox.sleep(Sleep::Polling, false) {
        return Err(End::Stopped);
    }
    let waited = stream.wait(read, !read || stream.unsent(), inbox.bell(), left);
    inbox.wake();
    waited?;
    Ok(stream.flush()?)
}

fn send_all(
    stream: &mut Stream,
    inbox: &Inbox,
    out: &mut Vec<u8>,
    deadline: Instant,
) -> Result<(), End> {
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

/// Why no more requests are taken now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    /// Nothing: there may be more.
    Nothing,
    /// Bytes of the client.
    Bytes,
    /// A buffer.
    Memory,
    /// Completions, or that the client takes its replies.
    Room,
}

struct Transmission<'a> {
    shared: &'a Shared,
    stream: Stream,
    inbox: Arc<Inbox>,
    export: &'a dyn Export,
    requests: Requests,
    structured: bool,
    budget: Budget,
    output: Output,
    batch: Vec<Request>,
    completed: Vec<Completion>,
    /// Submitted and not yet back.
    in_flight: usize,
    /// No more requests come.
    ended: bool,
    stopping: bool,
    /// Bytes received and sent.
    moved: u64,
    /// The client owes us something since, and had moved that much then.
    slow: Option<(Instant, u64)>,
}

impl Transmission<'_> {
    fn run(&mut self) -> Result<End, End> {
        loop {
            let moved = self.moved;
            let want = self.take();
            if !self.batch.is_empty() {
                self.export.submit(&mut self.batch);
                // What an export forgot to take is answered with an error.
                self.batch.clear();
            }
            let want = want?;
            self.collect();
            self.send()?;
            let quiet = self.in_flight == 0 && self.output.is_empty() && !self.stream.unsent();
            if quiet {
                if self.stopping && (self.ended || self.requests.between()) {
                    return Ok(End::Stopped);
                }
                if self.ended {
                    return Ok(End::Client);
                }
            }
            // What there was no room or memory for may have found it meanwhile.
            let again = match want {
                Want::Nothing => true,
                Want::Bytes => false,
                Want::Memory => self.moved != moved,
                Want::Room => self.room(),
            };
            if !again {
                self.wait(want, quiet)?;
            }
        }
    }

    /// One more request may be taken.
    fn room(&self) -> bool {
        let open = self.in_flight + self.output.replies();
        !self.ended && open < self.shared.limits.requests && self.output.bytes() < BACKLOG
    }

    /// Takes requests, some at a time.
    fn take(&mut self) -> Result<Want, End> {
        let mut bytes = 0;
        for _ in 0..BATCH {
            if !self.room() {
                return Ok(Want::Room);
            }
            let budget = &mut self.budget;
            match self.requests.next(|length| budget.buffer(length)) {
                Next::More => return Ok(Want::Bytes),
                Next::NoBuffer => return Ok(Want::Memory),
                Next::Garbage => return Err(End::Refused("not an NBD request")),
                Next::Disconnect => self.ended = true,
                Next::Refused { cookie, fault } => {
                    self.output.push(Reply::refused(cookie, fault, self.structured));
                }
                Next::Request { cookie, op, data } => {
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
        Ok(Want::Nothing)
    }

    /// Makes replies of what has been completed.
    fn collect(&mut self) {
        let stopping = self.inbox.take(&mut self.completed);
        if stopping && !self.stopping {
            self.stopping = true;
            let why = "the server is stopping";
            self.requests.refuse_all(Fault { errno: Errno::Shutdown, why });
        }
        self.in_flight -= self.completed.len();
        for Completion { cookie, op, data, outcome } in self.completed.drain(..) {
            let (reply, spare) = Reply::answer(cookie, op, data, outcome, self.structured);
            self.output.push(reply);
            self.budget.give(spare);
        }
    }

    /// Sends replies as far as the client takes them.
    fn send(&mut self) -> Result<(), End> {
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

    /// Sleeps until there is something to do.
    fn wait(&mut self, want: Want, quiet: bool) -> Result<(), End> {
        let read = want == Want::Bytes;
        if read && quiet && self.requests.between() {
            if self.inbox.sleep(Sleep::Receiving, self.stopping) {
                let received = self.stream.receive(self.requests.room(), true);
                self.inbox.wake();
                if !self.received(received)? {
                    // Nothing for a while.
                    self.budget.rest();
                }
            }
            return Ok(());
        }
        if read {
            let received = self.stream.receive(self.requests.room(), false);
            if self.received(received)? {
                return self.patience(want);
            }
        }
        if self.inbox.sleep(Sleep::Polling, self.stopping) {
            let write = !self.output.is_empty() || self.stream.unsent();
            let time = if want == Want::Memory { RETRY } else { TICK };
            let waited = self.stream.wait(read, write, self.inbox.bell(), time);
            self.inbox.wake();
            waited?;
        }
        self.patience(want)
    }

    /// Closes, and stays until the export has given back all that counts as held here.
    fn leave(mut self) {
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

    /// Books what came; false: nothing has.
    fn received(&mut self, result: io::Result<usize>) -> Result<bool, End> {
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

    /// Ends a client that holds what others may need and hardly moves.
    fn patience(&mut self, want: Want) -> Result<(), End> {
        let partial = want == Want::Bytes && !self.requests.between();
        let owes = (partial || !self.output.is_empty()) && self.budget.above() > 0;
        if !owes {
            self.slow = None;
            return Ok(());
        }
        let (since, moved) = *self.slow.get_or_insert_with(|| (Instant::now(), self.moved));
        if since.elapsed() >= self.shared.limits.stall {
            self.slow = None;
            if self.moved - moved < SLOWEST {
                return Err(End::Slow);
            }
        }
        Ok(())
    }
}
