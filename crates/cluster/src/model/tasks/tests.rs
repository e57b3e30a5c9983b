use super::application::{AppStage, AppTask, Application, Executors};
use super::cached::{Block, CachedBlocks};
use super::demand::{Demands, TaskDemand, TracedNode, take_recomputing};
use super::executor::Executor;
use super::memory::{Held, Needs};
use super::node::{Cluster, PARTS, Part, Parts, TaskNode};
use super::simulate::{Outcome, Simulator, StageOutcome, critical_path};
use super::speeds::Speeds;
use super::split::{count, follows, split};
use super::warm_up::{First, WarmUp};
use gordon_units::{Ns, SplitMix64};

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} is not {b}");
}

fn node(slots: u32) -> TaskNode {
    TaskNode {
        speeds: Speeds::new(f64::from(slots), |_| 1.0),
        storage: [100e6, 100e6],
        network: 100e6,
        slots,
        executor_slots: slots,
        held: Held { execution: 1e9, ..Held::default() },
        heap_ratio: 1.0,
        lone_ratio: 1.0,
        startup_ratio: 1.0,
        driver_ratio: 1.0,
    }
}

fn cluster(nodes: u32, slots: u32) -> Cluster {
    Cluster { nodes, replicas: 1, is_scattered: false, node: node(slots) }
}

/// An application of stages with these numbers of tasks. Each stage waits for the one before it.
fn chain(stages: &[usize]) -> Application {
    let mut application = Application {
        executors: Executors { count: 1, hosts: 1, slots: 1, per_host: 1, ..Default::default() },
        ..Application::default()
    };
    for (at, count) in stages.iter().enumerate() {
        let from = application.tasks.len();
        application.tasks.extend(std::iter::repeat_n(AppTask::default(), *count));
        let after = at.checked_sub(1).into_iter().collect();
        let before = (at + 1 < stages.len()).then_some(at + 1).into_iter().collect();
        let tasks = from..from + count;
        application.stages.push(AppStage { after, before, tasks, ..AppStage::default() });
    }
    application
}

fn computing(secs: f64) -> TaskDemand {
    TaskDemand { work: secs, ..TaskDemand::default() }
}

fn time(application: &Application, demands: &[TaskDemand], cluster: &Cluster) -> f64 {
    let mut simulator = Simulator::default();
    let outcome = simulator.run(application, demands, cluster);
    near(outcome.parts.iter().sum(), outcome.time);
    let path = critical_path(application, demands, cluster);
    assert!(path <= outcome.time * (1.0 + 1e-9), "{path} is above {}", outcome.time);
    outcome.time
}

#[test]
fn equal_tasks_run_in_waves() {
    let application = chain(&[8]);
    let demands = vec![computing(3.0); 8];
    for (nodes, slots, waves) in [(1, 1, 8.0), (1, 2, 4.0), (3, 1, 3.0), (2, 4, 1.0), (64, 4, 1.0)]
    {
        near(time(&application, &demands, &cluster(nodes, slots)), waves * 3.0);
    }
}

#[test]
fn stages_wait_for_one_another_and_for_the_driver() {
    let mut application = chain(&[2, 2]);
    application.stages[1].driver = 5.0;
    application.tail = 1.0;
    let demands = vec![computing(2.0); 4];
    near(time(&application, &demands, &cluster(2, 1)), 2.0 + 5.0 + 2.0 + 1.0);
    near(time(&application, &demands, &cluster(1, 1)), 4.0 + 5.0 + 4.0 + 1.0);
}

#[test]
fn output_is_written_back_after_the_last_stage() {
    let mut application = chain(&[2]);
    application.written_back = 300e6;
    // At 100 MB/s of each node, behind tasks of two seconds.
    near(time(&application, &[computing(2.0); 2], &cluster(1, 2)), 2.0 + 3.0);
    near(time(&application, &[computing(2.0); 2], &cluster(2, 1)), 2.0 + 1.5);
}

#[test]
fn independent_stages_overlap() {
    let mut application = chain(&[1, 1]);
    (application.stages[1].after, application.stages[0].before) = (Vec::new(), Vec::new());
    near(time(&application, &[computing(2.0); 2], &cluster(2, 1)), 2.0);
    near(time(&application, &[computing(2.0); 2], &cluster(1, 1)), 4.0);
}

#[test]
fn tasks_wait_for_the_executors() {
    let mut application = chain(&[2]);
    application.startup = 10.0;
    application.executors.delays = vec![0.0, 4.0];
    near(time(&application, &[computing(1.0); 2], &cluster(2, 1)), 12.0);
    application.stages[0].after_startup = true;
    near(time(&application, &[computing(8.0); 2], &cluster(2, 1)), 22.0);
}

#[test]
fn a_node_that_is_used_late_has_started_when_its_executors_did() {
    // The second node starts after 4 s, and has its first task when both stages wait.
    let mut application = chain(&[1, 2]);
    application.executors.delays = vec![0.0, 4.0];
    let demands = [computing(9.0), computing(1.0), computing(1.0)];
    for nodes in [2, 3, 1000] {
        let mut simulator = Simulator::default();
        let outcome = simulator.run(&application, &demands, &cluster(nodes, 1));
        near(outcome.time, 10.0);
        near(outcome.parts[Part::Startup as usize], 0.0);
    }
    // It has not started when the second task waits for it.
    let demands = [computing(3.0), computing(2.0), computing(2.0)];
    near(time(&application, &demands, &cluster(1000, 1)), 6.0);
}

#[test]
fn the_storage_of_a_node_is_shared() {
    let application = chain(&[4]);
    let demand = TaskDemand { moved: [100e6, 0.0], waited: 1.0, ..TaskDemand::default() };
    let mut simulator = Simulator::default();
    let outcome = simulator.run(&application, &[demand; 4], &cluster(1, 4));
    near(outcome.time, 4.0);
    near(outcome.parts[Part::Disk as usize], 4.0);
    near(time(&application, &[demand; 4], &cluster(2, 4)), 2.0);
}

#[test]
fn tasks_that_read_the_disks_of_all_nodes_meet_on_some_of_them() {
    let application = chain(&[8]);
    let demand = TaskDemand { moved: [100e6, 0.0], waited: 1.0, peers: 8, ..TaskDemand::default() };
    let of = |nodes: u32, is_scattered: bool| {
        let cluster = Cluster { is_scattered, ..cluster(nodes, 1) };
        time(&application, &[demand; 8], &cluster)
    };
    near(of(1, true), 8.0);
    near(of(2, false), 4.0);
    // 2 readers move 2 / 3 of what 2 disks can.
    near(of(2, true), 6.0);
    // Of 64 nodes, 8 read.
    near(of(64, true), 1.0 + 7.0 / 64.0);
    let many = Cluster { is_scattered: true, ..cluster(64, 1) };
    near(critical_path(&application, &[demand; 8], &many), 1.0);
}

#[test]
fn waiting_for_others_on_a_disk_is_not_the_work_of_a_task() {
    let mut application = chain(&[8]);
    application.executors = Executors { count: 2, hosts: 2, ..application.executors };
    for (at, task) in application.tasks.iter_mut().enumerate() {
        // Each second one met another one.
        let wall = if at % 2 == 0 { 1.0 } else { 2.0 };
        *task = AppTask { wall, concurrent: 1.0, input: 100e6, ..*task };
    }
    let traced = TracedNode {
        speeds: Speeds::new(1.0, |_| 1.0),
        storage: Some([100e6, 100e6]),
        heap: 1e9,
        is_scattered: true,
        counted: vec![1.0],
    };
    let found = Demands::of(&application, &traced).tasks;
    let on = |nodes: u32| {
        let cluster = Cluster { is_scattered: true, ..cluster(nodes, 1) };
        time(&application, &found, &cluster)
    };
    near(on(2), 6.0);
    near(on(1), 8.0);
}

#[test]
fn bytes_that_were_not_waited_for_limit_once_the_storage_is_too_slow() {
    let application = chain(&[4]);
    let demand = TaskDemand { moved: [100e6, 0.0], ..computing(4.0) };
    near(time(&application, &[demand; 4], &cluster(1, 4)), 4.0);
    let mut slow = cluster(1, 4);
    slow.node.storage = [50e6, 50e6];
    // All of the device's time: 4 x 100 MB at 50 MB/s.
    near(time(&application, &[demand; 4], &slow), 8.0);
}

#[test]
fn more_nodes_fetch_more_from_one_another() {
    let application = chain(&[2]);
    let demand = TaskDemand { shuffled: 200e6, ..TaskDemand::default() };
    near(time(&application, &[demand; 2], &cluster(1, 2)), 0.0);
    near(time(&application, &[demand; 2], &cluster(2, 1)), 1.0);
    near(time(&application, &[demand; 2], &cluster(4, 1)), 1.5);
}

#[test]
fn memory_that_a_task_lacks_is_spilled() {
    let application = chain(&[1]);
    let demand = TaskDemand { memory: 1.5e9, spill_ratio: 0.5, ..computing(1.0) };
    // 0.25 GB are written and read again at 100 MB/s.
    near(time(&application, &[demand], &cluster(1, 1)), 1.0 + 5.0);
    let mut simulator = Simulator::default();
    let outcome = simulator.run(&application, &[demand], &cluster(1, 1));
    near(outcome.parts[Part::Spill as usize], 5.0);
}

#[test]
fn nodes_write_the_replicas_of_one_another() {
    let application = chain(&[2]);
    let demand = TaskDemand { moved: [0.0, 100e6], output: 100e6, ..TaskDemand::default() };
    near(time(&application, &[demand; 2], &cluster(2, 1)), 1.0);
    let twice = Cluster { replicas: 2, ..cluster(2, 1) };
    near(time(&application, &[demand; 2], &twice), 2.0);
    let slow_link = TaskNode { network: 20e6, ..node(1) };
    near(time(&application, &[demand; 2], &Cluster { node: slow_link, ..twice }), 5.0);
}

#[test]
fn shuffle_data_beyond_the_page_cache_are_read_from_storage() {
    let application = chain(&[2]);
    let demand = TaskDemand { shuffled: 100e6, ..TaskDemand::default() };
    let mut one = cluster(1, 2);
    near(time(&application, &[demand; 2], &one), 0.0);
    one.node.held.shuffle_on_disk = 0.25;
    near(time(&application, &[demand; 2], &one), 0.5);
}

/// A node with two executors of two slots each and 800 bytes of working memory.
const EXECUTOR: Executor =
    Executor { count: 2, slots: 2, heap: 1600.0, working: 800.0, whole: 2000.0 };

#[test]
fn tasks_evict_cached_blocks_down_to_the_protected_share() {
    let needs = Needs { cached: 1200.0, task: 0.0, shuffled: 0.0, protected: 0.5 };
    let held = |needs: Needs| Held::of(&needs, &EXECUTOR, 1, None);
    // 600 of 800 bytes of each executor; tasks may take 200 of them.
    near(held(needs).execution, 200.0);
    near(held(needs).missing, 0.0);
    near(held(needs).most_missing, 1.0 / 3.0);
    // Tasks leave 500 of 600 bytes.
    near(held(Needs { task: 150.0, ..needs }).missing, 1.0 / 6.0);
    near(held(Needs { task: 900.0, ..needs }).missing, 1.0 / 3.0);
    near(Held::of(&Needs { task: 150.0, ..needs }, &EXECUTOR, 2, None).missing, 0.0);
    // Few blocks leave the rest to tasks.
    near(held(Needs { cached: 200.0, ..needs }).execution, 350.0);
}

#[test]
fn the_page_cache_is_what_executors_leave() {
    let needs = Needs { shuffled: 1000.0, ..Needs::default() };
    let on_disk = |nodes, memory| Held::of(&needs, &EXECUTOR, nodes, memory).shuffle_on_disk;
    near(on_disk(1, None), 0.0);
    near(on_disk(1, Some(4250.0)), 0.75);
    near(on_disk(4, Some(4250.0)), 0.0);
    near(on_disk(4, Some(100.0)), 1.0);
}

#[test]
fn recorded_executors_hold_what_they_held() {
    let needs = Needs { cached: 1e4, task: 0.0, shuffled: 1000.0, protected: 0.5 };
    for missed in [0.0, 0.25] {
        let known = needs.as_recorded(&EXECUTOR, 1, Some(4100.0), missed);
        let held = Held::of(&known, &EXECUTOR, 1, Some(4100.0));
        near(held.missing, missed);
        near(held.shuffle_on_disk, 0.0);
    }
    // Sizes that fit as the log has them stay.
    let small = Needs { cached: 10.0, shuffled: 10.0, ..needs };
    assert_eq!(small.as_recorded(&EXECUTOR, 1, None, 0.0), small);
}

/// Three stages of four tasks: the first one makes blocks of 1 GB, the others read them.
fn cached(blocks: [Block; 4], moves_to_disk: bool) -> Application {
    let mut application = chain(&[4, 4, 4]);
    let missed = blocks.iter().filter(|block| **block == Block::Missed).count();
    application.cached = vec![CachedBlocks {
        made_by: 0,
        last_read_by: 2,
        bytes: 4e9,
        reads: 8,
        missed: 2 * missed,
        moves_to_disk,
    }];
    for stage in 1..3 {
        application.stages[stage].cached = Some(0);
        for (task, block) in application.stages[stage].tasks.clone().zip(blocks) {
            application.tasks[task].block = block;
        }
    }
    application
}

fn recomputed(application: &Application, secs: [f64; 12], missing: f64) -> Parts {
    let mut demands: Vec<TaskDemand> = secs.into_iter().map(computing).collect();
    for stage in &application.stages {
        take_recomputing(stage, application, &mut demands);
    }
    let mut cluster = cluster(1, 1);
    cluster.node.held.missing = missing;
    let total = time(application, &demands, &cluster);
    let mut simulator = Simulator::default();
    let outcome = simulator.run(application, &demands, &cluster);
    near(outcome.time, total);
    outcome.parts
}

#[test]
fn evicted_blocks_are_computed_again() {
    let all_found = cached([Block::Found; 4], false);
    let secs = [8.0, 8.0, 8.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    for (missing, tasks) in [(0.0, 0.0), (0.6, 4.0), (1.0, 8.0)] {
        let parts = recomputed(&all_found, secs, missing);
        near(parts[Part::Recompute as usize], 8.0 * tasks);
        near(parts[Part::Compute as usize], 40.0);
    }
    // Half of the blocks were missing: each took 6 s.
    let half = cached([Block::Found, Block::Missed, Block::Found, Block::Missed], false);
    let secs = [8.0, 8.0, 8.0, 8.0, 1.0, 7.0, 1.0, 7.0, 1.0, 7.0, 1.0, 7.0];
    for (missing, tasks) in [(0.0, 0.0), (0.5, 4.0), (1.0, 8.0)] {
        let parts = recomputed(&half, secs, missing);
        near(parts[Part::Recompute as usize], 6.0 * tasks);
        near(parts[Part::Compute as usize], 40.0);
    }
}

#[test]
fn evicted_blocks_are_read_from_disk_if_they_are_there() {
    let application = cached([Block::Found; 4], true);
    let parts = recomputed(&application, [1.0; 12], 1.0);
    // Eight reads of 1 GB at 100 MB/s.
    near(parts[Part::Recompute as usize], 80.0);
    near(parts[Part::Compute as usize], 12.0);
}

#[test]
fn the_first_task_of_a_slot_is_longer() {
    let application = chain(&[4, 4]);
    let demands = vec![TaskDemand { warm_up: 2.0, ..computing(1.0) }; 8];
    // Of each stage.
    near(time(&application, &demands, &cluster(1, 1)), 12.0);
    near(time(&application, &demands, &cluster(4, 1)), 6.0);
}

#[test]
fn the_first_tasks_of_a_stage_show_its_warm_up() {
    let of = |first: &[f64], others: &[f64], is: First| {
        let first = first.iter().map(|secs| (is, *secs));
        WarmUp::of(first.chain(others.iter().map(|secs| (First::No, *secs))))
    };
    let found = of(&[5.0, 4.0, 6.0], &[1.0, 1.5, 1.25], First::OfStage);
    assert_eq!(found, WarmUp { secs: 3.75, assumed: None });
    near(found.left(7.5), 0.5);
    // A task is never all warm-up.
    near(found.left(2.0), 0.05);
    near(of(&[1.0], &[2.0], First::OfStage).secs, 0.0);
    // Where no later task shows it: half of a first task, more of the first one of an executor.
    let assumed = of(&[1.5, 1.5], &[], First::OfStage);
    assert_eq!(assumed, WarmUp { secs: 0.75, assumed: Some(0.75) });
    near(of(&[1.5, 1.5], &[], First::OfExecutor).secs, 1.2);
    near(of(&[30.0], &[], First::OfExecutor).secs, 3.0);
    // A chain of the first task alone is as long whatever the warm-up is.
    assert_eq!(assumed.doubt(0.75, 0.75), [0.0, 0.0]);
    // Of two tasks, the second one may be as long as the first, or almost nothing.
    let [less, more] = assumed.doubt(1.5, 0.75);
    near(more, 0.75);
    near(less, 0.675);
}

#[test]
fn executors_start_later_on_slower_machines() {
    let mut application = chain(&[1]);
    application.stages[0].after_startup = true;
    application.startup = 4.0;
    let mut slower = cluster(1, 1);
    near(time(&application, &[computing(1.0)], &slower), 5.0);
    slower.node.startup_ratio = 2.0;
    near(time(&application, &[computing(1.0)], &slower), 9.0);
    application.startup = 0.0;
    near(time(&application, &[computing(1.0)], &slower), 1.0);
}

#[test]
fn stages_with_a_few_tasks_for_each_slot_follow_the_slots() {
    let of = |tasks: u32, slots: u32| {
        let mut application = chain(&[tasks as usize]);
        application.executors.count = slots;
        application.stages[0].partitions = tasks;
        application
    };
    let follow = |tasks, slots| {
        let application = of(tasks, slots);
        follows(&application.stages[0], &application)
    };
    assert!(follow(8, 4) && follow(8, 8) && follow(2, 1));
    assert!(!follow(1, 1) && !follow(7, 4) && !follow(16, 4) && !follow(5, 1));
    // 200 is the default of shuffles of SQL.
    let mut sql = of(200, 100);
    assert!(follows(&sql.stages[0], &sql));
    sql.stages[0].is_shuffled = true;
    assert!(!follows(&sql.stages[0], &sql));
    let count = |tasks, slots, on| {
        let application = of(tasks, slots);
        let demands = vec![computing(10.0); tasks as usize];
        count(&application.stages[0], &application, &demands, on)
    };
    assert_eq!([1, 2, 4, 16].map(|on| count(8, 4, on)), [4, 4, 8, 32]);
    // Two tasks are the least of programs, whatever the slots.
    assert_eq!([1, 2, 4].map(|on| count(2, 1, on)), [2, 2, 4]);
    // No task is shorter than a tenth of a second.
    assert_eq!(count(2, 2, 100_000), 200);
}

#[test]
fn tasks_read_on_a_node_take_the_same_time_on_it() {
    let mut application = chain(&[3]);
    for task in &mut application.tasks {
        *task = AppTask {
            wall: 7.0,
            scheduling: 0.5,
            cpu: 2.0,
            gc: 0.5,
            fetch: 0.25,
            concurrent: 1.0,
            input: 100e6,
            ..AppTask::default()
        };
    }
    let traced = TracedNode {
        speeds: Speeds::new(1.0, |_| 1.0),
        storage: Some([100e6, 100e6]),
        heap: 1e9,
        is_scattered: false,
        counted: Vec::new(),
    };
    let found = Demands::of(&application, &traced).tasks;
    near(time(&application, &found, &cluster(3, 1)), 7.0);
    // Of a core of 0.4, all of 6.5 s - 0.5 - 0.25 - 1 of reading may be computing.
    let part = TracedNode { speeds: Speeds::new(0.4, |_| 1.0), ..traced };
    let found = Demands::of(&application, &part).tasks;
    let mut slower = cluster(3, 1);
    slower.node.speeds = Speeds::new(0.4, |_| 1.0);
    near(time(&application, &found, &slower), 7.0);
    // The start of a task is the work of its executor: at half the speed it takes 0.5 s more.
    slower.node.lone_ratio = 2.0;
    near(time(&application, &found, &slower), 7.5);
}

#[test]
fn computing_of_stages_that_overlap_counts_once() {
    let computing = |secs: f64| {
        let mut parts = [0.0; PARTS.len()];
        parts[Part::Compute as usize] = secs;
        parts
    };
    let of = |total: f64, stages: &[f64]| Outcome {
        parts: computing(total),
        stages: (stages.iter())
            .map(|secs| StageOutcome { chain: computing(*secs), ..StageOutcome::default() })
            .collect(),
        ..Outcome::default()
    };
    near(of(6.0, &[2.0, 4.0]).alone(), 1.0);
    near(of(4.0, &[4.0, 4.0]).alone(), 0.5);
    near(of(0.0, &[]).alone(), 1.0);
}

#[test]
fn bytes_that_are_written_back_at_the_end_are_not_written_before() {
    let mut application = chain(&[3]);
    for task in &mut application.tasks {
        *task = AppTask { wall: 3.0, cpu: 2.0, concurrent: 1.0, output: 80e6, ..*task };
    }
    let traced = TracedNode {
        speeds: Speeds::new(1.0, |_| 1.0),
        storage: Some([100e6, 100e6]),
        heap: 1e9,
        is_scattered: false,
        counted: Vec::new(),
    };
    for (back, moved, waited) in [(0.0, 80e6, 1.0), (120e6, 40e6, 1.0), (300e6, 0.0, 0.0)] {
        application.written_back = back;
        for found in Demands::of(&application, &traced).tasks {
            near(found.moved[1], moved);
            near(found.output, moved);
            near(found.waited, waited);
            // What did not wait for storage was computing.
            near(found.work + found.uncounted, 3.0 - moved / 100e6);
        }
    }
}

#[test]
fn tasks_may_wait_for_a_node_that_serves_all() {
    let mut application = chain(&[2]);
    application.executors.hosts = 2;
    for task in &mut application.tasks {
        *task = AppTask { wall: 5.0, cpu: 2.0, concurrent: 1.0, input: 200e6, ..*task };
    }
    let mut traced = TracedNode {
        speeds: Speeds::new(1.0, |_| 1.0),
        storage: Some([100e6, 100e6]),
        heap: 1e9,
        is_scattered: false,
        counted: vec![1.0],
    };
    let fast = |wall: f64, application: &mut Application, traced: &TracedNode| {
        application.tasks.iter_mut().for_each(|task| task.wall = wall);
        let found = Demands::of(application, traced).tasks;
        near(time(application, &found, &cluster(2, 1)), wall);
        let mut faster = cluster(2, 1);
        faster.node.storage = [200e6, 200e6];
        time(application, &found, &faster)
    };
    near(fast(5.0, &mut application, &traced), 2.0 + 1.5);
    // Not longer than if one node served both: what remains is computing.
    near(fast(7.0, &mut application, &traced), 3.0 + 2.0);
    // Without traces of the nodes what remains may be computing.
    traced.counted.clear();
    near(fast(5.0, &mut application, &traced), 3.0 + 1.0);
}

#[test]
fn a_stage_in_other_parts_does_the_same_work() {
    let application = chain(&[6, 3]);
    let demands = vec![TaskDemand { shuffled: 10.0, warm_up: 0.5, ..computing(1.0) }; 9];
    for number in [1, 4, 6, 18] {
        let (other, found) = split(&application, &demands, |stage| match stage.before.is_empty() {
            true => stage.tasks_total(),
            false => number,
        });
        assert_eq!(found.len(), number as usize + 3);
        assert_eq!(other.stages[0].tasks, 0..number as usize);
        near(found.iter().map(|task| task.work).sum(), 9.0);
        near(found.iter().map(|task| task.shuffled).sum(), 90.0);
        assert!(found.iter().all(|task| task.warm_up == 0.5));
    }
}

/// Makes the tasks of a stage read blocks that those of the stage before it made.
fn read_blocks(application: &mut Application, at: usize) {
    let made = application.stages[at - 1].tasks_total();
    application.cached.push(CachedBlocks { made_by: at - 1, ..CachedBlocks::default() });
    let stage = &mut application.stages[at];
    stage.cached = Some(application.cached.len() - 1);
    stage.blocks = (0..stage.tasks_total()).map(|task| task % made).collect();
}

/// Seconds of two stages on two nodes of one slot, the second of which starts after three tasks of
/// the first stage have started; the tasks of the second stage take `secs` seconds.
fn second_stage(application: &mut Application, secs: f64) -> f64 {
    application.executors.delays = vec![0.0, 2.5];
    let all = application.tasks.len();
    let demands: Vec<TaskDemand> =
        (0..all).map(|task| computing(if task < 4 { 1.0 } else { secs })).collect();
    time(application, &demands, &cluster(2, 1)) - 3.5
}

#[test]
fn tasks_run_where_their_blocks_are_cached() {
    let mut application = chain(&[4, 4]);
    near(second_stage(&mut application, 1.0), 2.0);
    read_blocks(&mut application, 1);
    near(second_stage(&mut application, 1.0), 3.0);
    // The second node has done its task after 10 s, and takes one of the first six seconds after
    // that one has started its second.
    near(second_stage(&mut application, 10.0), 26.0);
    application.settings.locality_wait.process = Ns(0);
    near(second_stage(&mut application, 10.0), 23.0);
    application.settings.locality_wait.node = Ns(0);
    near(second_stage(&mut application, 10.0), 20.0);
}

#[test]
fn an_evicted_block_is_computed_on_any_node() {
    let mut application = chain(&[4, 4]);
    read_blocks(&mut application, 1);
    application.executors.delays = vec![0.0, 2.5];
    let demands: Vec<TaskDemand> = (0..8).map(|_| computing(1.0)).collect();
    let mut lacking = cluster(2, 1);
    lacking.node.held.missing = 1.0;
    near(time(&application, &demands, &lacking), 3.5 + 2.0);
}

#[test]
fn tasks_of_a_shuffle_run_where_a_fifth_of_its_data_is() {
    // All data are on the first node, because the second one starts too late.
    let mut application = chain(&[3, 6]);
    application.executors.delays = vec![0.0, 2.5];
    let demands: Vec<TaskDemand> = (0..9).map(|_| computing(1.0)).collect();
    let secs = |application: &Application| time(application, &demands, &cluster(2, 1)) - 3.0;
    near(secs(&application), 3.0);
    application.stages[1].reads = vec![0];
    // The second node takes tasks after 3 s.
    near(secs(&application), 5.0);
    application.settings.follows_shuffles = false;
    near(secs(&application), 3.0);
    // Six nodes have less than a fifth each.
    let mut application = chain(&[6, 6]);
    application.stages[1].reads = vec![0];
    near(time(&application, &[computing(1.0); 12], &cluster(6, 1)), 2.0);
}

#[test]
fn executors_that_were_not_recorded_start_one_after_another() {
    let mut executors = Executors { mean_delay: 1.0, delays: vec![0.0], ..Executors::default() };
    let delays = |of: &Executors| (0..4).map(|number| of.delay(number, 4)).collect::<Vec<f64>>();
    let found = delays(&executors);
    assert!(found[0] == 0.0 && found.is_sorted());
    near(found[2], 2.0f64.ln());
    near(found[3], 4.0f64.ln());
    executors.delays = vec![0.0, 0.5];
    assert_eq!(delays(&executors), [0.0, 0.5, 0.5, 0.5]);
    executors.is_dynamic = true;
    assert_eq!(delays(&executors), [0.0, 1.0, 2.0, 2.0]);
}

#[test]
fn no_schedule_is_below_the_critical_path() {
    let mut random = SplitMix64(1);
    for _ in 0..200 {
        let stages: Vec<usize> =
            (0..=random.below(6)).map(|_| 1 + random.below(20) as usize).collect();
        let mut application = chain(&stages);
        application.startup = random.below(5) as f64;
        for at in 1..stages.len() {
            if random.below(3) == 0 {
                application.stages[at].after.clear();
                application.stages[at - 1].before.clear();
            }
            application.stages[at].driver = random.below(3) as f64;
            match random.below(3) {
                0 => application.stages[at].reads = vec![at - 1],
                1 => read_blocks(&mut application, at),
                _ => {}
            }
        }
        let mut draw = |most: u64| random.below(most) as f64;
        let demands: Vec<TaskDemand> = (0..application.tasks.len())
            .map(|_| TaskDemand {
                scheduling: draw(2) / 10.0,
                gc: draw(2),
                fetch: draw(2),
                shuffled: draw(3) * 50e6,
                remote: draw(2) * 25e6,
                moved: [draw(4) * 50e6, draw(4) * 50e6],
                waited: draw(3) / 2.0,
                memory: draw(4) * 0.4e9,
                spill_ratio: 1.0,
                ..computing(draw(10))
            })
            .collect();
        for (nodes, slots) in [(1, 1), (2, 3), (7, 2)] {
            time(&application, &demands, &cluster(nodes, slots));
        }
    }
}
