//! Quantities parse from text with a unit, and print as text that parses to the same value.

use gordon_units::{Bytes, DataRate, Hertz, Joules, Ns, ParseError, Watts};
use proptest::prelude::*;

#[test]
fn quantities_parse_from_common_texts() {
    assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
    assert_eq!("1.5GB".parse(), Ok(Bytes(1_500_000_000)));
    assert_eq!("512".parse(), Ok(Bytes(512)));
    assert_eq!("1 TiB".parse(), Ok(Bytes(1 << 40)));
    assert_eq!("25us".parse(), Ok(Ns(25_000)));
    assert_eq!("0.1s".parse(), Ok(Ns(100_000_000)));
    assert_eq!("2.4GHz".parse(), Ok(Hertz(2.4e9)));
    assert_eq!("10Gb".parse(), Ok(DataRate(1.25e9)));
    assert_eq!("125MB".parse::<DataRate>(), "1000Mb".parse());
    assert!(matches!("10Gbit".parse::<DataRate>(), Err(ParseError::Unit(_))));
    assert_eq!("19W".parse(), Ok(Watts(19.0)));
    assert_eq!("3mW".parse(), Ok(Watts(0.003)));
    assert_eq!("4GW".parse(), Ok(Watts(4e9)));
    assert_eq!("1.2kJ".parse(), Ok(Joules(1200.0)));
}

#[test]
fn a_letter_alone_is_a_power_of_two() {
    for (letter, full) in [("k", "KiB"), ("m", "MiB"), ("g", "GiB"), ("t", "TiB"), ("p", "PiB")] {
        let bytes: Bytes = format!("4{full}").parse().unwrap();
        assert_eq!(format!("4{letter}").parse(), Ok(bytes));
        assert_eq!(format!("4 {}", letter.to_uppercase()).parse(), Ok(bytes));
    }
    assert_eq!("1.5k".parse(), Ok(Bytes(1536)));
    assert_eq!("4kB".parse(), Ok(Bytes(4000)));
    // Links are sold by decimal bits, storage by decimal bytes: a letter alone could be either.
    assert!(matches!("10G".parse::<DataRate>(), Err(ParseError::Unit(_))));
    assert!(matches!("5m".parse::<Ns>(), Err(ParseError::Unit(_))));
}

#[test]
fn an_unknown_unit_of_bytes_is_answered_with_units_that_parse() {
    for text in ["4XB", "4kb", "4Mbit", "4E"] {
        let Err(ParseError::Unit(known)) = text.parse::<Bytes>() else {
            panic!("{text} is not a number of bytes");
        };
        let units =
            known.split([',', ';', ' ']).filter(|word| !["", "or", "for", "short"].contains(word));
        assert_eq!(units.clone().count(), 16);
        for unit in units {
            assert!(format!("4{unit}").parse::<Bytes>().is_ok(), "{unit}");
        }
    }
}

#[test]
fn quantities_print_in_the_shortest_exact_unit() {
    for (bytes, text) in [
        (0, "0B"),
        (65_536, "64KiB"),
        (65_537, "65537B"),
        (1_500_000_000, "1.5GB"),
        (256_000_000_000, "256GB"),
        (274_877_906_944, "256GiB"),
    ] {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
    for (ns, text) in [(0, "0ns"), (25_000, "25us"), (1_500_000, "1.5ms"), (1_000_000_000, "1s")] {
        assert_eq!(Ns(ns).to_string(), text);
    }
    assert_eq!(Watts(0.003).to_string(), "3mW");
    assert_eq!(Watts(20.8).to_string(), "20.8W");
    assert_eq!(Watts(4e9).to_string(), "4000MW");
    assert_eq!(Watts(0.0).to_string(), "0W");
    assert_eq!(format!("{:.1}", Hertz(2.4e9)), "2.4GHz");
}

#[test]
fn human_sizes_are_rounded() {
    for (bytes, text) in [
        (0, "0B"),
        (1023, "1023B"),
        (256_000_000_000, "256GB"),
        (193 << 20, "193MiB"),
        (1_976_960 << 10, "1.89GiB"),
        (51_200_000_003_584, "46.6TiB"),
        (123_456, "121KiB"),
        (1_048_575, "1024KiB"),
        (u64::MAX, "16384PiB"),
    ] {
        assert_eq!(Bytes(bytes).human().to_string(), text);
    }
    for (ns, text) in [
        (9_498_996_840, "9.50s"),
        (1_500, "1.5us"),
        (12_345, "12.3us"),
        (9_999_999, "10.0ms"),
        (3_600_000_000_000, "1h"),
    ] {
        assert_eq!(Ns(ns).human().to_string(), text);
    }
}

#[test]
fn bad_text_is_a_specific_error() {
    assert_eq!("fast".parse::<Ns>(), Err(ParseError::Number));
    assert_eq!("1.2.3s".parse::<Ns>(), Err(ParseError::Number));
    assert_eq!("-4KiB".parse::<Bytes>(), Err(ParseError::Number));
    assert!(matches!("4 furlongs".parse::<Ns>(), Err(ParseError::Unit(_))));
    assert!(matches!("25".parse::<Ns>(), Err(ParseError::Unit(_))), "a time needs its unit");
    assert_eq!("0.5B".parse::<Bytes>(), Err(ParseError::Fraction("bytes")));
    assert_eq!("99999PB".parse::<Bytes>(), Err(ParseError::Range));
}

#[test]
fn energy_is_power_times_time() {
    assert_eq!(Watts(2.0) * Ns(1_500_000_000), Joules(3.0));
    assert_eq!(Joules(3.0) / Ns(1_500_000_000), Watts(2.0));
    assert_eq!(Bytes(4096).time_at(Bytes(1_000_000_000)), Ns(4096));
    assert_eq!(Bytes(1).time_at(Bytes(3_000_000_000)), Ns(1), "rounded up");
}

proptest! {
    #[test]
    fn whole_quantities_survive_a_round_trip(n: u64) {
        prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
        prop_assert_eq!(Ns(n).to_string().parse(), Ok(Ns(n)));
    }

    #[test]
    fn physical_quantities_survive_a_round_trip(x in 0.0f64..1e12) {
        let back: Watts = Watts(x).to_string().parse().unwrap();
        prop_assert!((back.0 - x).abs() <= x * 4e-16, "{} -> {}", x, back.0);
    }
}
