//! The order of versions and of file names with numbers, as in `sort -V`: names are compared first
//! without what looks like an extension, then as a whole. Runs of non-digit bytes and numbers are
//! compared alternately.

use std::cmp::Ordering;

/// Compares two names.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    class(a).cmp(&class(b)).then_with(|| by_parts(stem(a), stem(b))).then_with(|| by_parts(a, b))
}

/// A prefix of this order in ten bytes; equal prefixes are inconclusive.
pub fn prefix(name: &[u8]) -> u128 {
    let mut name_left = stem(name);
    let mut bytes = [0; super::PREFIX_BYTES];
    bytes[0] = class(name);
    let mut at = 1;
    let mut put = |byte| {
        let place = bytes.get_mut(at);
        at += 1;
        place.map(|place| *place = byte).is_some()
    };
    loop {
        while let [byte, rest @ ..] = name_left
            && !byte.is_ascii_digit()
        {
            if !put(RANKS[usize::from(*byte)]) {
                break;
            }
            name_left = rest;
        }
        let (number, rest) = number(name_left);
        name_left = rest;
        // The text ends here, followed by a number, which may be empty.
        let fits = put(END) && put(number.len().min(255) as u8);
        if !fits || number.len() >= 255 || !number.iter().all(|&digit| put(digit)) {
            break;
        }
    }
    bytes.iter().fold(0, |all, &byte| all << 8 | u128::from(byte))
}

/// The class of names that are ordered before all others: empty, `.`, `..`, hidden ones.
fn class(name: &[u8]) -> u8 {
    match name {
        [] => 0,
        b"." => 1,
        b".." => 2,
        [b'.', ..] => 3,
        _ => 4,
    }
}

/// A name without what looks like an extension: dots followed by words that do not start with a
/// digit. The first byte never belongs to it.
fn stem(name: &[u8]) -> &[u8] {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'~';
    let mut end = name.len();
    loop {
        let word = name[..end].iter().rposition(|&byte| !is_word(byte));
        match word {
            Some(dot)
                if dot > 0
                    && name[dot] == b'.'
                    && name[..end].get(dot + 1).is_some_and(|byte| !byte.is_ascii_digit()) =>
            {
                end = dot;
            }
            _ => return &name[..end],
        }
    }
}

/// The rank of the end of a text; a digit also ends a text.
const END: u8 = 1;

/// The ranks of bytes: `~` before the end, then letters, then all others.
const RANKS: [u8; 256] = {
    let mut ranks = [END; 256];
    ranks[b'~' as usize] = 0;
    let (mut byte, mut letter, mut other) = (0, END + 1, END + 1 + 52);
    while byte < 256 {
        let (is_letter, is_digit) =
            ((byte as u8).is_ascii_alphabetic(), (byte as u8).is_ascii_digit());
        if is_letter {
            ranks[byte] = letter;
            letter += 1;
        } else if !is_digit && byte != b'~' as usize {
            ranks[byte] = other;
            other += 1;
        }
        byte += 1;
    }
    ranks
};

/// The number at the start, without leading zeros, and the rest of the text.
fn number(text: &[u8]) -> (&[u8], &[u8]) {
    let zeros = text.iter().position(|&byte| byte != b'0').unwrap_or(text.len());
    let text = &text[zeros..];
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn by_parts(mut a: &[u8], mut b: &[u8]) -> Ordering {
    /// The rank of the first byte, and the rest of the text.
    fn first(text: &[u8]) -> (u8, &[u8]) {
        match text {
            [byte, rest @ ..] if !byte.is_ascii_digit() => (RANKS[usize::from(*byte)], rest),
            _ => (END, text),
        }
    }
    while !(a.is_empty() && b.is_empty()) {
        loop {
            let ((x, after_x), (y, after_y)) = (first(a), first(b));
            if x != y {
                return x.cmp(&y);
            }
            if x == END {
                break;
            }
            (a, b) = (after_x, after_y);
        }
        let (x, y);
        (x, a) = number(a);
        (y, b) = number(b);
        let order = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
