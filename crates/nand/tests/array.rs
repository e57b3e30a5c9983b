//! The array model refuses operations that a chip would do wrong.

use gordon_nand::{Array, Geometry, Layout, Oob, PageContent, Refusal, SuperPageShape};
use gordon_units::{BlockId, Ppn};

fn array() -> Array<u32> {
    let geometry = Geometry {
        buses: 1,
        packages_per_bus: 1,
        dies_per_package: 2,
        planes_per_die: 1,
        blocks_per_plane: 2,
        pages_per_block: 4,
        page_bytes: 512,
        oob_bytes: 16,
    };
    let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 };
    Array::new(Layout::new(geometry, shape).expect("a small array"), 0xdead_beef)
}

const OOB: Oob = Oob { content: PageContent::Data, sequence: 1 };

#[test]
fn pages_are_programmed_in_order_after_an_erase() {
    let mut array = array();
    array.program(Ppn(4), OOB, 1).unwrap();
    assert_eq!(array.program(Ppn(4), OOB, 2), Err(Refusal::NotErased(Ppn(4))));
    let refused = array.program(Ppn(6), OOB, 2);
    assert_eq!(refused, Err(Refusal::OutOfOrder { ppn: Ppn(6), next: Ppn(5) }));
    assert_eq!(array.read(Ppn(4)), Ok((&1, Some(OOB))));
    array.erase(BlockId(1)).unwrap();
    assert_eq!(array.read(Ppn(4)), Ok((&0xdead_beef, None)));
    array.program(Ppn(4), OOB, 3).unwrap();
    assert_eq!((array.erases(BlockId(1)), array.erases(BlockId(0))), (1, 0));
}

#[test]
fn bad_blocks_are_read_only() {
    let mut array = array();
    array.program(Ppn(0), OOB, 1).unwrap();
    array.mark_bad(BlockId(0)).unwrap();
    assert_eq!(array.program(Ppn(1), OOB, 2), Err(Refusal::Bad(BlockId(0))));
    assert_eq!(array.erase(BlockId(0)), Err(Refusal::Bad(BlockId(0))));
    assert_eq!(array.read(Ppn(0)), Ok((&1, Some(OOB))));
    assert_eq!(array.read(Ppn(16)), Err(Refusal::NoPage(Ppn(16))));
    assert_eq!(array.erase(BlockId(4)), Err(Refusal::NoBlock(BlockId(4))));
}
