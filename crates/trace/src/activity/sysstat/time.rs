//! The times that sadf prints: a date and a time of day with or without a zone, or seconds since
//! 1970 (`-U`).

use gordon_units::Ns;

/// Parses a time. Zones are ignored: all inputs have one zone ([`is_utc`]), and only differences
/// matter.
pub(super) fn parse(text: &str) -> Option<Ns> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let seconds = match first.split_once('-') {
        None => first.parse().ok()?,
        Some(_) => seconds(first, words.next()?)?,
    };
    // Of a time in halves of a day the hour is not known.
    if words.any(|word| matches!(word, "AM" | "PM")) {
        return None;
    }
    // Sums of times and spans must not overflow.
    (seconds < 1 << 33).then(|| Ns(seconds * Ns::SECOND.0))
}

/// Whether a time is UTC, by its text: seconds since 1970, or a date and a time with that zone.
pub(super) fn is_utc(text: &str) -> bool {
    !text.contains('-') || text.trim_end().ends_with("UTC")
}

/// Seconds from 1970 to `2020-12-05` `12:43:03`.
fn seconds(date: &str, time: &str) -> Option<u64> {
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let valid = (1970..=2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid {
        return None;
    }
    // Years that start in March have the leap day at their end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_seconds_are_the_same_times() {
        let time = Some(Ns(1_607_172_183 * Ns::SECOND.0));
        assert_eq!(parse("2020-12-05 12:43:03 UTC"), time);
        assert_eq!(parse("2020-12-05 12:43:03"), time);
        assert_eq!(parse("1607172183"), time);
        let leap_day = parse("2020-03-01 00:00:00").expect("a time");
        assert_eq!(
            leap_day - parse("2020-02-28 00:00:00").expect("a time"),
            Ns(172_800_000_000_000)
        );
        for bad in [
            "",
            "12:43:03",
            "2020-13-05 12:43:03",
            "2020-12-05",
            "2020-12-05 12:43",
            "2020-12-05 12:43:03 PM",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
