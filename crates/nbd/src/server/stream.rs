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

/// Maximum number of bytes that TLS buffers for sending.
const TLS_BUFFER: usize = 256 << 10;

/// The connection to a client. The server shares the socket, to shut it down from another thread.
pub(super) struct ClientStream {
    socket: Arc<OwnedFd>,
    tls: Option<Box<ServerConnection>>,
}

/// Reads and writes of the socket, below TLS.
struct Raw<'a> {
    socket: &'a OwnedFd,
    /// Reads wait for data, up to the timeout of the socket. Writes never wait.
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

    /// Starts TLS. The TLS handshake takes place in the following calls of `receive`.
    pub(super) fn start_tls(&mut self, config: Arc<rustls::ServerConfig>) -> io::Result<()> {
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        tls.set_buffer_limit(Some(TLS_BUFFER));
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Receives bytes; 0 means the end of the stream. With `wait` it waits for the first byte, up
    /// to the timeout of the socket.
    pub(super) fn receive(&mut self, room: &mut [u8], wait: bool) -> io::Result<usize> {
        let mut raw = Raw { socket: &self.socket, wait };
        let Some(tls) = &mut self.tls else {
            return raw.read(room);
        };
        loop {
            match tls.reader().read(room) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The client closed the socket without a TLS close_notify.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                result => return result,
            }
            let received = tls.read_tls(&mut raw)?;
            let checked = tls.process_new_packets();
            // TLS may have to send handshake messages, alerts or key updates.
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

    /// Sends bytes without waiting, and returns how many it took.
    pub(super) fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.tls.is_none() {
            return Raw { socket: &self.socket, wait: false }.write_vectored(parts);
        }
        self.flush()?;
        let taken = self.tls.as_mut().map_or(Ok(0), |tls| tls.writer().write_vectored(parts))?;
        self.flush()?;
        if taken == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    /// Sends bytes that TLS has buffered, as far as possible without waiting.
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

    /// Whether TLS has buffered bytes that are not sent.
    pub(super) fn unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Waits until the socket is readable (`read`) or writable (`write`), until `wake_fd` is
    /// readable, or until `time` is over. Returns false if the time is over.
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
        // `poll` always reports a socket that is closed. If neither event is requested, leave the
        // socket out, or `poll` would return at once each time.
        let count = if read || write { 2 } else { 1 };
        match poll(&mut fds[..count], Some(&timespec(time))) {
            Ok(ready) => Ok(ready > 0),
            Err(Os::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Closes the connection, under TLS with a close_notify.
    pub(super) fn close(mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        // The connection ends anyway, so a failure does not matter.
        let _ = self.flush();
        let _ = net::shutdown(&*self.socket, net::Shutdown::Both);
    }
}
