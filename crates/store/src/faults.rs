//! What goes wrong with flash, from a seed: the same image has the same faults, whatever the order
//! of things, on every machine.
//!
//! - *Blocks bad from the factory*: each physical block with one probability; a super-block with
//!   one such block is bad.
//! - *Programs and erases fail* with one probability each, of a place and a wear; the block has
//!   gone bad then.
//! - *Wear*: a block that was erased as often as it lasts for ([`Endurance`]) fails its next erase.
//! - *Bit errors*: what is read differs from what was programmed in bits that follow from the page
//!   and its block's erases, as many as a Poisson distribution of the rate has in a codeword. They
//!   stay until the block is erased. The rate grows in proportion to the erases, as seen in the
//!   field (Schroeder, Lagisetty, Merchant: "Flash Reliability in Production", FAST'16: linear, not
//!   exponential).
//! - *Correction* is modelled: up to so many flipped bits a codeword are put right; more are
//!   reported, never passed on. The checksum of each slot catches whatever else differs.
//!
//! Not covered: read disturb, retention (a page at rest does not get worse), read retries (the same
//! page reads the same each time), errors that the correction takes for others.

use crate::device::{DeviceError, DeviceParams};
pub use gordon_nand::factory_bad;
use gordon_nand::{BLOCK_SURVIVAL, Endurance, Layout};
use gordon_units::{BlockId, Bytes, Ppn, SplitMix64, splitmix64};
use serde::{Deserialize, Serialize};

/// The knobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// The part of physical blocks that is bad from the start.
    pub factory_bad: f64,
    /// The part of programs of super-pages that fails.
    pub program_failures: f64,
    /// The part of erases of super-blocks that fails.
    pub erase_failures: f64,
    /// The part of bits that reads wrong, of a block never erased.
    pub bit_errors: f64,
    /// By how much that has grown when a block has reached its erase budget: 1: to the double.
    pub bit_error_growth: f64,
    /// Bytes of a codeword.
    pub codeword: u32,
    /// Wrong bits that can be corrected in one.
    pub correctable: u32,
    /// Erases that a block is rated for; 0: it lasts for ever.
    pub erase_budget: u64,
    /// How much blocks differ: relative standard deviation of the erases they last for.
    pub spread: f64,
}

impl Default for Faults {
    /// None. Correction as of small pages: 4 bits in 512 bytes.
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

impl Faults {
    /// Checks the numbers; how long blocks last, if that is modelled.
    pub(crate) fn validate(&self, unit: Bytes) -> Result<Option<Endurance>, DeviceError> {
        for (rate, name) in [
            (self.factory_bad, "factory_bad"),
            (self.program_failures, "program_failures"),
            (self.erase_failures, "erase_failures"),
            (self.bit_errors, "bit_errors"),
        ] {
            if !(0.0..1.0).contains(&rate) {
                return Err(DeviceError::Rate(name));
            }
        }
        if !(0.0..1e6).contains(&self.bit_error_growth) {
            return Err(DeviceError::Rate("bit_error_growth"));
        }
        let word = u64::from(self.codeword);
        if !word.is_power_of_two() || word > unit.0 || !unit.0.is_multiple_of(word) {
            return Err(DeviceError::Codeword(self.codeword, unit));
        }
        if self.erase_budget == 0 {
            return Ok(None);
        }
        Ok(Some(Endurance::new(self.erase_budget, self.spread, BLOCK_SURVIVAL)?))
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

/// What correction made of what was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Correction {
    /// Wrong bits put right.
    pub bits: u64,
    /// Codewords with more than can be put right.
    pub lost: u64,
}

/// What a draw is for, so that no two are the same.
#[derive(Clone, Copy)]
#[repr(u64)]
enum DrawPurpose {
    Program = 1,
    Erase = 2,
    Bits = 3,
}

impl FaultInjector {
    pub fn new(device: &DeviceParams, layout: &Layout, endurance: Option<Endurance>) -> Self {
        let planes = layout.shape().pages();
        Self { faults: device.faults, endurance, planes, seed: device.seed }
    }

    fn draw(&self, what: DrawPurpose, place: u32, wear: u32) -> u64 {
        splitmix64(
            splitmix64(self.seed ^ splitmix64(what as u64))
                ^ (u64::from(place) << 32 | u64::from(wear)),
        )
    }

    /// Whether the program of a page fails, after that many erases of its block.
    pub fn program_fails(&self, ppn: Ppn, erases: u32) -> bool {
        let rate = self.faults.program_failures;
        rate > 0.0 && unit(self.draw(DrawPurpose::Program, ppn.0, erases)) < rate
    }

    /// Whether the erase that comes after that many fails.
    pub fn erase_fails(&self, block: BlockId, erases: u32) -> bool {
        let rate = self.faults.erase_failures;
        rate > 0.0 && unit(self.draw(DrawPurpose::Erase, block.0, erases)) < rate
    }

    /// Erases that the block lasts for, if that is modelled.
    pub fn budget(&self, block: BlockId) -> Option<u32> {
        Some(self.endurance?.budget_of_block(self.seed, block.0, self.planes))
    }

    /// Reads a slot as the chip does and corrects it as the controller does: flips bits, and puts
    /// them right where there are not too many.
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
        // At most 2^32 bits.
        #[allow(clippy::cast_precision_loss)]
        let none = libm::exp(-rate * bits as f64);
        let seed = self.draw(DrawPurpose::Bits, ppn.0, erases) ^ splitmix64(u64::from(slot));
        let mut stream = SplitMix64(seed);
        // Images keep the faults that they had when the first number was not used.
        stream.next_u64();
        for word in data.chunks_exact_mut(self.faults.codeword as usize) {
            // Poisson, by Knuth's product of uniform numbers.
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
    // A place in the word.
    #[allow(clippy::cast_possible_truncation)]
    let bit = (random % (word.len() as u64 * 8)) as usize;
    word[bit / 8] ^= 1 << (bit % 8);
}

fn next(stream: &mut SplitMix64) -> f64 {
    unit(stream.next_u64())
}

/// A number from 0 to just below 1 of the high bits.
#[allow(clippy::cast_precision_loss)]
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}
