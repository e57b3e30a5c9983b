//! Values in a config keep their source, and errors give the reason.

use gordon_units::{Ns, Source, Sourced};
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Chip {
    read: Sourced<Ns>,
    planes: Sourced<u32>,
}

#[test]
fn values_parse_with_and_without_a_source() {
    let chip: Chip =
        toml::from_str("read = { value = '25us', source = 'Table 1' }\nplanes = 2").unwrap();
    assert_eq!(chip.read.value, Ns(25_000));
    assert_eq!(chip.read.source, Source::Published("Table 1".into()));
    assert_eq!(*chip.planes, 2);
    assert_eq!(chip.planes.source, Source::Given);
    let again: Chip = toml::from_str(&toml::to_string(&chip).unwrap()).unwrap();
    assert_eq!((again.read, again.planes), (chip.read, chip.planes));
}

#[test]
fn the_date_of_a_source_stands_with_or_without_quotes() {
    for date in ["2024-08-17", "'2024-08-17'"] {
        let text = format!("read = '1us'\nplanes = {{ value = 2, source = 'a', date = {date} }}");
        let chip: Chip = toml::from_str(&text).unwrap();
        assert_eq!(chip.planes.source, Source::Published("a, 2024-08-17".into()));
    }
    let fails = |keys: &str| {
        let text = format!("read = '1us'\nplanes = {{ value = 2, {keys} }}");
        toml::from_str::<Chip>(&text).unwrap_err().to_string()
    };
    assert!(fails("source = 'a', date = 'yesterday'").contains("not a date"));
    assert!(fails("date = 2024-08-17").contains("of a `source`"));
    assert!(fails("assumed = 'a', date = 2024-08-17").contains("of a `source`"));
}

#[test]
fn bad_values_give_the_reason() {
    let fails = |text: &str| toml::from_str::<Chip>(text).unwrap_err().to_string();
    assert!(fails("read = '25 parsecs'\nplanes = 2").contains("unknown unit"));
    assert!(fails("read = 25\nplanes = 2").contains("quantity with its unit"));
    assert!(
        fails("read = '1us'\nplanes = { value = 1, source = 'x', assumed = 'y' }")
            .contains("not both")
    );
    assert!(fails("read = '1us'\nplanes = { value = 1, sauce = 'x' }").contains("unknown field"));
    assert!(fails("read = '1us'\nplanes = -1").contains("invalid value"));
}
