//! Lines of text in several languages.
//!
//! The text is a sequence of documents. A document has [`LINES`] lines of one language, which is
//! drawn in proportion to the lines of the seed text. Lines have the lengths of the seed text's, so languages have the share of bytes that they have in the seed text.

use super::generator::{BLOCK, Generator, Part, Put, Separation};
use super::model::{BOUNDARY, Chain, FREE};
use crate::WorkloadError;
use gordon_units::SplitMix64;

/// Lines of a document. Many lines of one language in turn keep its model in the CPU cache.
pub const LINES: u64 = 512;

/// Lines that are generated in turns, a word at a time. A step waits for two memory accesses, which
/// those of other lines overlap.
const LANES: usize = 8;

/// Longest line in bytes, but for its last word.
pub const LONGEST_LINE: usize = 16 << 10;

/// A line being generated.
struct Lane {
    /// The last word, of this line or the one before it.
    word: u32,
    /// Number of words that it still gets, at least 1.
    left: u32,
    at: usize,
    line: Vec<u8>,
}

impl Lane {
    fn start(&mut self, chain: &Chain, random: &mut SplitMix64) {
        self.left = chain.line_length(random);
        self.at = 0;
    }
}

/// Generates lines of text.
#[derive(Debug)]
pub struct TextGenerator {
    languages: Vec<Chain>,
    /// The number of lines of the languages up to each one, itself included.
    lines: Vec<u64>,
    seed: u64,
}

impl TextGenerator {
    /// A generator of at least one language.
    pub fn new(languages: Vec<Chain>, seed: u64) -> Self {
        let lines = languages.iter().scan(0, |total, chain| {
            *total += chain.lines();
            Some(*total)
        });
        Self { lines: lines.collect(), languages, seed }
    }

    fn language(&self, random: &mut SplitMix64) -> &Chain {
        let total = self.lines.last().copied().unwrap_or_default();
        let line = random.below(total);
        &self.languages[self.lines.partition_point(|&end| end <= line)]
    }
}

impl Generator for TextGenerator {
    fn suffix(&self) -> &'static str {
        "txt"
    }

    fn separation(&self) -> Separation {
        Separation::Lines
    }

    fn fill(&self, part: &Part, put: &mut Put) -> Result<(), WorkloadError> {
        let mut random = part.random(self.seed);
        let lane = || Lane { word: BOUNDARY, left: 0, at: 0, line: vec![0; LONGEST_LINE + FREE] };
        let mut lanes: [Lane; LANES] = std::array::from_fn(|_| lane());
        let mut out = Vec::with_capacity(BLOCK + LONGEST_LINE + FREE);
        let mut left = part.bytes;
        loop {
            let chain = self.language(&mut random);
            let full = !document(chain, &mut random, &mut lanes, |line| {
                let bytes = line.len() as u64 + 1;
                if bytes > left {
                    return Ok(false);
                }
                left -= bytes;
                out.extend_from_slice(line);
                out.push(b'\n');
                if out.len() >= BLOCK {
                    put(&out)?;
                    out.clear();
                }
                Ok(true)
            })?;
            if full {
                return put(&out);
            }
        }
    }
}

/// Generates the lines of a document, in the order in which they end; `emit` gets each without a
/// line feed. Returns false as soon as `emit` does.
fn document(
    chain: &Chain,
    random: &mut SplitMix64,
    lanes: &mut [Lane; LANES],
    mut emit: impl FnMut(&[u8]) -> Result<bool, WorkloadError>,
) -> Result<bool, WorkloadError> {
    let mut active = LANES;
    let mut started = LANES as u64;
    for lane in lanes.iter_mut() {
        lane.word = BOUNDARY;
        lane.start(chain, random);
    }
    while active > 0 {
        let mut number = 0;
        while number < active {
            let lane = &mut lanes[number];
            lane.word = chain.next_word(lane.word, random);
            lane.at = chain.put(lane.word, random, &mut lane.line, lane.at);
            lane.left -= 1;
            if lane.left > 0 && lane.at < LONGEST_LINE {
                number += 1;
                continue;
            }
            let line = &lane.line[..lane.at];
            if !emit(line.strip_suffix(b" ").unwrap_or(line))? {
                return Ok(false);
            }
            if started < LINES {
                started += 1;
                lane.start(chain, random);
                number += 1;
            } else {
                active -= 1;
                lanes.swap(number, active);
            }
        }
    }
    Ok(true)
}
