//! The real disk: every shape of buffer, offset and length comes back as written, direct or not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{AlignedBuf, Disk, DiskFile, Env, IoError, OpenOptions, RealDisk};

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

fn named(path: &Path) -> Result<Arc<dyn DiskFile>, IoError> {
    let options = OpenOptions {
        create: true,
        direct: true,
        ..OpenOptions::default()
    };
    RealDisk.open_named(path, &options, None)
}

#[test]
fn a_file_that_is_open_is_known_by_every_name() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let create = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let held = RealDisk.open(&at("held"), &create).unwrap();
    held.write_at(b"bytes", 0).unwrap();
    std::fs::create_dir(at("sub")).unwrap();
    std::fs::hard_link(at("held"), at("hard")).unwrap();
    std::os::unix::fs::symlink(at("held"), at("soft")).unwrap();
    std::os::unix::fs::symlink(dir.path(), at("sub/dir")).unwrap();
    let fd = format!("/proc/self/fd/{}", held.handle());
    for name in [
        at("held"),
        at("hard"),
        at("soft"),
        at("sub/../held"),
        at("sub/dir/held"),
        at("./held"),
        PathBuf::from(fd),
    ] {
        assert!(RealDisk.is_open(&name), "{name:?}");
        assert_eq!(named(&name).err(), Some(IoError::InUse), "{name:?}");
    }
    drop(held);
    assert!(!RealDisk.is_open(&at("hard")));
    let alone = named(&at("soft")).unwrap();
    assert_eq!(
        RealDisk.open(&at("hard"), &create).err(),
        Some(IoError::InUse)
    );
    let mut bytes = [0; 5];
    alone.read_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"bytes");
}

#[test]
fn only_plain_files_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    std::os::unix::fs::symlink(at("nowhere"), at("dangling")).unwrap();
    let reading = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    for name in [at("pipe"), "/dev/null".into(), dir.path().to_owned()] {
        assert_eq!(
            RealDisk.open(&name, &reading).err(),
            Some(IoError::Denied),
            "{name:?}"
        );
    }
    for name in [
        at("pipe"),
        at("dangling"),
        "/dev/null".into(),
        "/proc/self/mem".into(),
        "/proc/self/comm".into(),
        "/".into(),
        dir.path().to_owned(),
    ] {
        assert_eq!(named(&name).err(), Some(IoError::Denied), "{name:?}");
    }
    assert!(!at("nowhere").exists());
    assert_eq!(named(&at("no/such")).err(), Some(IoError::NotFound));
    assert_eq!(named(&at(&"x".repeat(300))).err(), Some(IoError::NotFound));
    assert!(named(&at("a\0b")).is_err() && named(Path::new("")).is_err());
}

#[test]
fn a_name_below_folders_is_below_them_through_links() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let symlink = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
    for sub in ["in", "in/sub", "out"] {
        std::fs::create_dir(at(sub)).unwrap();
    }
    std::fs::write(at("out/there"), b"x").unwrap();
    symlink(at("out"), at("in/door")).unwrap();
    symlink(at("out/there"), at("in/file")).unwrap();
    symlink(at("out/new"), at("in/dangling")).unwrap();
    symlink(at("in"), at("alias")).unwrap();
    std::fs::hard_link(at("out/there"), at("in/hard")).unwrap();
    let below = [at("alias")];
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let open = |name: &str| {
        RealDisk
            .open_named(&at(name), &options, Some(&below))
            .map(drop)
    };
    for name in ["in/a", "in/sub/a", "alias/b", "out/../in/c", "in/sub/../d"] {
        assert_eq!(open(name), Ok(()), "{name}");
    }
    for name in [
        "out/a",
        "in/../out/a",
        "in/door/a",
        "in/file",
        "in/dangling",
        "in/hard",
        "in",
        "inner",
        "in/..",
    ] {
        assert_eq!(open(name), Err(IoError::Denied), "{name}");
    }
    assert!(!at("out/a").exists() && !at("out/new").exists());
}

/// A file that is given to whoever names it is found by the test that names one in every way.
#[cfg(feature = "planted")]
#[test]
fn tests_that_planted_bugs_spoil() {
    use duramen_base::planted::{Bug, found};
    let began = crate::time::now();
    let said = found(
        Bug::OpenFileGiven,
        a_file_that_is_open_is_known_by_every_name,
    );
    assert!(said.is_some(), "OpenFileGiven");
    let took = began.elapsed().as_millis();
    println!("planted\tOpenFileGiven\ta_file_that_is_open_is_known_by_every_name\t{took}");
}
