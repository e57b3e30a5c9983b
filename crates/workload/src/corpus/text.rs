//! Lines of text in several languages.
//!
//! The text is a sequence of documents. A document has [`LINES`] lines of one language, which is
//! drawn in proportion to the lines of the seed text. Lines have the lengths of the seed text's, so
//! languages have the share of bytes that they have in the seed text.

use super::generator::{BLOCK, Generator, Part, Put, Separation};
use super::model::Chain;
use super::output::{Output, put_words};
use crate::WorkloadError;
use gordon_units::SplitMix64;

/// Lines of a document. Many lines of one language in turn keep its model in the CPU cache.
pub const LINES: usize = 512;

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
        let mut out = Output::default();
        let mut words = Vec::new();
        let mut left = part.bytes;
        loop {
            let chain = self.language(&mut random);
            let lengths: [u32; LINES] = std::array::from_fn(|_| chain.line_length(&mut random));
            let count = lengths.iter().map(|&length| length as usize).sum();
            chain.draw(count, &mut random, &mut words);
            let mut words = words.iter();
            for length in lengths {
                let start = out.len();
                put_words(chain, words.by_ref().take(length as usize), &mut random, &mut out);
                out.put(b"\n");
                let bytes = (out.len() - start) as u64;
                if bytes > left {
                    out.truncate(start);
                    return put(out.bytes());
                }
                left -= bytes;
            }
            if out.len() >= BLOCK {
                put(out.bytes())?;
                out.truncate(0);
            }
        }
    }
}
