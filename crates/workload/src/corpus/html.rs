//! A scanner of HTML: tags and the text between them, as they are.
//!
//! The parser follows the tokenizer of the HTML standard where documents of packages need it:
//! quoted attributes, comments, raw text (`script`, `style`). It builds no tree. Comments are
//! dropped.

/// A piece of a document. The pieces in order are the document without its comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HtmlPiece<'a> {
    /// A tag, with its angle brackets.
    Tag {
        /// The name, without the slash of an end tag.
        name: &'a str,
        /// The whole tag.
        raw: &'a str,
    },
    /// Text, with its character references.
    Text(&'a str),
    /// Contents of `script` and `style`, declarations.
    Raw(&'a str),
}

/// Calls `piece` with each piece of a document.
pub fn scan<'a>(mut html: &'a str, mut piece: impl FnMut(HtmlPiece<'a>)) {
    while !html.is_empty() {
        let start = tag_start(html).unwrap_or(html.len());
        if start > 0 {
            piece(HtmlPiece::Text(&html[..start]));
            html = &html[start..];
            continue;
        }
        if let Some(comment) = html.strip_prefix("<!--") {
            html = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let (raw, after) = html.split_at(tag_end(html));
        html = after;
        if raw.starts_with("<!") || raw.starts_with("<?") {
            piece(HtmlPiece::Raw(raw));
            continue;
        }
        let name = tag_name(raw);
        piece(HtmlPiece::Tag { name, raw });
        let holds_raw_text = ["script", "style"].iter().any(|raw| name.eq_ignore_ascii_case(raw));
        if holds_raw_text && !raw.starts_with("</") && !raw.ends_with("/>") {
            let end = raw_text_end(html, name);
            if end > 0 {
                piece(HtmlPiece::Raw(&html[..end]));
            }
            html = &html[end..];
        }
    }
}

/// Offset of the next tag, comment or declaration.
fn tag_start(html: &str) -> Option<usize> {
    let bytes = html.as_bytes();
    let starts = |&at: &usize| {
        let next = bytes.get(at + 1);
        next.is_some_and(|next| next.is_ascii_alphabetic() || b"/!?".contains(next))
    };
    memchr::memchr_iter(b'<', bytes).find(starts)
}

/// Length of the tag at the start of `html`; a `>` in quotes does not end it.
fn tag_end(html: &str) -> usize {
    let mut quote = None;
    for (at, &byte) in html.as_bytes().iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    html.len()
}

fn tag_name(raw: &str) -> &str {
    let body = raw.trim_start_matches(['<', '/']);
    let end = body.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/');
    &body[..end.unwrap_or(body.len())]
}

/// Length of raw text, which the end tag `name` ends.
fn raw_text_end(html: &str, name: &str) -> usize {
    let bytes = html.as_bytes();
    let ends = |&at: &usize| {
        let tag = bytes.get(at + 2..at + 2 + name.len());
        bytes[at + 1..].starts_with(b"/")
            && tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes()))
    };
    memchr::memchr_iter(b'<', bytes).find(ends).unwrap_or(html.len())
}

/// Range of the value of `href` in an `a` start tag, if it leads to another page.
pub fn link(name: &str, raw: &str) -> Option<std::ops::Range<usize>> {
    if !name.eq_ignore_ascii_case("a") || raw.starts_with("</") {
        return None;
    }
    let at = raw.find("href=").filter(|&at| raw.as_bytes()[at - 1].is_ascii_whitespace())?;
    let start = at + "href=".len();
    let quote = raw[start..].chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let start = start + 1;
    let end = start + raw[start..].find(quote)?;
    let value = &raw[start..end];
    let other = ["#", "javascript:", "mailto:", "data:"];
    (!value.is_empty() && !other.iter().any(|start| value.starts_with(start))).then_some(start..end)
}

/// Tags inside a paragraph: text continues over them.
const INLINE: [&str; 28] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "dfn", "em", "font", "i",
    "img", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "tt",
    "u", "var",
];

/// Calls `paragraph` with the text of each block of a document, character references resolved.
/// Each line of preformatted text is a paragraph.
pub fn paragraphs(html: &str, mut paragraph: impl FnMut(&str)) {
    let mut text = String::new();
    let mut preformatted = false;
    scan(html, |piece| match piece {
        HtmlPiece::Raw(_) => {}
        HtmlPiece::Tag { name, raw } => {
            let name = name.to_ascii_lowercase();
            if !INLINE.contains(&name.as_str()) {
                paragraph(&text);
                text.clear();
                if name == "pre" {
                    preformatted = !raw.starts_with("</");
                }
            }
        }
        HtmlPiece::Text(raw) => {
            let mut lines = if preformatted { raw.split('\n') } else { raw.split('\0') };
            resolve(lines.next().unwrap_or_default(), &mut text);
            for line in lines {
                paragraph(&text);
                text.clear();
                resolve(line, &mut text);
            }
        }
    });
    paragraph(&text);
}

/// Appends text with its character references resolved; an unknown name stays as it is.
fn resolve(mut raw: &str, into: &mut String) {
    /// Bytes of the longest name, without the ampersand and the semicolon.
    const LONGEST: usize = 10;
    while let Some((before, after)) = raw.split_once('&') {
        into.push_str(before);
        let end = after.as_bytes().iter().take(LONGEST + 1).position(|&byte| byte == b';');
        match end.and_then(|end| Some((reference(&after[..end])?, &after[end + 1..]))) {
            Some((found, rest)) => {
                into.push(found);
                raw = rest;
            }
            None => {
                into.push('&');
                raw = after;
            }
        }
    }
    into.push_str(raw);
}

/// The character that a reference stands for.
fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return code.ok().and_then(char::from_u32);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "copy" => '©',
        "reg" => '®',
        "para" => '¶',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "agrave" => 'à',
        "eacute" => 'é',
        "egrave" => 'è',
        "ecirc" => 'ê',
        "ccedil" => 'ç',
        "times" => '×',
        "rarr" => '→',
        "larr" => '←',
        "middot" => '·',
        "bull" => '•',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(html: &str) -> Vec<HtmlPiece<'_>> {
        let mut found = Vec::new();
        scan(html, |piece| found.push(piece));
        found
    }

    #[test]
    fn a_document_is_cut_at_its_tags() {
        let html =
            "<!DOCTYPE html><p title=\"a > b\">1 < 2<!-- <b> --></p><script>if (a<b)</script>x";
        let expected = [
            HtmlPiece::Raw("<!DOCTYPE html>"),
            HtmlPiece::Tag { name: "p", raw: "<p title=\"a > b\">" },
            HtmlPiece::Text("1 < 2"),
            HtmlPiece::Tag { name: "p", raw: "</p>" },
            HtmlPiece::Tag { name: "script", raw: "<script>" },
            HtmlPiece::Raw("if (a<b)"),
            HtmlPiece::Tag { name: "script", raw: "</script>" },
            HtmlPiece::Text("x"),
        ];
        assert_eq!(pieces(html), expected);
        assert_eq!(pieces("a<b"), [HtmlPiece::Text("a"), HtmlPiece::Tag { name: "b", raw: "<b" }]);
        assert_eq!(pieces("<!-- open"), []);
    }

    #[test]
    fn links_to_other_pages_are_found() {
        let raw = "<a class=\"x\" href=\"../a.html#b\" title='t'>";
        assert_eq!(&raw[link("a", raw).unwrap()], "../a.html#b");
        for raw in
            ["<a href=\"#b\">", "<a name=\"b\">", "<a href=\"mailto:x\">", "<a data-href=\"b\">"]
        {
            assert_eq!(link("a", raw), None, "{raw}");
        }
        assert_eq!(link("link", "<link href=\"b.css\">"), None);
    }

    #[test]
    fn paragraphs_are_the_text_of_blocks() {
        let html = "<title>T &amp; U</title><p>one <b>t</b>wo &#233;&nope;</p><pre>a\n\
                    b</pre><style>p{}</style>";
        let mut found = Vec::new();
        paragraphs(html, |text| found.extend((!text.is_empty()).then(|| text.to_owned())));
        assert_eq!(found, ["T & U", "one two é&nope;", "a", "b"]);
    }
}
