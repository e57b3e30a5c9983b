//! Configuration of a FlashCache design, and of a run of it.

use crate::WarmUp;
use gordon_cache::flashcache::{Fill, FlashShape, SetRule, WearRules};
use gordon_nand::{Codewords, parity_bits};
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_replay::disk::DiskDevice;
use gordon_units::{Bytes, Hertz, Ns, Sourced, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Design of a FlashCache, without its sizes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// One-line description of the design.
    pub summary: String,
    /// Organization of the flash page cache.
    pub cache: CacheConfig,
    /// Wear levelling and endurance.
    pub wear: WearConfig,
    /// DRAM of the primary page cache.
    pub dram: DramConfig,
    /// NAND flash of the secondary page cache.
    pub flash: FlashConfig,
    /// Error-correcting code of the flash. If it is left out, `wear.endurance` is used unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccConfig>,
    /// Flash memory controller, which moves data between DRAM and flash.
    pub controller: ControllerConfig,
    /// Disk below the caches.
    pub disk: DiskConfig,
    /// Origin server below the caches, an alternative to the disk.
    pub origin: OriginConfig,
    /// Projection of memory cells by year. Default: none.
    #[serde(default)]
    pub roadmap: Vec<RoadmapYear>,
}

/// Organization of the flash page cache.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Size of a cached page.
    pub page: Sourced<Bytes>,
    /// Size of a logical block, the unit of eviction.
    pub logical_block: Sourced<Bytes>,
    /// Number of erase blocks in a logical block.
    pub erase_blocks: Sourced<u32>,
    /// Associativity: number of logical blocks in a set.
    pub ways: Sourced<u32>,
    /// Unit of a fill after a miss, and of a tag.
    pub fill: Sourced<FillKind>,
    /// Size of the DRAM buffer for data that wait to be written to flash.
    pub write_buffer: Sourced<Bytes>,
    /// Treatment of data that find the write buffer full. Default: `wait`.
    #[serde(default, skip_serializing_if = "is_wait")]
    pub when_full: WhenFull,
}

/// Treatment of data that find the write buffer full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// The request waits until the buffer has space. Until then, writes to flash have priority over
    /// reads.
    #[default]
    Wait,
    /// The data are not written to flash.
    Skip,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_wait(when: &WhenFull) -> bool {
    *when == WhenFull::Wait
}

/// Unit of a fill after a miss, and of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FillKind {
    /// A logical block.
    Block,
    /// The requested pages.
    Page,
}

/// Wear levelling and endurance.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WearConfig {
    /// Wear levelling rules in use.
    pub rules: RuleKind,
    /// Hot block: its erase count exceeds the lowest erase count in its set by more than this
    /// threshold.
    pub block_threshold: Sourced<u32>,
    /// Hot set: the erase count of its most erased block exceeds that of the coldest set by more
    /// than this threshold.
    pub set_threshold: Sourced<u32>,
    /// Way in which `set_threshold` is applied. Default: `bounded`.
    #[serde(default)]
    pub set_rule: SetRuleKind,
    /// Numbers of erases that a block endures. Lifetimes are reported for each of them.
    pub endurance: Sourced<Vec<u64>>,
}

/// Wear levelling rules in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// Both rules.
    Both,
    /// The block rule: instead of a hot block, the least erased block of the set is evicted.
    Block,
    /// The set rule: a hot set is swapped with a cold set.
    Set,
    /// No wear levelling.
    None,
}

/// Way in which the threshold of hot sets is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SetRuleKind {
    /// The threshold applies both to the erases of the place and to the evictions of the set. Swaps
    /// erase at most one block per 100 evictions. They do not wear a block beyond the mean plus the
    /// threshold, unless it would be worn that much without swaps.
    #[default]
    Bounded,
    /// The threshold applies only to the erases of the place, as in the text of the paper. Swaps
    /// can outnumber evictions.
    Literal,
}

/// Times and power of the DRAM.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// Latency until the first byte: the row cycle time.
    pub access: Sourced<Ns>,
    /// Transfer rate after the latency, in bytes per second.
    pub rate_per_s: Sourced<Bytes>,
    /// Time to look up a page in the primary page cache, or to insert one.
    pub search: Sourced<Ns>,
    /// Power of 1 Gbit (2^30 bits) during a read.
    pub read_per_gbit: Sourced<Watts>,
    /// Power of 1 Gbit during a write.
    pub write_per_gbit: Sourced<Watts>,
    /// Power of 1 Gbit when idle and ready.
    pub idle_per_gbit: Sourced<Watts>,
    /// Power of 1 Gbit when idle and powered down.
    pub power_down_per_gbit: Sourced<Watts>,
    /// Size of a rank, the part that is active during an access. The rest is idle.
    pub rank: Sourced<Bytes>,
    /// Density in Gbit per square centimetre.
    pub gbit_per_cm2: Sourced<f64>,
    /// Price of 1 Gbit in US dollars.
    pub usd_per_gbit: Sourced<f64>,
}

/// NAND flash: one chip.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashConfig {
    /// Size of a flash page, the unit of reads and programs.
    pub page: Sourced<Bytes>,
    /// Time to read a page to the register of the chip.
    pub read: Sourced<Ns>,
    /// Time to program a page from the register.
    pub program: Sourced<Ns>,
    /// Time to erase a block.
    pub erase: Sourced<Ns>,
    /// Transfer rate to and from the register, in bytes per second.
    pub rate_per_s: Sourced<Bytes>,
    /// Power of 1 Gbit during an operation.
    pub active_per_gbit: Sourced<Watts>,
    /// Power of 1 Gbit when idle.
    pub idle_per_gbit: Sourced<Watts>,
    /// Size of the part that is active during an operation. The rest is idle.
    pub chip: Sourced<Bytes>,
    /// Density in Gbit per square centimetre.
    pub gbit_per_cm2: Sourced<f64>,
    /// Price of 1 Gbit in US dollars.
    pub usd_per_gbit: Sourced<f64>,
    /// Number of banks. A read waits only for a program or an erase in its own bank (read while
    /// write, section 3.3). Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banks: Option<Sourced<u32>>,
}

impl FlashConfig {
    /// Number of banks; 1 unless configured.
    pub(super) fn banks(&self) -> u32 {
        self.banks.as_ref().map_or(1, |banks| **banks)
    }
}

/// The error-correcting code of the flash: a binary BCH code for each codeword of a flash page.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EccConfig {
    /// Number of correctable bit errors per codeword.
    pub correctable: Sourced<u32>,
    /// Number of correctable bit errors per codeword of the code for which `wear.endurance` is
    /// rated. A code that corrects at most that number takes no decoding time.
    pub rated_correctable: Sourced<u32>,
    /// Size of the data of a codeword.
    pub codeword: Sourced<Bytes>,
    /// Size of the spare area of a codeword, for its parity.
    pub spare: Sourced<Bytes>,
    /// Exponent of the growth of the raw bit error rate with the number of erases.
    pub wear_exponent: Sourced<f64>,
    /// Clock of the decoder.
    pub clock: Sourced<Hertz>,
    /// Number of bits of a codeword that the decoder searches for errors per cycle.
    pub bits_per_cycle: Sourced<u32>,
}

impl EccConfig {
    /// Codewords of an erase block.
    fn codewords(&self, erase_block: u64) -> Codewords {
        Codewords {
            data_bits: (self.codeword.0 * 8) as u32,
            in_block: (erase_block / self.codeword.0).max(1),
            exponent: *self.wear_exponent,
        }
    }

    /// Number of parity bits of a codeword.
    pub fn parity_bits(&self) -> u32 {
        parity_bits((self.codeword.0 * 8) as u32, *self.correctable)
    }

    /// Decoding time from the last bit of a page to its corrected data. Syndromes are computed
    /// while bits arrive, and each codeword is decoded while the next one arrives, so only the last
    /// codeword counts: two cycles per correctable bit to find the error polynomial (Berlekamp and
    /// Massey), then the search of all bits (Chien).
    pub fn decode(&self) -> Ns {
        if *self.correctable <= *self.rated_correctable {
            return Ns::ZERO;
        }
        let bits = self.codeword.0 * 8 + u64::from(self.parity_bits());
        let search = bits.div_ceil(u64::from(*self.bits_per_cycle));
        let cycles = 2 * u64::from(*self.correctable) + search;
        Ns((cycles as f64 / self.clock.0 * 1e9).ceil() as u64)
    }

    fn check(&self, flash_page: Bytes) -> Result<(), ReplayError> {
        let codeword = self.codeword.0;
        if codeword == 0 || codeword > 1 << 16 || !flash_page.0.is_multiple_of(codeword) {
            let why =
                format!("{flash_page} of a flash page is not a whole number of {}", *self.codeword);
            return Err(not("ecc.codeword", why, "512B"));
        }
        for (key, value) in [
            ("ecc.correctable", *self.correctable),
            ("ecc.rated_correctable", *self.rated_correctable),
            ("ecc.bits_per_cycle", *self.bits_per_cycle),
        ] {
            if value == 0 {
                return Err(not(key, "0 corrects and searches nothing".into(), "1 or more"));
            }
        }
        for (key, value) in
            [("ecc.wear_exponent", *self.wear_exponent), ("ecc.clock", self.clock.0)]
        {
            if !(value > 0.0 && value.is_finite()) {
                return Err(not(key, format!("{value} is not above zero"), "a number above zero"));
            }
        }
        let spare = self.spare.0 * 8;
        let data = (codeword * 8) as u32;
        let most =
            (1..=*self.correctable).take_while(|t| u64::from(parity_bits(data, *t)) <= spare);
        let most = most.last().unwrap_or(0);
        if most < *self.correctable {
            let why = format!(
                "{} bits of parity for each {} do not fit in its {} of spare",
                self.parity_bits(),
                *self.codeword,
                *self.spare
            );
            return Err(not("ecc.correctable", why, &format!("--ecc {most}, or less")));
        }
        Ok(())
    }
}

/// The flash memory controller.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllerConfig {
    /// Power while the flash is active.
    pub active: Sourced<Watts>,
    /// Power while the flash is idle.
    pub idle: Sourced<Watts>,
}

/// Disk that holds all data, described by its latency, rate and queue.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskConfig {
    /// Latency until the first byte. An access that directly follows the previous one has no
    /// latency.
    pub access: Sourced<Ns>,
    /// Transfer rate after the latency, in bytes per second.
    pub rate_per_s: Sourced<Bytes>,
    /// Maximum number of queued writes. Reads have priority until the queue is full.
    pub queue: Sourced<u32>,
}

/// An origin server, which has all data.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OriginConfig {
    /// Time from a request to the first byte of its response.
    pub latency: Sourced<Ns>,
    /// Transfer rate in bytes per second. Responses are transferred sequentially.
    pub rate_per_s: Sourced<Bytes>,
}

/// One year of a projection of memory cells.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoadmapYear {
    /// Year of the projection.
    pub year: u32,
    /// Area of a NAND flash cell with one bit, in square micrometres.
    pub nand_um2: Sourced<f64>,
    /// Area per bit of a NAND flash cell with several bits, in square micrometres. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nand_mlc_um2: Option<Sourced<f64>>,
    /// Area of a NOR flash cell, in square micrometres. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nor_um2: Option<Sourced<f64>>,
    /// Area of a DRAM cell, in square micrometres.
    pub dram_um2: Sourced<f64>,
    /// Number of erases that the flash endures.
    pub endurance: Sourced<u64>,
    /// Data retention of the flash in years: minimum and maximum. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_years: Option<Sourced<[u32; 2]>>,
}

/// The backend below the caches.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// The design's disk, with a fixed access time.
    #[default]
    Disk,
    /// The design's origin server, over a network.
    Origin,
    /// A simulated disk.
    Simulated(Box<DiskDevice>),
}

/// Arrival times of the requests.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PaceConfig {
    /// Scale of the trace's times; 2 is twice as fast as the trace.
    #[serde(default)]
    pub speed: Option<f64>,
    /// Requests per second at equal intervals, instead of the trace's times.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Closed loop with this many outstanding requests.
    #[serde(default)]
    pub outstanding: Option<u32>,
    /// In a closed loop: time from a response to the next request.
    #[serde(default)]
    pub think: Option<Ns>,
}

/// Configuration of a run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlashCacheConfig {
    /// The trace to replay.
    pub trace: TraceLoad,
    /// The design of the FlashCache.
    pub design: Design,
    /// Total size of the DRAM: primary page cache, tables and write buffer.
    pub dram: Bytes,
    /// Size of the flash; zero for a primary page cache alone.
    pub flash: Bytes,
    /// Name of the replacement policy of the primary page cache.
    pub dram_policy: String,
    /// Whether each request of a block trace is one object, of the size of the request.
    #[serde(default)]
    pub objects: bool,
    /// The backend below the caches.
    #[serde(default)]
    pub backend: BackendKind,
    /// Arrival times of the requests.
    pub pace: PaceConfig,
    /// Warm-up, which is not counted; `None` to count everything.
    #[serde(default)]
    pub warmup: Option<WarmUp>,
}

fn not(key: &str, why: String, hint: &str) -> ReplayError {
    ReplayError::impossible(key, why, hint)
}

impl Design {
    /// Checks that the parameters are consistent.
    ///
    /// # Errors
    /// Returns the first inconsistency found.
    pub fn check(&self) -> Result<(), ReplayError> {
        let whole = |key: &str, large: Bytes, small: u64, what: &str| {
            let wrong = small == 0 || large.0 == 0 || !large.0.is_multiple_of(small);
            let why = format!("{large} is not a whole number of {what}");
            if wrong { Err(not(key, why, "powers of two")) } else { Ok(()) }
        };
        let Self { cache, dram, flash, disk, origin, .. } = self;
        whole("cache.page", *cache.page, flash.page.0, "flash pages")?;
        whole("cache.logical_block", *cache.logical_block, cache.page.0, "pages")?;
        let pieces = u64::from(*cache.erase_blocks).checked_mul(flash.page.0).unwrap_or_default();
        whole("cache.erase_blocks", *cache.logical_block, pieces, "erase blocks of flash pages")?;
        if cache.logical_block.0 / cache.page.0 > 0x7fff {
            let why = format!("{} has more than 32,767 pages", *cache.logical_block);
            return Err(not("cache.logical_block", why, "128KiB"));
        }
        if cache.write_buffer.0 < cache.logical_block.0 {
            let why = format!("{} holds no logical block", *cache.write_buffer);
            return Err(not("cache.write_buffer", why, "1MiB"));
        }
        if flash.banks() == 0 {
            return Err(not("flash.banks", "flash has at least one bank".into(), "4"));
        }
        if *cache.ways == 0 {
            return Err(not("cache.ways", "a set of 0 ways holds nothing".into(), "16"));
        }
        for (key, rate) in [
            ("dram.rate_per_s", *dram.rate_per_s),
            ("flash.rate_per_s", *flash.rate_per_s),
            ("disk.rate_per_s", *disk.rate_per_s),
            ("origin.rate_per_s", *origin.rate_per_s),
            ("dram.rank", *dram.rank),
            ("flash.chip", *flash.chip),
        ] {
            if rate.0 == 0 {
                return Err(not(key, "0B moves nothing".into(), "a size above zero"));
            }
        }
        let mut positive = vec![
            ("dram.gbit_per_cm2", *dram.gbit_per_cm2),
            ("flash.gbit_per_cm2", *flash.gbit_per_cm2),
        ];
        for year in &self.roadmap {
            positive.extend([
                ("roadmap.nand_um2", *year.nand_um2),
                ("roadmap.dram_um2", *year.dram_um2),
            ]);
            let mlc = year.nand_mlc_um2.iter().map(|area| ("roadmap.nand_mlc_um2", **area));
            positive.extend(mlc);
            positive.extend(year.nor_um2.iter().map(|area| ("roadmap.nor_um2", **area)));
        }
        for (key, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return Err(not(key, format!("{value} is not above zero"), "a number above zero"));
            }
        }
        self.ecc.as_ref().map_or(Ok(()), |ecc| ecc.check(*flash.page))
    }

    /// Erases that a block endures per erase that `wear.endurance` rates it for, and the raw bit
    /// error rate at the end of its life; 1 and `None` without `ecc`.
    pub fn endurance_gain(&self) -> (f64, Option<f64>) {
        let Some(ecc) = &self.ecc else { return (1.0, None) };
        let erase_block = self.cache.logical_block.0 / u64::from(*self.cache.erase_blocks);
        let codewords = ecc.codewords(erase_block);
        let gain = codewords.endurance_gain(*ecc.rated_correctable, *ecc.correctable);
        (gain, Some(codewords.worn_out_rate(*ecc.correctable)))
    }

    fn rules(&self) -> WearRules {
        let (block, set) = (*self.wear.block_threshold, *self.wear.set_threshold);
        let rules = self.wear.rules;
        WearRules {
            block: matches!(rules, RuleKind::Both | RuleKind::Block).then_some(block),
            set: matches!(rules, RuleKind::Both | RuleKind::Set).then_some(set),
            set_rule: match self.wear.set_rule {
                SetRuleKind::Bounded => SetRule::Bounded,
                SetRuleKind::Literal => SetRule::Literal,
            },
        }
    }

    /// The shape of the state machine with this amount of flash.
    ///
    /// # Errors
    /// Returns an error if `flash` is not a whole number of sets.
    pub fn shape(&self, flash: Bytes, fill: Fill) -> Result<FlashShape, ReplayError> {
        let (block, ways) = (*self.cache.logical_block, *self.cache.ways);
        let set = block.0.saturating_mul(ways.into());
        if !flash.0.is_multiple_of(set) {
            let why = format!(
                "{flash} is not a whole number of sets of {ways} logical blocks of {block}: {} \
                 each",
                Bytes(set)
            );
            let near = Bytes((flash.0 / set).max(1).saturating_mul(set));
            return Err(not("flash", why, &format!("{near}, or --set cache.ways=N")));
        }
        // A slot number in the table has 31 bits, and includes the blocks for swaps.
        let slots = (flash.0 / block.0 + u64::from(ways)) * (block.0 / self.cache.page.0);
        if slots >= 1 << 31 {
            let why = format!("{flash} has more than 2^31 pages of {}", *self.cache.page);
            return Err(not("flash", why, "larger pages, --set cache.page=16KiB, or less flash"));
        }
        Ok(FlashShape {
            sets: (flash.0 / set) as u32,
            ways,
            pages: (block.0 / self.cache.page.0) as u32,
            fill,
            rules: self.rules(),
            buffer: (self.cache.when_full == WhenFull::Skip)
                .then_some(self.cache.write_buffer.0 / self.cache.page.0),
        })
    }
}
