//! What an overlay says of its base when the disk takes nothing more.

use duramen_os::sim::SimDisk;

use super::*;

#[test]
fn what_cannot_be_kept_breaks_the_overlay_and_not_its_base() {
    let real = SimDisk::new(1);
    let disk = real.env().disk;
    let create = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let base = disk.open(Path::new("/base"), &create).unwrap();
    let old: Vec<u8> = (0..4 * PAGE_BYTES).map(|i| (i / 7) as u8).collect();
    base.write_at(&old, 0).unwrap();
    let overlay = OverlayDisk::with(&disk, Path::new("/spill"), 1, SpillState::default());
    let file = overlay.put(Path::new("/base"), &base).unwrap();
    // One block is kept in memory, and read as it was.
    file.preserve(0, 100);
    base.write_at(&[0xff; 100], 0).unwrap();
    let mut seen = vec![0; 4 * PAGE_BYTES];
    file.read_at(&mut seen, 0).unwrap();
    assert!(seen == old && !overlay.is_broken());
    // There is no room for the next.
    real.set_capacity(0);
    file.preserve(BLOCK, BLOCK);
    base.write_at(&[0xee; PAGE_BYTES], BLOCK).unwrap();
    assert!(overlay.is_broken());
    for at in [0, BLOCK, 3 * BLOCK] {
        assert!(file.read_at(&mut seen[..PAGE_BYTES], at).is_err(), "{at}");
    }
    let mut new = [0; 4];
    base.read_at(&mut new, BLOCK).unwrap();
    assert_eq!(new, [0xee; 4]);
}
