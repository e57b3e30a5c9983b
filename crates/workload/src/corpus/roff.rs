//! Text of manual pages.
//!
//! A request line, which starts with a period or an apostrophe, ends a paragraph and is dropped.
//! Headings and font macros (`.SH`, `.B`, `.BR` ...) are kept as text, since their arguments are.
//! Font changes and other escapes are removed or replaced by their characters. Tables, conditions
//! and macros that a page defines are not interpreted.

/// Macros whose arguments are words with spaces between them.
const SPACED: [&str; 7] = ["B", "I", "SM", "SB", "Nm", "Nd", "Pa"];
/// Macros whose arguments alternate between two fonts, without spaces between them.
const JOINED: [&str; 6] = ["BR", "BI", "IR", "IB", "RB", "RI"];
/// Macros whose arguments are a heading.
const HEADINGS: [&str; 4] = ["SH", "SS", "Sh", "Ss"];

/// Calls `paragraph` with each paragraph of a manual page.
pub fn paragraphs(page: &str, mut paragraph: impl FnMut(&str)) {
    let mut text = String::new();
    let mut table = false;
    for line in page.lines() {
        let Some(request) = line.strip_prefix(['.', '\'']) else {
            if !table {
                unescape(line, &mut text);
                text.push(' ');
            }
            continue;
        };
        let request = request.trim_start();
        if request.starts_with("\\\"") {
            continue;
        }
        let (name, rest) = request.split_once([' ', '\t']).unwrap_or((request, ""));
        if SPACED.contains(&name) || JOINED.contains(&name) {
            arguments(rest, if JOINED.contains(&name) { "" } else { " " }, &mut text);
            text.push(' ');
            continue;
        }
        paragraph(&text);
        text.clear();
        match name {
            "TS" => table = true,
            "TE" => table = false,
            _ if HEADINGS.contains(&name) => {
                arguments(rest, " ", &mut text);
                paragraph(&text);
                text.clear();
            }
            _ => {}
        }
    }
    paragraph(&text);
}

/// Appends the arguments of a macro, without their quotes.
fn arguments(mut rest: &str, between: &str, into: &mut String) {
    let mut first = true;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with("\\\"") {
            return;
        }
        if !first {
            into.push_str(between);
        }
        first = false;
        let quoted = rest.strip_prefix('"');
        let body = quoted.unwrap_or(rest);
        let end = if quoted.is_some() { body.find('"') } else { end_of_word(body) };
        let end = end.unwrap_or(body.len());
        unescape(&body[..end], into);
        rest = &body[end..];
        rest = if quoted.is_some() { rest.strip_prefix('"').unwrap_or(rest) } else { rest };
    }
}

/// The end of a word: the first space that is not escaped.
fn end_of_word(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let escaped = |at: usize| at > 0 && bytes[at - 1] == b'\\';
    (0..bytes.len()).find(|&at| bytes[at] == b' ' && !escaped(at))
}

/// Appends a line of text with its escapes resolved.
fn unescape(mut line: &str, into: &mut String) {
    while let Some((before, after)) = line.split_once('\\') {
        into.push_str(before);
        let mut rest = after.chars();
        let Some(escape) = rest.next() else { return };
        line = rest.as_str();
        match escape {
            '"' => return,
            '-' | '\'' | '`' => into.push(escape),
            'e' | '\\' => into.push('\\'),
            ' ' | '~' | '0' => into.push(' '),
            'f' | '*' => line = name(line).1,
            '(' => {
                let (name, rest) = split_chars(line, 2);
                into.push_str(character(name));
                line = rest;
            }
            '[' => {
                let (name, rest) = line.split_once(']').unwrap_or((line, ""));
                let code = name.strip_prefix('u').and_then(|hex| u32::from_str_radix(hex, 16).ok());
                match code.and_then(char::from_u32) {
                    Some(found) => into.push(found),
                    None => into.push_str(character(name)),
                }
                line = rest;
            }
            's' => {
                let sized = line.strip_prefix(['+', '-']).unwrap_or(line);
                line = sized.trim_start_matches(|c: char| c.is_ascii_digit());
            }
            _ => {}
        }
    }
    into.push_str(line);
}

/// A name after `\f` or `\*`: one character, `(xx` or `[name]`; and what follows it.
fn name(text: &str) -> (&str, &str) {
    if let Some(two) = text.strip_prefix('(') {
        return split_chars(two, 2);
    }
    match text.strip_prefix('[') {
        Some(long) => long.split_once(']').unwrap_or((long, "")),
        None => split_chars(text, 1),
    }
}

/// The first characters of a text, and the rest.
fn split_chars(text: &str, count: usize) -> (&str, &str) {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.split_at(end)
}

/// A character by its name in groff; an unknown one is left out.
fn character(name: &str) -> &'static str {
    match name {
        "aq" | "cq" | "oq" => "'",
        "dq" => "\"",
        "lq" => "“",
        "rq" => "”",
        "em" => "—",
        "en" => "–",
        "co" => "©",
        "bu" => "•",
        "ha" => "^",
        "ti" => "~",
        "rs" => "\\",
        "hy" | "mi" => "-",
        "ga" => "`",
        "at" => "@",
        "Fo" => "«",
        "Fc" => "»",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(page: &str) -> Vec<String> {
        let mut found = Vec::new();
        paragraphs(page, |text| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            found.extend((!text.is_empty()).then_some(text));
        });
        found
    }

    #[test]
    fn requests_end_paragraphs_and_fonts_are_removed() {
        let page = ".\\\" comment\n\
                    .TH LS 1\n\
                    .SH \"SEE ALSO\"\n\
                    lists \\fBthe\\fP \\f[CW]files\\fR\\&.\n\
                    A second\n\
                    .BR ls (1)\n\
                    line.\n\
                    .PP\n\
                    next\\-one \\(lqhere\\(rq \\[u00E9]\\*(Lq\n";
        let expected = ["SEE ALSO", "lists the files. A second ls(1) line.", "next-one “here” é"];
        assert_eq!(all(page), expected);
    }

    #[test]
    fn tables_and_comments_are_left_out() {
        assert_eq!(all("before\n.TS\nl l.\na\tb\n.TE\nafter \\\" gone\n"), ["before", "after"]);
        assert_eq!(all(".B \"two words\" three\nfour\\"), ["two words three four"]);
    }
}
