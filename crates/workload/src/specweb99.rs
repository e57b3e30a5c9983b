//! SPECweb99's files and requests, after its white paper (*SPECweb99 Release 1.02*, Standard
//! Performance Evaluation Corporation, 2000, "Static Workload", "Dynamic Workload", "Percentage of
//! Requests in the Workload").
//!
//! A directory has nine files in each of four classes: 0.1 to 0.9 KiB, 1 to 9, 10 to 90, 100 to
//! 900. Classes are asked for in 35, 50, 14 and 1 % of requests, files of a class by Zipf's law
//! with the fifth before all others, directories by Zipf's law. 70 % of the requests are static;
//! all of the dynamic ones return a file, too, and a POST adds a record to a log. The benchmark has
//! 25 + 0.66 directories for each connection; here the set's size says how many.
//!
//! A connection has 400,000 bits a second, asks for its next file when it has the last, and never
//! waits. Not here: the small files of the rotating advertisements, which servers keep in memory,
//! and housekeeping.

use crate::distributions::{Stream, WeightedChoice};
use crate::request::{ClientModel, FileRequest, RequestKind};
use gordon_units::{Bytes, Ns, RandomStream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) const CLASSES: [f64; 4] = [0.35, 0.50, 0.14, 0.01];
const IN_CLASS: u32 = 9;
const IN_DIRECTORY: u32 = 36;
/// How popular each file of a class is among the nine: 3.9, 5.9, 8.8, 17.7, 35.3, 11.8, 7.1, 5.0
/// and 4.4 % of the requests are theirs.
pub(crate) const RANKS: [u32; 9] = [9, 6, 4, 2, 1, 3, 5, 7, 8];
/// What requests are.
pub(crate) const MIX: [(RequestKind, f64); 5] = [
    (RequestKind::Static, 0.70),
    (RequestKind::Get, 0.1245),
    (RequestKind::Advertisement, 0.1260),
    (RequestKind::Post, 0.0480),
    (RequestKind::Cgi, 0.0015),
];
/// What a POST adds to the log.
pub(crate) const RECORD: u64 = 139;
/// Time of a byte on a connection's line.
const LINE: u64 = 1_000_000_000 * 8 / 400_000;

/// The connections.
pub(crate) struct Specweb99 {
    sizes: Vec<u32>,
    directories: WeightedChoice,
    classes: WeightedChoice,
    files: WeightedChoice,
    mix: WeightedChoice,
    /// Who is next, and when.
    clients: BinaryHeap<Reverse<(Ns, u32)>>,
    choice: RandomStream,
    kinds: RandomStream,
}

/// The sizes of a directory's files, class by class: tenths of a KiB are rounded.
pub(crate) fn directory() -> [u32; 36] {
    std::array::from_fn(|i| {
        let (class, file) = (i / 9, i % 9 + 1);
        let tenths = u32::try_from(file * 10usize.pow(u32::try_from(class).unwrap_or(0)));
        (tenths.unwrap_or(0) * 1024 + 5) / 10
    })
}

/// How many directories come closest to a set of this size.
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
            // Each starts within the first second.
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
        let line = u64::from(self.sizes[file as usize]) * LINE;
        self.clients.push(Reverse((Ns(at.0.saturating_add(line)), client)));
        FileRequest { at, client, file, kind }
    }
}
