//! Web pages: real pages with new text and new links.
//!
//! A page of the seed text becomes a template: its markup, and places for words and links. A
//! generated page is a template, drawn with equal probability, with words of its language's model
//! in place of its words, and links to pages of the corpus in place of its links. Text without
//! letters, the contents of scripts and styles, and attributes other than `href` of links are
//! copied. A record is one line of JSON, `{"url": ..., "html": ...}`, since Spark splits files at
//! lines and reads JSON lines as a table.
//!
//! The rank of a linked page follows Zipf's law with exponent 0.91, so that the number of links to
//! a page has a power law of exponent 2.1 (Broder et al., *Graph structure in the Web*, WWW 2000).

use super::generator::{BLOCK, Generator, Part, Put, Separation};
use super::html::{self, HtmlPiece};
use super::model::Chain;
use super::output::{Output, put_words};
use super::tokens;
use crate::WorkloadError;
use gordon_units::{SplitMix64, splitmix64};
use std::io::Write as _;

/// Share of the expected pages that links lead to: a part may have fewer pages than expected.
const LINKED: f64 = 0.95;

/// Exponent of the ranks of linked pages.
const LINK_EXPONENT: f64 = 0.91;

/// Mean number of pages of a site.
const SITE_PAGES: u64 = 64;

/// Bytes of a URL, and of the JSON around a page.
const URL_BYTES: u64 = 46;
const JSON_BYTES: u64 = 22;

/// Length of the longest URL in bytes, with three numbers of 20 digits.
const LONGEST_URL: usize = 100;

/// Templates that are tried at the end of a part before it is closed.
const TRIES: u32 = 8;

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// Bytes that are copied, escaped for JSON.
    Markup { offset: usize, len: usize },
    /// This number of words.
    Words(u32),
    /// The URL of a page.
    Link,
}

/// A page with places for words and links.
#[derive(Clone, Debug)]
struct Template {
    language: usize,
    /// Number of words in all pieces.
    words: u32,
    pieces: Vec<Piece>,
}

/// Templates of all languages.
#[derive(Debug, Default)]
pub struct Templates {
    templates: Vec<Template>,
    markup: Vec<u8>,
}

impl Templates {
    /// Adds a page of the language with index `language`.
    pub fn add(&mut self, language: usize, page: &str) {
        let mut pieces = Vec::new();
        let mut words = 0;
        html::scan(page, |piece| match piece {
            HtmlPiece::Raw(raw) => self.copy(raw, &mut pieces),
            HtmlPiece::Tag { name, raw } => match html::link(name, raw) {
                Some(link) => {
                    self.copy(&raw[..link.start], &mut pieces);
                    pieces.push(Piece::Link);
                    self.copy(&raw[link.end..], &mut pieces);
                }
                None => self.copy(raw, &mut pieces),
            },
            HtmlPiece::Text(text) => {
                let mut count = 0;
                tokens::words(text, |_, _| count += 1);
                if count == 0 || !text.contains(char::is_alphabetic) {
                    return self.copy(text, &mut pieces);
                }
                let start = text.len() - text.trim_start().len();
                let end = text.trim_end().len();
                self.copy(&text[..start], &mut pieces);
                pieces.push(Piece::Words(count));
                words += count;
                self.copy(&text[end..], &mut pieces);
            }
        });
        self.templates.push(Template { language, words, pieces });
    }

    /// Number of templates.
    pub fn len(&self) -> usize {
        self.templates.len()
    }

    /// Appends markup; adjacent markup becomes one piece.
    fn copy(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        let start = self.markup.len();
        for &byte in text.as_bytes() {
            match byte {
                b'"' => self.markup.extend_from_slice(br#"\""#),
                b'\\' => self.markup.extend_from_slice(br"\\"),
                b'\n' => self.markup.extend_from_slice(br"\n"),
                b'\t' => self.markup.extend_from_slice(br"\t"),
                b'\r' => self.markup.extend_from_slice(br"\r"),
                0..0x20 => self.markup.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => self.markup.push(byte),
            }
        }
        let more = self.markup.len() - start;
        match pieces.last_mut() {
            Some(Piece::Markup { offset, len }) if *offset + *len == start => *len += more,
            _ if more > 0 => pieces.push(Piece::Markup { offset: start, len: more }),
            _ => {}
        }
    }

    /// Mean length of a record in bytes.
    #[allow(clippy::cast_precision_loss)] // an estimate
    fn mean_bytes(&self, languages: &[Chain]) -> f64 {
        let page = |template: &Template| {
            let word = languages[template.language].mean_word_bytes();
            let piece = |piece: &Piece| match piece {
                Piece::Markup { len, .. } => *len as f64,
                Piece::Words(count) => f64::from(*count) * word,
                Piece::Link => URL_BYTES as f64,
            };
            template.pieces.iter().map(piece).sum::<f64>() + (URL_BYTES + JSON_BYTES) as f64
        };
        self.templates.iter().map(page).sum::<f64>() / self.templates.len() as f64
    }
}

/// Generates web pages.
#[derive(Debug)]
pub struct WebGenerator {
    languages: Vec<Chain>,
    templates: Templates,
    seed: u64,
    /// Pages of each part that links lead to, at least 1.
    linked: u64,
    /// Pages of all parts that links lead to.
    all_linked: u64,
    sites: u64,
}

impl WebGenerator {
    /// A generator for these parts. There is at least one template, and a model for each language.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn new(languages: Vec<Chain>, templates: Templates, seed: u64, parts: &[Part]) -> Self {
        let shortest = parts.iter().map(|part| part.bytes).min().unwrap_or_default();
        let expected = shortest as f64 / templates.mean_bytes(&languages);
        let linked = ((LINKED * expected) as u64).max(1);
        let all_linked = linked * parts.len() as u64;
        let sites = all_linked.div_ceil(SITE_PAGES);
        Self { languages, templates, seed, linked, all_linked, sites }
    }

    /// Draws the page that a link leads to: its part and its number there.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn linked_page(&self, random: &mut SplitMix64) -> (u64, u64) {
        let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        // The inverse of the distribution of a continuous rank from 1 to the number of pages + 1.
        let power = 1.0 - LINK_EXPONENT;
        let most = libm::pow((self.all_linked + 1) as f64, power) - 1.0;
        let rank = libm::pow(1.0 + uniform * most, 1.0 / power) as u64;
        let page = rank.clamp(1, self.all_linked) - 1;
        // Pages of high rank are in all parts.
        let parts = self.all_linked / self.linked;
        (page % parts, page / parts)
    }

    fn url(&self, part: u64, page: u64, out: &mut Output) {
        let site = splitmix64((part << 32) | page) % self.sites;
        let mut url = [0; LONGEST_URL];
        let mut left = &mut url[..];
        let written = write!(left, "http://site{site:05}.example/{part:05}/{page:06}.html");
        written.unwrap_or_else(|_| unreachable!("the longest URL fits"));
        let len = LONGEST_URL - left.len();
        out.put(&url[..len]);
    }

    /// Appends a page as a line. `words` is memory for its words.
    fn page(
        &self,
        (part, page): (u64, u64),
        random: &mut SplitMix64,
        words: &mut Vec<u32>,
        out: &mut Output,
    ) {
        let chosen = random.below(self.templates.len() as u64);
        #[allow(clippy::cast_possible_truncation)] // an index
        let template = &self.templates.templates[chosen as usize];
        let chain = &self.languages[template.language];
        chain.draw(template.words as usize, random, words);
        let mut words = words.iter();
        out.put(br#"{"url":""#);
        self.url(part, page, out);
        out.put(br#"","html":""#);
        for piece in &template.pieces {
            match *piece {
                Piece::Markup { offset, len } => {
                    out.put(&self.templates.markup[offset..offset + len]);
                }
                Piece::Words(count) => {
                    // A space at the end is part of the markup.
                    put_words(chain, words.by_ref().take(count as usize), random, out);
                }
                Piece::Link => {
                    let (part, page) = self.linked_page(random);
                    self.url(part, page, out);
                }
            }
        }
        out.put(b"\"}\n");
    }
}

impl Generator for WebGenerator {
    fn suffix(&self) -> &'static str {
        "jsonl"
    }

    fn separation(&self) -> Separation {
        Separation::Lines
    }

    fn fill(&self, part: &Part, put: &mut Put) -> Result<(), WorkloadError> {
        let mut random = part.random(self.seed);
        let mut out = Output::default();
        let mut words = Vec::new();
        let mut left = part.bytes;
        let mut tries = TRIES;
        let mut page = 0;
        while tries > 0 {
            let start = out.len();
            self.page((part.number, page), &mut random, &mut words, &mut out);
            let bytes = (out.len() - start) as u64;
            if bytes > left {
                out.truncate(start);
                tries -= 1;
                continue;
            }
            left -= bytes;
            page += 1;
            if out.len() >= BLOCK {
                put(out.bytes())?;
                out.truncate(0);
            }
        }
        put(out.bytes())
    }
}
