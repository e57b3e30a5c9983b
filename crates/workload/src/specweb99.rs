//! The files and requests of SPECweb99, after its white paper (*SPECweb99 Release 1.02*, Standard
//! Performance Evaluation Corporation, 2000, "Static Workload", "Dynamic Workload", "Percentage of
//! Requests in the Workload").
//!
//! A directory has nine files in each of four classes: 0.1 to 0.9 KiB, 1 to 9 KiB, 10 to 90 KiB,
//! 100 to 900 KiB. The classes get 35, 50, 14 and 1 % of the requests. The files of a class follow
//! Zipf's law, with the fifth as the most popular, and so do the directories. 70 % of the requests
//! are static. The dynamic ones return a file as well, and a POST adds a record to a log. The
//! benchmark has 25 + 0.66 directories for each connection; here the size of the set gives their
//! number.
//!
//! A connection transfers 400,000 bits per second. It requests the next file when the last has
//! arrived, without a pause. Not modelled: the small files of the rotating advertisements, which
//! servers keep in memory, and housekeeping.

use crate::distributions::{Stream, WeightedChoice};
use crate::request::{ClientModel, FileRequest, RequestKind};
use gordon_units::{Bytes, Ns, RandomStream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) const CLASSES: [f64; 4] = [0.35, 0.50, 0.14, 0.01];
const IN_CLASS: u32 = 9;
const IN_DIRECTORY: u32 = 36;
/// Popularity rank of each of the nine files of a class. They get 3.9, 5.9, 8.8, 17.7, 35.3, 11.8,
/// 7.1, 5.0 and 4.4 % of the requests.
pub(crate) const RANKS: [u32; 9] = [9, 6, 4, 2, 1, 3, 5, 7, 8];
/// The kinds of requests, and their shares.
pub(crate) const MIX: [(RequestKind, f64); 5] = [
    (RequestKind::Static, 0.70),
    (RequestKind::Get, 0.1245),
    (RequestKind::Advertisement, 0.1260),
    (RequestKind::Post, 0.0480),
    (RequestKind::Cgi, 0.0015),
];
/// Bytes that a POST adds to the log.
pub(crate) const RECORD: u64 = 139;
/// Nanoseconds that a connection takes to transfer a byte.
const NS_PER_BYTE: u64 = 1_000_000_000 * 8 / 400_000;

/// The clients of the benchmark.
pub(crate) struct Specweb99 {
    sizes: Vec<u32>,
    directories: WeightedChoice,
    classes: WeightedChoice,
    files: WeightedChoice,
    mix: WeightedChoice,
    /// Time of the next request of each client.
    clients: BinaryHeap<Reverse<(Ns, u32)>>,
    choice: RandomStream,
    kinds: RandomStream,
}

/// The sizes of the files of a directory, class by class. Tenths of a KiB are rounded.
pub(crate) fn directory() -> [u32; 36] {
    std::array::from_fn(|i| {
        let (class, file) = (i / 9, i % 9 + 1);
        let tenths = u32::try_from(file * 10usize.pow(u32::try_from(class).unwrap_or(0)));
        (tenths.unwrap_or(0) * 1024 + 5) / 10
    })
}

/// The number of directories whose size is closest to `files`.
pub(crate) fn directories(files: Bytes) -> u64 {
    let each: u64 = directory().into_iter().map(u64::from).sum();
    (files.0 + each / 2) / each
}

impl Specweb99 {
    pub fn new(files: Bytes, clients: u32, seed: u64) -> Self {
        let count = usize::try_from(directories(files)).expect("directories fit in memory");
        let mut times = RandomStream::new(seed, Stream::Times);
        Self {
            sizes: directory().repeat(count),
            directories: WeightedChoice::zipf(count),
            classes: WeightedChoice::new(CLASSES),
            files: WeightedChoice::new(RANKS.map(|rank| 1.0 / f64::from(rank))),
            mix: WeightedChoice::new(MIX.map(|(_, share)| share)),
            // Each client starts within the first second.
            clients: (1..=clients).map(|c| Reverse((within_a_second(&mut times), c))).collect(),
            choice: RandomStream::new(seed, Stream::Choice),
            kinds: RandomStream::new(seed, Stream::Kinds),
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below a second
fn within_a_second(times: &mut RandomStream) -> Ns {
    Ns((times.unit() * 1e9) as u64)
}

impl ClientModel for Specweb99 {
    fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn next(&mut self) -> FileRequest {
        let Reverse((at, client)) = self.clients.pop().expect("a load has clients");
        let [directory, class, file] = [&self.directories, &self.classes, &self.files]
            .map(|law| u32::try_from(law.draw(&mut self.choice)).expect("files are few"));
        let file = directory * IN_DIRECTORY + class * IN_CLASS + file;
        let (kind, _) = MIX[self.mix.draw(&mut self.kinds)];
        let line = u64::from(self.sizes[file as usize]) * NS_PER_BYTE;
        self.clients.push(Reverse((Ns(at.0.saturating_add(line)), client)));
        FileRequest { at, client, file, kind }
    }
}
