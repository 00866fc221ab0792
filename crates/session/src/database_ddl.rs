//! CREATE, ALTER and DROP DATABASE.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast::{self, AlterDatabaseAction, NamedOption, OptionValue};
use duramen_wal::Growth;

use crate::databases::{Databases, NewFile, durability_of, option};

const MB: u64 = 1 << 20;

fn refuse(what: &str) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}

impl Databases {
    pub(crate) fn create_database(&self, stmt: &ast::CreateDatabase) -> SqlResult<()> {
        if stmt.for_attach.is_some() || !stmt.options.is_empty() || stmt.collation.is_some() {
            return Err(
                refuse("FOR ATTACH, COLLATE and WITH options of CREATE DATABASE")
                    .at_line(stmt.line as i32),
            );
        }
        if self.find(&stmt.name).is_some() || self.find_unavailable(&stmt.name).is_some() {
            return Err(
                SqlError::new(&messages::DATABASE_ALREADY_EXISTS, &[&stmt.name])
                    .at_line(stmt.line as i32),
            );
        }
        if stmt.filegroups.iter().any(|g| {
            g.name
                .as_deref()
                .is_some_and(|n| !n.eq_ignore_ascii_case("primary"))
        }) {
            return Err(refuse("FILEGROUP in CREATE DATABASE").at_line(stmt.line as i32));
        }
        let mut data = Vec::new();
        for file in stmt.filegroups.iter().flat_map(|g| &g.files) {
            let defaults = (if data.is_empty() { 8 } else { 1 }, "mdf");
            data.push(self.new_file(&stmt.name, file, &stmt.name, defaults)?);
        }
        if data.is_empty() {
            data.push(self.new_file(
                &stmt.name,
                &ast::FileSpec::default(),
                &stmt.name,
                (8, "mdf"),
            )?);
        }
        let mut log = Vec::new();
        for file in &stmt.log_files {
            log.push(self.new_file(&stmt.name, file, &format!("{}_log", stmt.name), (1, "ldf"))?);
        }
        if log.is_empty() {
            let name = format!("{}_log", stmt.name);
            log.push(self.new_file(&stmt.name, &ast::FileSpec::default(), &name, (8, "ldf"))?);
        }
        self.make(self.next_id(), &stmt.name, &(data, log))?;
        Ok(())
    }

    fn new_file(
        &self,
        database: &str,
        spec: &ast::FileSpec,
        default_name: &str,
        (default_mb, extension): (u64, &str),
    ) -> SqlResult<NewFile> {
        let logical_name = spec.name.clone().unwrap_or_else(|| default_name.to_owned());
        let path = match &spec.filename {
            Some(p) => p.clone(),
            None => {
                let stem = if extension == "mdf" {
                    database
                } else {
                    default_name
                };
                self.config
                    .data_dir
                    .join(format!("{stem}.{extension}"))
                    .to_string_lossy()
                    .into_owned()
            }
        };
        let size = spec.size.and_then(|s| s.bytes()).unwrap_or(default_mb * MB);
        if size < MB / 2 {
            return Err(SqlError::new(&messages::CREATE_DATABASE_TOO_SMALL, &[&1]));
        }
        let max_size = spec.max_size.and_then(|s| s.bytes());
        let growth = match spec.growth {
            None => Growth::Bytes(64 * MB),
            Some(s) if s.value == 0 => Growth::None,
            Some(s) if s.unit == ast::SizeUnit::Percent => Growth::Percent(s.value.min(100) as u32),
            Some(s) => Growth::Bytes(s.bytes().unwrap_or(64 * MB).next_multiple_of(64 << 10)),
        };
        Ok(NewFile {
            logical_name,
            path,
            size: size.next_multiple_of(8192),
            max_size,
            growth,
        })
    }

    pub(crate) fn drop_database(
        &self,
        name: &str,
        if_exists: bool,
        current: &str,
    ) -> SqlResult<()> {
        let Some(db) = self.find(name) else {
            if let Some(gone) = self.find_unavailable(name) {
                return self.remove_unavailable(&gone);
            }
            if if_exists {
                return Ok(());
            }
            return Err(SqlError::new(
                &messages::CANNOT_DROP,
                &[&"drop", &"database", &name],
            ));
        };
        if db.db.id.0 <= 4 {
            return Err(SqlError::new(
                &messages::CANNOT_DROP,
                &[&"drop", &"database", &name],
            ));
        }
        if current.eq_ignore_ascii_case(name) {
            return Err(SqlError::new(&messages::DATABASE_IN_USE, &[&name]));
        }
        self.remove(&db)
    }

    pub(crate) fn alter_database(&self, stmt: &ast::AlterDatabase, current: &str) -> SqlResult<()> {
        let name = stmt.name.as_deref().unwrap_or(current);
        let db = self
            .find(name)
            .ok_or_else(|| SqlError::new(&messages::ALTER_DATABASE_NO_ACCESS, &[&name]))?;
        let AlterDatabaseAction::Set { options, .. } = &stmt.action else {
            return Err(refuse("this form of ALTER DATABASE"));
        };
        let mut entry = db.entry.read().clone();
        for o in options {
            entry.options = changed(entry.options, o)?;
        }
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.replace(tx, &entry))?;
        db.db
            .transactions
            .set_delayed_durability(durability_of(entry.options));
        *db.entry.write() = entry;
        Ok(())
    }
}

/// The option bits after one SET option.
fn changed(bits: u64, o: &NamedOption) -> SqlResult<u64> {
    let word = match &o.value {
        Some(OptionValue::Word(w)) => w.to_ascii_uppercase(),
        None => String::new(),
        Some(_) => return Err(refuse(&format!("SET {}", o.name))),
    };
    let delayed = !(option::DELAYED_ALLOWED | option::DELAYED_FORCED);
    match (o.name.as_str(), word.as_str()) {
        ("RECOVERY", "SIMPLE") => Ok(bits & !option::RECOVERY_FULL),
        ("RECOVERY", "FULL") => Ok(bits | option::RECOVERY_FULL),
        ("DELAYED_DURABILITY", "DISABLED") => Ok(bits & delayed),
        ("DELAYED_DURABILITY", "ALLOWED") => Ok(bits & delayed | option::DELAYED_ALLOWED),
        ("DELAYED_DURABILITY", "FORCED") => Ok(bits & delayed | option::DELAYED_FORCED),
        (name, word) => crate::versioning::changed(bits, name, word)
            .ok_or_else(|| refuse(&format!("ALTER DATABASE SET {name} {word}"))),
    }
}
