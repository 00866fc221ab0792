//! The database that damage is planted in, with every kind of page, and its pages as they were.

use std::path::{Path, PathBuf};

use duramen_base::{AllocUnitId, PAGE_BYTES};
use duramen_check::{Request, check_database};
use duramen_format::PageBytes;
use duramen_format::alloc::{pfs, pfs_get, pfs_page_of};
use duramen_format::page::{PageRef, page_type};
use duramen_os::{Disk, OpenOptions};

use super::super::*;

const MDF: &str = "/data/p.mdf";
const MAKE: &str = "CREATE DATABASE p ON PRIMARY (NAME = p, FILENAME = '/data/p.mdf', SIZE = 5MB, FILEGROWTH = 1MB) LOG ON (NAME = p_log, FILENAME = '/data/p.ldf', SIZE = 4MB)";
const TABLES: &str = "CREATE TABLE t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, n int NOT NULL, word varchar(200) NOT NULL, d date NOT NULL, v decimal(9, 2), f float, pad varchar(max));
CREATE INDEX i_n ON t (n, word);
CREATE TABLE h (id int NOT NULL, pad varchar(3000), n nvarchar(300));
CREATE INDEX i_h ON h (n)";
const FILL: &str = "SET NOCOUNT ON; DECLARE @i int = 0;
WHILE @i < 240 BEGIN
  INSERT t VALUES (@i, @i % 50, REPLICATE(CONCAT('w', @i), 20), '2020-01-01', @i, @i, NULL);
  IF @i < 90 INSERT h VALUES (@i, REPLICATE('y', 200), REPLICATE(CAST(@i AS nvarchar(9)), 130));
  SET @i += 1;
END;
UPDATE t SET pad = REPLICATE(CAST('x' AS varchar(max)), 9000) WHERE id % 40 = 7;
UPDATE t SET pad = REPLICATE(CAST('x' AS varchar(max)), 60000) WHERE id = 100;
UPDATE h SET pad = REPLICATE('z', 2500) WHERE id % 15 = 3";

pub struct World {
    disk: Arc<SimDisk>,
    pub pages: Vec<PageBytes>,
    pub units: Vec<(String, i64, i32, i64, u8)>,
}

fn read_file(disk: &SimDisk) -> Vec<PageBytes> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = Disk::open(disk, Path::new(MDF), &options).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    let pages = bytes.chunks_exact(PAGE_BYTES);
    pages.map(|p| p.try_into().unwrap()).collect()
}

pub fn world() -> World {
    let disk = SimDisk::new(5);
    let env = disk.env();
    let instance = start(&env);
    let mut s = login(&instance);
    for sql in [MAKE, "USE p", TABLES, FILL, "ALTER INDEX ALL ON t REBUILD"] {
        let lines = run(&mut s, sql);
        assert!(
            lines.iter().all(|l| !l.starts_with("Msg")),
            "{sql}: {lines:?}"
        );
    }
    let lines = run(
        &mut s,
        "SELECT o.name, a.allocation_unit_id, p.index_id, p.hobt_id, a.type FROM sys.objects o JOIN sys.partitions p ON p.object_id = o.object_id JOIN sys.allocation_units a ON a.container_id = p.hobt_id",
    );
    let units = lines.iter().filter_map(|l| {
        let parts: Vec<&str> = l.split(" | ").collect();
        let [name, unit, index, hobt, kind] = parts[..] else {
            return None;
        };
        let unit = unit.parse().ok()?;
        let numbers = (index.parse().ok()?, hobt.parse().ok()?, kind.parse().ok()?);
        Some((name.to_owned(), unit, numbers.0, numbers.1, numbers.2))
    });
    let units = units.collect();
    drop(s);
    instance.shutdown().unwrap();
    drop(instance);
    World {
        pages: read_file(&disk),
        disk,
        units,
    }
}

impl World {
    pub fn unit(&self, table: &str, index: i32, kind: u8) -> AllocUnitId {
        let found = self
            .units
            .iter()
            .find(|u| u.0 == table && u.2 == index && u.4 == kind);
        AllocUnitId(
            found
                .unwrap_or_else(|| panic!("{table} {index}: {:?}", self.units))
                .1,
        )
    }

    /// Pages of a unit that are in use, of this type and level.
    pub fn pages_of(&self, unit: AllocUnitId, kind: u8, level: u8) -> Vec<u32> {
        let used = (0..self.pages.len() as u32).filter(|n| {
            let byte = pfs_get(&self.pages[pfs_page_of(*n) as usize], *n);
            let p = PageRef::new(&self.pages[*n as usize]);
            byte & pfs::ALLOCATED != 0
                && p.alloc_unit() == unit
                && p.page_type() == kind
                && (p.level() == level || kind == page_type::IAM)
        });
        used.collect()
    }

    pub fn numbers(&self) -> Vec<u32> {
        let checked = check_database(
            &*self.disk,
            &[PathBuf::from(MDF)],
            &Request::default(),
            &mut |_| Ok(()),
        );
        let findings = checked.unwrap().findings;
        findings.iter().map(|f| f.number).collect()
    }

    /// Puts pages on the disk.
    pub fn put(&self, pages: &[(u32, PageBytes)]) {
        for (n, bytes) in pages {
            let at = u64::from(*n) * PAGE_BYTES as u64;
            self.disk.damage(Path::new(MDF), at, bytes).unwrap();
        }
    }

    pub fn original(&self, n: u32) -> PageBytes {
        self.pages[n as usize]
    }
}
