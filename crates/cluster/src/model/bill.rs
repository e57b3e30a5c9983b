//! What a run of a job costs in all: purchase or rent, electricity, worn drives, and carbon.
//!
//! A machine with a purchase price is owned. It is on for the whole year, and the runs of a year
//! share what the year costs. Other machines are rented for the time of a run, and the rent has
//! their electricity. With `N` nodes, a run of `T` seconds and `E` joules, `R` runs a year of `Y`
//! seconds, idle power `P` of a node and `L` years until a machine is replaced:
//!
//! | cost of a run | owned | rented |
//! |---|---|---|
//! | purchase | N x price / (L R) | |
//! | drives | N x price of its drives / (D R) | |
//! | energy, joules | PUE x (E + N P (Y / R - T)) | PUE x E |
//! | electricity | energy x price | |
//! | rent | | price of an hour x N x min(max(T, minimum), max(T, Y / R)) |
//! | carbon of use | energy x carbon of a kWh | energy x carbon of a kWh |
//! | carbon of making | N x (machine / L + drives / D) / R | N T x machine / (L Y) |
//!
//! `R` is given, or `hours_per_year / T`. `D` is the least of `L`, the rated life of the drives,
//! and the years until their rated endurance is used, the reciprocal of what a year of runs uses.
//! Left out: staff, floor space, network, interest, resale; that a rented machine is idle for
//! others; that flash is worn unevenly.

use crate::error::ClusterError;
use crate::space::config::Parts;
use crate::space::find::part;
use crate::space::machine::{Machine, StorageTable};
use crate::space::machines::part_of;
use crate::space::node::StoragePower;
use crate::space::operation::Operation;
use crate::space::resources::Rate;
use crate::space::wear::{NewDrives, full_amplification};
use crate::space::whole::WholePower;
use gordon_units::{Sourced, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Seconds of a year of 365.25 days.
pub(crate) const YEAR: f64 = 365.25 * DAY;
const DAY: f64 = 86_400.0;
/// Share of a year by which its runs may exceed it.
const ROUNDING: f64 = 1e-9;
const JOULES_PER_KWH: f64 = 3.6e6;

/// What is known of a node and a run on such nodes. Prices are in the currency of the space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BillInputs {
    /// Number of nodes.
    pub nodes: u32,
    /// Length of the run.
    pub time_s: f64,
    /// Energy of all nodes in the run.
    pub energy_j: Option<f64>,
    /// Power of a node between runs.
    pub idle_w: Option<f64>,
    /// Price of a node without drives, if it is owned.
    pub purchase_price: Option<f64>,
    /// Price of the drives of a node; 0 if it has none of the catalogue.
    pub drives_price: Option<f64>,
    /// Rent of all nodes for an hour, if they are rented.
    pub rent_per_hour: Option<f64>,
    /// Seconds for which nodes are billed at least.
    pub billed_s: f64,
    /// Carbon of making a node without drives.
    pub embodied_kg: Option<f64>,
    /// Carbon of making its drives; 0 if it has none of the catalogue.
    pub drives_embodied_kg: Option<f64>,
    /// Years of service that its drives are rated for; `None` if that is unknown.
    pub drives_life_years: Option<f64>,
    /// Rated endurance of its drives that a run uses, or of the rated starts of disks that it puts
    /// in standby, 0 to 1; `None` if it is unknown.
    pub wear: Option<f64>,
    /// The least that it may be.
    pub wear_low: Option<f64>,
    /// The most that it may be: the drives are full, and all writes are random. `None` if that is
    /// unknown.
    pub wear_high: Option<f64>,
}

/// What a run costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Bill {
    /// Runs of a year; `None` if machines are rented, and the number of runs is not given.
    pub runs_per_year: Option<f64>,
    /// Share of the year in which machines that are owned run the job; `None` if they are rented.
    /// Above 1, the machines do not keep up, and nothing of the run is known.
    pub busy: Option<f64>,
    /// Rent.
    pub rent: Option<f64>,
    /// Purchase of the nodes, without drives.
    pub purchase: Option<f64>,
    /// Purchase of drives, and of those that replace them.
    pub drives: Option<f64>,
    /// Electricity.
    pub electricity: Option<f64>,
    /// All of it; `None` if a part of it is unknown.
    pub total: Option<f64>,
    /// Energy, with that of the building and of the time between runs.
    pub energy_kwh: Option<f64>,
    /// Carbon of the electricity.
    pub carbon_use_kg: Option<f64>,
    /// Carbon of making the machines.
    pub carbon_made_kg: Option<f64>,
    /// All of it; `None` if a part of it is unknown.
    pub carbon_kg: Option<f64>,
    /// Years until the rated endurance of the drives is used; `None` if runs do not wear them, or
    /// if that is unknown.
    pub flash_life_years: Option<f64>,
}

/// What a run costs, and what that is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BillReport {
    /// What a run costs.
    #[serde(flatten)]
    pub bill: Bill,
    /// What it is computed from.
    pub inputs: BillInputs,
}

/// The drives of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drives {
    price: Option<f64>,
    embodied_kg: Option<f64>,
    rated_life_years: Option<f64>,
    idle: Watts,
    active: Watts,
    /// Bytes that they program for each byte of random writes while they are full.
    full_amplification: Option<f64>,
}

impl Drives {
    /// The drives of a storage: none if it has no part of the catalogue.
    ///
    /// # Errors
    /// Returns an error if its part is not in the catalogue.
    pub fn of(storage: &StorageTable, parts: &Parts) -> Result<Self, ClusterError> {
        let Some((name, count)) = part_of(storage) else {
            return Ok(Self { price: Some(0.0), embodied_kg: Some(0.0), ..Self::default() });
        };
        let levels = StoragePower::new(name, count, parts)?.levels();
        let number = |value: &Option<Sourced<f64>>| value.as_ref().map(|value| **value);
        let of_all = |value: &Option<Sourced<f64>>| Some(number(value)? * f64::from(count));
        let flash = parts.flash.get(name);
        let (price, embodied_kg, rated_life_years) = match flash {
            Some(part) => (&part.price, &part.embodied_kg, &part.rated_life_years),
            None => {
                let part = part("storage", &parts.disk, name)?;
                (&part.price, &part.embodied_kg, &part.rated_life_years)
            }
        };
        Ok(Self {
            price: of_all(price),
            embodied_kg: of_all(embodied_kg),
            rated_life_years: number(rated_life_years),
            idle: levels.idle,
            active: levels.most(),
            full_amplification: flash.and_then(full_amplification),
        })
    }

    /// The wear of a run whose wear on new drives was simulated as `wear`.
    pub fn simulated(&self, wear: f64) -> Wear {
        let high = match wear > 0.0 {
            true => self.full_amplification.map(|most| wear * most),
            false => Some(wear),
        };
        Wear { likely: wear, low: wear, high }
    }

    /// The wear of a run that writes bytes sequentially; `None` without drives of the catalogue.
    pub fn written(&self, new: Option<&NewDrives>, bytes: &WrittenBytes) -> Option<Wear> {
        let new = new?;
        let all = bytes.kept + bytes.temporary;
        Some(Wear {
            likely: new.wear(all),
            low: new.wear(bytes.kept),
            high: self.simulated(new.wear(all) / new.amplification()).high,
        })
    }
}

/// Share of the rated endurance of the most written drive that a run uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wear {
    pub likely: f64,
    pub low: f64,
    /// `None` if it is unknown.
    pub high: Option<f64>,
}

impl Wear {
    /// A share that is known.
    pub const fn exactly(share: f64) -> Self {
        Self { likely: share, low: share, high: Some(share) }
    }

    /// Nothing says where in its range it is: the middle of the logarithms.
    pub fn between(self) -> Self {
        let likely = self.high.map_or(self.likely, |high| (self.low * high).sqrt());
        Self { likely, ..self }
    }
}

/// Bytes that a run writes to the drives of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WrittenBytes {
    /// Of files that stay.
    pub kept: f64,
    /// Of files that are deleted when the run ends, perhaps before they have left the page cache.
    pub temporary: f64,
}

/// A run on nodes of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub nodes: u32,
    pub time: f64,
    pub energy: Option<f64>,
    pub rate: Option<Rate>,
    /// Wear of the most written drive, or of the rated starts of a disk.
    pub wear: Option<Wear>,
}

impl Run {
    /// Price by the price of an hour.
    pub fn price(&self) -> Option<f64> {
        Some(self.rate?.price(self.nodes, self.time))
    }
}

/// Watts of nodes while they are busy; `None` if that is unknown.
pub(super) fn busy_power(power: Option<WholePower>, drives: &Drives, nodes: u32) -> Option<f64> {
    let power = power?;
    Some(f64::from(nodes) * power.with_storage(power.ends.active, drives.active).0)
}

impl BillInputs {
    /// What is known of a run.
    pub(super) fn of(
        run: &Run,
        machine: &Machine,
        power: Option<WholePower>,
        drives: &Drives,
    ) -> Self {
        let number = |value: &Option<Sourced<f64>>| value.as_ref().map(|value| **value);
        let purchase_price = number(&machine.purchase_price);
        Self {
            nodes: run.nodes,
            time_s: run.time,
            energy_j: run.energy,
            idle_w: power.map(|power| power.with_storage(power.ends.idle, drives.idle).0),
            purchase_price,
            drives_price: drives.price,
            rent_per_hour: match purchase_price {
                Some(_) => None,
                None => run.rate.map(|rate| rate.price(run.nodes, 3600.0)),
            },
            billed_s: run.rate.map_or(0.0, |rate| rate.minimum),
            embodied_kg: number(&machine.embodied_kg),
            drives_embodied_kg: drives.embodied_kg,
            drives_life_years: drives.rated_life_years,
            wear: run.wear.map(|wear| wear.likely),
            wear_low: run.wear.map(|wear| wear.low),
            wear_high: run.wear.and_then(|wear| wear.high),
        }
    }

    /// What a run costs, with these inputs.
    pub fn report(self, operation: &Operation) -> BillReport {
        BillReport { bill: self.bill(operation), inputs: self }
    }

    /// Whether the nodes are owned.
    pub const fn is_owned(&self) -> bool {
        self.purchase_price.is_some()
    }

    /// What a run costs if the nodes are used in this way.
    pub fn bill(&self, operation: &Operation) -> Bill {
        if self.is_owned() { self.owned(operation) } else { self.rented(operation) }
    }

    fn owned(&self, operation: &Operation) -> Bill {
        let per_year = match operation.runs_per_day {
            Some(runs) => runs * YEAR / DAY,
            // A leap year has more hours than the mean one.
            None => (operation.hours_per_year * 3600.0).min(YEAR) / self.time_s,
        };
        let busy = per_year * self.time_s / YEAR;
        let known = Bill { runs_per_year: Some(per_year), busy: Some(busy), ..Bill::default() };
        if busy.is_nan() || busy > 1.0 + ROUNDING {
            return known;
        }
        let nodes = f64::from(self.nodes);
        let life = self.wear.filter(|wear| *wear > 0.0).map(|wear| 1.0 / (wear * per_year));
        let kept = operation.years;
        let of_machine = |cost: Option<f64>| cost.map(|cost| nodes * cost / (kept * per_year));
        let lives = [life, self.drives_life_years];
        let drives_kept = lives.into_iter().flatten().fold(kept, f64::min);
        let of_drives =
            |cost: Option<f64>| cost.map(|cost| nodes * cost / (drives_kept * per_year));
        let between = YEAR / per_year - self.time_s;
        let joules = self.energy_j.zip(self.idle_w).map(|(run, idle)| run + nodes * idle * between);
        let energy_kwh = joules.map(|joules| operation.kwh(joules));
        let electricity = energy_kwh.map(|kwh| kwh * operation.price_per_kwh);
        let purchase = of_machine(self.purchase_price);
        let drives = of_drives(self.drives_price);
        let made = sum([of_machine(self.embodied_kg), of_drives(self.drives_embodied_kg)]);
        let used = energy_kwh.map(|kwh| operation.carbon_kg(kwh));
        Bill {
            purchase,
            drives,
            electricity,
            total: sum([purchase, drives, electricity]),
            energy_kwh,
            carbon_use_kg: used,
            carbon_made_kg: made,
            carbon_kg: sum([used, made]),
            flash_life_years: life,
            ..known
        }
    }

    fn rented(&self, operation: &Operation) -> Bill {
        let energy_kwh = self.energy_j.map(|joules| operation.kwh(joules));
        let used = energy_kwh.map(|kwh| operation.carbon_kg(kwh));
        let share = f64::from(self.nodes) * self.time_s / (operation.years * YEAR);
        let made = sum([self.embodied_kg, self.drives_embodied_kg]).map(|kg| kg * share);
        let runs_per_year = operation.runs_per_day.map(|runs| runs * YEAR / DAY);
        let billed = self.time_s.max(self.billed_s);
        // Nodes that are kept from run to run are billed for all of the time between starts.
        let secs = runs_per_year.map_or(billed, |runs| billed.min(self.time_s.max(YEAR / runs)));
        let rent = self.rent_per_hour.map(|rent| rent * secs / 3600.0);
        Bill {
            runs_per_year,
            rent,
            total: rent,
            energy_kwh,
            carbon_use_kg: used,
            carbon_made_kg: made,
            carbon_kg: sum([used, made]),
            ..Bill::default()
        }
    }
}

impl Operation {
    /// kWh of the building for joules of its machines.
    fn kwh(&self, joules: f64) -> f64 {
        joules * self.pue / JOULES_PER_KWH
    }

    fn carbon_kg(&self, kwh: f64) -> f64 {
        kwh * self.grams_per_kwh / 1000.0
    }
}

/// The sum; `None` if a part is unknown.
fn sum<const N: usize>(parts: [Option<f64>; N]) -> Option<f64> {
    parts.into_iter().sum()
}
