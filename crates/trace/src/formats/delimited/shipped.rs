//! The descriptions that are built in.

use super::{Delimited, DescriptionFile, Detect};
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
        [$(include_str!(concat!("../../../formats/", $name, ".toml"))),*]
    };
}

static SHIPPED: LazyLock<Vec<Shipped>> = LazyLock::new(|| {
    let files = files![
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
    let shipped = files.map(|text| {
        let file: DescriptionFile =
            toml::from_str(text).expect("a description that is built in is valid");
        let delimited = Arc::new(file.delimited().expect("its columns are valid"));
        Shipped { file, delimited }
    });
    shipped.into_iter().collect()
});

impl Described {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).take(SHIPPED.len()).map(Self)
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

    /// Whether its times have decimals, which tells it from formats of whole numbers.
    pub(in crate::formats) fn has_decimals(self) -> bool {
        self.file().decimal_times
    }

    pub(in crate::formats) fn detect(self) -> Detect {
        self.file().detect
    }
}
