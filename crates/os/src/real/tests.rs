//! The real disk: every shape of buffer, offset and length comes back as written, direct or not.

use std::path::Path;

use crate::{AlignedBuf, Env, IoError, OpenOptions};

fn options(direct: bool) -> OpenOptions {
    OpenOptions {
        create: true,
        direct,
        ..OpenOptions::default()
    }
}

#[test]
fn writes_of_any_shape_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Env::real().disk;
    for direct in [false, true] {
        let file = disk
            .open(&dir.path().join(format!("f{direct}")), &options(direct))
            .unwrap();
        let mut expected = vec![0u8; 64 * 1024];
        file.allocate(0, expected.len() as u64).unwrap();
        let shapes = [
            (0, 8192),
            (512, 512),
            (8192 + 100, 33),
            (4096, 60 * 512),
            (20_001, 9_999),
        ];
        for (i, (offset, len)) in shapes.into_iter().enumerate() {
            let data = vec![i as u8 + 1; len];
            let (head, tail) = data.split_at(len / 3);
            expected[offset..offset + len].fill(i as u8 + 1);
            file.write_durable_vectored_at(&[head, tail], offset as u64)
                .unwrap();
            let aligned = AlignedBuf::from_slice(&data);
            file.write_at(&aligned, offset as u64).unwrap();
        }
        file.sync().unwrap();
        let mut all = vec![0; expected.len()];
        file.read_at(&mut all, 0).unwrap();
        assert!(all == expected);
        let mut part = vec![0; 1000];
        file.read_at(&mut part, 20_000).unwrap();
        assert_eq!(part, expected[20_000..21_000]);
        assert_eq!(file.len(), Ok(64 * 1024));
    }
}

#[test]
fn errors_name_the_situation() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Env::real().disk;
    let path = dir.path().join("a");
    let existing = OpenOptions::default();
    assert_eq!(disk.open(&path, &existing).unwrap_err(), IoError::NotFound);
    let file = disk.open(&path, &options(false)).unwrap();
    let new = OpenOptions {
        create_new: true,
        ..OpenOptions::default()
    };
    assert_eq!(disk.open(&path, &new).unwrap_err(), IoError::Exists);
    file.write_at(b"abc", 0).unwrap();
    assert_eq!(file.read_at(&mut [0; 4], 0), Err(IoError::Eof));
    assert_eq!(disk.remove(Path::new("/no/such")), Err(IoError::NotFound));
}

#[test]
fn a_lock_keeps_others_out_until_the_file_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Env::real().disk;
    let path = dir.path().join("lock");
    let first = disk.open(&path, &options(false)).unwrap();
    let second = disk.open(&path, &options(false)).unwrap();
    assert_eq!((first.try_lock(), second.try_lock()), (Ok(true), Ok(false)));
    drop(first);
    assert_eq!(second.try_lock(), Ok(true));
}

#[test]
fn names_can_be_made_listed_renamed_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Env::real().disk;
    let deep = dir.path().join("x/y");
    disk.create_dir_all(&deep).unwrap();
    for name in ["b", "a"] {
        disk.open(&deep.join(name), &options(false)).unwrap();
    }
    assert_eq!(disk.list(&deep).unwrap(), [deep.join("a"), deep.join("b")]);
    disk.rename(&deep.join("a"), &deep.join("b")).unwrap();
    disk.sync_dir(&deep).unwrap();
    assert!(!disk.exists(&deep.join("a")));
    disk.remove(&deep.join("b")).unwrap();
    assert!(disk.list(&deep).unwrap().is_empty());
    assert!(disk.free_space(&deep).unwrap() > 0);
    assert!(matches!(disk.sector_bytes(&deep), 512 | 4096));
}
