//! The version store against a model that keeps every committed state of every row, in a random order of statements.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::{DbId, RowsetId};
use duramen_os::random::Rng;

use super::{RowImage, Snapshot, VersionStats, VersionStore, VersionWriter, Visible};

const DB: DbId = DbId(5);
const ROWS: RowsetId = RowsetId(72);

type Rows = BTreeMap<u8, Vec<u8>>;

struct Session {
    snapshot: Snapshot,
    /// What the snapshot must see, own changes included.
    sees: Rows,
    writer: Option<VersionWriter>,
    undo: Vec<(u8, Option<Vec<u8>>)>,
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "the model and what is asked of both, side by side"
)]
pub(crate) fn agrees_with_the_model() {
    for seed in 0..80 {
        let mut dice = Rng::new(seed);
        let store = VersionStore::new();
        let mut page = Rows::new();
        let mut committed = Rows::new();
        let mut locked: BTreeMap<u8, usize> = BTreeMap::new();
        let mut sessions: Vec<Option<Session>> = (0..4).map(|_| None).collect();
        for step in 0..400u32 {
            let who = dice.below(4) as usize;
            let Some(session) = sessions[who].as_mut() else {
                sessions[who] = Some(Session {
                    snapshot: store.snapshot(),
                    sees: committed.clone(),
                    writer: None,
                    undo: Vec::new(),
                });
                continue;
            };
            match dice.below(10) {
                0..=3 => {
                    let key = dice.below(6) as u8;
                    if locked.get(&key).is_some_and(|&o| o != who) {
                        continue;
                    }
                    let conflict = store.conflicts(
                        DB,
                        ROWS,
                        &[key],
                        &session.snapshot,
                        session.writer.as_ref(),
                    );
                    let mine = locked.contains_key(&key);
                    if !mine {
                        // A row that differs from what is seen was changed after the snapshot.
                        assert!(
                            conflict || page.get(&key) == session.sees.get(&key),
                            "seed {seed} step {step}"
                        );
                    }
                    if conflict {
                        continue;
                    }
                    let writer = session.writer.get_or_insert_with(|| store.writer());
                    let before = page.get(&key).cloned();
                    store.push(
                        DB,
                        ROWS,
                        &[key],
                        writer,
                        before.as_deref().map(RowImage::of),
                    );
                    locked.insert(key, who);
                    session.undo.push((key, before));
                    if dice.one_in(3) {
                        page.remove(&key);
                        session.sees.remove(&key);
                    } else {
                        let row = step.to_le_bytes().to_vec();
                        page.insert(key, row.clone());
                        session.sees.insert(key, row);
                    }
                }
                4..=6 => {
                    let own = session.writer.as_ref();
                    for key in 0..6u8 {
                        let got = match store.visible(DB, ROWS, &[key], &session.snapshot, own) {
                            Visible::Current => page.get(&key).cloned(),
                            Visible::Image(image) => Some(image.row.to_vec()),
                            Visible::Absent => None,
                            Visible::Lost => panic!("nothing is lost here"),
                        };
                        assert_eq!(
                            got.as_ref(),
                            session.sees.get(&key),
                            "seed {seed} step {step} key {key}"
                        );
                    }
                }
                7..=8 => {
                    let session = sessions[who].take().expect("there");
                    let commit = dice.below(3) > 0;
                    if !commit {
                        for (key, before) in session.undo.into_iter().rev() {
                            match before {
                                Some(row) => page.insert(key, row),
                                None => page.remove(&key),
                            };
                        }
                    } else {
                        for (key, _) in &session.undo {
                            match page.get(key) {
                                Some(row) => committed.insert(*key, row.clone()),
                                None => committed.remove(key),
                            };
                        }
                    }
                    if let Some(writer) = &session.writer {
                        if commit {
                            writer.commit();
                        } else {
                            writer.abort();
                        }
                    }
                    locked.retain(|_, o| *o != who);
                }
                _ => {
                    store.clean(dice.below(9) as usize);
                }
            }
        }
        for session in sessions.into_iter().flatten() {
            if let Some(writer) = session.writer {
                writer.abort();
            }
        }
        while store.clean(100) > 0 {}
        assert_eq!(store.stats(), VersionStats::default(), "seed {seed}");
    }
}

fn image(text: &[u8]) -> Option<RowImage> {
    Some(RowImage::of(text))
}

#[test]
fn versions_go_with_the_last_snapshot_that_needs_them() {
    let store = VersionStore::new();
    let reader = store.snapshot();
    let writer = store.writer();
    assert!(store.wants(DB, ROWS, b"k", &writer));
    store.push(DB, ROWS, b"k", &writer, image(b"old"));
    assert!(!store.wants(DB, ROWS, b"k", &writer));
    store.push(DB, ROWS, b"k", &writer, image(b"never looked at"));
    assert_eq!(store.stats().entries, 1);
    writer.commit();
    assert_eq!(store.clean(10), 0);
    let old = Visible::Image(Arc::new(RowImage::of(b"old")));
    assert_eq!(store.visible(DB, ROWS, b"k", &reader, None), old);
    let late = store.snapshot();
    assert_eq!(store.visible(DB, ROWS, b"k", &late, None), Visible::Current);
    assert!(store.conflicts(DB, ROWS, b"k", &reader, None));
    assert!(!store.conflicts(DB, ROWS, b"k", &late, None));
    let second = reader.clone();
    drop(reader);
    assert_eq!(store.clean(10), 0);
    drop(second);
    assert_eq!(store.clean(10), 1);
    assert!(!store.has_versions(DB, ROWS, b"k"));
    assert_eq!(store.stats().bytes, 0);
}

#[test]
fn commits_clean_up_after_themselves() {
    let store = VersionStore::new();
    for n in 0..1000u32 {
        let writer = store.writer();
        store.push(DB, ROWS, &n.to_le_bytes(), &writer, image(b"old"));
        writer.commit();
    }
    assert_eq!(store.stats().entries, 0);
    let reader = store.snapshot();
    for n in 0..1000u32 {
        let writer = store.writer();
        store.push(DB, ROWS, &n.to_le_bytes(), &writer, image(b"old"));
        writer.commit();
    }
    assert_eq!(store.stats().entries, 1000);
    let held = store.stats().bytes;
    assert_eq!(store.usage(), BTreeMap::from([(DB, held)]));
    drop(reader);
    for n in 0..100u32 {
        let writer = store.writer();
        store.push(DB, ROWS, &n.to_le_bytes(), &writer, image(b"old"));
        writer.commit();
    }
    assert_eq!(
        store.stats().entries,
        0,
        "each commit takes more than it adds"
    );
}

#[test]
fn beyond_the_limit_images_are_lost_and_readers_hear_of_it() {
    let store = VersionStore::new();
    store.set_limit(450);
    let reader = store.snapshot();
    let writer = store.writer();
    store.push(DB, ROWS, b"a", &writer, image(&[1; 100]));
    store.push(DB, ROWS, b"b", &writer, image(&[2; 100]));
    writer.commit();
    let seen = |key: &[u8], at: &Snapshot| store.visible(DB, ROWS, key, at, None);
    assert!(matches!(seen(b"a", &reader), Visible::Image(_)));
    assert_eq!(seen(b"b", &reader), Visible::Lost);
    assert_eq!(seen(b"b", &store.snapshot()), Visible::Current);
    assert_eq!(store.stats().lost, 1);
}

/// However many rows a transaction inserts, what is kept of them is bounded: then nobody is told of rows of that table whose
/// snapshot does not see the writer's work, and nobody's update is lost.
#[test]
fn beyond_that_not_even_keys_are_kept() {
    let store = VersionStore::new();
    store.set_limit(40_000);
    let broker = duramen_os::memory::Broker::new(1 << 30);
    store.follow(&broker);
    let reader = store.snapshot();
    let writer = store.writer();
    for n in 0..10_000u32 {
        store.push(DB, ROWS, &n.to_le_bytes(), &writer, None);
        assert!(!store.wants(DB, ROWS, &n.to_le_bytes(), &writer));
    }
    assert!(store.stats().bytes < 51_000, "{:?}", store.stats());
    let key = 9_999u32.to_le_bytes();
    let seen = |at: &Snapshot, own| store.visible(DB, ROWS, &key, at, own);
    assert_eq!(seen(&reader, None), Visible::Lost);
    assert_eq!(seen(&reader, Some(&writer)), Visible::Current);
    assert!(store.conflicts(DB, ROWS, &key, &reader, None));
    assert!(!store.conflicts(DB, ROWS, &key, &reader, Some(&writer)));
    assert!(store.has_versions(DB, ROWS, &key));
    // Another table is not concerned.
    let other = RowsetId(ROWS.0 + 1);
    assert_eq!(
        store.visible(DB, other, &key, &reader, None),
        Visible::Current
    );
    writer.commit();
    assert_eq!(seen(&reader, None), Visible::Lost);
    assert_eq!(seen(&store.snapshot(), None), Visible::Current);
    drop(reader);
    store.clean(usize::MAX);
    assert_eq!(store.stats().entries, 0);
    assert!(!store.has_versions(DB, ROWS, &key));
    assert_eq!(broker.held(), 0);
}

#[test]
fn an_active_writer_keeps_its_versions_without_any_reader() {
    let store = VersionStore::new();
    let writer = store.writer();
    store.push(DB, ROWS, b"k", &writer, None);
    assert_eq!(store.clean(10), 0);
    let reader = store.snapshot();
    assert_eq!(
        store.visible(DB, ROWS, b"k", &reader, None),
        Visible::Absent
    );
    assert_eq!(
        store.visible(DB, ROWS, b"k", &reader, Some(&writer)),
        Visible::Current
    );
    writer.commit();
    assert_eq!(store.clean(10), 0);
}
