//! SURGE: users of a web server after Barford and Crovella, *Generating Representative Web
//! Workloads for Network and Server Performance Evaluation*, SIGMETRICS 1998, as the FlashCache
//! paper (Kgil and Mudge, CASES 2006, section 5.1.2) changed it.
//!
//! | | Barford and Crovella | here |
//! |---|---|---|
//! | file sizes | [1] | the same; 7 % in the tail (assumed), at most a hundredth of the set |
//! | popularity | Zipf | half of the requests for a page of 16 KiB, the others Zipf, exponent 1 |
//! | requested sizes | Pareto (1,000, 1.0) | the same, without that page, by assigning the ranks |
//! | references of a page | Pareto (1, 2.43) | the same, rounded down |
//! | pauses | [2] | the same |
//! | temporal locality | [3] | only from popularity: references are independent |
//!
//! [1] Body log-normal (9.357, 1.318) below 133,000 B, tail Pareto (133,000, 1.1).
//!
//! [2] Within a page Weibull (1.46, 0.382), between pages Pareto (1, 1.5), in seconds.
//!
//! [3] Log-normal (1.5, 0.80) stack distances.
//!
//! The last row follows the FlashCache paper. With the original distances hardly any file would be
//! requested again after a hundred others, and a cache of any size would have the same hit rate.

use crate::distributions::{Distributions as _, Stream, WeightedChoice};
use crate::request::{ClientModel, FileRequest, RequestKind};
use gordon_units::{Bytes, Ns, RandomStream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) const BODY: (f64, f64) = (9.357, 1.318);
pub(crate) const TAIL: (f64, f64) = (133_000.0, 1.1);
/// Share of the files in the tail. This is an assumption: the distributions of the two parts do not
/// determine it (the body alone has 3.2 % of its files above the start of the tail).
pub(crate) const IN_TAIL: f64 = 0.07;
pub(crate) const REQUESTED_MIN: f64 = 1_000.0;
pub(crate) const REFERENCES: (f64, f64) = (1.0, 2.43);
pub(crate) const WITHIN: (f64, f64) = (1.46, 0.382);
pub(crate) const BETWEEN: (f64, f64) = (1.0, 1.5);
/// The most popular page: its size, its number, and its share of the requests.
pub(crate) const HOT_SIZE: u32 = 16 << 10;
pub(crate) const HOT_FILE: u32 = 0;
pub(crate) const HOT_SHARE: f64 = 0.5;
/// The smallest set of files. In a smaller one the tail would not fit.
pub(crate) const SMALLEST: Bytes = Bytes(16 << 20);

/// The users.
pub(crate) struct Surge {
    sizes: Vec<u32>,
    popularity: WeightedChoice,
    /// The file of each popularity rank, without the hot page.
    by_rank: Vec<u32>,
    /// For each user, the time of the next request, the number of the user, and the references that
    /// are left of the page.
    users: BinaryHeap<Reverse<(Ns, u32, u32)>>,
    choice: RandomStream,
    times: RandomStream,
    references: RandomStream,
}

impl Surge {
    pub fn new(files: Bytes, clients: u32, seed: u64) -> Self {
        let largest = largest(files);
        let sizes = sizes(files, largest, &mut RandomStream::new(seed, Stream::Sizes));
        let popularity = WeightedChoice::zipf(sizes.len() - 1);
        let by_rank =
            deal(&sizes, &popularity, largest, &mut RandomStream::new(seed, Stream::Match));
        let mut new = Self {
            sizes,
            popularity,
            by_rank,
            users: BinaryHeap::new(),
            choice: RandomStream::new(seed, Stream::Choice),
            times: RandomStream::new(seed, Stream::Times),
            references: RandomStream::new(seed, Stream::References),
        };
        for user in 1..=clients {
            let start = add_seconds(Ns::ZERO, new.times.pareto(BETWEEN.0, BETWEEN.1));
            let references = new.references();
            new.users.push(Reverse((start, user, references)));
        }
        new
    }

    /// The files by popularity, without the hot page.
    #[cfg(test)]
    pub fn by_rank(&self) -> &[u32] {
        &self.by_rank
    }

    /// Draws the number of references of a page.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // far below 2^32
    pub(crate) fn references(&mut self) -> u32 {
        self.references.pareto(REFERENCES.0, REFERENCES.1) as u32
    }
}

impl ClientModel for Surge {
    fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn next(&mut self) -> FileRequest {
        let Reverse((at, client, left)) = self.users.pop().expect("a load has users");
        let file = if self.choice.unit() < HOT_SHARE {
            HOT_FILE
        } else {
            self.by_rank[self.popularity.draw(&mut self.choice)]
        };
        let next = if left > 0 {
            let off = self.times.weibull(WITHIN.0, WITHIN.1);
            (add_seconds(at, off), client, left - 1)
        } else {
            let off = self.times.pareto(BETWEEN.0, BETWEEN.1);
            (add_seconds(at, off), client, self.references())
        };
        self.users.push(Reverse(next));
        FileRequest { at, client, file, kind: RequestKind::Static }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn add_seconds(at: Ns, seconds: f64) -> Ns {
    Ns(at.0.saturating_add((seconds * 1e9) as u64))
}

/// The size that no file exceeds.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn largest(files: Bytes) -> f64 {
    ((files.0 / 100) as f64).clamp(2.0 * TAIL.0, f64::from(u32::MAX))
}

/// Draws files until the set is full. The last file takes the rest.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 1 and `largest`
fn sizes(files: Bytes, largest: f64, random: &mut RandomStream) -> Vec<u32> {
    let mut sizes = vec![HOT_SIZE];
    let mut left = files.0 - u64::from(HOT_SIZE);
    while left > 0 {
        let size = if random.unit() < IN_TAIL {
            redraw(|| random.pareto(TAIL.0, TAIL.1), largest)
        } else {
            redraw(|| random.lognormal(BODY.0, BODY.1), TAIL.0)
        };
        let size = (size.ceil() as u32).min(u32::try_from(left).unwrap_or(u32::MAX));
        left -= u64::from(size);
        sizes.push(size);
    }
    sizes
}

/// Draws until the result is below `below`.
fn redraw(mut draw: impl FnMut() -> f64, below: f64) -> f64 {
    loop {
        let drawn = draw();
        if drawn < below {
            return drawn;
        }
    }
}

/// Share of the requests, without those for the hot page, that are for files of at most `size`.
pub(crate) fn requested_up_to(size: f64, largest: f64) -> f64 {
    let below = |size: f64| (1.0 - REQUESTED_MIN / size).max(0.0);
    below(size) / below(largest)
}

/// Assigns popularity ranks to files, so that the requested sizes follow their distribution.
///
/// The files are sorted by size and halved recursively, so that both halves should get the same
/// share of the requests. Ranks are dealt from the most popular one down, each to the half that
/// lacks more, as long as the other half can still reach its share with the ranks that follow. The
/// first rank goes alternately to the lower and the upper half, so that the most popular file ends
/// up in the middle of the sizes whose requests it takes.
fn deal(
    sizes: &[u32],
    popularity: &WeightedChoice,
    largest: f64,
    random: &mut RandomStream,
) -> Vec<u32> {
    let mut files: Vec<u32> = (1..).take(sizes.len() - 1).collect();
    files.sort_by_key(|&file| sizes[file as usize]);
    let mut by_rank = vec![0; files.len()];
    let mut dealer = Dealer { sizes, popularity, largest, by_rank: &mut by_rank, random };
    let ranks = (0..u32::try_from(files.len()).expect("files are numbers of 32 bits")).collect();
    dealer.halve(&files, ranks, (0.0, 1.0), 0);
    by_rank
}

struct Dealer<'a> {
    sizes: &'a [u32],
    popularity: &'a WeightedChoice,
    largest: f64,
    by_rank: &'a mut [u32],
    random: &'a mut RandomStream,
}

impl Dealer<'_> {
    fn weight(&self, rank: u32) -> f64 {
        self.popularity.cumulative(rank as usize + 1) - self.popularity.cumulative(rank as usize)
    }

    fn halve(&mut self, files: &[u32], ranks: Vec<u32>, (from, to): (f64, f64), depth: u32) {
        let middle = f64::midpoint(from, to);
        let low = files.partition_point(|&file| {
            requested_up_to(f64::from(self.sizes[file as usize]), self.largest) < middle
        });
        if files.len() < 4 || to - from < 1e-4 {
            return self.shuffle(files, ranks);
        }
        if low == 0 {
            return self.halve(files, ranks, (middle, to), depth + 1);
        }
        if low == files.len() {
            return self.halve(files, ranks, (from, middle), depth + 1);
        }
        // Cumulative weights of these ranks.
        let mut before = vec![0.0];
        for &rank in &ranks {
            before.push(before[before.len() - 1] + self.weight(rank));
        }
        let part = before[ranks.len()] / 2.0;
        let mut lacks = [part, part];
        let mut room = [low, files.len() - low];
        let mut dealt = [Vec::with_capacity(low), Vec::with_capacity(files.len() - low)];
        for (i, &rank) in ranks.iter().enumerate() {
            let lacking = usize::from(lacks[1] > lacks[0] || i == 0 && depth % 2 == 1);
            let other = 1 - lacking;
            let within_reach = before[(i + 1 + room[other]).min(ranks.len())] - before[i + 1];
            let full = room[lacking] == 0;
            let to = if full || room[other] > 0 && lacks[other] > within_reach {
                other
            } else {
                lacking
            };
            lacks[to] -= self.weight(rank);
            room[to] -= 1;
            dealt[to].push(rank);
        }
        let [lower, upper] = dealt;
        self.halve(&files[..low], lower, (from, middle), depth + 1);
        self.halve(&files[low..], upper, (middle, to), depth + 1);
    }

    /// Assigns the ranks at random, regardless of size.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn shuffle(&mut self, files: &[u32], mut ranks: Vec<u32>) {
        for i in (1..ranks.len()).rev() {
            let other = (self.random.unit() * (i + 1) as f64) as usize;
            ranks.swap(i, other.min(i));
        }
        for (&file, &rank) in files.iter().zip(&ranks) {
            self.by_rank[rank as usize] = file;
        }
    }
}
