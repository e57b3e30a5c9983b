//! The designs of a grid, by number. All processors are combined with all storages, in the order of
//! the space: the storage changes fastest.

use crate::error::ClusterError;
use crate::space::config::{Baseline, Design, SpaceProcessors, SpaceStorage};
use gordon_units::Hertz;
use std::collections::{BTreeMap, BTreeSet};

/// Processors of a design.
#[derive(Clone, Debug)]
pub struct GridProcessors {
    pub part: String,
    pub clock: Hertz,
    pub cpus: u32,
    label: String,
}

impl GridProcessors {
    fn new(part: &str, clock: Hertz, cpus: u32) -> Self {
        let label = format!("{part}-{}GHz-x{cpus}", clock.0 / 1e9);
        Self { part: part.into(), clock, cpus, label }
    }

    fn is_of(&self, parts: &Baseline) -> bool {
        self.part == parts.cpu && self.clock == parts.clock && self.cpus == parts.cpus
    }
}

/// Storage of a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridStorage {
    pub part: String,
    pub count: u32,
    label: String,
}

impl GridStorage {
    fn is_of(&self, parts: &Baseline) -> bool {
        self.part == parts.storage && self.count == parts.count
    }
}

/// A design: indices of its processors and its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub storage: usize,
    pub processor: usize,
}

/// The designs of a grid and the baseline.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Processors; those of a baseline outside of the grid are last.
    pub processors: Vec<GridProcessors>,
    /// Storages; that of a baseline outside of the grid is last.
    pub storages: Vec<GridStorage>,
    pub baseline: Point,
    processor_choices: usize,
    storage_choices: usize,
}

impl Grid {
    /// All of `choices` with all of `storage`, and `baseline`.
    ///
    /// # Errors
    /// Returns an error if it has no design, or two with the same name.
    pub fn new(
        choices: &[SpaceProcessors],
        storage: &[SpaceStorage],
        baseline: &Baseline,
    ) -> Result<Self, ClusterError> {
        let mut processors = Vec::new();
        for choice in choices {
            for clock in &choice.clocks {
                let counts = choice.counts.iter();
                processors.extend(counts.map(|n| GridProcessors::new(&choice.part, *clock, *n)));
            }
        }
        let mut storages = Vec::new();
        for choice in storage {
            // The count follows the label, unless one of it is all there is to choose.
            let is_single = choice.counts == [1];
            storages.extend(choice.counts.iter().map(|&count| GridStorage {
                part: choice.part.clone(),
                count,
                label: match is_single {
                    true => choice.label.clone(),
                    false => format!("{}{count}", choice.label),
                },
            }));
        }
        if processors.is_empty() || storages.is_empty() {
            return Err(ClusterError::NoDesigns);
        }
        if let Some(label) = repeated(processors.iter().map(|p| p.label.as_str())) {
            return Err(ClusterError::SameName { id: format!("{label}-{}", storages[0].label) });
        }
        if let Some(label) = repeated(storages.iter().map(|s| s.label.as_str())) {
            return Err(ClusterError::SameName { id: format!("{}-{label}", processors[0].label) });
        }
        let (processor_choices, storage_choices) = (processors.len(), storages.len());
        let baseline = Point {
            processor: add_processors(&mut processors, baseline),
            storage: add_storage(&mut storages, baseline),
        };
        Ok(Self { processors, storages, baseline, processor_choices, storage_choices })
    }

    /// Number of designs of the grid.
    pub fn len(&self) -> u64 {
        (self.processor_choices * self.storage_choices) as u64
    }

    /// Number of a design of the grid.
    pub fn number(&self, point: Point) -> u64 {
        (point.processor * self.storage_choices + point.storage) as u64
    }

    /// The design of the grid with this number.
    #[allow(clippy::cast_possible_truncation)]
    pub fn point(&self, number: u64) -> Point {
        let number = number as usize;
        Point { processor: number / self.storage_choices, storage: number % self.storage_choices }
    }

    /// Number of storages that designs of the grid choose from.
    pub fn storage_choices(&self) -> usize {
        self.storage_choices
    }

    /// The design of the grid with these parts.
    pub fn find(&self, parts: &Baseline) -> Option<Point> {
        let processors = &self.processors[..self.processor_choices];
        let storages = &self.storages[..self.storage_choices];
        Some(Point {
            processor: processors.iter().position(|own| own.is_of(parts))?,
            storage: storages.iter().position(|own| own.is_of(parts))?,
        })
    }

    /// Description of a design.
    pub fn design(&self, point: Point) -> Design {
        let processors = &self.processors[point.processor];
        let storage = &self.storages[point.storage];
        Design {
            id: format!("{}-{}", processors.label, storage.label),
            cpu: processors.part.clone(),
            clock: processors.clock,
            cpus: processors.cpus,
            storage: storage.part.clone(),
            count: storage.count,
        }
    }

    /// Indices of the processors of the grid, in sets of the same number in a node.
    pub fn by_cpus(&self) -> Vec<Vec<usize>> {
        let mut found: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, processors) in self.processors[..self.processor_choices].iter().enumerate() {
            found.entry(processors.cpus).or_default().push(index);
        }
        found.into_values().collect()
    }
}

/// The first label that is not the only one of its kind.
fn repeated<'a>(mut labels: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    labels.find(|label| !seen.insert(*label))
}

/// Index of the processors of the baseline, which are added if the grid does not have them.
fn add_processors(processors: &mut Vec<GridProcessors>, baseline: &Baseline) -> usize {
    processors.iter().position(|own| own.is_of(baseline)).unwrap_or_else(|| {
        processors.push(GridProcessors::new(&baseline.cpu, baseline.clock, baseline.cpus));
        processors.len() - 1
    })
}

/// Index of the storage of the baseline, which is added if the grid does not have it.
fn add_storage(storages: &mut Vec<GridStorage>, baseline: &Baseline) -> usize {
    storages.iter().position(|own| own.is_of(baseline)).unwrap_or_else(|| {
        let label = format!("{}-x{}", baseline.storage, baseline.count);
        let part = baseline.storage.clone();
        storages.push(GridStorage { part, count: baseline.count, label });
        storages.len() - 1
    })
}
