//! Parser of DiskSim's parameter files: `Kind Name { key = value, ... }`, lists in brackets, `#` to
//! the end of a line, and `source FILE`, which includes that file.

use super::{SpecError, read_file};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Maximum nesting of included files.
const DEEPEST: u32 = 8;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Mark(char),
    Number(f64),
    Word(String),
}

/// Location of a token, for errors and to resolve the names of files.
#[derive(Clone, Debug)]
pub(super) struct TextLocation {
    pub path: Rc<PathBuf>,
    pub line: u32,
}

/// A value of a key.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(f64),
    Word(String),
    List(Vec<Value>),
    Block(Block),
}

/// A key of a block, with its value.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub name: String,
    pub value: Value,
    pub location: TextLocation,
}

/// A block: `Kind Name { key = value, ... }`.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub kind: String,
    pub name: String,
    pub keys: Vec<Key>,
    pub location: TextLocation,
}

type Tokens = Vec<(Token, TextLocation)>;

/// Splits a file into tokens, including those of the files that it includes.
fn tokens(path: &Path, depth: u32, into: &mut Tokens) -> Result<(), SpecError> {
    let text = read_file(path)?;
    let path = Rc::new(path.to_owned());
    let mut source = false;
    for (line, text) in (1..).zip(text.lines()) {
        let location = || TextLocation { path: Rc::clone(&path), line };
        let code = text.split('#').next().unwrap_or_default();
        for word in words(code) {
            let token = match word {
                "{" | "}" | "[" | "]" | "=" | "," | ";" | ":" | "?" => {
                    Token::Mark(word.chars().next().unwrap_or_default())
                }
                "source" => {
                    source = true;
                    continue;
                }
                name if source => {
                    source = false;
                    if depth >= DEEPEST {
                        return Err(location().wrong("files name each other without an end"));
                    }
                    tokens(&path.with_file_name(name), depth + 1, into)?;
                    continue;
                }
                word => number(word).map_or_else(|| Token::Word(word.to_owned()), Token::Number),
            };
            into.push((token, location()));
        }
    }
    Ok(())
}

/// The words and marks of a line.
fn words(mut line: &str) -> impl Iterator<Item = &str> {
    const MARKS: &str = "{}[]=,;:?";
    std::iter::from_fn(move || {
        line = line.trim_start();
        let first = line.chars().next()?;
        let ends = |c: char| c.is_whitespace() || MARKS.contains(c);
        let len = if MARKS.contains(first) { 1 } else { line.find(ends).unwrap_or(line.len()) };
        let (word, rest) = line.split_at(len);
        line = rest;
        Some(word)
    })
}

fn number(word: &str) -> Option<f64> {
    match word.strip_prefix("0x") {
        #[allow(clippy::cast_precision_loss)] // no parameter is that large
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|number| number as f64),
        None => {
            let first = word.trim_start_matches('-').chars().next()?;
            word.parse().ok().filter(|_| first.is_ascii_digit())
        }
    }
}

impl TextLocation {
    pub fn wrong(&self, why: impl ToString) -> SpecError {
        SpecError::Text { path: self.path.to_path_buf(), line: self.line, why: why.to_string() }
    }
}

/// Parses the first block of a kind, and of a name if one is given.
pub(super) fn find(
    path: &Path,
    kind: &str,
    name: Option<&str>,
) -> Result<Option<Block>, SpecError> {
    let mut all = Vec::new();
    tokens(path, 0, &mut all)?;
    let is =
        |at: usize, word: &str| matches!(all.get(at), Some((Token::Word(is), _)) if is == word);
    let starts = |at: &usize| {
        is(*at, kind)
            && name.is_none_or(|name| is(*at + 1, name))
            && matches!(all.get(*at + 2), Some((Token::Mark('{'), _)))
    };
    let Some(at) = (0..all.len()).find(starts) else { return Ok(None) };
    let mut parser =
        Parser { all: &all, at, end: all.last().map(|(_, location)| location.clone()) };
    match parser.value()? {
        Value::Block(block) => Ok(Some(block)),
        _ => Ok(None),
    }
}

struct Parser<'a> {
    all: &'a [(Token, TextLocation)],
    at: usize,
    end: Option<TextLocation>,
}

impl Parser<'_> {
    fn next(&mut self) -> Result<(Token, TextLocation), SpecError> {
        let next = self.all.get(self.at).cloned();
        self.at += 1;
        next.ok_or_else(|| {
            self.end.as_ref().map_or(SpecError::Empty, |end| end.wrong("the file ends in a block"))
        })
    }

    fn is(&self, mark: char) -> bool {
        matches!(self.all.get(self.at), Some((Token::Mark(found), _)) if *found == mark)
    }

    fn take(&mut self, mark: char) -> Result<(), SpecError> {
        match self.next()? {
            (Token::Mark(found), _) if found == mark => Ok(()),
            (found, location) => {
                Err(location.wrong(format!("{} where `{mark}` belongs", found.shown())))
            }
        }
    }

    fn value(&mut self) -> Result<Value, SpecError> {
        match self.next()? {
            (Token::Number(number), _) => Ok(Value::Number(number)),
            (Token::Mark('['), _) => {
                let mut list = Vec::new();
                while !self.is(']') {
                    if self.is(',') {
                        self.at += 1;
                    } else {
                        list.push(self.value()?);
                    }
                }
                self.take(']')?;
                Ok(Value::List(list))
            }
            (Token::Word(kind), location) => {
                let mut name = String::new();
                if let Some((Token::Word(word), _)) = self.all.get(self.at)
                    && matches!(self.all.get(self.at + 1), Some((Token::Mark('{'), _)))
                {
                    name.clone_from(word);
                    self.at += 1;
                }
                if self.is('{') { self.block(kind, name, location) } else { Ok(Value::Word(kind)) }
            }
            (mark, location) => {
                Err(location.wrong(format!("{} where a value belongs", mark.shown())))
            }
        }
    }

    fn block(
        &mut self,
        kind: String,
        name: String,
        location: TextLocation,
    ) -> Result<Value, SpecError> {
        self.take('{')?;
        let mut keys = Vec::new();
        while !self.is('}') {
            if self.is(',') {
                self.at += 1;
                continue;
            }
            let mut name = String::new();
            let mut location = None;
            loop {
                match self.next()? {
                    (Token::Mark('='), _) if !name.is_empty() => break,
                    (Token::Word(word), at) => {
                        name = format!("{name} {word}");
                        location = location.or(Some(at));
                    }
                    (found, location) => {
                        return Err(
                            location.wrong(format!("{} in the name of a key", found.shown()))
                        );
                    }
                }
            }
            let (name, value) = (name.trim().to_owned(), self.value()?);
            if let Some(location) = location {
                keys.push(Key { name, value, location });
            }
        }
        self.take('}')?;
        Ok(Value::Block(Block { kind, name, keys, location }))
    }
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Self::Mark(mark) => format!("`{mark}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::Word(word) => format!("`{word}`"),
        }
    }
}

impl Block {
    fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.key(name).map(|key| &key.value)
    }

    pub fn missing(&self, key: &str, what: &str) -> SpecError {
        self.wrong(key, format!("{} has no `{key}` that is {what}", self.kind))
    }

    /// An error about a key, with its line, or that of the block if it is absent.
    pub fn wrong(&self, key: &str, why: impl ToString) -> SpecError {
        self.key(key).map_or(&self.location, |key| &key.location).wrong(why)
    }

    /// A required number.
    pub fn number(&self, key: &str) -> Result<f64, SpecError> {
        self.optional(key)?.ok_or_else(|| self.missing(key, "a number"))
    }

    /// The number of a key; `None` if the key is absent.
    pub fn optional(&self, key: &str) -> Result<Option<f64>, SpecError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(*number)),
            Some(_) => Err(self.missing(key, "a number")),
        }
    }

    /// A required whole number.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked
    pub fn count(&self, key: &str) -> Result<u32, SpecError> {
        let number = self.number(key)?;
        if (0.0..=4e9).contains(&number) {
            return Ok(number as u32);
        }
        Err(self.missing(key, "a count"))
    }

    /// Whether a switch is on.
    pub fn on(&self, key: &str) -> Result<bool, SpecError> {
        Ok(self.optional(key)?.is_some_and(|number| number != 0.0))
    }

    /// The word of a key; `None` if the key is absent.
    pub fn optional_word(&self, key: &str) -> Result<Option<&str>, SpecError> {
        self.get(key).map(|_| self.word(key)).transpose()
    }

    /// A required word.
    pub fn word(&self, key: &str) -> Result<&str, SpecError> {
        match self.get(key) {
            Some(Value::Word(word)) => Ok(word),
            _ => Err(self.missing(key, "a name")),
        }
    }

    /// A required block.
    pub fn block(&self, key: &str) -> Result<&Self, SpecError> {
        match self.get(key) {
            Some(Value::Block(block)) => Ok(block),
            _ => Err(self.missing(key, "a block")),
        }
    }

    /// A required list.
    pub fn list(&self, key: &str) -> Result<&[Value], SpecError> {
        match self.get(key) {
            Some(Value::List(list)) => Ok(list),
            _ => Err(self.missing(key, "a list")),
        }
    }

    /// The blocks of a required list.
    pub fn blocks(&self, key: &str) -> Result<Vec<&Self>, SpecError> {
        self.list(key)?
            .iter()
            .map(|value| match value {
                Value::Block(block) => Ok(block),
                _ => Err(self.missing(key, "a list of blocks")),
            })
            .collect()
    }

    /// The numbers of an optional list; empty if it is missing.
    pub fn numbers(&self, key: &str) -> Result<Vec<f64>, SpecError> {
        let list = match self.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::List(list)) => list,
            Some(_) => return Err(self.missing(key, "a list")),
        };
        let number = |value: &Value| match value {
            Value::Number(number) => Ok(*number),
            _ => Err(self.missing(key, "a list of numbers")),
        };
        list.iter().map(number).collect()
    }
}
