//! Synthetic loads.
//!
//! Addresses are multiples of the request size within the span. Random addresses are uniform, or
//! with `zipf` follow the popularity of the place; sequential addresses wrap around. All are drawn
//! from seeded streams: the same config gives the same requests.

mod zipf;

use crate::ReplayError;
use crate::host::LATEST;
use crate::random::{Component, Random};
use crate::source::{BATCH, RequestSource, TimedRequest};
use gordon_blockio::{IoOp, SECTOR};
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipf::Zipf;

/// Access pattern of a synthetic load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Writes at uniform random places.
    RandomWrite,
    /// Reads at uniform random places.
    RandomRead,
    /// Sequential writes.
    SequentialWrite,
    /// Sequential reads.
    SequentialRead,
    /// Reads and writes at uniform random places.
    Mixed,
    /// Most writes go to a small part of the span, at its start.
    HotCold,
    /// Zipf's law: the i-th most popular place has a frequency proportional to i^-s. Popular places
    /// are spread over the span.
    Zipf,
    /// Section 4.2.2 of the Gordon paper: "an 8 KB access aligned on a 128 KB boundary followed
    /// immediately by a 120 KB access" to the rest of the same 128 KiB.
    GordonPair,
}

/// Operation of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessKind {
    /// Reads.
    #[default]
    Read,
    /// Writes.
    Write,
}

/// Order of the addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessOrder {
    /// Uniform random.
    #[default]
    Random,
    /// Ascending.
    Sequential,
}

/// Configuration of a synthetic load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyntheticConfig {
    /// Access pattern.
    pub pattern: Pattern,
    /// Size of a request in bytes [default: 4KiB]. Not for `gordon-pair`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Number of requests.
    pub requests: u64,
    /// Span in bytes, from address 0 [default: the exported capacity].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// Fraction of reads: `mixed` [default: 0.7], `hot-cold` and `zipf` [default: 0].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_share: Option<f64>,
    /// `hot-cold`: fraction of the span that is hot [default: 0.1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_space: Option<f64>,
    /// `hot-cold`: fraction of the requests that go to the hot part [default: 0.9].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_share: Option<f64>,
    /// `zipf`: exponent s [default: 0.99].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// `gordon-pair`: operation [default: read].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<AccessKind>,
    /// `gordon-pair`: order of the regions [default: random].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<AccessOrder>,
    /// Number of queues, which the requests use in turn [default: 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// Time between arrivals, for an open loop; `None` for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Ns>,
    /// Number of writes that a flush follows [default: no flushes]. Flushes do not
    /// count as requests of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fsync: Option<u32>,
}

/// Size of the paper's region, and of the first access to it.
const REGION: u64 = 128 << 10;
const HEAD: u64 = 8 << 10;

impl SyntheticConfig {
    /// Creates the load for a device of `capacity` bytes, with random numbers from `seed`.
    ///
    /// # Errors
    /// Returns an error for an invalid value, or a setting that the pattern does not use.
    pub fn resolve(&self, capacity: Bytes, seed: u64) -> Result<SyntheticLoad, ReplayError> {
        let pair = self.pattern == Pattern::GordonPair;
        if pair && self.size.is_some() {
            let why = "does not apply to --pattern gordon-pair, whose sizes are fixed";
            return Err(ReplayError::option("size", why, "leave it out"));
        }
        for (key, given, patterns, names) in [
            (
                "read_share",
                self.read_share.is_some(),
                &[Pattern::Mixed, Pattern::HotCold, Pattern::Zipf][..],
                "mixed, hot-cold and zipf",
            ),
            ("hot_space", self.hot_space.is_some(), &[Pattern::HotCold], "hot-cold"),
            ("hot_share", self.hot_share.is_some(), &[Pattern::HotCold], "hot-cold"),
            ("exponent", self.exponent.is_some(), &[Pattern::Zipf], "zipf"),
            ("way", self.way.is_some(), &[Pattern::GordonPair], "gordon-pair"),
            ("order", self.order.is_some(), &[Pattern::GordonPair], "gordon-pair"),
        ] {
            if given && !patterns.contains(&self.pattern) {
                let why = format!("applies only to --pattern {names}");
                return Err(ReplayError::option(key, why, "leave it out, or change the pattern"));
            }
        }
        for (key, share) in [
            ("read_share", self.read_share),
            ("hot_space", self.hot_space),
            ("hot_share", self.hot_share),
        ] {
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                return Err(ReplayError::option(
                    key,
                    format!("{share} is not a part"),
                    "a number from 0 to 1",
                ));
            }
        }
        if self.requests == 0 {
            return Err(ReplayError::option(
                "requests",
                "0 requests measure nothing",
                "at least 1",
            ));
        }
        let size = if pair { Bytes(REGION) } else { self.size.unwrap_or(Bytes(4096)) };
        if size == Bytes::ZERO || !size.0.is_multiple_of(SECTOR.0) {
            let why = format!("{size} is not a positive multiple of {SECTOR}");
            return Err(ReplayError::option("size", why, "4KiB"));
        }
        let span = self.span.unwrap_or(capacity);
        if span > capacity {
            let why = format!("{} is more than the device's {}", span.human(), capacity.human());
            return Err(ReplayError::option("span", why, "a smaller span, or a larger device"));
        }
        let places = span.0 / size.0;
        if places == 0 {
            let why = format!("{span} has no room for a request of {size}");
            return Err(ReplayError::option("span", why, "a larger span, or smaller requests"));
        }
        let order = match self.pattern {
            Pattern::SequentialRead | Pattern::SequentialWrite => AccessOrder::Sequential,
            Pattern::GordonPair => self.order.unwrap_or_default(),
            _ => AccessOrder::Random,
        };
        let places = match self.pattern {
            Pattern::HotCold => {
                hot_cold(places, self.hot_space.unwrap_or(0.1), self.hot_share.unwrap_or(0.9))?
            }
            Pattern::Zipf => {
                let exponent = self.exponent.unwrap_or(0.99);
                if !(exponent > 0.0 && exponent <= 10.0) {
                    let why = format!("{exponent} is not in (0, 10]");
                    return Err(ReplayError::option("exponent", why, "0.99"));
                }
                AddressPattern::Zipf(Zipf::new(places, exponent))
            }
            _ if order == AccessOrder::Sequential => AddressPattern::Sequential { places, next: 0 },
            _ => AddressPattern::Uniform { places },
        };
        let reads = match self.pattern {
            Pattern::RandomRead | Pattern::SequentialRead => 1.0,
            Pattern::RandomWrite | Pattern::SequentialWrite => 0.0,
            Pattern::Mixed => self.read_share.unwrap_or(0.7),
            Pattern::HotCold | Pattern::Zipf => self.read_share.unwrap_or(0.0),
            Pattern::GordonPair => match self.way.unwrap_or_default() {
                AccessKind::Read => 1.0,
                AccessKind::Write => 0.0,
            },
        };
        if self.every == Some(Ns::ZERO) {
            let why = "no time between arrivals: all would come at once";
            return Err(ReplayError::option(
                "every",
                why,
                "1us, or leave it out for a closed loop",
            ));
        }
        let every = self.every.unwrap_or_default();
        if every.0.checked_mul(self.requests).is_none_or(|last| last > LATEST.0) {
            let why = format!("{} requests {every} apart take more than 146 years", self.requests);
            return Err(ReplayError::option("every", why, "fewer requests, or a shorter time"));
        }
        if self.fsync == Some(0) {
            return Err(ReplayError::option("fsync", "a flush after 0 writes", "at least 1"));
        }
        let queues = self.queues.unwrap_or(1);
        if queues == 0 {
            return Err(ReplayError::option("queues", "no queue to issue from", "at least 1"));
        }
        Ok(SyntheticLoad {
            places,
            left: self.requests,
            flushes: self.fsync.map(|writes| Flushes { writes, since: 0 }),
            generator: RequestGenerator {
                pair,
                size: size.0,
                reads,
                queues,
                every,
                taken: 0,
                queue: 0,
                tail: None,
                address: Random::new(seed, Component::Address),
                choice: Random::new(seed, Component::Choice),
            },
        })
    }
}

/// Divides `places` into hot and cold ones.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn hot_cold(places: u64, space: f64, share: f64) -> Result<AddressPattern, ReplayError> {
    let hot = (places as f64 * space + 0.5) as u64;
    if hot == 0 || hot >= places {
        let why = format!("{hot} of {places} places are hot");
        return Err(ReplayError::option(
            "hot_space",
            why,
            "a part that leaves some hot and some cold places",
        ));
    }
    Ok(AddressPattern::HotCold { places, hot, share })
}

/// Distribution of the addresses.
#[derive(Clone, Debug)]
enum AddressPattern {
    Uniform { places: u64 },
    Sequential { places: u64, next: u64 },
    HotCold { places: u64, hot: u64, share: f64 },
    Zipf(Zipf),
}

impl AddressPattern {
    fn count(&self) -> u64 {
        match self {
            Self::Uniform { places }
            | Self::Sequential { places, .. }
            | Self::HotCold { places, .. } => *places,
            Self::Zipf(zipf) => zipf.places(),
        }
    }
}

/// A synthetic load that generates its requests.
#[derive(Clone, Debug)]
pub struct SyntheticLoad {
    places: AddressPattern,
    left: u64,
    flushes: Option<Flushes>,
    generator: RequestGenerator,
}

/// A flush after each number of writes.
#[derive(Clone, Copy, Debug)]
struct Flushes {
    writes: u32,
    /// Writes since the last flush.
    since: u32,
}

impl Flushes {
    /// Inserts the flushes into a batch.
    fn insert(&mut self, batch: &mut Vec<TimedRequest>) {
        for request in std::mem::take(batch) {
            batch.push(request);
            self.since += u32::from(request.op == IoOp::Write);
            if self.since == self.writes {
                self.since = 0;
                let TimedRequest { at, queue, .. } = request;
                batch.push(TimedRequest { at, op: IoOp::Flush, queue, ..TimedRequest::NOTHING });
            }
        }
    }
}

/// Generates requests at given places.
#[derive(Clone, Debug)]
struct RequestGenerator {
    /// Whether requests come in the paper's pairs.
    pair: bool,
    size: u64,
    /// Fraction of reads.
    reads: f64,
    queues: u32,
    every: Ns,
    taken: u64,
    /// Queue of the next request.
    queue: u32,
    /// The second access of a pair that has begun.
    tail: Option<TimedRequest>,
    address: Random,
    choice: Random,
}

impl SyntheticLoad {
    /// Number of requests and flushes. Where writes are drawn, the number of flushes is the
    /// expected one.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn requests(&self) -> u64 {
        let flushes = self.flushes.map_or(0.0, |flushes| {
            self.left as f64 * (1.0 - self.generator.reads) / f64::from(flushes.writes)
        });
        self.left + flushes as u64
    }

    /// Number of bytes from address 0 on that the load may read, and that must hold data before it
    /// starts.
    pub fn preloaded(&self) -> Bytes {
        if self.generator.reads == 0.0 {
            return Bytes::ZERO;
        }
        let places = match self.places {
            // A sequential load reads at most as many places as it has accesses.
            AddressPattern::Sequential { places, .. } => {
                let accesses = if self.generator.pair { self.left.div_ceil(2) } else { self.left };
                places.min(accesses)
            }
            _ => self.places.count(),
        };
        Bytes(places * self.generator.size)
    }
}

impl RequestGenerator {
    /// Fills `batch` with `count` requests at places that `place` draws from the streams of
    /// addresses and choices. It is inlined, so that each distribution has a loop of its own.
    #[inline(always)]
    fn fill(
        &mut self,
        batch: &mut Vec<TimedRequest>,
        count: usize,
        mut place: impl FnMut(&mut Random, &mut Random) -> u64,
    ) {
        let (pair, size, queues, every, reads) =
            (self.pair, self.size, self.queues, self.every, self.reads);
        let (all, none) = (reads == 1.0, reads == 0.0);
        let (mut queue, mut tail) = (self.queue, self.tail.take());
        let (mut address, mut choice) = (self.address.clone(), self.choice.clone());
        let numbers = self.taken..self.taken + count as u64;
        self.taken = numbers.end;
        // All elements are overwritten.
        batch.resize(count, TimedRequest::NOTHING);
        for (request, number) in batch.iter_mut().zip(numbers) {
            let (at, own) = (every * number, queue);
            queue = if own + 1 == queues { 0 } else { own + 1 };
            if pair && let Some(tail) = tail.take() {
                *request = TimedRequest { at, queue: own, ..tail };
                continue;
            }
            let offset = place(&mut address, &mut choice) * size;
            let read = all || !none && choice.chance(reads);
            let op = if read { IoOp::Read } else { IoOp::Write };
            *request = TimedRequest {
                at,
                gap: Ns::ZERO,
                offset,
                len: size,
                op,
                durable: false,
                queue: own,
            };
            if pair {
                tail = Some(TimedRequest { offset: offset + HEAD, len: REGION - HEAD, ..*request });
                request.len = HEAD;
            }
        }
        (self.queue, self.tail) = (queue, tail);
        (self.address, self.choice) = (address, choice);
    }
}

impl RequestSource for SyntheticLoad {
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError> {
        let count = usize::try_from(self.left).map_or(BATCH, |left| left.min(BATCH));
        self.left -= count as u64;
        let generator = &mut self.generator;
        match &mut self.places {
            AddressPattern::Uniform { places } => {
                generator.fill(batch, count, |address, _| address.below(*places));
            }
            AddressPattern::Sequential { places, next } => generator.fill(batch, count, |_, _| {
                let place = *next;
                *next = if place + 1 == *places { 0 } else { place + 1 };
                place
            }),
            AddressPattern::HotCold { places, hot, share } => {
                generator.fill(batch, count, |address, choice| {
                    if choice.chance(*share) {
                        address.below(*hot)
                    } else {
                        *hot + address.below(*places - *hot)
                    }
                });
            }
            AddressPattern::Zipf(zipf) => {
                generator.fill(batch, count, |address, _| zipf.draw(address))
            }
        }
        if let Some(flushes) = &mut self.flushes {
            flushes.insert(batch);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
