//! Fault injection from a seed: an image has the same faults on every machine, whatever the order
//! of operations.
//!
//! - *Factory bad blocks*: each physical block is bad with a given probability; a super-block with
//!   such a block is bad.
//! - *Program and erase failures*: each fails with a given probability, determined by the location
//!   and the erase count; the block then goes bad.
//! - *Wear*: a block that was erased as often as its budget allows ([`Endurance`]) fails its next
//!   erase.
//! - *Bit errors*: data read differ from data programmed in bits determined by the page and the
//!   erase count of its block. Their number in a codeword follows a Poisson distribution. They
//!   persist until the block is erased. The rate grows linearly with the erases, as observed in the
//!   field (Schroeder, Lagisetty, Merchant: "Flash Reliability in Production", FAST'16: linear, not
//!   exponential).
//! - *Correction* is modelled: up to a given number of wrong bits in a codeword are corrected; more
//!   are reported, never passed on. The checksum of each slot detects any other difference.
//!
//! Not covered: read disturb, retention (a page at rest does not degrade), read retries (a page
//! reads the same each time), and miscorrection.

pub use gordon_nand::factory_bad;
use gordon_nand::{Endurance, Layout};
use gordon_units::{BlockId, Ppn, SplitMix64, splitmix64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rates of faults.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Fraction of physical blocks that are bad from the factory.
    pub factory_bad: f64,
    /// Fraction of super-page programs that fail.
    pub program_failures: f64,
    /// Fraction of super-block erases that fail.
    pub erase_failures: f64,
    /// Raw bit error rate of a block that was never erased.
    pub bit_errors: f64,
    /// Relative growth of the bit error rate when a block has reached its erase budget; 1 doubles
    /// it.
    pub bit_error_growth: f64,
    /// Bytes in a codeword.
    pub codeword: u32,
    /// Number of wrong bits in a codeword that can be corrected.
    pub correctable: u32,
    /// Rated erases of a block; 0 means that blocks never wear out.
    pub erase_budget: u64,
    /// Relative standard deviation of the erase budgets of blocks.
    pub spread: f64,
}

impl Default for Faults {
    /// No faults. The correction is that of small pages: 4 bits in 512 bytes.
    fn default() -> Self {
        Self {
            factory_bad: 0.0,
            program_failures: 0.0,
            erase_failures: 0.0,
            bit_errors: 0.0,
            bit_error_growth: 0.0,
            codeword: 512,
            correctable: 4,
            erase_budget: 0,
            spread: 0.0,
        }
    }
}

/// Draws the faults of an image.
#[derive(Clone, Debug)]
pub(crate) struct FaultInjector {
    faults: Faults,
    endurance: Option<Endurance>,
    planes: u32,
    seed: u64,
}

/// The result of the correction of read data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Correction {
    /// Number of corrected bits.
    pub bits: u64,
    /// Number of codewords with too many wrong bits.
    pub lost: u64,
}

/// The purpose of a random draw, which makes draws for different purposes independent.
#[derive(Clone, Copy)]
#[repr(u64)]
enum DrawPurpose {
    Program = 1,
    Erase = 2,
    Bits = 3,
}

impl FaultInjector {
    pub fn new(faults: Faults, seed: u64, layout: &Layout, endurance: Option<Endurance>) -> Self {
        let planes = layout.shape().pages();
        Self { faults, endurance, planes, seed }
    }

    fn draw(&self, what: DrawPurpose, place: u32, wear: u32) -> u64 {
        splitmix64(
            splitmix64(self.seed ^ splitmix64(what as u64))
                ^ (u64::from(place) << 32 | u64::from(wear)),
        )
    }

    /// Whether the program of a page fails after `erases` erases of its block.
    pub fn program_fails(&self, ppn: Ppn, erases: u32) -> bool {
        let rate = self.faults.program_failures;
        rate > 0.0 && unit(self.draw(DrawPurpose::Program, ppn.0, erases)) < rate
    }

    /// Whether the next erase fails after `erases` erases.
    pub fn erase_fails(&self, block: BlockId, erases: u32) -> bool {
        let rate = self.faults.erase_failures;
        rate > 0.0 && unit(self.draw(DrawPurpose::Erase, block.0, erases)) < rate
    }

    /// Erase budget of a block; `None` if wear is not modelled.
    pub fn budget(&self, block: BlockId) -> Option<u32> {
        Some(self.endurance?.budget_of_block(self.seed, block.0, self.planes))
    }

    /// Applies bit errors to the data of a slot and corrects them where possible.
    pub fn read(&self, ppn: Ppn, slot: u32, erases: u32, data: &mut [u8]) -> Correction {
        let mut corrected = Correction::default();
        if self.faults.bit_errors == 0.0 {
            return corrected;
        }
        let worn = match self.endurance {
            None => 0.0,
            // A rating is far below 2^52.
            #[allow(clippy::cast_precision_loss)]
            Some(endurance) => f64::from(erases) / endurance.rated() as f64,
        };
        let rate = self.faults.bit_errors * (1.0 + self.faults.bit_error_growth * worn);
        let bits = u64::from(self.faults.codeword) * 8;
        // There are at most 2^32 bits.
        #[allow(clippy::cast_precision_loss)]
        let none = libm::exp(-rate * bits as f64);
        let seed = self.draw(DrawPurpose::Bits, ppn.0, erases) ^ splitmix64(u64::from(slot));
        let mut stream = SplitMix64(seed);
        // The first number is skipped so that existing images keep their faults.
        stream.next_u64();
        for word in data.chunks_exact_mut(self.faults.codeword as usize) {
            // A Poisson variate by Knuth's product of uniform numbers.
            let mut errors = 0u32;
            let mut product = next(&mut stream);
            while product > none && u64::from(errors) < bits {
                errors += 1;
                product *= next(&mut stream);
            }
            if errors > self.faults.correctable {
                corrected.lost += 1;
                (0..errors).for_each(|_| flip(word, stream.next_u64()));
            } else {
                corrected.bits += u64::from(errors);
                for _ in 0..errors {
                    let bit = stream.next_u64();
                    flip(word, bit);
                    flip(word, bit);
                }
            }
        }
        corrected
    }
}

fn flip(word: &mut [u8], random: u64) {
    // The bit index lies within the word, so the cast cannot truncate.
    #[allow(clippy::cast_possible_truncation)]
    let bit = (random % (word.len() as u64 * 8)) as usize;
    word[bit / 8] ^= 1 << (bit % 8);
}

fn next(stream: &mut SplitMix64) -> f64 {
    unit(stream.next_u64())
}

/// A number in [0, 1), made of the high 53 bits.
#[allow(clippy::cast_precision_loss)]
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}
