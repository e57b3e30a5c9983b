//! Words of a line: what stands between spaces, with its punctuation.
//!
//! Chinese and Japanese do not separate words. There a word is a run of one script, of at most two
//! characters for Han, with no space after it.

/// Words longer than this many bytes (URLs, keys) are left out.
pub const LONGEST_WORD: usize = 100;

/// Characters of one script, as far as words depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Words are separated by spaces.
    Spaced,
    Han,
    Hiragana,
    Katakana,
    /// Punctuation and full-width forms between the other two.
    Punctuation,
}

fn script(character: char) -> Script {
    match u32::from(character) {
        0x3001..=0x3004 | 0x3008..=0x303F | 0xFF01..=0xFF65 => Script::Punctuation,
        0x3041..=0x309F => Script::Hiragana,
        0x30A0..=0x30FF | 0xFF66..=0xFF9F => Script::Katakana,
        0x3005..=0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF => Script::Han,
        _ => Script::Spaced,
    }
}

/// Calls `word` with each word of a line, and whether a space follows it. Control characters
/// separate words.
pub fn words(line: &str, mut word: impl FnMut(&str, bool)) {
    let apart = |c: char| c.is_whitespace() || c.is_control();
    for text in line.split(apart).filter(|text| !text.is_empty()) {
        // No character of these scripts starts with a smaller byte.
        if text.bytes().all(|byte| byte < 0xE3) {
            put(text, true, &mut word);
        } else {
            unspaced(text, &mut word);
        }
    }
}

/// The words of a text without spaces.
fn unspaced(text: &str, word: &mut impl FnMut(&str, bool)) {
    let mut start = 0;
    let mut run: Option<(Script, usize)> = None;
    for (at, character) in text.char_indices() {
        let found = script(character);
        run = match run {
            Some((Script::Han, 2)) if found == Script::Han => {
                put(&text[start..at], false, word);
                start = at;
                Some((found, 1))
            }
            Some((before, len)) if before == found => Some((found, len + 1)),
            Some(_) => {
                put(&text[start..at], false, word);
                start = at;
                Some((found, 1))
            }
            None => Some((found, 1)),
        };
    }
    let spaced = run.is_some_and(|(last, _)| last == Script::Spaced);
    put(&text[start..], spaced, word);
}

fn put(text: &str, spaced: bool, word: &mut impl FnMut(&str, bool)) {
    if text.len() <= LONGEST_WORD {
        word(text, spaced);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        words(line, |word, spaced| found.push((word.to_owned(), spaced)));
        found
    }

    #[test]
    fn words_are_what_stands_between_spaces() {
        let expected = [("Grüße,", true), ("(a", true), ("b).", true), ("한국어", true)];
        let expected = expected.map(|(word, spaced)| (word.to_owned(), spaced));
        assert_eq!(all(" Grüße,\t(a\u{a0}b). 한국어\r\n"), expected);
        assert_eq!(all(&"x".repeat(LONGEST_WORD + 1)), []);
    }

    #[test]
    fn unspaced_scripts_are_cut_where_the_script_changes() {
        let cut = all("文字列を表示する。ls");
        let words: Vec<&str> = cut.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words, ["文字", "列", "を", "表示", "する", "。", "ls"]);
        assert!(cut.iter().all(|(word, spaced)| *spaced == (word == "ls")));
    }
}
