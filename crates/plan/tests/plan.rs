//! Plans by hand, and a random queue against the rules that any schedule keeps.

use gordon_plan::{JobTimes, Plan, PlanError, PlanReport, Remedy, run};
use gordon_units::{DataRate, SplitMix64};
use serde_json::{Value, json};

/// Two slices of one node of 100 GB, loaded at 1 GB/s; reads and writes take no time to speak of.
fn plan(overlap: bool, jobs: &Value) -> Plan {
    array(2, 2, overlap, jobs)
}

fn array(nodes: u32, slices: u32, overlap: bool, jobs: &Value) -> Plan {
    let plan = json!({
        "node": { "capacity": "100GB", "read": "1000GB", "write": "1000GB" },
        "nodes": nodes,
        "slices": slices,
        "link": "1GB",
        "overlap": overlap,
        "data": null,
        "jobs": jobs,
    });
    serde_json::from_value(plan).expect("a plan")
}

fn report(plan: &Plan) -> PlanReport {
    run(plan).expect("a possible plan")
}

/// The starts of loading and computing, and the end, in whole seconds.
fn times(job: &JobTimes) -> [u64; 3] {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    [job.load_start_s, job.compute_start_s, job.end_s].map(|secs| secs.round() as u64)
}

#[test]
fn jobs_are_served_in_the_order_of_their_arrival() {
    let jobs = json!([
        { "name": "late", "data": "10GB", "compute": "5s", "arrival": "3s" },
        { "name": "a", "data": "10GB", "compute": "5s" },
        { "name": "b", "data": "20GB", "compute": "5s", "results": "2GB" },
    ]);
    let found = report(&plan(false, &jobs));
    let [late, a, b] = &found.jobs[..] else { panic!("three jobs") };
    assert_eq!(times(a), [0, 10, 15]);
    assert_eq!(times(b), [0, 20, 27]);
    assert_eq!(times(late), [15, 25, 30], "it waits for the first free slice");
    assert_eq!((a.slices.as_slice(), late.slices.as_slice()), (&[0][..], &[0][..]));
    assert!((late.wait_s - 12.0).abs() < 1e-6);
    assert!((found.span_s - 30.0).abs() < 1e-6);
}

#[test]
fn a_job_whose_data_need_two_slices_is_loaded_over_two_links() {
    let jobs = json!([{ "name": "large", "data": "150GB", "compute": "1s" }]);
    let found = report(&plan(false, &jobs));
    assert_eq!(times(&found.jobs[0]), [0, 75, 76]);
    assert_eq!((found.jobs[0].nodes, found.jobs[0].slices.len()), (2, 2));
}

#[test]
fn the_networks_of_the_nodes_limit_transfers() {
    let jobs = json!([{
        "name": "a", "data": "10GB", "results": "5GB", "compute": "1s", "deadline": "30s",
    }]);
    let mut plan = plan(false, &jobs);
    plan.node.network = Some(DataRate(0.5e9));
    let found = report(&plan);
    assert_eq!(found.slice.network_bytes_per_s, Some(0.5e9));
    assert_eq!(times(&found.jobs[0]), [0, 20, 31]);
    // The networks transfer 15 GB in 30 s whatever the link is.
    let link =
        |found: &PlanReport| found.remedies.iter().any(|one| matches!(one, Remedy::Link { .. }));
    assert!(!link(&found));
    plan.node.network = None;
    plan.link = DataRate(0.5e9);
    assert!(link(&report(&plan)));
}

#[test]
fn a_job_that_finds_too_few_slices_holds_up_those_behind_it() {
    let jobs = json!([
        { "name": "a", "data": "10GB", "compute": "10s" },
        { "name": "both", "data": "10GB", "nodes": 2, "compute": "1s" },
        { "name": "small", "data": "10GB", "compute": "1s" },
    ]);
    let found = report(&plan(false, &jobs));
    assert_eq!(times(&found.jobs[1]), [20, 25, 26]);
    assert_eq!(times(&found.jobs[2]), [26, 36, 37]);
}

#[test]
fn with_overlap_the_next_job_is_loaded_while_one_computes() {
    let job = |name: &str| json!({ "name": name, "data": "10GB", "compute": "10s" });
    let jobs = json!([job("a"), job("b"), job("c")]);
    let found = report(&array(1, 1, true, &jobs));
    let ends: Vec<_> = found.jobs.iter().map(times).collect();
    assert_eq!(ends, [[0, 10, 20], [10, 20, 30], [20, 30, 40]]);
    assert!((found.hidden_share - 2.0 / 3.0).abs() < 1e-6);
}

#[test]
fn with_overlap_a_job_has_half_of_the_storage() {
    let jobs = json!([{ "name": "a", "data": "60GB" }]);
    assert_eq!(report(&plan(false, &jobs)).jobs[0].slices.len(), 1);
    assert_eq!(report(&plan(true, &jobs)).jobs[0].slices.len(), 2);
}

#[test]
fn results_wait_for_the_link_that_loads_the_next_job() {
    let jobs = json!([
        { "name": "a", "data": "10GB", "compute": "5s", "results": "3GB" },
        { "name": "b", "data": "20GB", "compute": "5s" },
    ]);
    let found = report(&array(1, 1, true, &jobs));
    assert_eq!(times(&found.jobs[0]), [0, 10, 33], "b is loaded from 10 s to 30 s");
}

#[test]
fn data_are_read_once_at_least() {
    let mut plan = plan(false, &json!([{ "name": "a", "data": "100GB", "compute": "1s" }]));
    plan.node.read.0 = 10e9;
    assert!((report(&plan).jobs[0].compute_s - 10.0).abs() < 1e-6);
}

#[test]
fn a_missed_deadline_has_the_remedies_that_meet_it() {
    let job = |name: &str| {
        json!({
            "name": name, "data": "30GB", "compute": "30s", "deadline": "100s",
        })
    };
    let jobs = json!([job("a"), job("b")]);
    let late = array(1, 1, false, &jobs);
    let found = report(&late);
    assert_eq!(found.late, 1);
    assert_eq!(found.jobs[1].late_s, Some(20.0));
    let [Remedy::Overlap, Remedy::Link { link_bytes_per_s }, slices] = &found.remedies[..] else {
        panic!("{:?}", found.remedies)
    };
    assert_eq!(*slices, Remedy::Slices { slices: 2, nodes: 2 });
    // 2 x (30 GB / link + 30 s) are 100 s.
    assert!((1.0..1.001).contains(&(link_bytes_per_s / 1.5e9)), "{link_bytes_per_s}");
}

#[test]
fn a_deadline_that_no_change_meets_has_no_remedy() {
    let jobs = json!([{ "name": "a", "data": "1GB", "compute": "30s", "deadline": "20s" }]);
    let found = report(&plan(false, &jobs));
    assert!(found.remedies.is_empty() && found.jobs[0].is_late_alone);
}

#[test]
fn impossible_plans_are_refused() {
    let one = json!([{ "name": "a", "data": "1GB" }]);
    let refused = |plan: &Plan| run(plan).map(|report| report.late).unwrap_err();
    for (nodes, slices) in [(0, 1), (4, 0), (5, 2), (1, 2)] {
        let error = refused(&array(nodes, slices, false, &one));
        assert!(matches!(error, PlanError::BadArray { .. }), "{error}");
    }
    let mut stopped = plan(false, &one);
    stopped.link.0 = 0.0;
    assert!(matches!(refused(&stopped), PlanError::BadArray { what: "link", .. }));
    assert!(matches!(refused(&plan(false, &json!([]))), PlanError::NoJobs));
    let large = plan(false, &json!([{ "name": "a", "data": "201GB" }]));
    assert!(matches!(refused(&large), PlanError::JobTooLarge { slices: 2, of: 2, .. }));
    let mut slow = plan(false, &one);
    slow.link.0 = 1e-3;
    assert!(matches!(refused(&slow), PlanError::BadJob { key: "data", .. }));
}

/// Any schedule keeps these: phases of a job follow each other, a link serves one transfer at a
/// time, processors one job, and a slice holds at most one or two jobs.
#[test]
fn a_random_queue_keeps_the_rules_of_slices() {
    let mut random = SplitMix64(5);
    for case in 0..40 {
        let overlap = case % 2 == 1;
        let jobs: Vec<Value> = (0..30)
            .map(|n| {
                json!({
                    "name": format!("j{n}"),
                    "data": format!("{}GB", 1 + random.below(120)),
                    "results": format!("{}GB", random.below(20)),
                    "arrival": format!("{}s", random.below(300)),
                    "compute": format!("{}s", random.below(200)),
                })
            })
            .collect();
        let found = report(&array(4, 4, overlap, &json!(jobs)));
        for job in &found.jobs {
            let order = [
                job.arrival_s,
                job.load_start_s,
                job.load_end_s,
                job.compute_start_s,
                job.compute_end_s,
                job.unload_start_s,
                job.end_s,
            ];
            assert!(order.is_sorted(), "{job:?}");
            assert!(job.wait_s >= 0.0);
        }
        for slice in 0..4 {
            let mine: Vec<_> = found.jobs.iter().filter(|j| j.slices.contains(&slice)).collect();
            let links = mine.iter().flat_map(|job| {
                [(job.load_start_s, job.load_end_s), (job.unload_start_s, job.end_s)]
            });
            assert!(most_at_once(links.collect()) <= 1);
            let computing = mine.iter().map(|job| (job.compute_start_s, job.compute_end_s));
            assert!(most_at_once(computing.collect()) <= 1);
            let resident = mine.iter().map(|job| (job.load_start_s, job.end_s));
            assert!(most_at_once(resident.collect()) <= if overlap { 2 } else { 1 });
        }
    }
}

/// The most spans of a list that overlap.
fn most_at_once(spans: Vec<(f64, f64)>) -> i32 {
    let mut changes: Vec<(f64, i32)> =
        spans.iter().flat_map(|&(start, end)| [(start, 1), (end, -1)]).collect();
    // A job that ends frees its slices before another starts at the same time.
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut now = 0;
    changes
        .iter()
        .map(|change| {
            now += change.1;
            now
        })
        .max()
        .unwrap_or(0)
}
