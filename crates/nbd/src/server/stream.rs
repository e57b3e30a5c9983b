//! A client's socket, plain or under TLS.

use super::wait::timespec;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno as Os;
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags};
use rustls::ServerConnection;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// What TLS holds unsent at most.
const TLS_BUFFER: usize = 256 << 10;

/// The socket, which the server keeps a hand on to close it from outside.
pub(super) struct ClientStream {
    socket: Arc<OwnedFd>,
    tls: Option<Box<ServerConnection>>,
}

/// Reads and writes of the socket itself.
struct Raw<'a> {
    socket: &'a OwnedFd,
    wait: bool,
}

impl Read for Raw<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let flags = if self.wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        Ok(rustix::io::retry_on_intr(|| net::recv(self.socket, &mut *room, flags))?.1)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut none = SendAncillaryBuffer::default();
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent =
            rustix::io::retry_on_intr(|| net::sendmsg(self.socket, parts, &mut none, flags))?;
        Ok(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ClientStream {
    pub(super) fn new(socket: Arc<OwnedFd>) -> Self {
        Self { socket, tls: None }
    }

    /// From here on everything is inside TLS; its handshake runs with the first reads.
    pub(super) fn start_tls(&mut self, config: Arc<rustls::ServerConfig>) -> io::Result<()> {
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        tls.set_buffer_limit(Some(TLS_BUFFER));
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Some bytes, 0 at the end. `wait`: for the first of them, as long as the socket's timeout.
    pub(super) fn receive(&mut self, room: &mut [u8], wait: bool) -> io::Result<usize> {
        let mut raw = Raw { socket: &self.socket, wait };
        let Some(tls) = &mut self.tls else {
            return raw.read(room);
        };
        loop {
            match tls.reader().read(room) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Closed without a word at the TLS level: an end all the same.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                result => return result,
            }
            let received = tls.read_tls(&mut raw)?;
            let checked = tls.process_new_packets();
            // Answers of the TLS handshake, alerts, keys.
            while tls.wants_write() {
                match tls.write_tls(&mut raw) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            checked.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            if received == 0 {
                return Ok(0);
            }
        }
    }

    /// Takes bytes to send, as many as it says, without waiting.
    pub(super) fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.tls.is_none() {
            return Raw { socket: &self.socket, wait: false }.write_vectored(parts);
        }
        self.flush()?;
        let taken = self.tls.as_mut().map_or(Ok(0), |tls| tls.writer().write_vectored(parts))?;
        self.flush()?;
        if taken == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    /// Sends what TLS holds, as far as it goes without waiting.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        while tls.wants_write() {
            match tls.write_tls(&mut Raw { socket: &self.socket, wait: false }) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// TLS holds bytes that are not sent.
    pub(super) fn unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Waits until the socket can be read or written, or somebody rings. True: it was rung or it
    /// can be used; false: the time is up.
    pub(super) fn wait(
        &self,
        read: bool,
        write: bool,
        wake_fd: &OwnedFd,
        time: Duration,
    ) -> io::Result<bool> {
        let mut events = PollFlags::empty();
        events.set(PollFlags::IN, read);
        events.set(PollFlags::OUT, write);
        let mut fds = [
            PollFd::new(wake_fd, PollFlags::IN),
            PollFd::from_borrowed_fd(self.socket.as_fd(), events),
        ];
        // Where nothing is wanted of the socket, its end would wake us again and again.
        let count = if read || write { 2 } else { 1 };
        match poll(&mut fds[..count], Some(&timespec(time))) {
            Ok(ready) => Ok(ready > 0),
            Err(Os::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Says farewell, as far as the client still listens.
    pub(super) fn close(mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        // It is over: nothing can be done about a failure.
        let _ = self.flush();
        let _ = net::shutdown(&*self.socket, net::Shutdown::Both);
    }
}
