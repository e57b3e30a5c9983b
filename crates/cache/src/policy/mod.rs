//! The interface of replacement policies, and the list of them.

mod arc;
mod belady;
mod clock;
mod fifo;
mod frequency;
mod lecar;
mod lru;
mod own;
mod queue;
mod s3fifo;
mod sieve;
mod sketch;
mod wtinylfu;

use alloc::boxed::Box;
use core::hint::black_box;
use gordon_units::Bytes;
pub use own::{Chooser, OwnPolicy};
use queue::Queue;

/// [`Request::next`] of an object that is not requested again.
pub const NEVER: u64 = u64::MAX;

/// The place of an object that was not admitted.
pub const NOT_ADMITTED: u32 = u32::MAX;

/// A request for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Key of the object.
    pub key: u64,
    /// Number of the next request for the object, or [`NEVER`]. Only Belady's policy uses it.
    pub next: u64,
    /// Size of the object in bytes. An object keeps the size with which it was inserted.
    pub size: u64,
    /// Bytes of the object that are requested; they are only counted.
    pub asked: u64,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The object was in the cache.
    Hit,
    /// The object was not in the cache. It is now, unless it was not admitted.
    Miss,
}

/// Counts of objects in the cache, and of insertions and evictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Objects in the cache.
    pub objects: u64,
    /// Bytes of the objects in the cache, at most its capacity.
    pub bytes: u64,
    /// Objects that were inserted.
    pub inserted: u64,
    /// Bytes of the inserted objects.
    pub inserted_bytes: u64,
    /// Objects that were evicted.
    pub evicted: u64,
    /// Bytes of the evicted objects.
    pub evicted_bytes: u64,
    /// Misses whose object was not admitted, because it is larger than the cache, or larger than
    /// the part of the cache into which new objects go.
    pub refused: u64,
}

impl CacheCounts {
    #[inline]
    fn insert(&mut self, size: u64) {
        self.objects += 1;
        self.bytes += size;
        self.inserted += 1;
        self.inserted_bytes += size;
    }

    #[inline]
    fn evict(&mut self, size: u64) {
        self.objects -= 1;
        self.bytes -= size;
        self.evicted += 1;
        self.evicted_bytes += size;
    }
}

/// Counts of requests and hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HitCounts {
    /// Number of requests.
    pub requests: u64,
    /// Number of hits.
    pub hits: u64,
    /// Bytes requested.
    pub bytes: u64,
    /// Bytes requested in hits.
    pub hit_bytes: u64,
}

/// Number of requests between the one served and the one whose part of the index is prefetched.
const PREFETCH_DISTANCE: usize = 8;

/// A cache with a replacement policy.
pub trait Policy: Send {
    /// Serves a request: after a miss the object is inserted, and others are evicted to make space.
    /// Also returns the place of the object's entry, a small number that no other object in the
    /// cache has, or [`NOT_ADMITTED`].
    fn access_at(&mut self, request: &Request) -> (Access, u32);

    /// Serves a request like [`access_at`](Self::access_at).
    #[inline]
    fn access(&mut self, request: &Request) -> Access {
        self.access_at(request).0
    }

    /// The counts so far.
    fn counts(&self) -> CacheCounts;

    /// Number of ghosts: evicted objects that the policy remembers.
    fn ghosts(&self) -> u64 {
        0
    }

    /// Memory of the metadata in bytes.
    fn memory(&self) -> usize;

    /// The part of [`memory`](Self::memory) that is a frequency sketch of keys, and does not belong
    /// to single objects.
    fn sketch_memory(&self) -> usize {
        0
    }

    /// Calls `each` with key and size of every object in the cache.
    fn residents(&self, each: &mut dyn FnMut(u64, u64));

    /// Brings the part of the index for this key into the CPU cache. The caller must keep the
    /// result from being optimised away.
    fn prefetch(&self, key: u64) -> u32;

    /// Serves requests in order, and adds them to the counts.
    fn serve(&mut self, requests: &[Request], tally: &mut HitCounts) {
        for (i, request) in requests.iter().enumerate() {
            if let Some(ahead) = requests.get(i + PREFETCH_DISTANCE) {
                black_box(self.prefetch(ahead.key));
            }
            let hit = self.access(request) == Access::Hit;
            tally.requests += 1;
            tally.bytes += request.asked;
            tally.hits += u64::from(hit);
            tally.hit_bytes += if hit { request.asked } else { 0 };
        }
    }
}

/// A replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyKind {
    /// First in, first out.
    Fifo,
    /// Least recently used.
    Lru,
    /// CLOCK.
    Clock,
    /// SIEVE.
    Sieve,
    /// S3-FIFO.
    S3Fifo,
    /// ARC.
    Arc,
    /// W-TinyLFU.
    WTinyLfu,
    /// LeCaR.
    LeCaR,
    /// Belady's policy.
    Belady,
}

impl PolicyKind {
    /// All policies.
    pub const ALL: [Self; 9] = [
        Self::Fifo,
        Self::Lru,
        Self::Clock,
        Self::Sieve,
        Self::S3Fifo,
        Self::Arc,
        Self::WTinyLfu,
        Self::LeCaR,
        Self::Belady,
    ];

    /// The name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Lru => "lru",
            Self::Clock => "clock",
            Self::Sieve => "sieve",
            Self::S3Fifo => "s3-fifo",
            Self::Arc => "arc",
            Self::WTinyLfu => "w-tinylfu",
            Self::LeCaR => "lecar",
            Self::Belady => "belady",
        }
    }

    /// A line that says which object it evicts.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Fifo => "the object that was inserted first",
            Self::Lru => "the least recently used object",
            Self::Clock => "as fifo, but an object that was hit is reinserted once",
            Self::Sieve => "as clock, but an object that is kept does not move",
            Self::S3Fifo => {
                "from a small fifo of new objects, unless hit there; the rest is a main fifo with \
                             reinsertion and a ghost list"
            }
            Self::Arc => {
                "from two LRU lists, requested once and more often; ghost hits adapt their shares"
            }
            Self::WTinyLfu => {
                "the less frequent of the victim of a small LRU window and that of the \
                             segmented LRU behind it"
            }
            Self::LeCaR => {
                "the least recently or least frequently used object, drawn by weights that learn"
            }
            Self::Belady => {
                "the object whose next request is furthest away: a bound that needs the whole trace"
            }
        }
    }

    /// The paper or implementation that it follows.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Fifo | Self::Lru => "libCacheSim 0.3.5",
            Self::Clock => "Corbato, A Paging Experiment with the Multics System, 1968",
            Self::Sieve => "Zhang et al., SIEVE is Simpler than LRU, NSDI 2024",
            Self::S3Fifo => {
                "Yang et al., FIFO Queues are All You Need for Cache Eviction, SOSP 2023"
            }
            Self::Arc => "Megiddo and Modha, ARC, FAST 2003",
            Self::WTinyLfu => {
                "libCacheSim 0.3.5; counts of Einziger et al., TinyLFU, ACM TOS 13(4), 2017"
            }
            Self::LeCaR => {
                "libCacheSim 0.3.5; Vietri et al., Driving Cache Replacement with LeCaR, \
                             HotStorage 2018"
            }
            Self::Belady => {
                "Belady, A Study of Replacement Algorithms for a Virtual-Storage Computer, 1966"
            }
        }
    }

    /// Whether it needs [`Request::next`].
    pub const fn needs_oracle(self) -> bool {
        matches!(self, Self::Belady)
    }

    /// The policy of this name; case, `-` and `_` do not matter.
    pub fn parse(name: &str) -> Option<Self> {
        let plain = |name: &'_ str| -> alloc::string::String {
            let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
            letters.map(|c| c.to_ascii_lowercase()).collect()
        };
        Self::ALL.into_iter().find(|kind| plain(kind.name()) == plain(name))
    }

    /// Creates an empty cache with this policy.
    pub fn make(self, capacity: Bytes) -> Box<dyn Policy> {
        let capacity = capacity.0;
        match self {
            Self::Fifo => Box::new(Queue::new(capacity, fifo::Fifo)),
            Self::Lru => Box::new(Queue::new(capacity, lru::Lru)),
            Self::Clock => Box::new(Queue::new(capacity, clock::Clock)),
            Self::Sieve => Box::new(Queue::new(capacity, sieve::Sieve::default())),
            Self::S3Fifo => Box::new(s3fifo::S3Fifo::new(capacity)),
            Self::Arc => Box::new(arc::Arc::new(capacity)),
            Self::WTinyLfu => Box::new(wtinylfu::WTinyLfu::new(capacity)),
            Self::LeCaR => Box::new(lecar::LeCaR::new(capacity)),
            Self::Belady => Box::new(belady::Belady::new(capacity)),
        }
    }
}
