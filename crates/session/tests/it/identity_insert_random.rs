//! SET IDENTITY_INSERT is an object's: random sessions make, drop, rename and bring back tables of the same few names, and
//! every INSERT says whether it is ON for the table that has the name now.

use std::collections::BTreeMap;

use duramen_os::random::Rng;
use duramen_os::sim::seeds;

use super::*;

const NAMES: [&str; 6] = ["a.dbo.t", "a.dbo.u", "b.dbo.t", "b.dbo.u", "#t", "#u"];

#[derive(Clone, Copy, PartialEq, Eq)]
struct Made {
    /// No other table ever has it.
    serial: u32,
    numbered: bool,
}

/// What a session of its own should see.
#[derive(Default)]
struct Model {
    tables: BTreeMap<&'static str, Made>,
    /// As they were when the transaction began.
    before: Option<BTreeMap<&'static str, Made>>,
    on: Option<u32>,
    serial: u32,
}

/// The numbers of the errors that a statement may end with; none: it succeeds.
type Ends = Vec<i32>;

impl Model {
    fn holder(&self) -> Option<&'static str> {
        let mut all = self.tables.iter();
        all.find(|(_, t)| Some(t.serial) == self.on)
            .map(|(n, _)| *n)
    }

    fn step(&mut self, rng: &mut Rng) -> (String, Ends) {
        let name = NAMES[rng.below(NAMES.len() as u64) as usize];
        let table = self.tables.get(name).copied();
        let is_on = table.is_some_and(|t| Some(t.serial) == self.on);
        match rng.below(24) {
            0..=3 => self.create(name, rng.below(4) > 0),
            4 | 5 => {
                let ends = if self.tables.remove(name).is_some() {
                    vec![]
                } else {
                    vec![3701]
                };
                (format!("DROP TABLE {name}"), ends)
            }
            6 | 7 => self.rename(name),
            8..=11 => {
                let ends = match (table, self.holder()) {
                    (None, _) => vec![1088],
                    (Some(t), _) if !t.numbered => vec![8106],
                    (Some(t), None) => {
                        self.on = Some(t.serial);
                        vec![]
                    }
                    (_, Some(other)) if other == name => vec![],
                    _ => vec![8107],
                };
                (format!("SET IDENTITY_INSERT {name} ON"), ends)
            }
            12 => {
                let ends = match table {
                    None => vec![1088],
                    Some(t) if !t.numbered => vec![8106],
                    Some(_) => vec![],
                };
                if is_on {
                    self.on = None;
                }
                (format!("SET IDENTITY_INSERT {name} OFF"), ends)
            }
            13..=16 => {
                let ends = match table {
                    None => vec![208],
                    Some(t) if t.numbered && !is_on => vec![544],
                    Some(_) => vec![],
                };
                (format!("INSERT {name} (id, k) VALUES (7, 1)"), ends)
            }
            17..=20 => {
                let ends = match table {
                    None => vec![208],
                    Some(_) if is_on => vec![545],
                    Some(_) => vec![],
                };
                (format!("INSERT {name} (k) VALUES (2)"), ends)
            }
            21 if self.before.is_none() => {
                self.before = Some(self.tables.clone());
                ("BEGIN TRAN".to_owned(), vec![])
            }
            21 | 22 => match self.before.take() {
                None => ("ROLLBACK".to_owned(), vec![3903]),
                Some(before) if rng.below(2) == 0 => {
                    self.tables = before;
                    ("ROLLBACK".to_owned(), vec![])
                }
                Some(_) => ("COMMIT".to_owned(), vec![]),
            },
            _ if self.before.is_some() => (String::new(), vec![]),
            _ => {
                self.tables.retain(|name, _| !name.starts_with("b."));
                ("DROP DATABASE b CREATE DATABASE b".to_owned(), vec![])
            }
        }
    }

    fn create(&mut self, name: &'static str, numbered: bool) -> (String, Ends) {
        let identity = if numbered { " IDENTITY" } else { "" };
        let sql = format!("CREATE TABLE {name} (id int{identity} NULL, k int)");
        let sql = if numbered {
            sql.replace(" NULL", "")
        } else {
            sql
        };
        if self.tables.contains_key(name) {
            return (sql, vec![2714]);
        }
        self.serial += 1;
        let serial = self.serial;
        self.tables.insert(name, Made { serial, numbered });
        (sql, vec![])
    }

    fn rename(&mut self, name: &'static str) -> (String, Ends) {
        let Some((database, rest)) = name.split_once('.') else {
            return (String::new(), vec![]);
        };
        let to = NAMES
            .iter()
            .find(|n| n.starts_with(database) && **n != name);
        let to = *to.expect("two names each");
        let short = &to[to.len() - 1..];
        let sql = format!("EXEC {database}.sys.sp_rename '{rest}', '{short}'");
        if !self.tables.contains_key(name) {
            return (sql, vec![15225]);
        }
        if self.tables.contains_key(to) {
            return (sql, vec![15335]);
        }
        let table = self.tables.remove(name).expect("is there");
        self.tables.insert(to, table);
        (sql, vec![])
    }
}

fn try_seed(seed: u64) {
    let mut rng = Rng::new(seed);
    let instance = instance();
    let mut s = login(&instance);
    run(&mut s, "CREATE DATABASE a CREATE DATABASE b");
    run(&mut s, "USE a");
    let mut model = Model::default();
    let mut reported = Vec::new();
    for _ in 0..300 {
        let (sql, ends) = model.step(&mut rng);
        let lines = run(&mut s, &sql);
        let errors = lines.iter().filter_map(|l| l.strip_prefix("Msg "));
        let mut numbers = errors.filter_map(|l| l.split(',').next()?.parse::<i32>().ok());
        let number = numbers.next_back();
        reported.push(format!("{sql} -- {number:?}"));
        let expected = ends.first().copied();
        let holder = model.holder();
        // Errors that end the transaction, too.
        if matches!(expected, Some(2714 | 8106 | 8107))
            && let Some(before) = model.before.take()
        {
            model.tables = before;
        }
        assert_eq!(number, expected, "seed {seed}: {reported:#?}\n{lines:#?}");
        if expected == Some(8107) {
            let holder = holder.expect("somebody has it");
            let full = match holder.starts_with('#') {
                true => format!("'tempdb.dbo.{holder}'"),
                false => format!("'{holder}'"),
            };
            assert!(
                lines[0].contains(&full),
                "seed {seed}: {full}: {reported:#?}\n{lines:#?}"
            );
        }
    }
}

#[test]
fn identity_insert_is_of_one_object_whatever_its_name() {
    seeds(1, 6).for_each(try_seed);
}
