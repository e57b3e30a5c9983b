//! Comparison of each policy with a simple model in vectors, written from its description. After
//! each request both have the same hits and objects, and counters equal a recount.

use gordon_cache::{Access, HitCounts, NEVER, NOT_ADMITTED, PolicyKind, Request};
use gordon_units::Bytes;
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug)]
struct Held {
    key: u64,
    size: u64,
    /// The hits that the policy remembers, or the number of the next request.
    mark: u64,
}

fn bytes(held: &[Held]) -> u64 {
    held.iter().map(|h| h.size).sum()
}

fn position(held: &[Held], key: u64) -> Option<usize> {
    held.iter().position(|h| h.key == key)
}

/// The models of all policies. In each list the oldest entry is the first.
#[derive(Default)]
struct Model {
    capacity: u64,
    /// The only queue, ARC's T1, S3-FIFO's small queue, W-TinyLFU's window.
    first: Vec<Held>,
    /// ARC's T2, S3-FIFO's main queue, W-TinyLFU's protected segment.
    second: Vec<Held>,
    /// ARC's B1, S3-FIFO's ghosts, LeCaR's ghosts of LRU.
    ghosts: Vec<Held>,
    /// ARC's B2, LeCaR's ghosts of LFU.
    other_ghosts: Vec<Held>,
    /// W-TinyLFU's probation segment.
    probation: Vec<Held>,
    /// W-TinyLFU's counts of keys.
    counted: HashMap<u64, u64>,
    /// LeCaR's weights of LRU and LFU, its random generator, and its number of requests.
    weights: Option<[f64; 2]>,
    state: u128,
    requests: u64,
    /// SIEVE's hand.
    hand: usize,
    /// Whether S3-FIFO has evicted an object.
    has_evicted: bool,
    /// ARC's target size of T1.
    target: f64,
}

impl Model {
    fn bytes(&self) -> u64 {
        bytes(&self.first) + bytes(&self.second) + bytes(&self.probation)
    }

    fn one_queue(&mut self, kind: PolicyKind, request: &Request) -> bool {
        if let Some(at) = position(&self.first, request.key) {
            match kind {
                PolicyKind::Fifo => {}
                PolicyKind::Lru => {
                    let held = self.first.remove(at);
                    self.first.push(held);
                }
                PolicyKind::Belady => self.first[at].mark = request.next,
                _ => self.first[at].mark = 1,
            }
            return true;
        }
        let size = request.size;
        if size > self.capacity {
            return false;
        }
        while self.bytes() + size > self.capacity {
            match kind {
                PolicyKind::Clock => {
                    while self.first[0].mark == 1 {
                        let mut held = self.first.remove(0);
                        held.mark = 0;
                        self.first.push(held);
                    }
                    self.first.remove(0);
                }
                PolicyKind::Sieve => {
                    if self.hand >= self.first.len() {
                        self.hand = 0;
                    }
                    while self.first[self.hand].mark == 1 {
                        self.first[self.hand].mark = 0;
                        self.hand = (self.hand + 1) % self.first.len();
                    }
                    self.first.remove(self.hand);
                }
                PolicyKind::Belady => {
                    let furthest = (0..self.first.len()).max_by_key(|i| self.first[*i].mark);
                    self.first.remove(furthest.expect("something is held"));
                }
                _ => {
                    self.first.remove(0);
                }
            }
        }
        let mark = if kind == PolicyKind::Belady { request.next } else { 0 };
        // A hand behind the newest entry restarts at the oldest, not at the object inserted now.
        if self.hand >= self.first.len() {
            self.hand = 0;
        }
        self.first.push(Held { key: request.key, size, mark });
        false
    }

    fn s3_fifo(&mut self, request: &Request) -> bool {
        for queue in [&mut self.first, &mut self.second] {
            if let Some(at) = position(queue, request.key) {
                queue[at].mark += 1;
                return true;
            }
        }
        let (small, size) = (self.capacity / 10, request.size);
        let ghost = position(&self.ghosts, request.key);
        if let Some(at) = ghost {
            self.ghosts.remove(at);
        }
        if size > small {
            return false;
        }
        while self.bytes() + size > self.capacity {
            self.has_evicted = true;
            if bytes(&self.second) > self.capacity - small || self.first.is_empty() {
                loop {
                    let mut held = self.second.remove(0);
                    if held.mark == 0 {
                        break;
                    }
                    held.mark = held.mark.min(3) - 1;
                    self.second.push(held);
                }
                continue;
            }
            while !self.first.is_empty() {
                let mut held = self.first.remove(0);
                if held.mark >= 2 {
                    held.mark = 0;
                    self.second.push(held);
                    continue;
                }
                let room = self.capacity * 9 / 10;
                if held.size <= room {
                    while bytes(&self.ghosts) + held.size > room {
                        self.ghosts.remove(0);
                    }
                    self.ghosts.push(held);
                }
                break;
            }
        }
        let held = Held { key: request.key, size, mark: 0 };
        if ghost.is_some() || (size < small && !self.has_evicted && bytes(&self.first) >= small) {
            self.second.push(held);
        } else if size < small {
            self.first.push(held);
        }
        false
    }

    fn replace(&mut self, from_b2: bool) {
        let once = bytes(&self.first) as f64;
        let from_first = !self.first.is_empty()
            && (once > self.target || (from_b2 && once == self.target))
            || self.second.is_empty();
        if from_first {
            self.ghosts.push(self.first.remove(0));
        } else {
            self.other_ghosts.push(self.second.remove(0));
        }
    }

    fn arc(&mut self, request: &Request) -> bool {
        for in_first in [true, false] {
            let queue = if in_first { &mut self.first } else { &mut self.second };
            if let Some(at) = position(queue, request.key) {
                let held = queue.remove(at);
                self.second.push(held);
                return true;
            }
        }
        let size = request.size;
        let (b1, b2) = (bytes(&self.ghosts) as f64, bytes(&self.other_ghosts) as f64);
        let mut ghost = None;
        if let Some(at) = position(&self.ghosts, request.key) {
            self.target = (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64);
            self.ghosts.remove(at);
            ghost = Some(false);
        } else if let Some(at) = position(&self.other_ghosts, request.key) {
            self.target = (self.target - (b1 / b2).max(1.0)).max(0.0);
            self.other_ghosts.remove(at);
            ghost = Some(true);
        }
        if size > self.capacity {
            return false;
        }
        while self.bytes() + size > self.capacity {
            let once = bytes(&self.first) + bytes(&self.ghosts);
            match ghost {
                Some(from_b2) => self.replace(from_b2),
                None if once + size > self.capacity && self.ghosts.is_empty() => {
                    self.first.remove(0);
                }
                None if once + size > self.capacity => {
                    self.ghosts.remove(0);
                    self.replace(false);
                }
                None => {
                    let all = once + bytes(&self.second) + bytes(&self.other_ghosts);
                    if all >= 2 * self.capacity && !self.other_ghosts.is_empty() {
                        self.other_ghosts.remove(0);
                    }
                    self.replace(false);
                }
            }
        }
        let queue = if ghost.is_some() { &mut self.second } else { &mut self.first };
        queue.push(Held { key: request.key, size, mark: 0 });
        false
    }

    fn count(&mut self, key: u64) {
        let counted = self.counted.entry(key).or_default();
        *counted = (*counted + 1).min(15);
    }

    /// The segment from which the main part evicts next.
    fn next_of_main(&mut self) -> &mut Vec<Held> {
        if self.probation.is_empty() { &mut self.second } else { &mut self.probation }
    }

    fn w_tinylfu(&mut self, request: &Request) -> bool {
        let size = request.size;
        let window = (self.capacity as f64 * 0.01) as u64;
        let main = self.capacity - window;
        let (probation, protected) = ((0.2 * main as f64) as u64, (0.8 * main as f64) as u64);
        if let Some(at) = position(&self.first, request.key) {
            let held = self.first.remove(at);
            self.first.push(held);
            return true;
        }
        let mut found = None;
        for part in [&mut self.probation, &mut self.second] {
            found = found.or_else(|| position(part, request.key).map(|at| part.remove(at)));
        }
        if let Some(held) = found {
            self.second.push(held);
            while bytes(&self.second) > protected {
                self.probation.push(self.second.remove(0));
                while bytes(&self.probation) > probation {
                    self.probation.remove(0);
                }
            }
            self.count(request.key);
            return true;
        }
        if size > window {
            return false;
        }
        while self.bytes() + size > self.capacity {
            if self.first.is_empty() {
                let from =
                    if self.probation.is_empty() { &mut self.second } else { &mut self.probation };
                from.remove(0);
                continue;
            }
            let out = self.first.remove(0);
            let in_main = |model: &Self| bytes(&model.probation) + bytes(&model.second);
            let mut admitted = in_main(self) + out.size <= main;
            if !admitted {
                let from =
                    if self.probation.is_empty() { &mut self.second } else { &mut self.probation };
                let count = |key| self.counted.get(key).copied().unwrap_or(0);
                if count(&out.key) > count(&from[0].key) {
                    from.remove(0);
                    admitted = true;
                }
            }
            if admitted {
                if bytes(&self.probation) + out.size <= probation {
                    self.probation.push(out);
                } else if bytes(&self.second) + out.size <= protected {
                    self.second.push(out);
                } else {
                    while in_main(self) + out.size > main {
                        self.next_of_main().remove(0);
                    }
                    self.probation.push(out);
                }
            }
            self.count(out.key);
        }
        self.first.push(Held { key: request.key, size, mark: 0 });
        self.count(request.key);
        false
    }

    /// One queue, the least recently used first. A mark is the number of requests, and that of a
    /// ghost is the time of its eviction.
    fn lecar(&mut self, request: &Request) -> bool {
        self.requests += 1;
        let mut weights = self.weights.unwrap_or([0.5; 2]);
        if self.weights.is_none() {
            self.state = 0xdead_beef;
        }
        if let Some(at) = position(&self.first, request.key) {
            let mut held = self.first.remove(at);
            held.mark += 1;
            self.first.push(held);
            return true;
        }
        for (by, ghosts) in [&mut self.ghosts, &mut self.other_ghosts].into_iter().enumerate() {
            if let Some(at) = position(ghosts, request.key) {
                let ago = (self.requests - ghosts.remove(at).mark) as f64;
                let discount = 0.005_f64.powf(1.0 / self.capacity as f64);
                weights[by] = weights[by] * (-0.45 * discount.powf(ago)).exp() + 1e-10;
                let sum = weights[0] + weights[1] + 2e-10;
                weights[1 - by] = (weights[1 - by] + 1e-10) / sum;
                weights[by] /= sum;
            }
        }
        self.weights = Some(weights);
        let size = request.size;
        if size > self.capacity {
            return false;
        }
        while self.bytes() + size > self.capacity {
            // The first of several with the fewest requests: the one that reached that number
            // first.
            let rarest = (0..self.first.len()).min_by_key(|at| self.first[*at].mark);
            let rarest = rarest.expect("something is held");
            if rarest == 0 {
                self.first.remove(0);
                continue;
            }
            self.state = self.state.wrapping_mul(0xda94_2042_e4dd_58b5);
            let drawn = ((self.state >> 64) as u64 % 100) as f64 / 100.0;
            let (at, ghosts) = if drawn < weights[0] {
                (0, &mut self.ghosts)
            } else {
                (rarest, &mut self.other_ghosts)
            };
            ghosts.push(Held { mark: self.requests, ..self.first.remove(at) });
            while bytes(ghosts) > self.capacity / 2 {
                ghosts.remove(0);
            }
        }
        self.first.push(Held { key: request.key, size, mark: 1 });
        false
    }

    fn access(&mut self, kind: PolicyKind, request: &Request) -> bool {
        match kind {
            PolicyKind::S3Fifo => self.s3_fifo(request),
            PolicyKind::Arc => self.arc(request),
            PolicyKind::WTinyLfu => self.w_tinylfu(request),
            PolicyKind::LeCaR => self.lecar(request),
            _ => self.one_queue(kind, request),
        }
    }
}

fn requests(drawn: &[(u64, u64)]) -> Vec<Request> {
    let mut next = HashMap::new();
    let mut all: Vec<Request> = drawn
        .iter()
        .enumerate()
        .rev()
        .map(|(number, &(key, size))| {
            let next = next.insert(key, number as u64).unwrap_or(NEVER);
            Request { key, next, size, asked: size / 2 }
        })
        .collect();
    all.reverse();
    all
}

fn agree(kind: PolicyKind, capacity: u64, requests: &[Request]) -> Result<(), TestCaseError> {
    let mut cache = kind.make(Bytes(capacity));
    let mut model = Model { capacity, ..Model::default() };
    let (mut misses, mut sizes, mut places) = (0, HashMap::new(), HashMap::new());
    for (number, request) in requests.iter().enumerate() {
        let before = cache.counts();
        let (access, place) = cache.access_at(request);
        let hit = access == Access::Hit;
        prop_assert_eq!(hit, model.access(kind, request), "{}, request {}", kind.name(), number);
        misses += u64::from(!hit);
        let counts = cache.counts();
        if counts.inserted > before.inserted {
            sizes.insert(request.key, request.size);
        }
        prop_assert_eq!(place == NOT_ADMITTED, counts.refused > before.refused);
        if hit {
            prop_assert_eq!(places.get(&place), Some(&request.key), "its place has not changed");
        } else {
            places.insert(place, request.key);
        }
        let mut held = Vec::new();
        cache.residents(&mut |key, size| held.push((key, size)));
        prop_assert!(counts.bytes <= capacity);
        prop_assert_eq!(counts.objects, held.len() as u64);
        prop_assert_eq!(counts.bytes, held.iter().map(|h| h.1).sum::<u64>());
        prop_assert_eq!(counts.objects, counts.inserted - counts.evicted);
        prop_assert_eq!(counts.bytes, counts.inserted_bytes - counts.evicted_bytes);
        prop_assert_eq!(misses, counts.inserted + counts.refused);
        for (key, size) in &held {
            prop_assert_eq!(Some(size), sizes.get(key), "it has the size of its insertion");
        }
        // The order of objects that are never requested again is not defined for Belady's policy.
        if kind != PolicyKind::Belady {
            let all = model.first.iter().chain(&model.second).chain(&model.probation);
            let mut theirs: Vec<(u64, u64)> = all.map(|h| (h.key, h.size)).collect();
            theirs.sort_unstable();
            held.sort_unstable();
            prop_assert_eq!(held, theirs);
            let ghosts = model.ghosts.len() + model.other_ghosts.len();
            prop_assert_eq!(cache.ghosts(), ghosts as u64);
        }
    }
    // Serving all requests in one call gives the same result.
    let (mut again, mut tally) = (kind.make(Bytes(capacity)), HitCounts::default());
    again.serve(requests, &mut tally);
    prop_assert_eq!(again.counts(), cache.counts());
    prop_assert_eq!(tally.requests - tally.hits, misses);
    prop_assert_eq!(tally.bytes, requests.iter().map(|r| r.asked).sum::<u64>());
    prop_assert!(tally.hit_bytes <= tally.bytes);
    Ok(())
}

proptest! {
    #[test]
    fn every_policy_equals_its_model(
        capacity in 1_u64..400,
        drawn in proptest::collection::vec((0_u64..40, 1_u64..12), 1..200),
    ) {
        let requests = requests(&drawn);
        for kind in PolicyKind::ALL {
            agree(kind, capacity, &requests)?;
        }
    }

    /// Sizes around the limit of 32 bits, and far beyond.
    #[test]
    fn every_policy_equals_its_model_with_objects_of_4_gib_and_more(
        capacity in 1_u64..400,
        drawn in proptest::collection::vec((0_u64..40, 1_u64..12), 1..200),
        unit in prop::sample::select(
            vec![u64::from(u32::MAX) / 2, u64::from(u32::MAX), 1 << 32, 1 << 50]),
    ) {
        let drawn: Vec<_> = drawn.into_iter().map(|(key, size)| (key, size * unit)).collect();
        let requests = requests(&drawn);
        for kind in PolicyKind::ALL {
            agree(kind, capacity * unit, &requests)?;
        }
    }

    #[test]
    fn every_policy_equals_its_model_with_objects_of_one_size(
        pages in 1_u64..60,
        drawn in proptest::collection::vec(0_u64..90, 1..250),
    ) {
        let drawn: Vec<(u64, u64)> = drawn.into_iter().map(|key| (key, 4096)).collect();
        let requests = requests(&drawn);
        for kind in PolicyKind::ALL {
            agree(kind, pages * 4096, &requests)?;
        }
    }

    #[test]
    fn no_policy_misses_less_than_belady_with_objects_of_one_size(
        pages in 1_u64..30,
        drawn in proptest::collection::vec(0_u64..60, 1..500),
    ) {
        let drawn: Vec<(u64, u64)> = drawn.into_iter().map(|key| (key, 1)).collect();
        let requests = requests(&drawn);
        let hits = |kind: PolicyKind| {
            let (mut cache, mut tally) = (kind.make(Bytes(pages)), HitCounts::default());
            cache.serve(&requests, &mut tally);
            tally.hits
        };
        for kind in PolicyKind::ALL {
            prop_assert!(hits(kind) <= hits(PolicyKind::Belady), "{}", kind.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn policies_equal_their_models_in_caches_with_a_useful_window(
        capacity in 100_u64..500,
        drawn in proptest::collection::vec((0_u64..900, 1_u64..4, 0_u64..5), 1..700),
    ) {
        // The shift makes small keys more frequent.
        let drawn: Vec<(u64, u64)> =
            drawn.into_iter().map(|(key, size, shift)| (key >> shift, size)).collect();
        let requests = requests(&drawn);
        agree(PolicyKind::WTinyLfu, capacity, &requests)?;
        agree(PolicyKind::LeCaR, capacity, &requests)?;
    }
}
