//! A client for tests, which can also send invalid messages, and exports that answer late or fail.
// Each test uses a part of this module.
#![allow(dead_code)]

mod bytes;
#[path = "../../examples/memory/memory_export.rs"]
mod memory_export;

pub use bytes::{option_bytes, request, string};
use gordon_nbd::{
    Command, ConnectionLimits, Errno, Export, ExportInfo, Listen, NbdError, Op, Request, Server,
    ServerOptions,
};
use gordon_testkit::{skipped, watchdog};
use gordon_units::Bytes;
pub use memory_export::MemoryExport;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISC: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const WRITE_ZEROES: u16 = 6;
pub const BLOCK_STATUS: u16 = 7;

pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;
pub const REQ_ONE: u16 = 8;
pub const FAST_ZERO: u16 = 16;

/// A server of one export, at a socket in its own folder.
pub struct Served {
    pub server: Option<Server>,
    pub socket: PathBuf,
    _folder: TempDir,
}

pub fn serve(export: impl Export + 'static) -> Served {
    serve_with(export, ConnectionLimits::default())
}

pub fn serve_with(export: impl Export + 'static, limits: ConnectionLimits) -> Served {
    let mut options = ServerOptions::new(Arc::new(export));
    options.limits = limits;
    serve_options(options)
}

pub fn serve_options(options: ServerOptions) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let server = Some(listen(options, &socket).unwrap());
    Served { server, socket, _folder: folder }
}

/// An export in memory with the customary block sizes.
pub fn memory(size: u64) -> MemoryExport {
    MemoryExport::new(ExportInfo::new(Bytes(size)))
}

/// Starts a server at this socket.
pub fn listen(mut options: ServerOptions, socket: &Path) -> Result<Server, NbdError> {
    options.listen.push(Listen::Unix(socket.to_owned()));
    Server::start(options)
}

impl Served {
    pub fn client(&self) -> Client<UnixStream> {
        Client::go(self.stream(), "", true)
    }

    pub fn stream(&self) -> UnixStream {
        connect(&self.socket)
    }

    pub fn stop(&mut self) -> usize {
        self.server.take().unwrap().stop()
    }

    /// Number of clients that the server has now.
    pub fn clients(&self) -> usize {
        self.server.as_ref().unwrap().clients()
    }

    /// Waits until the server has this number of clients.
    pub fn await_clients(&self, count: usize) {
        until("await_clients", || self.clients() == count);
    }
}

/// Waits until the condition holds.
pub fn until(test: &'static str, holds: impl Fn() -> bool) {
    let _watchdog = watchdog(test);
    while !holds() {
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    // A hang must end at some time; no machine is so slow.
    stream.set_read_timeout(Some(Duration::from_secs(600))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(600))).unwrap();
    stream
}

/// A reply: the cookie, and the data or the error number.
pub type Answer = (u64, Result<Vec<u8>, u32>);

pub struct Client<S> {
    pub stream: S,
    pub structured: bool,
    next: u64,
    /// Cookies and lengths of reads in flight, because a simple reply does not contain its length.
    reads: Vec<(u64, usize)>,
}

impl<S: Read + Write> Client<S> {
    /// Exchanges the greeting.
    pub fn greet(mut stream: S) -> Self {
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        stream.write_all(&3u32.to_be_bytes()).unwrap();
        Self::greeted(stream)
    }

    /// A client whose greeting has already been exchanged.
    pub fn greeted(stream: S) -> Self {
        Self { stream, structured: false, next: 1, reads: Vec::new() }
    }

    /// Starts the transmission of an export; with structured replies, also negotiates block status.
    pub fn go(stream: S, name: &str, structured: bool) -> Self {
        let mut client = Self::greet(stream);
        client.choose(name, structured);
        client
    }

    pub fn choose(&mut self, name: &str, structured: bool) {
        if structured {
            self.structured = true;
            self.option(8, &[]).unwrap();
            let query = [string(name), vec![0, 0, 0, 1], string("base:allocation")].concat();
            assert_eq!(self.option(10, &query).unwrap().len(), 1);
        }
        self.option(7, &[string(name), vec![0, 0]].concat()).unwrap();
    }

    /// Sends an option. Returns the replies before the ACK, or the error.
    pub fn option(&mut self, option: u32, data: &[u8]) -> Result<Vec<Vec<u8>>, u32> {
        self.stream.write_all(&option_bytes(option, data)).unwrap();
        self.replies(option).unwrap()
    }

    /// Receives the replies to an option before the ACK, or the error.
    fn replies(&mut self, option: u32) -> io::Result<Result<Vec<Vec<u8>>, u32>> {
        let mut said = Vec::new();
        loop {
            let head: [u8; 20] = self.take()?;
            let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
            assert_eq!(word(8), option);
            let mut data = vec![0; word(16) as usize];
            self.stream.read_exact(&mut data)?;
            match word(12) {
                1 => return Ok(Ok(said)),
                kind if kind >> 31 == 1 => return Ok(Err(kind & 0xffff)),
                _ => said.push(data),
            }
        }
    }

    /// Does the same as [`go`](Self::go) without structured replies, in one message. Fails if the
    /// server disconnects.
    pub fn hurry(mut stream: S) -> io::Result<Self> {
        let go = option_bytes(7, &[string(""), vec![0, 0]].concat());
        stream.write_all(&[&3u32.to_be_bytes()[..], &go].concat())?;
        let mut client = Self::greeted(stream);
        let _greeting: [u8; 18] = client.take()?;
        client.replies(7)?.unwrap();
        Ok(client)
    }

    pub fn send(&mut self, kind: u16, flags: u16, offset: u64, length: u32, data: &[u8]) -> u64 {
        let cookie = self.next;
        self.next += 1;
        if kind == READ {
            self.reads.push((cookie, length as usize));
        }
        let bytes = [&request(kind, flags, cookie, offset, length), data].concat();
        self.stream.write_all(&bytes).unwrap();
        cookie
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Receives the next reply, of any request.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let magic = u32::from_be_bytes(self.take()?);
        if magic == 0x6744_6698 {
            let errno = u32::from_be_bytes(self.take()?);
            let cookie = u64::from_be_bytes(self.take()?);
            let read = self.reads.iter().position(|(read, _)| *read == cookie);
            let length = read.map_or(0, |place| self.reads.swap_remove(place).1);
            if errno != 0 {
                return Ok((cookie, Err(errno)));
            }
            let mut data = vec![0; length];
            self.stream.read_exact(&mut data)?;
            return Ok((cookie, Ok(data)));
        }
        assert_eq!(magic, 0x668e_33ef);
        let [flags @ .., kind1, kind0]: [u8; 4] = self.take()?;
        assert_eq!(flags, [0, 1], "one chunk, the last");
        let cookie = u64::from_be_bytes(self.take()?);
        let length = u32::from_be_bytes(self.take()?) as usize;
        let mut data = vec![0; length];
        self.stream.read_exact(&mut data)?;
        match u16::from_be_bytes([kind1, kind0]) {
            0 => Ok((cookie, Ok(Vec::new()))),
            // Behind the offset of the data, or the id of the context.
            1 => Ok((cookie, Ok(data.split_off(8)))),
            5 => Ok((cookie, Ok(data.split_off(4)))),
            0x8001 => {
                assert!(data.len() > 6, "an error has a message");
                Ok((cookie, Err(u32::from_be_bytes(data[..4].try_into().unwrap()))))
            }
            kind => panic!("a chunk of kind {kind}"),
        }
    }

    /// Sends a request and receives its reply.
    pub fn ask(&mut self, kind: u16, flags: u16, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
        let cookie = self.send(kind, flags, offset, length, &[]);
        let (of, answer) = self.answer().unwrap();
        assert_eq!(of, cookie);
        answer
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
        self.ask(READ, 0, offset, length)
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), u32> {
        let length = u32::try_from(data.len()).unwrap();
        let cookie = self.send(WRITE, 0, offset, length, data);
        let (of, answer) = self.answer().unwrap();
        assert_eq!(of, cookie);
        answer.map(|data| assert!(data.is_empty()))
    }

    /// Requests the block status. Returns the length and flags of each extent.
    pub fn status(&mut self, flags: u16, offset: u64, length: u32) -> Result<Vec<(u32, u32)>, u32> {
        let data = self.ask(BLOCK_STATUS, flags, offset, length)?;
        let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
        Ok(data.chunks(8).map(|pair| (word(&pair[..4]), word(&pair[4..]))).collect())
    }

    /// Whether the server has closed the connection.
    pub fn is_over(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 1]), Ok(0))
            || self.stream.read(&mut [0; 1]).is_err_and(|e| e.kind() != io::ErrorKind::WouldBlock)
    }
}

/// An export with its own thread, like a device: it completes requests after a delay, the last
/// first.
pub struct Late {
    info: ExportInfo,
    queue: Mutex<Sender<Vec<Request>>>,
}

impl Late {
    pub fn new(inner: impl Export + 'static, delay: Duration) -> Self {
        let (queue, taken) = mpsc::channel::<Vec<Request>>();
        let info = inner.info();
        thread::spawn(move || {
            while let Ok(mut batch) = taken.recv() {
                thread::sleep(delay);
                batch.extend(taken.try_iter().flatten());
                batch.reverse();
                inner.submit(&mut batch);
            }
        });
        Self { info, queue: Mutex::new(queue) }
    }
}

impl Export for Late {
    fn info(&self) -> ExportInfo {
        self.info
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        self.queue.lock().unwrap().send(std::mem::take(batch)).unwrap();
    }
}

/// An export that holds some of its requests back until the test opens it.
pub struct Gate<E> {
    inner: E,
    keeps: fn(Op) -> bool,
    /// The requests that are held back; `None` once it is open.
    kept: Mutex<Option<Vec<Request>>>,
    more: Condvar,
}

impl<E: Export> Gate<E> {
    pub fn new(inner: E, keeps: fn(Op) -> bool) -> Self {
        Self { inner, keeps, kept: Mutex::new(Some(Vec::new())), more: Condvar::new() }
    }

    /// Waits until it holds back this number of requests.
    pub fn await_kept(&self, count: usize) {
        let _watchdog = watchdog("Gate::await_kept");
        let fewer = |kept: &mut Option<Vec<_>>| kept.as_ref().is_some_and(|k| k.len() < count);
        drop(self.more.wait_while(self.kept.lock().unwrap(), fewer).unwrap());
    }

    /// Passes on the requests held back, the last first, and all requests from now on.
    pub fn open(&self) {
        let mut kept = self.kept.lock().unwrap().take().unwrap_or_default();
        kept.reverse();
        self.inner.submit(&mut kept);
    }
}

impl<E: Export> Export for Gate<E> {
    fn info(&self) -> ExportInfo {
        self.inner.info()
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        if let Some(kept) = &mut *self.kept.lock().unwrap() {
            kept.extend(batch.extract_if(.., |request| (self.keeps)(request.op())));
            self.more.notify_all();
        }
        self.inner.submit(batch);
    }
}

/// An export that fails: with a medium error at offset 0, without an answer at 4096, and for lack
/// of space elsewhere.
pub struct Faulty;

impl Export for Faulty {
    fn info(&self) -> ExportInfo {
        ExportInfo::new(Bytes(1 << 20))
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        for request in batch.drain(..) {
            match request.op() {
                Op::Command(Command::Read { offset: 0 } | Command::Write { offset: 0, .. }) => {
                    request.fail(Errno::Io, "a page cannot be read");
                }
                Op::Command(
                    Command::Read { offset: 4096 } | Command::Write { offset: 4096, .. },
                ) => {
                    drop(request);
                }
                Op::Command(Command::Flush) => request.done(),
                Op::Status { .. } => request.done_with(Vec::new()),
                _ => request.fail(Errno::NoSpc, "the reserve is exhausted"),
            }
        }
    }
}

/// Runs a program that must succeed, and returns its output. If it is not installed, reports that
/// the test is skipped and returns `None`.
pub fn run(test: &str, program: &str, words: &[&str]) -> Option<String> {
    let output = match Process::new(program).args(words).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            skipped(&format!("{test}: {program} is not installed"));
            return None;
        }
        output => output.unwrap(),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {error}\n{said}");
    Some(said)
}
