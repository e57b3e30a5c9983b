//! The layer over the strict array, with contents.
//!
//! Operations end in random order, and each takes effect at a random end of its flight. Every
//! answer is held against the [`Model`]; everything the array refuses, and every broken promise of
//! the layer, is a panic.

use crate::{Model, Random};
use gordon_ftl::{Action, Config, Ftl, Host, Input, Piece, RequestId};
use gordon_nand::{Array, Buf, FlashOp, Holds, Layout};
use gordon_units::{BlockId, Lpn, Ppn};

/// What a sector of a page reads as that was not programmed since its erase.
const GARBAGE: u32 = u32::MAX;

/// One request, in sectors; a trim in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read sectors.
    Read {
        /// The first.
        first: u64,
        /// How many.
        len: u64,
    },
    /// Write sectors.
    Write {
        /// The first.
        first: u64,
        /// How many.
        len: u64,
    },
    /// Trim a page.
    Trim(Lpn),
    /// Flush.
    Flush,
}

/// A request in flight.
#[derive(Clone, Debug)]
struct Open {
    request: Request,
    /// Acknowledgements to come.
    left: usize,
    /// Of a write or trim.
    change: u32,
    /// Of a read: the floors when it came in.
    floors: Vec<u32>,
    /// Of a flush: the changes it waits for.
    before: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    op: FlashOp,
    /// Took effect when it was issued.
    early: bool,
}

/// A layer, its array, its driver and the model.
#[derive(Clone, Debug)]
pub struct Rig {
    /// The layer.
    pub ftl: Ftl,
    array: Array<Vec<u32>>,
    bufs: Vec<Vec<u32>>,
    flying: Vec<Flying>,
    open: Vec<Option<Open>>,
    model: Model,
    random: Random,
    trimmed: bool,
}

impl Rig {
    /// A layer on an erased array.
    ///
    /// # Panics
    /// Where the configuration is refused.
    pub fn new(layout: Layout, config: Config, seed: u64) -> Self {
        let per_page = config.sectors_per_page;
        Self {
            ftl: Ftl::new(layout, config).unwrap_or_else(|e| panic!("{e}")),
            array: Array::new(layout, vec![GARBAGE; per_page as usize]),
            bufs: vec![],
            flying: vec![],
            open: vec![],
            model: Model::new(u64::from(config.exported) * u64::from(per_page)),
            random: Random::new(seed),
            trimmed: false,
        }
    }

    /// Loads pages with content, as if written before.
    pub fn preload(&mut self, lpns: impl IntoIterator<Item = Lpn>) {
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        let Self { ftl, array, model, .. } = self;
        let placed = |op: FlashOp| {
            let FlashOp::Program { ppn, oob, .. } = op else { panic!("{op:?} at loading") };
            let content = match oob.holds {
                Holds::Data(lpn) => {
                    let change = model.accept(u64::from(lpn.0) * per_page, per_page, false);
                    model.acknowledge(change);
                    vec![change; usize::try_from(per_page).expect("small pages")]
                }
                Holds::Summary => vec![],
            };
            array.program(ppn, oob, content).unwrap_or_else(|e| panic!("{e}"));
        };
        ftl.preload(lpns, placed).unwrap_or_else(|e| panic!("{e}"));
    }

    /// Hands in a request.
    pub fn submit(&mut self, request: Request) {
        let mut open = Open { request, left: 1, change: 0, floors: vec![], before: vec![] };
        let id = self.open.len();
        let tag = RequestId(u32::try_from(id).expect("few requests"));
        let per_page = self.ftl.config().sectors_per_page;
        let cut = |first, len| Piece::cut(tag, first, len, per_page);
        let inputs: Vec<Host> = match request {
            Request::Read { first, len } => {
                open.floors = self.model.floors(first, len);
                cut(first, len).map(Host::Read).collect()
            }
            Request::Write { first, len } => {
                open.change = self.model.accept(first, len, false);
                cut(first, len).map(Host::Write).collect()
            }
            Request::Trim(lpn) => {
                self.trimmed = true;
                let first = u64::from(lpn.0) * u64::from(per_page);
                open.change = self.model.accept(first, u64::from(per_page), true);
                vec![Host::Trim(tag, lpn)]
            }
            Request::Flush => {
                let open_ones = self.open.iter().flatten();
                open.before = open_ones.map(|o| o.change).filter(|&change| change > 0).collect();
                vec![Host::Flush(tag)]
            }
        };
        open.left = inputs.len();
        self.open.push(Some(open));
        for input in inputs {
            self.ftl.handle(Input::Host(input));
            self.carry_out();
        }
    }

    /// Ends one operation, chosen at random; false if none is in flight.
    pub fn step(&mut self) -> bool {
        if self.flying.is_empty() {
            return false;
        }
        let at = self.random.below(self.flying.len());
        let Flying { op, early } = self.flying.swap_remove(at);
        if !early {
            self.effect(op);
        }
        self.ftl.handle(Input::Done(op));
        self.carry_out();
        true
    }

    /// Requests not yet acknowledged.
    pub fn pending(&self) -> usize {
        self.open.iter().flatten().count()
    }

    /// Ends everything, and checks that it has ended: no request is forgotten, the tables of the
    /// layer agree, every sector on the array holds what the model says, and the array alone tells
    /// where the freshest copy of each page is.
    pub fn settle(&mut self) {
        while self.step() {}
        let stuck: Vec<_> = self.open.iter().flatten().map(|o| o.request).collect();
        assert!(stuck.is_empty(), "never acknowledged: {stuck:?}; {:?}", self.ftl.stats());
        assert!(!self.ftl.is_busy(), "the layer waits for something");
        self.ftl.check().unwrap_or_else(|e| panic!("{e}"));
        self.open.clear();
        self.check_contents();
        self.check_freshest();
    }

    /// Lets the layer work in the background.
    pub fn idle(&mut self) {
        self.ftl.handle(Input::Idle);
        self.carry_out();
    }

    fn carry_out(&mut self) {
        loop {
            match self.ftl.poll() {
                Action::Wait => return,
                Action::Flash(op) => {
                    let early = self.random.below(2) == 0;
                    if early {
                        self.effect(op);
                    }
                    self.flying.push(Flying { op, early });
                }
                Action::Zero(buf) => self.buf(buf).fill(0),
                Action::Fill(buf, piece) => {
                    let change = self.request(piece.request).change;
                    self.part(buf, piece).fill(change);
                }
                Action::Summarize(buf, block) => self.summarize(buf, block),
                Action::Give(buf, piece) => {
                    let values = self.part(buf, piece).to_vec();
                    self.give(piece, &values);
                }
                Action::GiveZeros(piece) => self.give(piece, &vec![0; piece.len as usize]),
                Action::Ack(request) => self.acknowledge(request),
            }
        }
    }

    /// Lets an operation take effect on the array.
    fn effect(&mut self, op: FlashOp) {
        match op {
            FlashOp::Read { ppn, buf } => {
                let (content, oob) = self.array.read(ppn).unwrap_or_else(|e| panic!("{e}"));
                assert!(oob.is_some(), "page {ppn} was read, which is not programmed");
                let content = content.clone();
                *self.buf(buf) = content;
            }
            FlashOp::Program { ppn, buf, oob } => {
                let content = self.buf(buf).clone();
                self.array.program(ppn, oob, content).unwrap_or_else(|e| panic!("{e}"));
            }
            FlashOp::Erase { block } => {
                self.array.erase(block).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }

    fn buf(&mut self, buf: Buf) -> &mut Vec<u32> {
        let per_page = self.ftl.config().sectors_per_page as usize;
        if self.bufs.len() <= buf.index() {
            self.bufs.resize(buf.index() + 1, vec![GARBAGE; per_page]);
        }
        let content = &mut self.bufs[buf.index()];
        // A summary may have another length.
        content.resize(per_page, GARBAGE);
        content
    }

    fn part(&mut self, buf: Buf, piece: Piece) -> &mut [u32] {
        let start = piece.start as usize;
        &mut self.buf(buf)[start..start + piece.len as usize]
    }

    fn request(&self, id: RequestId) -> &Open {
        self.open[id.0 as usize].as_ref().unwrap_or_else(|| panic!("{id:?} is over"))
    }

    /// The summary must say what is beside the data.
    fn summarize(&mut self, buf: Buf, block: BlockId) {
        let layout = *self.ftl.layout();
        for (page, lpn) in (0..).zip(self.ftl.summary(block)) {
            let (_, oob) =
                self.array.read(layout.ppn(block, page)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(oob.map(|oob| oob.holds), Some(Holds::Data(lpn)), "block {block}.{page}");
        }
        self.buf(buf).fill(GARBAGE);
    }

    fn give(&self, piece: Piece, values: &[u32]) {
        let open = self.request(piece.request);
        let Request::Read { first, .. } = open.request else {
            panic!("{:?} is given data", open.request)
        };
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        let start = u64::from(piece.lpn.0) * per_page + u64::from(piece.start);
        for (sector, &value) in (start..).zip(values) {
            let floor = open.floors[usize::try_from(sector - first).expect("a small read")];
            assert!(
                self.model.allows(sector, floor, value),
                "sector {sector} reads {value}, acknowledged was {floor}"
            );
        }
    }

    fn acknowledge(&mut self, id: RequestId) {
        let slot = &mut self.open[id.0 as usize];
        let open = slot.as_mut().unwrap_or_else(|| panic!("{id:?} is acknowledged too often"));
        open.left -= 1;
        if open.left > 0 {
            return;
        }
        let open = slot.take().expect("it is there");
        if open.change > 0 {
            self.model.acknowledge(open.change);
        }
        for change in open.before {
            let waits = self.open.iter().flatten().any(|o| o.change == change);
            assert!(!waits, "flushed before change {change} was acknowledged");
        }
    }

    /// Every sector, straight from the array.
    fn check_contents(&self) {
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        for sector in 0..self.model.sectors() {
            let lpn = Lpn(u32::try_from(sector / per_page).expect("a small disk"));
            let within = usize::try_from(sector % per_page).expect("a small page");
            let value = self
                .ftl
                .lookup(lpn)
                .map_or(0, |ppn| self.array.read(ppn).unwrap_or_else(|e| panic!("{e}")).0[within]);
            assert_eq!(value, self.model.last(sector), "sector {sector}");
        }
    }

    /// "The freshest copy of an LBA's data is the last copy written to the block with the highest
    /// sequence number" (section 4.2.2): the map must be what a scan of the array finds. Trims
    /// leave no mark there, so pages not mapped are not looked at.
    fn check_freshest(&self) {
        let exported = self.ftl.config().exported as usize;
        let mut freshest: Vec<Option<(u64, Ppn)>> = vec![None; exported];
        for ppn in (0..self.ftl.layout().pages()).map(Ppn) {
            let (_, oob) = self.array.read(ppn).unwrap_or_else(|e| panic!("{e}"));
            if let Some(oob) = oob
                && let Holds::Data(lpn) = oob.holds
            {
                let copy = Some((oob.sequence, ppn));
                freshest[lpn.index()] = freshest[lpn.index()].max(copy);
            }
        }
        for (lpn, copy) in (0..).map(Lpn).zip(freshest) {
            let mapped = self.ftl.lookup(lpn);
            if mapped.is_some() || !self.trimmed {
                assert_eq!(mapped, copy.map(|(_, ppn)| ppn), "the freshest copy of page {lpn}");
            }
        }
    }
}
