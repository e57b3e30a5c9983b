//! Tries the tasks model.
use gordon_cluster::model::tasks::{application::*, demand::*, node::*, simulate::*, speeds::*};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let log = gordon_trace::spark::EventLog::read(
        std::path::Path::new(&args[1]),
        false,
        &std::sync::atomic::AtomicBool::new(false),
    )
    .unwrap();
    let app = Application::of(&log, None);
    println!(
        "{} {:.1}s startup {:.1} tail {:.1} warm {:.2} turn {:.3} {:?} left {:?}",
        app.name,
        app.duration,
        app.startup,
        app.tail,
        app.warm_up,
        app.turnaround,
        Executors { delays: vec![], ..app.executors.clone() },
        app.left_out
    );
    println!("{:?} cached {}", app.settings, app.cached);
    let host_slots = app.executors.slots * app.executors.per_host;
    let traced = TracedNode {
        speeds: Speeds::new(host_slots as f64, |_| 1.0),
        storage: None,
        heap: 1e9,
        counted: vec![],
    };
    let demands = demands(&app, &traced);
    let mut sim = Simulator::default();
    let mut cluster = Cluster {
        nodes: app.executors.hosts,
        node: TaskNode {
            speeds: traced.speeds.clone(),
            storage: [1e9, 1e9],
            network: 1.25e9,
            slots: host_slots,
            executor_slots: app.executors.slots,
            memory: 1e12,
            heap_ratio: 1.0,
            startup_ratio: 1.0,
            driver_ratio: 1.0,
        },
    };
    let own = sim.run(&app, &demands, &cluster).clone();
    println!("own {:.2} {:.1?} sum {:.2}", own.time, own.parts, own.parts.iter().sum::<f64>());
    for (s, o) in app.stages.iter().zip(&own.stages).take(40) {
        let sum: f64 = o.tasks.iter().sum();
        let wall: f64 = app.tasks[s.tasks.clone()].iter().map(|t| t.wall).sum();
        println!(
            "{:4} {:40.40} n {:4} rec {:8.2}..{:8.2} sim {:8.2}..{:8.2} driver {:.2} after {:?} longest {:.2} sum {:.1} rec {:.1}",
            s.id,
            s.name,
            s.tasks.len(),
            s.submitted,
            s.ended,
            o.ready,
            o.ended,
            s.driver,
            s.after.iter().map(|a| app.stages[*a].id).collect::<Vec<_>>(),
            o.longest,
            sum,
            wall
        );
    }
    for n in [1, 2, 4, 8, 16, 64] {
        cluster.nodes = n;
        let t0 = std::time::Instant::now();
        let o = sim.run(&app, &demands, &cluster);
        let el = t0.elapsed().as_nanos() as f64;
        let time = o.time;
        println!("cp {:.1}", critical_path(&app, &demands, &cluster));
        println!(
            "N {n}: {:.1} ({} tasks, {:.1} ns/task)",
            time,
            app.tasks.len(),
            el / app.tasks.len() as f64
        );
    }
}
