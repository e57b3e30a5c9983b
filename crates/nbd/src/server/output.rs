//! The queue of replies to a client; one system call sends many.

use crate::codec::reply::Reply;
use std::collections::VecDeque;
use std::io::{self, IoSlice};

/// Maximum number of replies in a system call. Each has two parts.
const MAX_REPLIES: usize = 32;

/// The replies that have not been sent completely.
#[derive(Debug, Default)]
pub(super) struct ReplyQueue {
    replies: VecDeque<Reply>,
    /// Bytes of the first reply that have been sent.
    sent: usize,
    bytes: usize,
    spent: Vec<Vec<u8>>,
}

impl ReplyQueue {
    pub(super) fn push(&mut self, reply: Reply) {
        self.bytes += reply.len();
        self.replies.push_back(reply);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    pub(super) fn replies(&self) -> usize {
        self.replies.len()
    }

    /// Bytes that have not been sent.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Calls `send` once with the first replies. It returns how many bytes it took.
    pub(super) fn send(
        &mut self,
        send: impl FnOnce(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut parts = [IoSlice::new(&[]); MAX_REPLIES * 2];
        let mut count = 0;
        let mut skip = self.sent;
        for reply in self.replies.iter().take(MAX_REPLIES) {
            for part in [reply.head(), &reply.body] {
                let skipped = skip.min(part.len());
                skip -= skipped;
                if skipped < part.len() {
                    parts[count] = IoSlice::new(&part[skipped..]);
                    count += 1;
                }
            }
        }
        let taken = send(&parts[..count])?;
        self.bytes -= taken;
        self.sent += taken;
        while let Some(first) = self.replies.front_mut()
            && self.sent >= first.len()
        {
            self.sent -= first.len();
            let body = std::mem::take(&mut first.body);
            if first.buffer {
                self.spent.push(body);
            }
            self.replies.pop_front();
        }
        Ok(taken)
    }

    /// Returns the buffers of sent replies.
    pub(super) fn spent(&mut self, give: impl FnMut(Vec<u8>)) {
        self.spent.drain(..).for_each(give);
    }
}
