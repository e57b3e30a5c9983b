//! Parsing of the `[timing]` section of a flash device.

use gordon_ssd::{PageTimes, TimingConfig};
use gordon_units::{Ns, Source};

const REST: &str = r#"
erase = "2ms"
bus_bits = 16
bus_rate = "133MHz"
command = "1.1us"
"#;

fn parse(text: &str) -> Result<TimingConfig, String> {
    toml::from_str(&format!("{text}{REST}")).map_err(|e| e.to_string())
}

fn types(times: &PageTimes) -> Vec<u64> {
    times.0.types().iter().map(|t| t.0).collect()
}

#[test]
fn a_time_is_single_or_a_list_with_or_without_a_source() {
    let timing = parse("read = \"25us\"\nprogram = [\"200us\", \"0.9ms\"]").unwrap();
    assert_eq!(types(&timing.read), [25_000]);
    assert_eq!(
        (types(&timing.program), timing.program.longest()),
        (vec![200_000, 900_000], Ns(900_000))
    );
    assert_eq!(timing.read.source, Source::Given);
    let timing = parse(
        "read = { value = [\"50us\", \"70us\", \"90us\"], source = \"a data sheet\" }\n\
         program = { value = \"200us\", assumed = \"a guess\" }",
    )
    .unwrap();
    assert_eq!(types(&timing.read), [50_000, 70_000, 90_000]);
    assert_eq!(timing.read.source, Source::Published("a data sheet".into()));
    assert_eq!(timing.program.source, Source::Assumed("a guess".into()));
    // Page i has type i mod 3.
    let table = timing.resolve();
    assert_eq!([0, 4, 8].map(|page| table.read.of(page).0), [50_000, 70_000, 90_000]);
    // The config round-trips through TOML.
    assert_eq!(toml::from_str::<TimingConfig>(&toml::to_string(&timing).unwrap()).unwrap(), timing);
}

#[test]
fn values_that_are_not_times_are_refused() {
    let refused = |read: &str| parse(&format!("read = {read}\nprogram = \"1us\"")).unwrap_err();
    assert!(refused("[]").contains("a list of no times; give one for each type of page"));
    assert!(refused("{ value = [], source = \"x\" }").contains("a list of no times"));
    assert!(refused("[\"25us\", \"1 fortnight\"]").contains("`1 fortnight`: unknown unit"));
    assert!(refused("\"25\"").contains("`25`: unknown unit"));
    assert!(refused("25").contains("a time in quotes"));
}

#[test]
fn modes_are_off_but_for_multi_plane() {
    let base = "read = \"25us\"\nprogram = \"200us\"\n";
    let modes = |text: &str| parse(&format!("{base}{text}")).unwrap().resolve().modes;
    let plain = modes("");
    assert!(plain.multi_plane);
    assert!(
        !(plain.independent_reads || plain.cache_read || plain.cache_program || plain.read_first)
    );
    assert!(!modes("multi_plane = false").multi_plane);
    assert!(modes("independent_reads = true").independent_reads);
    assert!(modes("cache_read = { value = true, source = \"a data sheet\" }").cache_read);
    assert!(modes("cache_program = true").cache_program);
    assert!(modes("read_first = true").read_first);
    assert!(parse(&format!("{base}cache = true")).unwrap_err().contains("unknown field `cache`"));
}

#[test]
fn the_schema_has_single_times_and_lists() {
    let schema = schemars::schema_for!(TimingConfig);
    let times = &schema.as_value()["$defs"]["PageTimes"]["anyOf"];
    assert_eq!(times[0]["$ref"], "#/$defs/Ns");
    assert_eq!((&times[1]["type"], &times[1]["minItems"]), (&"array".into(), &1.into()));
}
