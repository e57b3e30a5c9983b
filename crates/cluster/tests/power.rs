//! Power of machines in surveys: power curves, supplies, and disks that sleep inside a job.
#![allow(clippy::unwrap_used)]

mod common;

use common::machines::{
    SPACE, answer, catalogue, job, named, near, reading, refusal, second, survey, survey_of, traced,
};
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::model::job::report::SpinDownReport;
use gordon_cluster::space::catalogue::MachineCatalogue;
use gordon_cluster::space::node::{NodePower, StoragePower};
use gordon_cluster::space::operation::Operation;
use gordon_cluster::space::standby::SpinDown;
use gordon_cluster::space::supply::NodeSupply;
use gordon_trace::Sample;

/// 10 W at idle, 30 W at 10 %, then 2 W more for each tenth; 50 W at 100 % is 2 W above that line.
const CURVE: &str = "power_curve = ['10W', '30W', '32W', '34W', '36W', '38W', '40W', '42W', '44W', \
                     '46W', '50W']\n";

/// The machine of the trace, with these lines.
fn machine(lines: &str) -> String {
    let storage = "storage = { bandwidth = \"100MB\", latency = \"1ms\" }\n";
    machine_with(&format!("{storage}{lines}"))
}

fn machine_with(lines: &str) -> String {
    format!(
        "[[machines]]\nid = \"traced\"\ncores = 4\ncore_speed = 2.0\nmemory = \"16GiB\"\nnetwork = \
         \"10Gb\"\n{lines}"
    )
}

/// Energy of a job on the machine of the trace.
fn energy(samples: &[Sample], text: &str) -> f64 {
    let (_folder, trace) = traced(samples);
    job(&answer(&survey(vec![trace], text)), "traced").energy_j.unwrap()
}

#[test]
fn a_sample_draws_the_power_of_the_curve_at_its_own_load() {
    let text = machine(CURVE);
    // Four of four cores, none, two, and half a core: 12.5 % is a quarter of the way to 20 %.
    let samples = [second(0, 4.0), second(1, 0.0), second(2, 2.0), second(3, 0.5)];
    near(energy(&samples, &text), 50.0 + 10.0 + 38.0 + 30.5);
    // The mean load of the four seconds, 40.6 %, would be 36.1 W.
    let (_folder, trace) = traced(&samples);
    let report = answer(&survey(vec![trace], &text));
    near(job(&report, "traced").time_s, 4.0);
}

#[test]
fn a_straight_curve_is_the_same_as_its_ends() {
    let straight: Vec<String> = (0..11).map(|tenth| format!("'{}W'", 10 + 4 * tenth)).collect();
    let straight = machine(&format!("power_curve = [{}]\n", straight.join(", ")));
    let ends = machine("idle = '10W'\nactive = '50W'\n");
    let samples = [second(0, 3.0), reading(1), second(2, 0.3)];
    near(energy(&samples, &straight), energy(&samples, &ends));
}

#[test]
fn impossible_curves_are_refused() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let refused = |lines: &str, words: &str| {
        let text = refusal(&survey(vec![trace.clone()], &machine(lines)));
        assert!(text.contains("machine `traced`: power_curve") && text.contains(words), "{text}");
    };
    refused("power_curve = ['10W', '50W']\n", "2 values");
    refused(&CURVE.replace("'44W'", "'60W'"), "falls from 60W to 46W");
    refused(&format!("{CURVE}idle = '1W'\nactive = '2W'\n"), "idle and active");
}

/// A machine of 60 W idle and 260 W active with two disks behind a supply of 800 W that loses
/// nothing below 10 %, and 20 % of what it draws at each known load.
fn supplied() -> MachineCatalogue {
    let mut catalogue = catalogue(&machine_with(
        "storage = { part = \"sata-7200-1tb\", count = 2 }\nidle = '60W'\nactive = '260W'\nsupply \
         = { part = 'eighty', rated = '800W' }\n",
    ));
    let eighty = "summary = ''\nat_10 = 0.8\nat_20 = 0.8\nat_50 = 0.8\nat_100 = 0.8\n";
    catalogue.parts.supply.insert("eighty".into(), toml::from_str(eighty).unwrap());
    catalogue
}

#[test]
fn storage_draws_its_power_through_the_supply_of_its_machine() {
    let (_folder, trace) = traced(&[second(0, 4.0), second(1, 4.0)]);
    let report = answer(&survey_of(vec![trace], supplied()));
    // Two idle disks of 9 W are 18 W / 0.8 at the plug: the machine is above 10 % of the load.
    near(job(&report, "traced").energy_j.unwrap(), 2.0 * (260.0 + 18.0 / 0.8));
    let (_folder, trace) = traced(&[second(0, 0.0)]);
    let report = answer(&survey_of(vec![trace], supplied()));
    // 60 W at the plug are below the 100 W of that load, where the loss stays 20 W.
    near(job(&report, "traced").energy_j.unwrap(), 60.0 + 18.0);
}

#[test]
fn the_bill_has_the_idle_power_at_the_plug() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let operation = Operation {
        years: 4.0,
        hours_per_year: 4383.0,
        runs_per_day: None,
        price_per_kwh: 0.1,
        pue: 1.0,
        grams_per_kwh: 0.0,
    };
    let mut catalogue = supplied();
    catalogue.operation = Some(operation);
    let report = answer(&survey_of(vec![trace], catalogue));
    near(named(&report, "traced").bill.unwrap().inputs.idle_w.unwrap(), 78.0);
}

#[test]
fn impossible_supplies_are_refused() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let refused = |change: &dyn Fn(&mut MachineCatalogue), words: &str| {
        let mut wrong = supplied();
        change(&mut wrong);
        let text = gordon_cluster::survey::run(
            &survey_of(vec![trace.clone()], wrong),
            &gordon_units::Progress::default(),
        );
        let text = text.unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    refused(&|c| c.parts.supply.clear(), "`eighty`");
    refused(&|c| c.parts.supply.get_mut("eighty").unwrap().at_50 = 1.2.into(), "at_50");
    let rated = |c: &mut MachineCatalogue, watts: &str| {
        let supply = c.machines[0].supply.as_mut().unwrap();
        supply.rated = watts.parse::<gordon_units::Watts>().unwrap().into();
    };
    refused(&|c| rated(c, "100W"), "cannot deliver");
    refused(&|c| rated(c, "0W"), "not above zero");
    refused(&|c| (c.machines[0].idle, c.machines[0].active) = (None, None), "power_curve");
}

#[test]
fn a_node_loses_in_its_supply_what_it_draws_on_average() {
    let mut parts = common::parts(1.2);
    let eighty = "summary = ''\nat_20 = 0.8\nat_50 = 0.9\nat_100 = 0.8\n";
    parts.supply.insert("eighty".into(), toml::from_str(eighty).unwrap());
    let disk = common::design("core2", "2.4GHz", 2, "sata-7200-1tb", 1);
    let without = NodePower::new(&disk, &common::node(), 1.2, &parts).unwrap();
    let supply = NodeSupply { part: "eighty".into(), load: 0.5.into() };
    parts.overhead.get_mut("test").unwrap().supply = Some(supply);
    let node = NodePower::new(&disk, &common::node(), 1.2, &parts).unwrap();
    // All parts active are half of the rated power.
    near(node.max().0, without.max().0 / 0.9);
    let energy = node.energy(10.0, &Default::default());
    let rated = without.max().0 * 2.0;
    let idle = without.idle().0;
    // Idle is between 20 and 50 % of the rated power, and the loss is linear there.
    let [low, half] = [0.2 * rated * (1.0 / 0.8 - 1.0), 0.5 * rated * (1.0 / 0.9 - 1.0)];
    let lost = low + (half - low) * (idle / rated - 0.2) / 0.3;
    near(energy.total().0, 10.0 * (idle + lost));
    near(energy.cpu.0, 10.0 * 24.0);
}

/// A job that reads in its first and its last second, and computes for a time between.
fn with_gap(secs: u64) -> Vec<Sample> {
    let computing = (1..=secs).map(|nth| second(nth, 4.0));
    [reading(0)].into_iter().chain(computing).chain([reading(secs + 1)]).collect()
}

const WITH_DISK: &str = "storage = \"sata-7200-1tb\"\nidle = '10W'\nactive = '50W'\n";

fn spinning_down(samples: &[Sample], after_s: Option<f64>) -> (JobSurvey, tempfile::TempDir) {
    let (folder, trace) = traced(samples);
    let made = survey(vec![trace], &machine_with(WITH_DISK));
    (JobSurvey { spin_down: Some(SpinDown { after_s }), ..made }, folder)
}

fn spin_down(survey: &JobSurvey) -> SpinDownReport {
    job(&answer(survey), "traced").spin_down.unwrap()
}

#[test]
fn a_disk_sleeps_in_gaps_and_the_job_waits_for_it() {
    let (asleep, _folder) = spinning_down(&with_gap(100), None);
    let awake = JobSurvey { spin_down: None, ..asleep.clone() };
    let [slept, idled] = [&asleep, &awake].map(|survey| job(&answer(survey), "traced"));
    let found = slept.spin_down.clone().unwrap();
    // (227 J - 9 W x 13.5 s) / 8 W.
    near(found.after_s, 105.5 / 8.0);
    assert_eq!((found.is_used, found.starts, found.rated_starts), (true, 1, Some(50_000)));
    near(found.asleep_s, 100.0 - 105.5 / 8.0);
    near(found.waiting_s, 13.5);
    near(slept.time_s - idled.time_s, 13.5);
    // The disk saves 8 W in standby, and needs 227 J in place of 9 W x 13.5 s. The machine, without
    // the disk, draws 10 W while it waits.
    let saved = 8.0 * found.asleep_s - 227.0 - 10.0 * 13.5;
    near(found.saved_j.unwrap(), saved);
    near(idled.energy_j.unwrap() - slept.energy_j.unwrap(), saved);
    // Without the option, the report says the same of what it would save.
    let would = idled.spin_down.unwrap();
    assert!(!would.is_used);
    near(would.saved_j.unwrap(), saved);
    near(would.waiting_s, 13.5);
    // The lower end of the range has no wait: a write may stay in the page cache.
    assert!(slept.time_s_low < slept.time_s - 13.0, "{slept:?}");
    assert!(slept.time_s_high > slept.time_s);
}

#[test]
fn gaps_below_the_time_change_nothing() {
    let (asleep, _folder) = spinning_down(&with_gap(13), None);
    let awake = JobSurvey { spin_down: None, ..asleep.clone() };
    let [slept, idled] = [&asleep, &awake].map(|survey| job(&answer(survey), "traced"));
    assert_eq!(slept.spin_down.as_ref().unwrap().starts, 0);
    near(slept.time_s, idled.time_s);
    near(slept.energy_j.unwrap(), idled.energy_j.unwrap());
    let (later, _folder) = spinning_down(&with_gap(100), Some(100.5));
    assert_eq!(spin_down(&later).starts, 0);
    let (sooner, _folder) = spinning_down(&with_gap(13), Some(12.0));
    let found = spin_down(&sooner);
    assert_eq!((found.starts, found.after_s), (1, 12.0));
    assert!(found.saved_j.unwrap() < 0.0);
}

#[test]
fn gaps_are_as_long_as_they_are_on_the_design() {
    let (folder, trace) = traced(&with_gap(100));
    let fast = machine_with(WITH_DISK).replace("traced", "fast").replace("= 2.0", "= 20.0");
    let text = machine_with(WITH_DISK) + &fast;
    let found =
        answer(&JobSurvey { spin_down: Some(SpinDown::default()), ..survey(vec![trace], &text) });
    // Ten times the speed: 100 s of computing are 10 s, which are shorter than the break-even time.
    assert_eq!(job(&found, "traced").spin_down.unwrap().starts, 1);
    assert_eq!(job(&found, "fast").spin_down.unwrap().starts, 0);
    drop(folder);
}

#[test]
fn starts_use_up_the_rated_ones() {
    let (mut survey, _folder) = spinning_down(&with_gap(100), None);
    survey.catalogue.machines[0].purchase_price = Some(1000.0.into());
    survey.catalogue.operation = Some(Operation {
        years: 4.0,
        hours_per_year: 4383.0,
        runs_per_day: Some(100.0),
        price_per_kwh: 0.1,
        pue: 1.0,
        grams_per_kwh: 0.0,
    });
    let report = answer(&survey);
    let bill = named(&report, "traced").bill.unwrap();
    near(bill.inputs.wear.unwrap(), 1.0 / 50_000.0);
    // 100 starts a day.
    near(bill.bill.flash_life_years.unwrap(), 500.0 / 365.25);
}

#[test]
fn standby_that_no_disk_has_is_refused() {
    let (_folder, trace) = traced(&with_gap(100));
    let none = survey(vec![trace.clone()], &SPACE);
    let none = JobSurvey { spin_down: Some(SpinDown::default()), ..none };
    assert!(refusal(&none).contains("spin_down"));
    let bad = survey(vec![trace], &machine_with(WITH_DISK));
    let bad = JobSurvey { spin_down: Some(SpinDown { after_s: Some(0.0) }), ..bad };
    assert!(refusal(&bad).contains("not above zero"));
    assert!(
        StoragePower::new("gordon-slc-256g", 1, &common::parts(1.0)).unwrap().standby().is_none()
    );
}
