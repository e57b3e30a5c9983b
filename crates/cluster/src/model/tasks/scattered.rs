//! Input that lies on the disks of all nodes, and that tasks read wherever they run. Some tasks
//! read the same disk while other disks rest.
//!
//! The disks and the computing of the tasks are a closed queueing network (Reiser and Lavenberg,
//! "Mean-Value Analysis of Closed Multichain Queuing Networks", JACM 1980) in the approximation of
//! Schweitzer: a task finds the mean queue that the others make.

/// Seconds of reading a scattered input for each second that it takes if each task reads the disk
/// of its own node, at the same time as the other tasks of the node. At least 1.
///
/// A task reads for `secs`, without queueing, and does other things for `think` seconds; `readers`
/// tasks run at a time on `nodes` nodes.
pub(super) fn conflict(secs: f64, think: f64, readers: f64, nodes: f64) -> f64 {
    if secs <= 0.0 || nodes <= 1.0 {
        return 1.0;
    }
    let scattered = response(secs, think, (readers - 1.0) / nodes);
    let own = response(secs, think, readers / nodes - 1.0);
    (scattered / own).max(1.0)
}

/// Seconds of reading, with the queue of `others` tasks for each disk.
///
/// The response R is `secs` (1 + others R / (think + R)): the positive root of
/// R^2 + (think - secs (1 + others)) R - secs think = 0.
fn response(secs: f64, think: f64, others: f64) -> f64 {
    let half = (secs * (1.0 + others.max(0.0)) - think) / 2.0;
    half + (half * half + secs * think).sqrt()
}

#[cfg(test)]
mod tests {
    use super::conflict;

    #[test]
    fn readers_without_other_work_share_the_disks_as_a_closed_network_does() {
        // N disks and M readers move M / (M + N - 1) of what N disks can.
        for (readers, nodes) in [(2.0, 2.0), (4.0, 2.0), (4.0, 4.0), (64.0, 8.0)] {
            let exact = (readers + nodes - 1.0) / readers;
            let found = conflict(3.0, 0.0, readers, nodes);
            assert!((found - exact).abs() < 1e-12, "{readers} on {nodes}: {found}");
        }
    }

    #[test]
    fn a_lone_node_a_lone_reader_and_rare_reads_have_no_conflict() {
        for (secs, think, readers, nodes) in
            [(3.0, 0.0, 4.0, 1.0), (3.0, 0.0, 1.0, 8.0), (0.0, 1.0, 8.0, 8.0)]
        {
            assert!((conflict(secs, think, readers, nodes) - 1.0).abs() < 1e-12);
        }
        assert!(conflict(0.001, 1.0, 8.0, 8.0) < 1.001);
        // The more a task computes, the less it waits for others.
        let of = |think: f64| conflict(1.0, think, 8.0, 8.0);
        assert!(of(0.0) > of(1.0) && of(1.0) > of(4.0) && of(4.0) > 1.0);
    }
}
