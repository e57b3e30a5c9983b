//! The word model of a language: a Markov chain of order 1 over the words of its seed text.
//!
//! The successors of a word are those of all its occurrences in the seed text, in a list; a step
//! draws one of them. So a step has the exact frequencies of the word pairs, in constant time and
//! in four bytes for each word of the seed text. The boundary between lines is a word too. The seed
//! text is then a closed walk, and the stationary distribution of the chain is exactly the
//! frequencies of the seed text, of words and of pairs.
//!
//! A walk of order 1 forgets how long a line is, so the numbers of words of lines are drawn from
//! those of the seed text, and the walk continues from one line to the next: this keeps both
//! distributions.
//!
//! A chain has the vocabulary of its seed text, but longer texts have more words. By Good and
//! Turing's estimate (Good, *Biometrika* 40, 1953) a word that was seen once stands for words that
//! were not seen. Such a word is replaced by a word of the tail, which is composed of the first
//! half of one rare word and the second half of another. The rank of that word follows Zipf's law
//! beyond the seed's vocabulary, with the exponent of a vocabulary whose share of words seen once
//! is that of the seed text, so words of the tail repeat as they do in longer texts.

use super::tokens;
use gordon_units::{SplitMix64, splitmix64};
use std::collections::HashMap;

/// The word that ends a line.
const BOUNDARY: u32 = 0;

/// Number of walks that words are drawn from at the same time.
const WALKS: usize = 8;

/// Longest spelling of a word in bytes: each byte may be an escape of at most 6 bytes; and a space.
const LONGEST_SPELLING: usize = 2 * (6 * tokens::LONGEST_WORD + 1);

/// Most words of a line; a longer one becomes several.
pub const LONGEST_LINE: usize = 4096;

/// Bytes that are copied at once; a spelling is followed by as many bytes.
const COPIED: usize = 16;

/// Free bytes that [`Chain::put`] needs.
pub const FREE: usize = LONGEST_SPELLING + COPIED;

/// Least number of words seen once that a tail is made from. Fewer give few compositions.
const LEAST_RARE: usize = 100;

/// How words are spelled in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As they are.
    Plain,
    /// As text of an HTML page in a JSON string.
    HtmlInJson,
}

#[derive(Clone, Copy, Debug)]
struct Word {
    /// Index of its first successor.
    first: u32,
    /// Number of its successors, which is the number of its occurrences.
    count: u32,
    /// Place of its spelling.
    offset: u32,
    len: u16,
    /// Whether it stands for words that were not seen.
    rare: bool,
}

/// The two halves of a rare word.
#[derive(Clone, Copy, Debug)]
struct Stem {
    offset: u32,
    middle: u32,
    end: u32,
}

/// Words that the seed text does not have.
#[derive(Debug)]
struct Tail {
    stems: Vec<Stem>,
    /// Probability that a rare word is replaced, as a fraction of 2^32.
    replaced: u64,
    /// Number of words of the seed text, the rank from which the tail starts.
    from_rank: f64,
    /// Exponent of a uniform number that gives the rank: with Heaps' exponent b, -b / (1 - b).
    exponent: f64,
}

/// The word model of one language.
#[derive(Debug)]
pub struct Chain {
    words: Vec<Word>,
    successors: Vec<u32>,
    /// Number of words of each line of the seed text.
    lengths: Vec<u32>,
    spellings: Vec<u8>,
    tail: Option<Tail>,
}

impl Chain {
    /// Learns the model of a text of lines; `None` if it has no word.
    pub fn learn(text: &str, spelling: Spelling) -> Option<Self> {
        let vocabulary = Vocabulary::of(text);
        (vocabulary.counts.len() > 1).then(|| vocabulary.chain(spelling))
    }

    /// Number of lines of the seed text.
    pub fn lines(&self) -> u64 {
        u64::from(self.words[BOUNDARY as usize].count)
    }

    /// Number of words of the seed text.
    pub fn tokens(&self) -> u64 {
        self.successors.len() as u64 - self.lines()
    }

    /// Number of different words of the seed text.
    pub fn vocabulary(&self) -> u64 {
        self.words.len() as u64 - 1
    }

    /// Mean number of bytes of a word in the output, with the space after it.
    #[allow(clippy::cast_precision_loss)] // an estimate
    pub fn mean_word_bytes(&self) -> f64 {
        let bytes = |word: &Word| u64::from(word.count) * u64::from(word.len);
        let total: u64 = self.words[1..].iter().map(bytes).sum();
        total as f64 / self.tokens() as f64
    }

    /// The number of words of a line: that of a line of the seed text. It is at least 1.
    pub fn line_length(&self, random: &mut SplitMix64) -> u32 {
        self.lengths[random.below_u32(self.words[BOUNDARY as usize].count) as usize]
    }

    /// Draws `count` words. They are those of several walks from the boundary, which take turns: a
    /// step waits for two memory accesses, which those of other walks overlap.
    pub fn draw(&self, count: usize, random: &mut SplitMix64, words: &mut Vec<u32>) {
        let each = count.div_ceil(WALKS);
        words.clear();
        words.resize(each * WALKS, BOUNDARY);
        let mut last = [BOUNDARY; WALKS];
        for n in 0..each {
            for (walk, word) in last.iter_mut().enumerate() {
                *word = match self.next(*word, random) {
                    // A line has at least one word.
                    BOUNDARY => self.next(BOUNDARY, random),
                    next => next,
                };
                words[walk * each + n] = *word;
            }
        }
    }

    /// The word after `word`, which may be the boundary.
    #[inline]
    fn next(&self, word: u32, random: &mut SplitMix64) -> u32 {
        let Word { first, count, .. } = self.words[word as usize];
        self.successors[(first + random.below_u32(count)) as usize]
    }

    /// Writes a word at `at`, with the space after it if it has one; returns its end. `out` needs
    /// [`FREE`] bytes from `at` on.
    #[inline]
    pub fn put(&self, word: u32, random: &mut SplitMix64, out: &mut [u8], at: usize) -> usize {
        let Word { offset, len, rare, .. } = self.words[word as usize];
        if rare
            && let Some(tail) = &self.tail
            && (random.next_u64() >> 32) < tail.replaced
        {
            return self.put_tail(tail, random, out, at);
        }
        self.copy(offset as usize, usize::from(len), out, at)
    }

    #[inline]
    fn copy(&self, offset: usize, len: usize, out: &mut [u8], at: usize) -> usize {
        if len <= COPIED {
            // A copy of constant length is a single instruction; the next word overwrites the rest.
            out[at..at + COPIED].copy_from_slice(&self.spellings[offset..offset + COPIED]);
        } else {
            out[at..at + len].copy_from_slice(&self.spellings[offset..offset + len]);
        }
        at + len
    }

    #[cold]
    fn put_tail(&self, tail: &Tail, random: &mut SplitMix64, out: &mut [u8], at: usize) -> usize {
        let rank = tail.rank(random);
        let hash = splitmix64(rank);
        #[allow(clippy::cast_possible_truncation)] // the two halves
        let halves = (hash as u32, (hash >> 32) as u32);
        let stem = |half: u32| {
            let number = (u64::from(half) * tail.stems.len() as u64) >> 32;
            #[allow(clippy::cast_possible_truncation)] // an index
            tail.stems[number as usize]
        };
        let (start, end) = (stem(halves.0), stem(halves.1));
        let len = (start.middle - start.offset) as usize;
        let at = self.copy(start.offset as usize, len, out, at);
        self.copy(end.middle as usize, (end.end - end.middle) as usize, out, at)
    }
}

impl Tail {
    /// The rank of a word of the tail.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn rank(&self, random: &mut SplitMix64) -> u64 {
        // Above 0 and at most 1.
        let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        // A rank above 2^64 becomes the largest one.
        (self.from_rank * libm::pow(uniform, self.exponent)) as u64
    }
}

/// The words of a text, and the text as numbers of words.
struct Vocabulary {
    /// The lines: each is a boundary and its words.
    text: Vec<u32>,
    /// Number of occurrences of each word.
    counts: Vec<u32>,
    /// The spellings of all words, each with its space; `ends` are their ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Vocabulary {
    fn of(text: &str) -> Self {
        let mut found =
            Self { text: Vec::new(), counts: vec![0], bytes: Vec::new(), ends: vec![0] };
        let mut numbers: HashMap<Box<[u8]>, u32> = HashMap::new();
        let mut key = Vec::new();
        for line in text.lines() {
            let mut left = 0;
            tokens::words(line, |word, spaced| {
                if left == 0 {
                    left = LONGEST_LINE;
                    found.text.push(BOUNDARY);
                    found.counts[BOUNDARY as usize] += 1;
                }
                key.clear();
                key.extend_from_slice(word.as_bytes());
                key.extend(spaced.then_some(b' '));
                let number = numbers.get(key.as_slice()).copied().unwrap_or_else(|| {
                    let Ok(number) = u32::try_from(found.counts.len()) else {
                        unreachable!("the length of seed text is limited")
                    };
                    numbers.insert(key.as_slice().into(), number);
                    found.counts.push(0);
                    found.bytes.extend_from_slice(&key);
                    found.ends.push(found.bytes.len());
                    number
                });
                found.counts[number as usize] += 1;
                found.text.push(number);
                left -= 1;
            });
        }
        found
    }

    fn spelled(&self, word: usize) -> &[u8] {
        &self.bytes[self.ends[word - 1]..self.ends[word]]
    }

    /// The chain, with frequent words first, whose entries then share few cache lines.
    fn chain(&self, spelling: Spelling) -> Chain {
        let mut order: Vec<usize> = (1..self.counts.len()).collect();
        order.sort_by_key(|&word| (u32::MAX - self.counts[word], word));
        order.insert(0, BOUNDARY as usize);
        let mut spellings = Vec::new();
        let mut words = Vec::with_capacity(order.len());
        let mut numbers = vec![0; order.len()];
        let mut first = 0;
        for (number, &word) in order.iter().enumerate() {
            numbers[word] = short(number);
            let offset = spellings.len();
            let mut rare = false;
            if number > 0 {
                let spelled = self.spelled(word);
                spell(spelled, spelling, &mut spellings);
                rare = self.counts[word] == 1 && is_plain(spelled);
            }
            let Ok(len) = u16::try_from(spellings.len() - offset) else {
                unreachable!("the length of words is limited")
            };
            words.push(Word { first, count: self.counts[word], offset: short(offset), len, rare });
            first += self.counts[word];
        }
        let mut successors = vec![0; self.text.len()];
        let mut places: Vec<u32> = words.iter().map(|word| word.first).collect();
        let number = |at: usize| numbers[self.text[at] as usize];
        for at in 0..self.text.len() {
            let place = &mut places[number(at) as usize];
            // The last line is followed by the first one.
            successors[*place as usize] = number((at + 1) % self.text.len());
            *place += 1;
        }
        let ends = (0..self.text.len()).filter(|&at| self.text[at] == BOUNDARY);
        let ends: Vec<usize> = ends.chain([self.text.len()]).collect();
        let lengths = ends.windows(2).map(|line| short(line[1] - line[0] - 1)).collect();
        let tail = self.tail(&words, &spellings);
        spellings.resize(spellings.len() + COPIED, 0);
        Chain { words, successors, lengths, spellings, tail }
    }

    /// The tail, if the text has enough words that were seen once.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn tail(&self, words: &[Word], spellings: &[u8]) -> Option<Tail> {
        let rare = words.iter().filter(|word| word.rare);
        let stems: Vec<Stem> = rare.map(|word| stem(word, spellings)).collect();
        if stems.len() < LEAST_RARE {
            return None;
        }
        let plain = (1..self.counts.len()).filter(|&word| is_plain(self.spelled(word)));
        let plain: Vec<u32> = plain.map(|word| self.counts[word]).collect();
        let twice = plain.iter().filter(|&&count| count == 2).count() as f64;
        let once = stems.len() as f64;
        // Of the words seen once, 2 n2 / n1 are seen again as often as they were (Good and Turing).
        let replaced = (1.0 - 2.0 * twice / once).max(0.0);
        // Heaps' exponent is the share of words seen once; 0.9 limits it for short texts.
        let heaps = (once / plain.len() as f64).min(0.9);
        Some(Tail {
            stems,
            replaced: (replaced * (1u64 << 32) as f64) as u64,
            from_rank: words.len() as f64,
            exponent: -heaps / (1.0 - heaps),
        })
    }
}

/// An offset or number in the tables; the length of seed text is limited to far less.
fn short(number: usize) -> u32 {
    let Ok(short) = u32::try_from(number) else {
        unreachable!("the length of seed text is limited")
    };
    short
}

/// Whether a word is of at least four letters and has a space after it.
fn is_plain(spelled: &[u8]) -> bool {
    let word = spelled.strip_suffix(b" ").and_then(|word| std::str::from_utf8(word).ok());
    word.is_some_and(|word| word.chars().all(char::is_alphabetic) && word.chars().nth(3).is_some())
}

/// Cuts a plain word in the middle of its characters.
fn stem(word: &Word, spellings: &[u8]) -> Stem {
    let (offset, len) = (word.offset as usize, usize::from(word.len));
    let text = std::str::from_utf8(&spellings[offset..offset + len]).unwrap_or_default();
    let half = text.chars().count() / 2;
    let middle = text.char_indices().nth(half).map_or(0, |(at, _)| at);
    Stem { offset: short(offset), middle: short(offset + middle), end: short(offset + len) }
}

/// Appends a word as it is spelled in the output.
fn spell(word: &[u8], spelling: Spelling, into: &mut Vec<u8>) {
    if spelling == Spelling::Plain {
        return into.extend_from_slice(word);
    }
    for &byte in word {
        match byte {
            b'&' => into.extend_from_slice(b"&amp;"),
            b'<' => into.extend_from_slice(b"&lt;"),
            b'>' => into.extend_from_slice(b"&gt;"),
            b'"' => into.extend_from_slice(b"&quot;"),
            b'\\' => into.extend_from_slice(br"\\"),
            _ => into.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a walk, as text.
    fn walk(chain: &Chain, count: usize) -> String {
        let mut random = SplitMix64(7);
        let mut words = Vec::new();
        chain.draw(count, &mut random, &mut words);
        let mut out = vec![0; count * LONGEST_SPELLING + FREE];
        let put = |at, &word: &u32| chain.put(word, &mut random, &mut out, at);
        let end = words[..count].iter().fold(0, put);
        String::from_utf8(out[..end].to_vec()).unwrap()
    }

    #[test]
    fn pairs_of_words_are_those_of_the_text() {
        let chain = Chain::learn("a b c\n\na b d\n", Spelling::Plain).unwrap();
        assert_eq!((chain.lines(), chain.tokens(), chain.vocabulary()), (2, 6, 4));
        let text = walk(&chain, 24_000);
        let count = |phrase: &str| text.matches(phrase).count();
        assert_eq!(count("a b c ") + count("a b d "), 8_000);
        // Standard deviation 45.
        assert!(count("a b c ").abs_diff(4_000) < 200, "{}", count("a b c "));
        let mut random = SplitMix64(1);
        assert!((0..100).all(|_| chain.line_length(&mut random) == 3));
    }

    #[test]
    fn long_lines_become_several() {
        let chain = Chain::learn(&"a ".repeat(LONGEST_LINE + 1), Spelling::Plain).unwrap();
        assert_eq!((chain.lines(), chain.tokens()), (2, LONGEST_LINE as u64 + 1));
    }

    #[test]
    fn a_text_without_words_has_no_model() {
        assert!(Chain::learn(" \n\t\n", Spelling::Plain).is_none());
        assert!(Chain::learn("", Spelling::Plain).is_none());
    }

    #[test]
    fn words_are_escaped_for_html_in_json() {
        let chain = Chain::learn("a<b&\"c\\\n", Spelling::HtmlInJson).unwrap();
        assert_eq!(walk(&chain, 1), "a&lt;b&amp;&quot;c\\\\ ");
    }

    #[test]
    fn rare_words_stand_for_new_words_that_repeat() {
        let letters = |n: usize| {
            let mut random = SplitMix64(n as u64);
            (0..8).map(|_| char::from(b'a' + random.below_u32(26) as u8)).collect::<String>()
        };
        // 300 words once and 20 twice: 1 - 40/300 of the words seen once are replaced.
        let mut text: String = (0..300).map(|n| letters(n) + "\n").collect();
        (300..320).for_each(|n| text += &format!("{0}\n{0}\n", letters(n)));
        let chain = Chain::learn(&text, Spelling::Plain).unwrap();
        let walked = walk(&chain, 34_000);
        let known: std::collections::HashSet<&str> = text.lines().collect();
        let new: Vec<&str> =
            walked.split_whitespace().filter(|word| !known.contains(word)).collect();
        let expected = 34_000.0 * 300.0 / 340.0 * (1.0 - 40.0 / 300.0);
        let share = new.len() as f64 / expected;
        assert!((0.97..1.03).contains(&share), "{share}");
        let different: std::collections::HashSet<&str> = new.iter().copied().collect();
        assert!(different.len() > 1000 && different.len() < new.len(), "{}", different.len());
        assert!(new.iter().all(|word| word.len() == 8));
    }
}
