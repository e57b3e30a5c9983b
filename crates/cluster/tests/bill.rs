//! What a run costs in all, by hand, and choices by it.

mod common;

use common::machines::{SPACE, answer, catalogue, second, survey_of, traced};
use gordon_cluster::model::bill::{Bill, BillInputs};
use gordon_cluster::model::cost::{Goals, Objective};
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::space::catalogue::MachineCatalogue;
use gordon_cluster::space::operation::Operation;
use gordon_cluster::survey::ReportOf;

/// 24 runs a day for 4 years: 8,766 runs a year, one an hour.
const OPERATION: Operation = Operation {
    years: 4.0,
    hours_per_year: 4383.0,
    runs_per_day: Some(24.0),
    price_per_kwh: 0.2,
    pue: 1.5,
    grams_per_kwh: 500.0,
};

/// Two nodes that are busy for half of each hour.
const OWNED: BillInputs = BillInputs {
    nodes: 2,
    time_s: 1800.0,
    energy_j: Some(360_000.0),
    idle_w: Some(20.0),
    purchase_price: Some(1000.0),
    drives_price: Some(100.0),
    rent_per_hour: None,
    billed_s: 0.0,
    embodied_kg: Some(300.0),
    drives_embodied_kg: Some(50.0),
    drives_life_years: Some(5.0),
    wear: None,
    wear_low: None,
    wear_high: None,
};

#[track_caller]
fn near(found: Option<f64>, wanted: f64) {
    let found = found.expect("known");
    assert!((found - wanted).abs() < 1e-9 * wanted.abs(), "{found} is not {wanted}");
}

#[test]
fn a_run_on_owned_nodes_has_its_share_of_the_year() {
    let bill = OWNED.bill(&OPERATION);
    near(bill.runs_per_year, 8766.0);
    near(bill.busy, 0.5);
    near(bill.purchase, 2.0 * 1000.0 / 4.0 / 8766.0);
    near(bill.drives, 2.0 * 100.0 / 4.0 / 8766.0);
    // 360 kJ of the run, 2 x 20 W for the other half of the hour, and half as much for the
    // building.
    near(bill.energy_kwh, 432_000.0 * 1.5 / 3.6e6);
    near(bill.electricity, 0.18 * 0.2);
    near(bill.total, 2200.0 / 4.0 / 8766.0 + 0.036);
    near(bill.carbon_use_kg, 0.09);
    near(bill.carbon_made_kg, 2.0 * 350.0 / 4.0 / 8766.0);
    assert_eq!(bill.rent, None);
    assert_eq!(bill.flash_life_years, None);
}

#[test]
fn drives_are_replaced_when_they_are_worn_or_old() {
    // A run uses so much of the endurance that two years use all of it.
    let worn = BillInputs { wear: Some(0.5 / 8766.0), ..OWNED }.bill(&OPERATION);
    near(worn.flash_life_years, 2.0);
    near(worn.drives, 2.0 * 100.0 / 2.0 / 8766.0);
    near(worn.carbon_made_kg, (600.0 / 4.0 + 100.0 / 2.0) / 8766.0);
    let old = BillInputs { drives_life_years: Some(1.0), ..OWNED }.bill(&OPERATION);
    near(old.drives, 2.0 * 100.0 / 8766.0);
    // Without wear, no number of runs uses the endurance.
    let unworn = BillInputs { wear: Some(0.0), ..OWNED }.bill(&OPERATION);
    assert_eq!(unworn.flash_life_years, None);
    near(unworn.drives, 2.0 * 100.0 / 4.0 / 8766.0);
}

#[test]
fn without_a_number_of_runs_there_are_as_many_as_the_hours_of_a_year_hold() {
    let bill = OWNED.bill(&Operation { runs_per_day: None, ..OPERATION });
    near(bill.runs_per_year, 4383.0 * 2.0);
    near(bill.busy, 4383.0 / 8766.0);
    // All hours of a leap year.
    let always = Operation { runs_per_day: None, hours_per_year: 8784.0, ..OPERATION };
    near(OWNED.bill(&always).busy, 1.0);
    assert!(OWNED.bill(&always).total.is_some());
}

#[test]
fn nodes_that_do_not_keep_up_have_no_bill() {
    let bill = OWNED.bill(&Operation { runs_per_day: Some(49.0), ..OPERATION });
    near(bill.busy, 49.0 / 48.0);
    assert_eq!((bill.total, bill.carbon_kg, bill.purchase), (None, None, None));
}

#[test]
fn a_rented_run_has_its_rent_and_the_share_of_a_server() {
    let rented = BillInputs { purchase_price: None, rent_per_hour: Some(1.5), ..OWNED };
    let bill = rented.bill(&OPERATION);
    near(bill.total, 0.75);
    near(bill.energy_kwh, 360_000.0 * 1.5 / 3.6e6);
    near(bill.carbon_use_kg, 0.15 * 0.5);
    near(bill.carbon_made_kg, 350.0 * 2.0 * 0.5 / (4.0 * 8766.0));
    assert_eq!((bill.electricity, bill.busy), (None, None));
    near(bill.runs_per_year, 8766.0);
    // Two hours are billed at least.
    let seldom = Operation { runs_per_day: None, ..OPERATION };
    let minimum = BillInputs { billed_s: 7200.0, ..rented };
    near(minimum.bill(&seldom).total, 3.0);
    assert_eq!(minimum.bill(&seldom).runs_per_year, None);
}

#[test]
fn nodes_that_are_kept_from_run_to_run_are_billed_for_the_time_between_starts() {
    let rented =
        BillInputs { purchase_price: None, rent_per_hour: Some(1.5), billed_s: 7200.0, ..OWNED };
    let total = |runs: f64| rented.bill(&Operation { runs_per_day: Some(runs), ..OPERATION }).total;
    // Each is billed for two hours, until the next one starts within them.
    near(total(6.0), 3.0);
    near(total(12.0), 3.0);
    near(total(24.0), 1.5);
    // The nodes never wait, and others are rented next to them.
    near(total(48.0), 0.75);
    near(total(480.0), 0.75);
}

#[test]
fn what_is_unknown_leaves_the_sum_unknown_and_the_rest_known() {
    let Bill { total, purchase, electricity, carbon_kg, .. } =
        BillInputs { energy_j: None, ..OWNED }.bill(&OPERATION);
    assert_eq!((total, electricity, carbon_kg), (None, None, None));
    assert!(purchase.is_some());
    let Bill { total, drives, electricity, .. } =
        BillInputs { drives_price: None, ..OWNED }.bill(&OPERATION);
    assert_eq!((total, drives), (None, None));
    assert!(electricity.is_some());
}

#[test]
fn absurd_values_are_refused_by_name() {
    for (operation, wanted) in [
        (Operation { price_per_kwh: -0.1, ..OPERATION }, "operation.price_per_kwh: -0.1 "),
        (Operation { pue: 0.9, ..OPERATION }, "operation.pue: 0.9 is not 1 to 10"),
        (Operation { years: f64::NAN, ..OPERATION }, "operation.years: NaN"),
        (Operation { runs_per_day: Some(0.0), ..OPERATION }, "operation.runs_per_day: 0 "),
    ] {
        let error = operation.check().unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn a_month_of_a_bought_machine_costs_the_same_whatever_hours_it_works() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let months = OPERATION.years * 8766.0 / 730.0;
    for price_per_hour in [0.01, 0.36] {
        let text = format!("price_per_hour = {price_per_hour}\npurchase_price = 1000.0");
        let space = SPACE.replacen("price_per_hour = 0.36", &text, 1);
        let mut catalogue = catalogue(&space);
        let month = |catalogue: &MachineCatalogue| {
            let report = answer(&survey_of(vec![trace.clone()], catalogue.clone()));
            let found = report.designs.into_iter().find(|design| design.hardware.id == "traced");
            found.unwrap().hardware.price_per_month
        };
        // Nothing says how long it is kept.
        near(month(&catalogue), 730.0 * price_per_hour);
        catalogue.operation = Some(OPERATION);
        near(month(&catalogue), 1000.0 / months);
        // A rented machine.
        catalogue.machines[0].purchase_price = None;
        near(month(&catalogue), 730.0 * price_per_hour);
    }
}

/// The survey of a second on four cores, of machines that differ in price, speed and watts.
fn chosen(goals: Goals) -> ReportOf<JobSurvey> {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let of = |id: &str, price: f64, active: u32| {
        (
            format!("id = \"{id}\""),
            format!(
                "id = \"{id}\"\npurchase_price = {price:.1}\nidle = \"1W\"\n\
                 active = \"{active}W\"\nembodied_kg = {price:.1}"
            ),
        )
    };
    let mut space = SPACE
        .replace("price_per_hour = 0.36\nidle = \"10W\"\nactive = \"50W\"\n", "")
        .replace("\"1GiB\"", "\"16GiB\"");
    for (from, to) in [of("traced", 100.0, 50), of("wide", 400.0, 50), of("fast", 900.0, 20)] {
        space = space.replacen(&from, &to, 1);
    }
    let mut catalogue = catalogue(&space);
    catalogue.operation = Some(Operation { runs_per_day: Some(1.0), ..OPERATION });
    answer(&JobSurvey { goals, ..survey_of(vec![trace], catalogue) })
}

#[test]
fn the_front_the_names_and_the_verdict_follow_the_objectives() {
    let goals = |objectives: &[Objective]| Goals {
        objectives: objectives.to_vec(),
        deadline_s: Some(10.0),
        ..Goals::default()
    };
    let by = |objectives: &[Objective]| {
        let report = chosen(goals(objectives));
        let verdict = report.extras.verdict.clone().expect("a design meets the deadline");
        (verdict.machine, verdict.by)
    };
    assert_eq!(by(&[Objective::Time, Objective::Tco]), ("traced".into(), Objective::Tco));
    assert_eq!(by(&[Objective::Energy, Objective::Tco]), ("fast".into(), Objective::Energy));
    assert_eq!(by(&[Objective::Carbon]), ("traced".into(), Objective::Carbon));
    let report = chosen(goals(&[Objective::Tco]));
    assert_eq!(report.front, ["traced"]);
    let named = |name: &str| report.named.iter().find(|(own, _)| *own == name).unwrap().1.clone();
    assert_eq!(named("least-tco").as_deref(), Some("traced"));
    assert_eq!(named("least-energy").as_deref(), Some("fast"));
    // The machine `storage` has no price, and so no bill; it is reported, and on no front.
    let bare = report.designs.iter().find(|design| design.hardware.id == "storage").unwrap();
    assert_eq!(bare.bill.unwrap().bill.total, None);
    let plain = chosen(Goals::default());
    assert_eq!(plain.named.len(), 3);
}

#[test]
fn limits_leave_out_designs() {
    let within = |limit: Goals| chosen(limit).front;
    let power = within(Goals { max_power_w: Some(30.0), ..Goals::default() });
    assert_eq!(power, ["fast"]);
    let none = chosen(Goals { max_power_w: Some(1.0), ..Goals::default() });
    assert!(none.front.is_empty());
    assert!(none.extras.verdict.is_none());
    // Volumes do not wear by what is known of them, so that no life is long enough.
    let life = within(Goals { min_life_years: Some(1.0), ..Goals::default() });
    assert!(life.is_empty(), "{life:?}");
}
