//! The descriptions that are built in.

use super::{Delimited, DescriptionFile, Detect, Plausible};
use std::sync::{Arc, LazyLock};

/// A format with a description of its own, by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Described(u8);

struct Shipped {
    file: DescriptionFile,
    delimited: Arc<Delimited>,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        const NAMES: &[&str] = &[$($name),*];
        const FILES: &[&str] = &[$(include_str!(concat!("../../../formats/", $name, ".toml"))),*];
    };
}

files![
    "msr",
    "mqsim",
    "disksim",
    "spc",
    "alibaba",
    "tencent",
    "webcachesim",
    "lrb",
    "libcachesim-csv",
    "twitter",
    "cachelib",
    "wiki-cdn",
    "tragen",
    "ibm-cos",
    "arc",
    "lirs",
    "baleen",
    "fiu",
    "systor17",
    "biosnoop",
    "midas",
];

static SHIPPED: LazyLock<Vec<Shipped>> = LazyLock::new(|| {
    let shipped = FILES.iter().map(|text| {
        let file: DescriptionFile =
            toml::from_str(text).expect("a description that is built in is valid");
        let delimited = Arc::new(file.delimited().expect("its columns are valid"));
        Shipped { file, delimited }
    });
    shipped.collect()
});

impl Described {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).take(SHIPPED.len()).map(Self)
    }

    /// The one of this name.
    pub(in crate::formats) const fn named(name: &str) -> Self {
        let mut place = 0;
        while place < NAMES.len() {
            if is_same(NAMES[place].as_bytes(), name.as_bytes()) {
                #[allow(clippy::cast_possible_truncation)]
                return Self(place as u8);
            }
            place += 1;
        }
        panic!("no description has this name");
    }

    fn file(self) -> &'static DescriptionFile {
        &SHIPPED[usize::from(self.0)].file
    }

    pub(in crate::formats) fn delimited(self) -> &'static Arc<Delimited> {
        &SHIPPED[usize::from(self.0)].delimited
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        &self.file().name
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        &self.file().about
    }

    /// Where its columns are documented.
    pub fn source(self) -> &'static str {
        &self.file().source
    }

    /// What its description is tested on.
    pub fn tested_on(self) -> &'static str {
        &self.file().tested_on
    }

    /// Whether its reader has met a whole real file, or bytes of the format's own tool.
    pub(in crate::formats) fn is_proven(self) -> bool {
        self.file().proven
    }

    /// Whether its times have decimals, which tells it from formats of whole numbers.
    pub(in crate::formats) fn has_decimals(self) -> bool {
        self.file().decimal_times
    }

    pub(in crate::formats) fn detect(self) -> Detect {
        self.file().detect
    }

    pub(in crate::formats) fn plausible(self) -> Plausible {
        self.file().plausible
    }
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_describes_the_format_that_it_is_named_after() {
        assert_eq!(Described::all().map(Described::name).collect::<Vec<_>>(), NAMES);
        for name in NAMES {
            assert_eq!(Described::named(name).name(), *name);
        }
    }
}
