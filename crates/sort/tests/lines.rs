//! Lines compared with GNU sort.

mod common;

use common::gnu::{arguments, gnu, known};
use common::sorted;
use gordon_sort::{LinesConfig, RecordConfig};
use proptest::prelude::*;

/// Avoids inputs that GNU sort treats differently than documented: with unit suffixes it takes a
/// byte 128 between digits for a thousands separator, even in locales without one.
fn ungrouped(config: &LinesConfig, mut bytes: Vec<u8>) -> Vec<u8> {
    if config.options.contains('h') || config.keys.iter().any(|key| key.contains('h')) {
        bytes.iter_mut().filter(|byte| **byte == 0x80).for_each(|byte| *byte = 0x81);
    }
    bytes
}

/// Avoids inputs that versions before 9.2 treat differently.
fn plain(config: &LinesConfig, bytes: &[u8]) -> Vec<u8> {
    let has =
        |letter| config.options.contains(letter) || config.keys.iter().any(|k| k.contains(letter));
    let moves = !config.keys.is_empty() || has('d') || has('i');
    let mut bytes = bytes.to_vec();
    let mut is_first = true;
    for at in 0..bytes.len() {
        if bytes[at] == b'.' && has('V') && (is_first || moves) {
            bytes[at] = b',';
        }
        is_first =
            matches!(bytes[at], b'\n' | b'\0') || is_first && matches!(bytes[at], b' ' | b'\t');
        if bytes[at..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"nan")) {
            bytes[at] = b'm';
        }
        if matches!(bytes[at], b'R' | b'Q' | b'r' | b'q') {
            bytes[at] = b'K';
        }
    }
    bytes
}

fn same(config: LinesConfig, bytes: &[u8]) {
    let Some(is_new) = known() else {
        // `sort` is not GNU sort, so there is nothing to compare with.
        return;
    };
    let bytes = if is_new { bytes.to_vec() } else { plain(&config, bytes) };
    let bytes = ungrouped(&config, bytes);
    let options = arguments(&config);
    let theirs = gnu(&options, &bytes);
    let ours = sorted(&RecordConfig::Lines(config), &bytes).expect("sound");
    let shown = |bytes: &[u8]| bytes.escape_ascii().to_string().replace("\\n", "\n");
    assert_eq!(shown(&ours), shown(&theirs), "sort {options:?}");
}

fn lines(keys: &[&str], options: &str) -> LinesConfig {
    let keys = keys.iter().map(|key| (*key).to_string()).collect();
    LinesConfig { keys, options: options.into(), ..LinesConfig::default() }
}

/// Texts that are difficult for one of the orders.
const HARD: &[&str] = &[
    "",
    "-",
    "--1",
    "- 1",
    "0",
    "-0",
    "00",
    "+1",
    "1",
    "01",
    "1.",
    "1.0",
    "1.00",
    ".5",
    "0.5",
    "-.5",
    "-0.0",
    ".",
    "-.",
    "1.5.7",
    "10",
    "9",
    "-10",
    "-9",
    "100000000000000000000000000000000000000000000000001",
    "100000000000000000000000000000000000000000000000002",
    "123456789012345678",
    "1234567890123456789",
    "1234567890123456780",
    "12345678901234567891",
    "-123456789012345678901",
    "-123456789012345678902",
    "0.000000000000000000000000000000001",
    "0.0000000000000000000000000000000011",
    "-0.00000000000000000001",
    "1,000",
    "1K",
    "1k",
    "2K",
    "1M",
    "1m",
    "-1K",
    "-1M",
    "0K",
    "0M",
    "1.5G",
    ".5T",
    "1P",
    "1E",
    "1Z",
    "1Y",
    "1R",
    "1Q",
    "1Ki",
    "1 K",
    "1.K",
    "1e3",
    "1E3",
    "1e-3",
    "1e",
    "1e+",
    "0x10",
    "0x1p4",
    "0X.8",
    "0x",
    "0xg",
    "0x1.8p-1",
    "1e400",
    "1e4931",
    "1.2e4932",
    "-1e5000",
    "1e5000",
    "1e-5000",
    "3.6e-4951",
    "1.8e-4951",
    "1.9e-4951",
    "3.36e-4932",
    "-1e-4950",
    "inf",
    "-inf",
    "INFINITY",
    "infinit",
    "nan",
    "-nan",
    "NaN(12)",
    "nano",
    "0.1",
    "0.1000000000000000000013",
    "0.10000000000000000000135",
    "0.1000000000000000000014",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551617",
    "18446744073709551618",
    "36893488147419103231",
    "36893488147419103233",
    "36893488147419103234",
    "36893488147419103235",
    "9007199254740993e22",
    "9007199254740993e-28",
    "1e28",
    "1e27",
    "1e-27",
    "1e-28",
    "1e99999999999999999999",
    "0e99999999999999999999",
    "1e-99999999999999999999",
    "\x0b1",
    "\x0c2",
    "\r3",
    "\t4",
    " 5",
    "JAN",
    "jan",
    "Feb",
    " mar",
    "April",
    "dec",
    "de",
    "d",
    "may",
    "JUNE",
    "july",
    "a",
    "A",
    "b",
    "B",
    "ab",
    "aB",
    "a b",
    "a-b",
    "a_b",
    "a\tb",
    "a\x01b",
    "a\x7fb",
    "a.b",
    "a..b",
    ".",
    "..",
    ".a",
    ".a.b",
    "a.",
    "a.tar.gz",
    "a1.tar.gz",
    "a1.1",
    "a1.01",
    "a1.10",
    "a~",
    "a1~",
    "a",
    "a0",
    "a00",
    "a0b",
    "a00b",
    "a1b",
    "a01b",
    "a+",
    "1.2.beta",
    "1.2.1",
    "1.0~rc1",
    "1.0",
    "1.0-1",
    "~",
    "~~",
    "foo-1.2.3.deb",
    "foo-1.2.10.deb",
    "foo-1.10.2.deb",
    "x.a1",
    "x.1a",
    "x.~",
    "the same start of all of them",
    "the same start of all of them, and more",
    "the same start of all of us",
    "123456789",
    "1234567890",
    "12345678",
    "abcdefghi",
    "abcdefghij",
    "abcdefgh",
    "abcdefghi a",
    "zz z zz",
];

#[test]
fn difficult_texts_are_sorted_in_every_order() {
    let bytes: Vec<u8> =
        HARD.iter().rev().flat_map(|text| [text.as_bytes(), b"\n"].concat()).collect();
    for options in [
        "", "n", "g", "h", "M", "V", "d", "i", "f", "di", "df", "if", "hf", "gf", "nf", "Mf", "Vf",
        "Vd",
    ] {
        for (more, stable) in [("", true), ("b", false), ("r", false), ("br", true)] {
            let options = format!("{options}{more}");
            same(LinesConfig { stable, ..lines(&[], &options) }, &bytes);
        }
    }
}

#[test]
fn empty_inputs_and_missing_line_ends_are_handled() {
    let some =
        [&b""[..], b"\n", b"a", b"b\na", b"\n\n", b"b\n\na\n", b"\0\n\0a\n\0\n", b"a\0b\na\0\na\n"];
    for bytes in some {
        for key in ["1", "2", "1,1", "1.2", "1.1,1.0", "2.2b,3.1b", "3,2"] {
            same(lines(&[key], ""), bytes);
            same(LinesConfig { zero: true, ..lines(&[key], "") }, bytes);
        }
    }
}

#[test]
fn texts_without_a_number_are_sorted() {
    let same = |options: &str, mut texts: Vec<&str>, expected: &[&str]| {
        let config = RecordConfig::Lines(lines(&[], options));
        texts.reverse();
        let sorted = sorted(&config, texts.join("\n").as_bytes()).expect("sound");
        assert_eq!(String::from_utf8(sorted).expect("text").lines().collect::<Vec<_>>(), expected);
    };
    let floats = ["inf", "0", "-inf", "nan(12)", "nano", "nan", "-NaN(1)", "-nan", "none"];
    let ordered = ["none", "-nan", "-NaN(1)", "nan", "nano", "nan(12)", "-inf", "0", "inf"];
    same("g", floats.to_vec(), &ordered);
    let units = ["1Q", "2R", "3Y", "-1Q", "-2R", "x"];
    same("h", units.to_vec(), &["-1Q", "-2R", "x", "3Y", "2R", "1Q"]);
}

fn letters() -> impl Strategy<Value = String> {
    let order =
        prop::sample::select(vec!["", "", "n", "g", "h", "M", "V", "d", "i", "Vd", "Vi", "id"]);
    (order, "b?", "f?", "r?").prop_map(|(order, b, f, r)| [order, &b, &f, &r].concat())
}

fn key() -> impl Strategy<Value = String> {
    let start = (1..4u8, prop::option::of(1..5u8));
    let end = prop::option::of((1..5u8, prop::option::of(0..5u8), "b?"));
    (start, end, letters()).prop_map(|((field, byte), end, letters)| {
        let dot = |byte: Option<u8>| byte.map_or(String::new(), |byte| format!(".{byte}"));
        match end {
            None => format!("{field}{}{letters}", dot(byte)),
            Some((to, last, b)) => format!("{field}{}{letters},{to}{}{b}", dot(byte), dot(last)),
        }
    })
}

fn config() -> impl Strategy<Value = LinesConfig> {
    let separator = prop::sample::select(vec![
        None,
        None,
        Some(","),
        Some("\\0"),
        Some(" "),
        Some("a"),
        Some("1"),
    ]);
    (prop::collection::vec(key(), 0..4), letters(), separator, any::<bool>(), any::<bool>())
        .prop_map(|(keys, options, separator, zero, stable)| {
            let separator = separator.map(String::from);
            LinesConfig { keys, options, separator, zero, stable }
        })
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let pick = |some: &'static [u8]| prop::collection::vec(prop::sample::select(some), 0..12);
    let hard = prop::sample::select(HARD).prop_map(|text| text.as_bytes().to_vec());
    prop_oneof![
        3 => hard,
        2 => pick(b"ab \t,"),
        2 => pick(b"0123456789.-"),
        1 => pick(b"01.~a-"),
        1 => pick(b" ,.-+KMeE019ab\t\0\x01\xff"),
        1 => prop::collection::vec(any::<u8>(), 0..30),
        1 => "https://example[.]org/[ab]/[ab]/[01]{0,3}".prop_map(String::into_bytes),
    ]
}

fn file(zero: bool) -> impl Strategy<Value = Vec<u8>> {
    let end = if zero { 0 } else { b'\n' };
    let gap = prop::sample::select(vec![&b" "[..], b",", b"  ", b"\t", b"", b"\n", b"\0"]);
    let line = prop::collection::vec((text(), gap), 1..4).prop_map(move |texts| {
        let line: Vec<u8> = texts.iter().flat_map(|(text, gap)| [text, *gap].concat()).collect();
        [&line[..line.len() - texts[texts.len() - 1].1.len()], &[end]].concat()
    });
    (prop::collection::vec(line, 0..40), any::<bool>()).prop_map(|(lines, cut)| {
        let mut bytes = lines.concat();
        if cut {
            bytes.pop();
        }
        bytes
    })
}

/// The start of a line, which most lines share.
const SHARED: &str = "(https://www[.]example[.]org/|HTTPS://www.|http|)";
/// A number, or what looks like one.
const NUMBER: &str = "[ ]{0,2}[-+]?[0-9]{0,25}[.]?[0-9]{0,25}([eE][-+]?[0-9]{1,4}|[KMG])?";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn random_lines_are_sorted_by_random_keys(
        (config, bytes) in config()
            .prop_flat_map(|config| (Just(config.clone()), file(config.zero))),
    ) {
        same(config, &bytes);
    }

    #[test]
    fn lines_with_shared_starts_are_sorted(
        lines in prop::collection::vec((SHARED, text()), 0..60),
        more in 0..100usize,
        letters in prop::sample::select(vec!["", "f", "r", "d", "fr"]),
    ) {
        // Most lines share their start, as do those in the sample.
        let start = |at: usize, start: &str| {
            if at < 4 { start.to_string() } else { "https://www.example.org/".into() }
        };
        let lines = lines.iter().enumerate();
        let lines = lines
            .flat_map(|(at, (first, text))| [start(at, first).as_bytes(), text, b"\n"].concat());
        let mut bytes: Vec<u8> = lines.collect();
        let line = |n: usize| format!("https://www.example.org/{}\n", n % 13).into_bytes();
        bytes.extend((0..more).flat_map(line));
        same(self::lines(&[], letters), &bytes);
    }

    #[test]
    fn random_numbers_are_sorted(
        texts in prop::collection::vec(NUMBER, 0..60),
    ) {
        for order in ["n", "g", "h"] {
            same(lines(&[], order), texts.join("\n").as_bytes());
        }
    }

    #[test]
    fn close_numbers_are_sorted(
        whole in any::<u64>(),
        texts in prop::collection::vec("[0-9]{0,4}(e-?[0-9]{1,2})?", 0..40),
    ) {
        let texts: Vec<String> = texts.iter().map(|text| format!("{whole}{text}")).collect();
        same(lines(&[], "g"), texts.join("\n").as_bytes());
        same(lines(&[], "n"), texts.join("\n").as_bytes());
    }

    #[test]
    fn random_key_texts_cause_no_panic(
        text in any::<String>(),
        near in "[0-9.,bdfghiMnrRV]{0,12}",
        separator in any::<String>(),
    ) {
        for key in [text.clone(), near] {
            let keys = vec![key.clone()];
            let config = LinesConfig { keys, options: text.clone(), ..LinesConfig::default() };
            let config = LinesConfig { separator: Some(separator.clone()), ..config };
            match sorted(&RecordConfig::Lines(config), b"b 2\na 10\n") {
                Ok(sorted) => prop_assert_eq!(sorted.len(), 9),
                Err(error) => prop_assert!(error.to_string().contains("\n  try: "), "{}", error),
            }
        }
    }
}

#[test]
fn invalid_keys_are_refused_with_a_reason() {
    let told = |config: LinesConfig| match RecordConfig::Lines(config).check() {
        Ok(()) => String::new(),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_string(),
    };
    let keys = [
        ("", "--key \"\": no number of a field at byte 0"),
        ("0", "--key \"0\": fields are counted from 1, and there is a 0 at byte 0"),
        ("2.0", "--key \"2.0\": bytes are counted from 1, and there is a 0 at byte 2"),
        ("2,", "--key \"2,\": no number of a field at byte 2"),
        ("2,2x", "--key \"2,2x\": 'x', at byte 3, is not an option of a key"),
        ("2R", "--key \"2R\": 'R', at byte 1, would be a random order: records have none here"),
        ("2ng", "--key \"2ng\": its letters do not go together"),
        ("2,3nd", "--key \"2,3nd\": its letters do not go together"),
        ("2Vd", ""),
        ("99999999999999999999999", ""),
    ];
    for (key, error) in keys {
        assert_eq!(told(lines(&[key], "")), error);
    }
    assert_eq!(told(lines(&[], "nq")), "--order \"nq\": 'q', at byte 1, is not an option of a key");
    assert_eq!(told(lines(&[], "nM")), "--order \"nM\": its letters do not go together");
    assert_eq!(told(lines(&["1r"], "nM")), "");
    let tab = |text: &str| LinesConfig { separator: Some(text.into()), ..LinesConfig::default() };
    assert_eq!(told(tab("ab")), "--field-separator \"ab\": it is one byte, not 2");
    assert_eq!(told(tab("")), "--field-separator \"\": it is one byte, not 0");
    assert_eq!(told(tab("\\0")), "");
}

#[test]
fn a_config_is_read_and_written() {
    let config = RecordConfig::Lines(lines(&["2,2n"], "r"));
    let text = serde_json::to_string(&config).expect("written");
    assert_eq!(serde_json::from_str::<RecordConfig>(&text).expect("read"), config);
    let short = r#"{"lines": {"keys": ["2,2n"], "options": "r"}}"#;
    assert_eq!(serde_json::from_str::<RecordConfig>(short).expect("read"), config);
    let wrong = r#"{"lines": {"key": ["2,2n"]}}"#;
    assert!(serde_json::from_str::<RecordConfig>(wrong).is_err());
}
