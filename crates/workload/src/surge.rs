//! SURGE: users of a web server after Barford and Crovella, *Generating Representative Web
//! Workloads for Network and Server Performance Evaluation*, SIGMETRICS 1998, as the FlashCache
//! paper (Kgil and Mudge, CASES 2006, section 5.1.2) changed it.
//!
//! | | Barford and Crovella | here |
//! |---|---|---|
//! | file sizes | body log-normal (9.357, 1.318) below 133,000 B, tail Pareto (133,000, 1.1) | the same; 7 % in the tail (assumed), and none above a hundredth of the set |
//! | popularity | Zipf | a page of 16 KiB has half of the requests, Zipf (exponent 1) the others |
//! | sizes asked for | Pareto (1,000, 1.0) | the same among the others: popular places are dealt to files so |
//! | references of a page | Pareto (1, 2.43) | the same, rounded down |
//! | times off | within a page Weibull (1.46, 0.382), between pages Pareto (1, 1.5), seconds | the same |
//! | temporal locality | distances in a stack log-normal (1.5, 0.80) | none but popularity's: each reference is drawn by itself |
//!
//! The last row is the FlashCache paper's: with such distances hardly a file would be asked for
//! again after a hundred others, and a cache of any size would do.

use crate::distributions::{Distributions as _, Stream, WeightedChoice};
use crate::request::{ClientModel, FileRequest, RequestKind};
use gordon_units::{Bytes, Ns, RandomStream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) const BODY: (f64, f64) = (9.357, 1.318);
pub(crate) const TAIL: (f64, f64) = (133_000.0, 1.1);
/// Files in the tail. Assumed: the laws of both parts leave it open (the body's own has 3.2 %
/// there).
pub(crate) const IN_TAIL: f64 = 0.07;
pub(crate) const REQUESTED: f64 = 1_000.0;
pub(crate) const REFERENCES: (f64, f64) = (1.0, 2.43);
pub(crate) const WITHIN: (f64, f64) = (1.46, 0.382);
pub(crate) const BETWEEN: (f64, f64) = (1.0, 1.5);
/// The page that is asked for most, its number, and its part of the requests.
pub(crate) const HOT: u32 = 16 << 10;
pub(crate) const HOT_FILE: u32 = 0;
pub(crate) const HOT_SHARE: f64 = 0.5;
/// The smallest set there is: below it the tail has no room.
pub(crate) const SMALLEST: Bytes = Bytes(16 << 20);

/// The users.
pub(crate) struct Surge {
    sizes: Vec<u32>,
    popularity: WeightedChoice,
    /// The file at each place of popularity, the hot page not among them.
    by_rank: Vec<u32>,
    /// Who is next, when, and how many references of the page are left.
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
            let start = later(Ns::ZERO, new.times.pareto(BETWEEN.0, BETWEEN.1));
            let references = new.references();
            new.users.push(Reverse((start, user, references)));
        }
        new
    }

    /// The files by popularity, but for the hot page.
    #[cfg(test)]
    pub fn by_rank(&self) -> &[u32] {
        &self.by_rank
    }

    /// How many references a page has.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a page has not billions
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
            (later(at, off), client, left - 1)
        } else {
            let off = self.times.pareto(BETWEEN.0, BETWEEN.1);
            (later(at, off), client, self.references())
        };
        self.users.push(Reverse(next));
        FileRequest { at, client, file, kind: RequestKind::Static }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // what is too long becomes longest
fn later(at: Ns, seconds: f64) -> Ns {
    Ns(at.0.saturating_add((seconds * 1e9) as u64))
}

/// No file is larger.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn largest(files: Bytes) -> f64 {
    ((files.0 / 100) as f64).clamp(2.0 * TAIL.0, f64::from(u32::MAX))
}

/// Files until the set is full; the last is what is left.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 1 and `largest`
fn sizes(files: Bytes, largest: f64, random: &mut RandomStream) -> Vec<u32> {
    let mut sizes = vec![HOT];
    let mut left = files.0 - u64::from(HOT);
    while left > 0 {
        let size = if random.unit() < IN_TAIL {
            again(|| random.pareto(TAIL.0, TAIL.1), largest)
        } else {
            again(|| random.lognormal(BODY.0, BODY.1), TAIL.0)
        };
        let size = (size.ceil() as u32).min(u32::try_from(left).unwrap_or(u32::MAX));
        left -= u64::from(size);
        sizes.push(size);
    }
    sizes
}

/// Draws until it is below.
fn again(mut draw: impl FnMut() -> f64, below: f64) -> f64 {
    loop {
        let drawn = draw();
        if drawn < below {
            return drawn;
        }
    }
}

/// The part of requests, the hot page's apart, that is for files of at most `size`.
pub(crate) fn asked_up_to(size: f64, largest: f64) -> f64 {
    let below = |size: f64| (1.0 - REQUESTED / size).max(0.0);
    below(size) / below(largest)
}

/// Deals places of popularity to files so that the sizes asked for follow their law.
///
/// The files, by size, are halved by the law again and again. Each half gets places that add up to
/// its part: the most popular ones first, each to the half that lacks more, as long as the other
/// one can still reach its part with the places that follow. The very first goes to the lower and
/// the upper half in turn, so that it ends up amid the sizes whose requests it takes.
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
        self.popularity.until(rank as usize + 1) - self.popularity.until(rank as usize)
    }

    fn halve(&mut self, files: &[u32], ranks: Vec<u32>, (from, to): (f64, f64), depth: u32) {
        let middle = f64::midpoint(from, to);
        let low = files.partition_point(|&file| {
            asked_up_to(f64::from(self.sizes[file as usize]), self.largest) < middle
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
        // What of these places lies before each of them, all of it together at the end.
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

    /// Deals without regard to size.
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
