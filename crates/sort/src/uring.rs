//! Carries out the queue's requests through io_uring, with a single thread.

use crate::SortError;
use crate::queue::{IoQueue, NextTransfer, Op, TransferRequest};
use gordon_sys::ring::{Ended, Ring, Transfer};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs;
use std::io::Error;
use std::mem;
use std::sync::Arc;

/// Identifier of the read that completes when the queue must be polled.
const WAKE: u64 = u64::MAX;

/// A ring, and the requests in flight in it.
pub struct Uring {
    ring: Ring,
    wake: Arc<fs::File>,
    begun: BTreeMap<u64, Begun>,
    next: u64,
}

/// A request whose buffer is lent to the ring, and the number of bytes already done.
struct Begun {
    request: TransferRequest,
    done: usize,
}

impl Uring {
    /// A ring for `depth` requests at a time.
    pub fn new(depth: u32) -> Result<Self, Error> {
        // One more transfer is the read that wakes this thread.
        let ring = Ring::new(depth + 1)?;
        let wake = Arc::new(fs::File::from(eventfd(0, EventfdFlags::CLOEXEC)?));
        let mut new = Self { ring, wake, begun: BTreeMap::new(), next: 0 };
        new.listen();
        Ok(new)
    }

    fn listen(&mut self) {
        let (file, buffer) = (self.wake.clone(), vec![0; 8]);
        let read = Transfer { op: Op::Read, file, offset: 0, buffer, part: 0..8, key: WAKE };
        let started = self.ring.start(read);
        assert!(started.is_ok(), "its place is kept");
    }

    /// Carries out the queue's requests until it is closed. Requests still in flight are then
    /// cancelled, and those that cannot be cancelled are waited for (`Ring`).
    pub fn serve(mut self, queue: &IoQueue) {
        let mut ended = Vec::new();
        queue.wake_by(self.wake.clone());
        while self.begin(queue) {
            if let Err(error) = self.ring.wait(&mut ended) {
                self.give_up(&error, queue);
                // The remaining requests are carried out here, so that no thread waits forever.
                return queue.serve();
            }
            ended.drain(..).for_each(|ended| self.end(ended, queue));
        }
    }

    /// Starts queued requests; returns false when the queue is closed.
    fn begin(&mut self, queue: &IoQueue) -> bool {
        while self.ring.has_place() {
            match queue.poll() {
                NextTransfer::Request(request) => self.go_on(Begun { request, done: 0 }, queue),
                NextTransfer::Nothing => break,
                NextTransfer::Closed => return false,
            }
        }
        true
    }

    /// Starts the remaining part of a request.
    fn go_on(&mut self, mut begun: Begun, queue: &IoQueue) {
        let Begun { request, done } = &mut begun;
        let left = request.part.len() - *done;
        if left == 0 {
            return begun.request.end(Ok(()), queue);
        }
        let way = request.file.segment(request.offset + *done as u64, left);
        let (file, offset, len) = (way.file.clone(), way.offset, way.len);
        let (buffer, start) = request.buffer.lend();
        let start = start + request.part.start + *done;
        let (op, part, key) = (request.op, start..start + len, self.next);
        match self.ring.start(Transfer { op, file, offset, buffer, part, key }) {
            Ok(()) => {
                self.next += 1;
                self.begun.insert(key, begun);
            }
            Err(transfer) => {
                request.buffer.put_back(transfer.buffer);
                begun.request.carry_out(begun.done, queue);
            }
        }
    }

    fn end(&mut self, ended: Ended, queue: &IoQueue) {
        if ended.key == WAKE {
            return self.listen();
        }
        let Some(mut begun) = self.begun.remove(&ended.key) else { return };
        let Begun { request, done } = &mut begun;
        request.buffer.put_back(ended.buffer);
        let moved = ended.result.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        if matches!(moved, Err(Errno::AGAIN | Errno::CANCELED)) {
            // The kernel cannot queue the transfer now, or is refused a thread for it. (Transfers
            // cancelled because the queue is closed do not get here.)
            return begun.request.carry_out(begun.done, queue);
        }
        let way = request.file.segment(request.offset + *done as u64, request.part.len() - *done);
        match way.after(request.op, moved) {
            Err(error) => begun.request.end(Err(error), queue),
            Ok(moved) => {
                *done += moved;
                self.go_on(begun, queue);
            }
        }
    }

    /// Fails all requests in flight when the kernel no longer responds; their buffers are lost.
    fn give_up(&mut self, error: &Error, queue: &IoQueue) {
        for (_, Begun { mut request, .. }) in mem::take(&mut self.begun) {
            request.buffer = Default::default();
            let lost = SortError::impossible("io_uring", error, "--io threads");
            request.end(Err(lost), queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{CacheMode, SortFile};
    use crate::memory::{Buffer, PAGE};
    use crate::queue::TransferDone;
    use std::sync::mpsc::{Receiver, Sender, channel};

    fn uring() -> Option<Uring> {
        let made = Uring::new(2);
        made.inspect_err(|error| gordon_testkit::skipped(&format!("io_uring: {error}"))).ok()
    }

    /// A queue with requests for a file of three pages and 100 bytes, and the receiver of the
    /// results.
    fn queue_with(
        parts: &[(Op, u64, usize)],
    ) -> (IoQueue, Receiver<TransferDone>, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, vec![7; 3 * PAGE + 100]).expect("written");
        let file = Arc::new(SortFile::open_to_write(&path, CacheMode::Direct).expect("open"));
        let (queue, (reply, replies)) = (IoQueue::default(), channel());
        for (tag, &(op, offset, len)) in (0..).zip(parts) {
            queue.submit(request(op, &file, offset, len, tag, &reply));
        }
        (queue, replies, folder)
    }

    fn request(
        op: Op,
        file: &Arc<SortFile>,
        offset: u64,
        len: usize,
        tag: u64,
        reply: &Sender<TransferDone>,
    ) -> TransferRequest {
        let (file, reply) = (file.clone(), reply.clone());
        TransferRequest {
            op,
            file,
            offset,
            buffer: Buffer::new(8 * PAGE),
            part: PAGE..PAGE + len,
            tag,
            reply,
        }
    }

    #[test]
    fn partial_pages_the_end_and_empty_transfers_are_carried_out() {
        let Some(uring) = uring() else { return };
        let page = PAGE as u64;
        let (queue, replies, _folder) = queue_with(&[
            // The end goes through the page cache, the rest bypasses it.
            (Op::Read, page, 2 * PAGE + 100),
            (Op::Read, page + 1, 50),
            (Op::Read, 0, 0),
            (Op::Read, 2 * page, 2 * PAGE),
            (Op::Write, 0, PAGE),
        ]);
        let mut done: Vec<TransferDone> = std::thread::scope(|scope| {
            scope.spawn(|| uring.serve(&queue));
            let done = replies.iter().take(5).collect();
            queue.close();
            done
        });
        done.sort_by_key(|done| done.tag);
        for (done, read) in done.iter().zip([2 * PAGE + 100, 50, 0]) {
            assert!(done.result.is_ok(), "{:?}", done.result);
            assert!(done.buffer.get()[PAGE..PAGE + read].iter().all(|&byte| byte == 7));
            assert!(done.buffer.get()[PAGE + read..].iter().all(|&byte| byte == 0));
        }
        let short = done[3].result.as_ref().map_err(ToString::to_string).copied();
        assert!(short.is_err_and(|why| why.contains("was cut to 12388 bytes")), "where it ends");
        assert!(done[4].result.is_ok());
    }

    #[test]
    fn all_requests_fail_if_the_kernel_stops_responding() {
        let Some(mut uring) = uring() else { return };
        let (queue, replies, _folder) = queue_with(&[(Op::Read, 0, PAGE), (Op::Read, 0, PAGE)]);
        assert!(uring.begin(&queue));
        uring.give_up(&Error::from(Errno::IO), &queue);
        for done in replies.iter().take(2) {
            assert_eq!(done.buffer.len(), 0, "it is lost");
            let message = done.result.expect_err("lost").to_string();
            assert!(message.contains("--io threads"), "{message}");
        }
        // Later requests are still served.
        queue.close();
        queue.serve();
    }
}
