//! The built-in descriptions.

use super::{DelimitedFormat, DescriptionFile, DetectMode, PlausibleLimits};
use std::sync::{Arc, LazyLock};

/// A format with a built-in description, as an index into the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DescribedFormat(u8);

struct BuiltInFormat {
    file: DescriptionFile,
    delimited: Arc<DelimitedFormat>,
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

static BUILT_IN: LazyLock<Vec<BuiltInFormat>> = LazyLock::new(|| {
    let built_in = FILES.iter().map(|text| {
        let file: DescriptionFile =
            toml::from_str(text).expect("a description that is built in is valid");
        let delimited = Arc::new(file.delimited().expect("its columns are valid"));
        BuiltInFormat { file, delimited }
    });
    built_in.collect()
});

impl DescribedFormat {
    /// All built-in descriptions.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).take(BUILT_IN.len()).map(Self)
    }

    /// The format with this name, which must exist.
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
        &BUILT_IN[usize::from(self.0)].file
    }

    pub(in crate::formats) fn delimited(self) -> &'static Arc<DelimitedFormat> {
        &BUILT_IN[usize::from(self.0)].delimited
    }

    /// The name of the format.
    pub fn name(self) -> &'static str {
        &self.file().name
    }

    /// A description in one line.
    pub fn about(self) -> &'static str {
        &self.file().about
    }

    /// Where its columns are documented.
    pub fn source(self) -> &'static str {
        &self.file().source
    }

    /// What the description has been tested with.
    pub fn tested_on(self) -> &'static str {
        &self.file().tested_on
    }

    /// Whether the reader has been tested with a real file, or with output of the format's own
    /// tool.
    pub(in crate::formats) fn is_proven(self) -> bool {
        self.file().proven
    }

    /// Whether times have decimals, which distinguishes the format from those of whole numbers.
    pub(in crate::formats) fn has_decimals(self) -> bool {
        self.file().decimal_times
    }

    pub(in crate::formats) fn detect(self) -> DetectMode {
        self.file().detect
    }

    pub(in crate::formats) fn plausible(self) -> PlausibleLimits {
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
        assert_eq!(DescribedFormat::all().map(DescribedFormat::name).collect::<Vec<_>>(), NAMES);
        for name in NAMES {
            assert_eq!(DescribedFormat::named(name).name(), *name);
        }
    }
}
