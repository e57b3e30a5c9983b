//! Surveys of machines: the job model on traces with known answers, and refused machines.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::MadeTrace;
use common::machines::{
    Machines, SPACE, answer, catalogue, job, machines, made, named, near, reading, refusal, second,
    survey, survey_of, traced, verdict, without_reference, write,
};
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::model::job::range::RangeSource;
use gordon_cluster::model::job::report::Objective;
use gordon_cluster::space::catalogue::MachineCatalogue;
use gordon_cluster::survey::ReportOf;
use gordon_trace::{
    ColumnKind, Columns, CommandReads, DeviceSummary, DiskInfo, DiskSample, MachineInfo, Sample,
};
use gordon_units::{Bytes, Ns};

#[test]
fn a_saturated_job_gains_from_cores_and_from_speed() {
    let (_folder, trace) = traced(&[second(0, 4.0), second(1, 4.0)]);
    let report = answer(&survey(vec![trace], &SPACE));
    let traced = job(&report, "traced");
    near(traced.time_s, 2.0);
    // Only runs on the same machine differ.
    assert_eq!(traced.range_by_s.keys().copied().collect::<Vec<_>>(), [RangeSource::Runs]);
    assert!(traced.time_s_low > 1.9 && traced.time_s_high < 2.1, "{traced:?}");
    // Nothing says how many more cores the job could use.
    let wide = job(&report, "wide");
    near(wide.range_by_s[&RangeSource::Cores][0], 1.0);
    near(wide.range_by_s[&RangeSource::Cores][1], 2.0);
    assert!(wide.time_s > 1.0 && wide.time_s < 1.5, "{wide:?}");
    assert!(report.warnings.iter().any(|w| w.contains("all of the 4 cores were busy")));
    near(job(&report, "fast").time_s, 1.0);
    assert!(named(&report, "traced").is_reference);
    near(named(&report, "traced").limits["cpu"], 1.0);
}

#[test]
fn price_and_energy_are_those_of_the_predicted_time() {
    let (_folder, trace) = traced(&[second(0, 4.0), second(1, 0.0)]);
    let report = answer(&survey(vec![trace], &SPACE));
    let traced = job(&report, "traced");
    near(traced.price.unwrap(), 2.0 * 0.36 / 3600.0);
    // 10 W for two seconds, and 40 W more for the second in which all cores are busy.
    near(traced.energy_j.unwrap(), 60.0);
    assert_eq!(job(&report, "wide").energy_j, None);
    assert_eq!(job(&report, "wide").price, None);
}

#[test]
fn a_reader_gains_half_from_storage_and_nothing_from_cores() {
    let (_folder, trace) = traced(&[reading(0)]);
    let report = answer(&survey(vec![trace], &SPACE));
    near(job(&report, "wide").time_s, 1.0);
    near(job(&report, "storage").time_s, 0.55);
    near(named(&report, "traced").limits["storage"], 0.5);
}

#[test]
fn an_old_trace_without_iowait_is_taken_as_one_waiting_thread() {
    let folder = tempfile::tempdir().unwrap();
    let trace = write(folder.path(), "a", &[reading(0)], false);
    let report = answer(&survey(vec![trace], &SPACE));
    near(job(&report, "storage").time_s, 0.55);
    assert!(report.warnings.iter().any(|w| w.contains("iowait")), "{:?}", report.warnings);
}

#[test]
fn stalls_that_the_kernel_counted_raise_the_estimate_from_iowait() {
    let folder = tempfile::tempdir().unwrap();
    let fewer = Sample { psi_io_full: Ns::from_secs(0.3), ..reading(0) };
    let fewer = made(&[fewer], &[]).write(&folder.path().join("fewer"));
    near(job(&answer(&survey(vec![fewer], &SPACE)), "storage").time_s, 0.55);
    let sample = Sample { psi_io_full: Ns::from_secs(0.6), ..reading(0) };
    let with = made(std::slice::from_ref(&sample), &[]).write(&folder.path().join("with"));
    let report = answer(&survey(vec![with], &SPACE));
    let traced = job(&report, "traced");
    near(traced.time_s, 1.0);
    assert_eq!(traced.range_by_s.keys().copied().collect::<Vec<_>>(), [RangeSource::Runs]);
    near(named(&report, "traced").limits["storage"], 0.6);
    let storage = job(&report, "storage");
    near(storage.time_s, 0.4 + 0.06);
    assert!(storage.time_s_high >= 0.55 - 1e-9, "{storage:?}");
    let without = made(&[sample], &["psi_io_full_ns"]).write(&folder.path().join("without"));
    near(job(&answer(&survey(vec![without], &SPACE)), "storage").time_s, 0.55);
}

#[test]
fn a_saturated_machine_on_which_no_thread_waited_gains_nothing_from_cores() {
    let folder = tempfile::tempdir().unwrap();
    let sample = |waited| Sample { psi_cpu_some: Ns::from_secs(waited), ..second(0, 4.0) };
    let wide = |name: &str, waited| {
        let trace = made(&[sample(waited)], &[]).write(&folder.path().join(name));
        job(&answer(&survey(vec![trace], &SPACE)), "wide").time_s
    };
    near(wide("a", 0.0), 1.0);
    assert!(wide("b", 1.0) < 0.6);
}

#[test]
fn a_trace_with_pressure_and_without_iowait_needs_no_assumption() {
    let folder = tempfile::tempdir().unwrap();
    let trace = made(&[reading(0)], &["iowait_ns"]).write(&folder.path().join("a"));
    let report = answer(&survey(vec![trace], &SPACE));
    assert!(report.warnings.iter().all(|w| !w.contains("iowait")), "{:?}", report.warnings);
}

#[test]
fn devices_of_a_trace_are_reported_with_their_settings() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = reading(0);
    let removed = DiskSample { device: 8 << 20 | 16, writes: 1, ..other.disks[0] };
    let idle = DiskSample { device: 9 << 20, ..DiskSample::default() };
    other.disks.extend([removed, idle]);
    let samples = [other, reading(1)];
    let mut trace = made(&samples, &[]);
    trace.machine.disks = vec![DiskInfo {
        name: "sda".into(),
        device: 8 << 20,
        rotational: true,
        model: Some("WDC".into()),
        read_ahead: Some(Bytes(4 << 20)),
        scheduler: Some("none".into()),
        max_request: Some(Bytes(1 << 20)),
        ..DiskInfo::default()
    }];
    let report = answer(&survey(vec![trace.write(&folder.path().join("a"))], &SPACE));
    let [sda, gone] = report.traces[0].devices.as_slice() else { panic!("{:?}", report.traces[0]) };
    let expected = DeviceSummary {
        name: "sda".into(),
        model: Some("WDC".into()),
        rotational: Some(true),
        read_ahead_bytes: Some(4 << 20),
        scheduler: Some("none".into()),
        max_request_bytes: Some(1 << 20),
        is_virtual: false,
        members: vec![],
        read_bytes: 100_000_000,
        write_bytes: 0,
    };
    assert_eq!(*sda, expected);
    assert_eq!((gone.name.as_str(), gone.rotational), ("8:16", None));
    assert_eq!((gone.read_bytes, report.traces[0].read_amplification), (50_000_000, None));
}

#[test]
fn a_trace_that_fetched_much_more_than_it_requested_gets_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let samples = [reading(0)];
    let answer_of = |name: &str, reads| {
        let mut trace = made(&samples, &[]);
        trace.reads = Some(reads);
        trace.machine.memory = Bytes(2 << 30);
        let disk = DiskInfo {
            name: "sda".into(),
            device: 8 << 20,
            read_ahead: Some(Bytes(4 << 20)),
            ..DiskInfo::default()
        };
        trace.machine.disks = vec![disk];
        let trace = trace.write(&folder.path().join(name));
        answer(&survey(vec![trace], &SPACE))
    };
    let much = CommandReads { fetched: Bytes(300), returned: Bytes(100), ..Default::default() };
    let warned = |report: &ReportOf<JobSurvey>| {
        report.warnings.iter().find(|w| w.contains("read amplification")).cloned()
    };
    let report = answer_of("much", much);
    assert_eq!(report.traces[0].read_amplification, Some(3.0));
    let warning = warned(&report).unwrap();
    for part in ["3.00", "4MiB of sda", "2GiB"] {
        assert!(warning.contains(part), "{warning}");
    }
    for (name, reads, expected) in [
        ("some", CommandReads { mapped: Bytes(150), ..much }, Some(1.2)),
        ("unknown", CommandReads { is_asynchronous: true, ..much }, None),
        ("hidden", CommandReads { is_partial: true, ..much }, None),
        ("none", CommandReads::default(), None),
    ] {
        let report = answer_of(name, reads);
        assert_eq!(report.traces[0].read_amplification, expected);
        assert_eq!(warned(&report), None);
    }
}

#[test]
fn few_small_requests_are_limited_by_latency_and_not_by_bandwidth() {
    let mut sample = reading(0);
    // 400 requests of 4 KiB at 1 ms, with one outstanding, are 0.4 s of the device.
    sample.disks[0].reads = 400;
    sample.disks[0].read_bytes = Bytes(400 * 4096);
    sample.disks[0].busy = Ns::from_secs(0.4);
    sample.iowait = Ns::from_secs(0.4);
    sample.cpu_per_core = vec![Ns::from_secs(0.15); 4];
    let (_folder, trace) = traced(&[sample]);
    let slow = SPACE.replace(r#""1GB", latency = "0.1ms""#, r#""1GB", latency = "2ms""#);
    let report = answer(&survey(vec![trace], &slow));
    near(job(&report, "storage").time_s, 0.6 + 0.8);
}

#[test]
fn the_network_of_the_target_may_limit() {
    let (_folder, trace) = traced(&[Sample { rx_bytes: Bytes(250_000_000), ..second(0, 1.0) }]);
    let report = answer(&survey(vec![trace], &SPACE));
    near(job(&report, "traced").time_s, 1.0);
    near(job(&report, "storage").time_s, 2.0);
    near(named(&report, "storage").limits["network"], 1.0);
}

#[test]
fn the_node_that_ends_last_gives_the_time_and_all_nodes_the_price() {
    let folder = tempfile::tempdir().unwrap();
    let long = write(folder.path(), "a", &[second(0, 4.0), second(1, 4.0)], true);
    let short = write(folder.path(), "b", &[second(0, 4.0)], true);
    let report = answer(&survey(vec![short, long], &SPACE));
    near(job(&report, "traced").time_s, 2.0);
    near(job(&report, "traced").price.unwrap(), 2.0 * 2.0 * 0.36 / 3600.0);
    // Two seconds on two nodes, three of the four seconds busy.
    near(job(&report, "traced").energy_j.unwrap(), 2.0 * 20.0 + 3.0 * 40.0);
}

#[test]
fn a_storage_part_is_simulated_and_capped() {
    let (_folder, trace) = traced(&[reading(0)]);
    let part = r#"{ part = "gordon-slc-256g" }"#;
    let limited = r#"{ part = "gordon-slc-256g", bandwidth = "10MB" }"#;
    let time = |storage: &str| {
        let space = SPACE.replace(r#"{ bandwidth = "1GB", latency = "0.1ms" }"#, storage);
        let report = answer(&survey(vec![trace.clone()], &space));
        assert_eq!(report.storages.len(), 1);
        job(&report, "storage").time_s
    };
    near(time(part), time(r#""gordon-slc-256g""#));
    assert!(time(part) < 0.6, "{}", time(part));
    // Ten times slower than the traced device.
    near(time(limited), 0.5 + 5.0);
}

#[test]
fn each_storage_and_network_of_a_list_is_a_design() {
    let folder = tempfile::tempdir().unwrap();
    let trace = write(folder.path(), "a", &[reading(0)], true);
    let lists = SPACE.replace(
        "storage = { bandwidth = \"1GB\", latency = \"0.1ms\" }\nnetwork = \"1Gb\"",
        "storage = [{ bandwidth = \"1GB\", latency = \"0.1ms\" }, \"gordon-slc-256g\"]\n\
         network = [\"1Gb\", \"10Gb\"]",
    );
    assert_ne!(lists, *SPACE);
    let report = answer(&survey(vec![trace.clone()], &lists));
    assert_eq!(report.designs_total, 7);
    let ids: Vec<&str> = report.designs[3..].iter().map(|m| m.hardware.id.as_str()).collect();
    let volume = "storage/1GB";
    let part = "storage/gordon-slc-256g";
    let expected = [
        format!("{volume}/1Gb"),
        format!("{volume}/10Gb"),
        format!("{part}/1Gb"),
        format!("{part}/10Gb"),
    ];
    assert_eq!(ids, expected);
    let alone = answer(&survey(vec![trace.clone()], &SPACE));
    near(job(&report, &expected[0]).time_s, job(&alone, "storage").time_s);
    let twice = lists.replace("[\"1Gb\", \"10Gb\"]", "[\"1Gb\", \"1Gb\"]");
    assert!(refusal(&survey(vec![trace], &twice)).contains("`1Gb` twice"));
    let empty = SPACE.replace("network = \"1Gb\"", "network = []");
    let error = toml::from_str::<Machines>(&empty).err().unwrap().to_string();
    assert!(error.contains("the list is empty"), "{error}");
}

#[test]
fn traces_of_machines_with_other_speeds_are_scaled_each_by_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str, model: &str| {
        let columns = Columns::all(ColumnKind::Measured, "made up");
        let machine = MachineInfo { cores: 4, cpu_model: model.into(), ..MachineInfo::default() };
        let samples = [second(0, 4.0)];
        let made = MadeTrace { columns, machine, samples: &samples, ..MadeTrace::default() };
        made.write(&folder.path().join(name))
    };
    let traces = vec![named("a", "Slow CPU"), named("b", "Fast CPU")];
    let space = SPACE
        .replacen("core_speed = 2.0", "core_speed = 2.0\nmodels = [\"Slow\"]", 1)
        .replacen("core_speed = 4.0", "core_speed = 4.0\nmodels = [\"Fast\"]", 1);
    let report = answer(&survey_of(traces, without_reference(&space)));
    // A third of the work is that of the slow machine, and all of it divides among two machines. If
    // each does what one of the traced ones did, the work of the fast machine takes longest.
    near(job(&report, "traced").time_s, 1.5);
    near(job(&report, "fast").time_s, 0.75);
    assert!(job(&report, "traced").range_by_s[&RangeSource::Cores][1] > 1.99);
}

#[test]
fn the_verdict_is_the_cheapest_that_is_nearly_the_fastest() {
    let folder = tempfile::tempdir().unwrap();
    let trace = write(folder.path(), "a", &[second(0, 4.0)], true);
    // Two machines that are twice as fast as the traced one.
    let space = SPACE.replacen("cores = 8\ncore_speed = 2.0", "cores = 4\ncore_speed = 4.0", 1);
    let space = space.replacen("\"1GiB\"", "\"16GiB\"", 1);
    let priced = |wide: &str, fast: &str| {
        let space = space
            .replacen("id = \"wide\"", &format!("id = \"wide\"\nprice_per_hour = {wide}"), 1)
            .replacen("id = \"fast\"", &format!("id = \"fast\"\nprice_per_hour = {fast}"), 1);
        let report = answer(&JobSurvey { rows: 0, ..survey(vec![trace.clone()], &space) });
        assert_eq!(verdict(&report).by, Objective::Price);
        verdict(&report).machine.clone()
    };
    // Both take half a second; the traced machine is cheaper and takes twice as long.
    assert_eq!(priced("5.0", "4.0"), "fast");
    assert_eq!(priced("4.0", "5.0"), "wide");
    let free = space.replace("price_per_hour = 0.36\n", "");
    let report = answer(&survey(vec![trace.clone()], &free));
    // Only the traced machine has watts, and it is too slow.
    assert_eq!(verdict(&report).by, Objective::Time);
}

#[test]
fn without_a_reference_the_speed_is_assumed_unless_a_machine_names_the_processor() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let unknown = survey_of(vec![trace.clone()], without_reference(&SPACE));
    let report = answer(&unknown);
    assert!(report.extras.reference.is_assumed);
    near(job(&report, "traced").time_s, 0.5);
    assert!(report.warnings.iter().any(|w| w.contains("--reference")), "{:?}", report.warnings);
    let space = SPACE.replace("core_speed = 4.0", "core_speed = 4.0\nmodels = [\"Test\"]");
    let report = answer(&survey_of(vec![trace], without_reference(&space)));
    assert_eq!(report.extras.reference.machine.as_deref(), Some("fast"));
    near(job(&report, "traced").time_s, 2.0);
    assert!(report.warnings.iter().all(|w| !w.contains("--reference")), "{:?}", report.warnings);
}

#[test]
fn a_processor_of_several_machines_is_that_with_the_cores_and_memory_of_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let samples = [second(0, 4.0)];
    let space =
        SPACE.replace("core_speed", "models = [\"Test\"]\nthreads_per_core = 2\ncore_speed");
    let found = |name: &str, space: &str, cores, memory, threads_per_core| {
        let mut trace = made(&samples, &[]);
        trace.machine = MachineInfo { cores, memory, threads_per_core, ..trace.machine };
        let trace = trace.write(&folder.path().join(name));
        answer(&survey_of(vec![trace], without_reference(space))).extras.reference.machine
    };
    let gib = |count: u64| Bytes(count << 30);
    let is = |id: &str| Some(id.to_owned());
    assert_eq!(found("large", &space, 4, gib(15), None), is("traced"));
    assert_eq!(found("small", &space, 4, gib(1), Some(2)), is("fast"));
    assert_eq!(found("unknown memory", &space, 4, Bytes(0), Some(2)), is("traced"));
    assert_eq!(found("more cores", &space, 8, gib(1), Some(2)), is("wide"));
    assert_eq!(found("other cores", &space, 16, gib(1), Some(2)), is("fast"));
    assert_eq!(found("whole cores", &space, 4, gib(15), Some(1)), None);
    let whole = space.replacen("threads_per_core = 2\ncore_speed = 4.0", "core_speed = 4.0", 1);
    assert_eq!(found("not stated", &whole, 4, gib(15), Some(1)), is("fast"));
}

#[test]
fn the_name_of_an_arm_core_names_no_machine() {
    let folder = tempfile::tempdir().unwrap();
    let samples = [second(0, 4.0)];
    let space = SPACE.replace("core_speed = 4.0", "core_speed = 4.0\nmodels = [\"Neoverse-V1\"]");
    for name in ["Neoverse-V1", "ARM Neoverse-V1", "Cortex-A76"] {
        let mut trace = made(&samples, &[]);
        trace.machine.cpu_model = name.into();
        let trace = trace.write(&folder.path().join(name));
        let report = answer(&survey_of(vec![trace], without_reference(&space)));
        assert!(report.extras.reference.is_assumed);
        assert!(report.warnings.iter().any(|w| w.contains(name) && w.contains("--reference")));
    }
}

/// The traced machine is as measured only if it has the cores of the trace.
#[test]
fn a_reference_with_other_cores_than_the_trace_gets_a_warning() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let warned = |reference: &str| {
        let reference = Some(reference.into());
        let report = answer(&survey_of(
            vec![trace.clone()],
            MachineCatalogue { reference, ..catalogue(&SPACE) },
        ));
        report.warnings.iter().any(|w| w.contains("recorded on 4 cores"))
    };
    assert!(warned("wide") && !warned("traced"));
}

#[test]
fn the_unit_of_speed_is_a_reference_even_if_it_is_not_in_the_space() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let unit = Some("elsewhere".to_owned());
    let of_unit = MachineCatalogue { reference: unit.clone(), unit, ..catalogue(&SPACE) };
    let report = answer(&survey_of(vec![trace], of_unit));
    near(job(&report, "traced").time_s, 0.5);
    assert!(!report.extras.reference.is_assumed);
}

#[test]
fn the_traced_machine_may_be_of_another_space_or_be_known_by_its_speed_alone() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let unknown = || without_reference(&SPACE);
    let answered = |catalogue| answer(&survey_of(vec![trace.clone()], catalogue));
    let other = common::machines::machine("other", 4, 1.0, "16GiB", ("100MB", "1ms"), "10Gb");
    let other = machines(&other).pop().map(Box::new);
    let by_machine = answered(MachineCatalogue { reference_machine: other.clone(), ..unknown() });
    let by_speed = answered(MachineCatalogue { reference_speed: Some(1.0), ..unknown() });
    assert_eq!(by_machine.extras.reference.machine.as_deref(), Some("other"));
    assert_eq!(by_speed.extras.reference.machine, None);
    for report in [by_machine, by_speed] {
        near(report.extras.reference.core_speed, 1.0);
        near(job(&report, "traced").time_s, 0.5);
        assert!(!report.extras.reference.is_assumed);
        assert!(report.designs.iter().all(|machine| !machine.is_reference));
        assert!(report.warnings.iter().all(|w| !w.contains("--reference")));
    }
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let wrong = MachineCatalogue { reference_speed: Some(speed), ..unknown() };
        let refused = refusal(&survey_of(vec![trace.clone()], wrong));
        assert!(refused.contains("reference_speed"), "{refused}");
    }
    let twice =
        survey_of(vec![trace], MachineCatalogue { reference_machine: other, ..catalogue(&SPACE) });
    assert!(refusal(&twice).contains("given twice"));
}

#[test]
fn the_trace_of_one_machine_does_not_show_how_its_job_runs_on_several() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    let more = JobSurvey { nodes: vec![1, 2], ..survey(vec![trace], &SPACE) };
    assert!(refusal(&more).contains("run on 2"));
}

/// Two nodes that compute on all of their cores for two seconds.
fn two_busy_nodes(folder: &std::path::Path) -> Vec<String> {
    let samples = [second(0, 4.0), second(1, 4.0)];
    ["a", "b"].map(|name| write(folder, name, &samples, true)).to_vec()
}

#[test]
fn the_work_of_nodes_divides_among_another_number() {
    let folder = tempfile::tempdir().unwrap();
    let traces = two_busy_nodes(folder.path());
    let report = answer(&JobSurvey { nodes: vec![4, 1, 2], ..survey(traces, &SPACE) });
    let of = |id: &str| {
        let found = named(&report, id);
        (found.hardware.nodes, found.is_reference, found.job.clone())
    };
    let (nodes, is_reference, as_traced) = of("2 x traced");
    assert_eq!((nodes, is_reference), (2, true));
    near(as_traced.time_s, 2.0);
    let (_, is_reference, one) = of("1 x traced");
    assert!(!is_reference);
    near(one.time_s, 4.0);
    // All cores were busy: twice as many may be of no use, or halve the time.
    let (_, _, four) = of("4 x traced");
    assert!(four.time_s > 1.0 && four.time_s < 2.0, "{four:?}");
    assert!(four.time_s_low < 1.05 && four.time_s_high > 1.9, "{four:?}");
    near(four.price.unwrap(), four.time_s * 4.0 * 0.36 / 3600.0);
    assert!(report.warnings.iter().any(|text| text.contains("another number")));
}

#[test]
fn a_cluster_is_idle_only_while_all_of_its_nodes_are() {
    let folder = tempfile::tempdir().unwrap();
    // Each node waits for the other.
    let a = write(folder.path(), "a", &[second(0, 1.0), second(1, 0.0), second(2, 0.0)], true);
    let b = write(folder.path(), "b", &[second(0, 0.0), second(1, 1.0), second(2, 0.0)], true);
    let report = answer(&survey(vec![a, b], &SPACE));
    near(report.extras.floor_s, 1.0);
    let fast = job(&report, "fast").time_s;
    near(job(&report, "traced").time_s, 3.0);
    assert!(fast < 2.5, "{fast}");
}

#[test]
fn a_trace_without_cores_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sample = Sample { cpu_per_core: vec![], mhz_per_core: vec![], ..second(0, 0.0) };
    let made = MadeTrace { samples: &[sample], ..MadeTrace::default() };
    let trace = made.write(&folder.path().join("a"));
    let refused = refusal(&survey(vec![trace], &SPACE));
    assert!(refused.contains("number of cores"), "{refused}");
}

#[test]
fn machines_with_invalid_values_are_refused() {
    let (_folder, trace) = traced(&[second(0, 4.0)]);
    for (old, new, named) in [
        ("id = \"wide\"", "id = \"traced\"", "machine `traced`"),
        ("cores = 8", "cores = 0", "machine `wide`: cores"),
        ("core_speed = 4.0", "core_speed = 0", "machine `fast`: core_speed"),
        ("network = \"1Gb\"", "network = \"0Gb\"", "machine `storage`: network"),
        ("idle = \"10W\"", "idle = \"60W\"", "machine `traced`: idle"),
        ("idle = \"10W\"", "", "machine `traced`: idle"),
        ("bandwidth = \"1GB\", ", "", "machine `storage`: storage"),
        ("price_per_hour = 0.36", "price_per_hour = -1.0", "machine `traced`: price_per_hour"),
        ("bandwidth = \"1GB\"", "bandwidth = \"1GB\", count = 2", "storage.count"),
        ("bandwidth = \"1GB\"", "measured = \"a.json\", part = \"b\"", "storage.measured"),
        ("bandwidth = \"1GB\"", "measured = \"a.json\", count = 2", "storage.count"),
        ("bandwidth = \"1GB\"", "measured = \"a.json\"", "measured storage `a.json`"),
        ("id = \"wide\"", "id = \" \"", "machine ` `: id"),
        ("cores = 8", "cores = 8\nthreads_per_core = 0", "machine `wide`: threads_per_core"),
        ("cores = 8", "cores = 8\nthreads_per_core = 9", "machine `wide`: threads_per_core"),
        ("cores = 8", "cores = 8\nmodels = [\"\"]", "machine `wide`: models"),
        ("memory = \"1GiB\"", "memory = \"0B\"", "machine `fast`: memory"),
    ] {
        let text = SPACE.replacen(old, new, 1);
        assert_ne!(text, *SPACE);
        let refused = refusal(&survey(vec![trace.clone()], &text));
        assert!(refused.contains(named), "{refused}");
    }
    let refused = refusal(&survey_of(
        vec![trace],
        MachineCatalogue { machines: vec![], ..catalogue(&SPACE) },
    ));
    assert!(refused.contains("machines"), "{refused}");
}

#[test]
fn unknown_keys_and_units_are_refused_where_they_stand() {
    for (old, new, named) in [
        ("cores = 8", "cors = 8", "unknown field `cors`"),
        ("latency = \"0.1ms\"", "latancy = \"0.1ms\"", "unknown field `latancy`"),
        ("network = \"1Gb\"", "network = \"1Gbit\"", "unknown unit"),
        ("core_speed = 4.0", "", "missing field `core_speed`"),
        ("storage = { bandwidth = \"1GB\", latency = \"0.1ms\" }", "storage = 3", "storage part"),
    ] {
        let text = SPACE.replacen(old, new, 1);
        let error = toml::from_str::<Machines>(&text).err().unwrap().to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn values_have_sources_with_dates() {
    let text = SPACE.replacen(
        "cores = 8",
        "cores = { value = 8, source = \"a list\", date = 2024-08-17 }",
        1,
    );
    let found = &machines(&text)[1].cores;
    assert_eq!(**found, 8);
    assert_eq!(found.source.to_string(), "a list, 2024-08-17");
    let bytes = SPACE.replacen("network = \"1Gb\"", "network = \"125MB\"", 1);
    assert_eq!(machines(&bytes)[3].network[0], machines(&SPACE)[3].network[0]);
}

#[test]
fn a_disk_that_was_limited_is_faster_without_the_limit() {
    let (_folder, trace) = traced(&[reading(0), reading(1)]);
    let of = |storage_rate: Option<f64>| {
        let survey = survey(vec![trace.clone()], &SPACE);
        let report = answer(&JobSurvey { storage_rate, ..survey });
        ["traced", "storage"].map(|id| job(&report, id).time_s)
    };
    let [same, faster] = of(None);
    let [unlimited, unlimited_faster] = of(Some(50e6));
    // 50 MB a second are read, as much as the limit allows, and half as much as the machine can.
    near(same, 2.0);
    assert!(unlimited < same, "{unlimited}");
    assert!(unlimited_faster <= faster, "{unlimited_faster} {faster}");
    let refused = refusal(&JobSurvey { storage_rate: Some(0.0), ..survey(vec![trace], &SPACE) });
    assert!(refused.starts_with("storage_rate: 0 is not above zero"), "{refused}");
}
