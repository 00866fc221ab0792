//! CREATE DATABASE: from the tree to the files that are wanted.
//!
//! Where the statement is silent: a database without any file clause has 8 MB of data and 8 MB of log, as one made from
//! SQL Server 2022's model (or as much as model has grown to); with data files named and no log, the log is a quarter
//! of the data, at least 512 KB; files after the first are 8 MB; files grow by 64 MB without limit.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::databases::{Databases, NewDatabase, NewFile, NewGroup};
use duramen_tsql::ast::{self, SizeUnit};
use duramen_types::CollationId;
use duramen_wal::Growth;

use super::{Admin, collation, refuse};

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
const PAGE: u64 = 8192;
/// What a file is at least, and what sizes and growths are rounded up to.
const LEAST: u64 = 512 * KB;
const EXTENT: u64 = 64 * KB;
const DEFAULT: u64 = 8 * MB;
const DEFAULT_GROWTH: Growth = Growth::Bytes(64 * MB);

/// 40517 for what a text asks for that no database here has.
pub fn refused(stmt: &ast::CreateDatabase) -> SqlResult<()> {
    for o in &stmt.options {
        let off = o.value.as_ref().and_then(ast::OptionValue::as_on_off) == Some(false);
        let word = match &o.value {
            Some(ast::OptionValue::Word(w)) => w.to_ascii_uppercase(),
            _ => String::new(),
        };
        let as_it_is = match o.name.as_str() {
            "DB_CHAINING" | "TRUSTWORTHY" => off,
            "CATALOG_COLLATION" => word == "DATABASE_DEFAULT",
            _ => false,
        };
        if !as_it_is {
            return Err(refuse(&format!("CREATE DATABASE ... WITH {}", o.name)));
        }
    }
    let mut files = stmt.filegroups.iter().flat_map(|g| &g.files);
    let mut all = files.clone().chain(&stmt.log_files);
    let what = match stmt.for_attach {
        None if all.any(|f| f.offline || f.new_name.is_some()) => NEW_FILE,
        None => return Ok(()),
        Some(ast::Attach::RebuildLog) => "CREATE DATABASE ... FOR ATTACH_REBUILD_LOG",
        Some(_) if stmt.collation.is_some() => "CREATE DATABASE ... COLLATE ... FOR ATTACH",
        Some(_) if all.any(|f| f.filename.is_none()) => {
            "CREATE DATABASE ... FOR ATTACH of a file without FILENAME"
        }
        Some(_) if files.next().is_none() => "CREATE DATABASE ... FOR ATTACH without files",
        Some(_) => return Ok(()),
    };
    Err(refuse(what))
}

/// What a file that is made may not say.
pub(super) const NEW_FILE: &str = "OFFLINE and NEWNAME of a new file";

impl Admin<'_> {
    /// CREATE DATABASE. 1802 follows an error about files.
    pub fn create(&mut self, stmt: &ast::CreateDatabase) -> SqlResult<()> {
        if stmt.for_attach.is_some() {
            return self.attach(stmt);
        }
        let collation = match &stmt.collation {
            Some(name) => collation(name)?,
            None => CollationId::DEFAULT,
        };
        let databases = &self.instance().databases;
        if databases.is_listed(&stmt.name) {
            let error = SqlError::new(&messages::DATABASE_ALREADY_EXISTS, &[&stmt.name]);
            return Err(error.with_state(3));
        }
        let wanted = wanted(databases, stmt).and_then(|(groups, log)| {
            let files = groups.iter().flat_map(|g| &g.files).chain(&log);
            let everywhere = self.session.who.sysadmin;
            for f in files {
                databases.may_place(&f.path, everywhere)?;
            }
            Ok((groups, log))
        });
        let (groups, log) = wanted.map_err(|e| self.with_1802(e))?;
        let new = NewDatabase {
            name: stmt.name.clone(),
            groups,
            log,
            collation: collation.0,
        };
        let made = databases.make(&new);
        made.map(|_| ()).map_err(|e| self.with_1802(e))
    }

    /// FOR ATTACH: of what is said about files only their places count.
    fn attach(&mut self, stmt: &ast::CreateDatabase) -> SqlResult<()> {
        let data = stmt.filegroups.iter().flat_map(|g| &g.files);
        let places = data.chain(&stmt.log_files).map(|f| f.filename.clone());
        let places: Vec<String> = places.flatten().collect();
        let everywhere = self.session.who.sysadmin;
        self.instance()
            .databases
            .attach(&stmt.name, &places, everywhere)?;
        Ok(())
    }

    /// Errors about files come before the statement's own.
    fn with_1802(&mut self, e: SqlError) -> SqlError {
        let used = e.number == messages::FILE_IN_USE_BY_DATABASE.number;
        if !(5100..5200).contains(&e.number) && !used {
            return e;
        }
        self.notes.push(e);
        SqlError::new(&messages::CREATE_DATABASE_FAILED, &[])
    }
}

type Wanted = (Vec<NewGroup>, Vec<NewFile>);

fn wanted(databases: &Databases, stmt: &ast::CreateDatabase) -> SqlResult<Wanted> {
    let (model_data, model_log) = databases.model_sizes();
    let mut groups = Vec::new();
    for g in &stmt.filegroups {
        let mut files = Vec::new();
        for spec in &g.files {
            let first = groups.is_empty() && files.is_empty();
            let size = if first {
                model_data.max(DEFAULT)
            } else {
                DEFAULT
            };
            let extension = if first { "mdf" } else { "ndf" };
            files.push(new_file(databases, stmt, spec, (size, extension))?);
        }
        let name = g.name.clone();
        let primary = |n: &String| n.eq_ignore_ascii_case("primary");
        groups.push(NewGroup {
            name: name.filter(|n| !primary(n)),
            default: g.default,
            files,
        });
    }
    let nothing_said = groups.is_empty();
    if nothing_said {
        groups.push(NewGroup {
            name: None,
            default: false,
            files: vec![NewFile {
                logical_name: stmt.name.clone(),
                path: default_path(databases, &stmt.name, "mdf"),
                size: model_data.max(DEFAULT),
                max_size: None,
                growth: DEFAULT_GROWTH,
                file_id: 0,
            }],
        });
    }
    let mut log = Vec::new();
    for spec in &stmt.log_files {
        log.push(new_file(databases, stmt, spec, (DEFAULT, "ldf"))?);
    }
    if log.is_empty() {
        let data: u64 = groups.iter().flat_map(|g| &g.files).map(|f| f.size).sum();
        let quarter = (data / 4).max(LEAST).next_multiple_of(PAGE);
        let name = format!("{}_log", stmt.name);
        log.push(NewFile {
            path: default_path(databases, &name, "ldf"),
            logical_name: name,
            size: if nothing_said {
                model_log.max(DEFAULT)
            } else {
                quarter
            },
            max_size: None,
            growth: DEFAULT_GROWTH,
            file_id: 0,
        });
    }
    Ok((groups, log))
}

fn default_path(databases: &Databases, stem: &str, extension: &str) -> String {
    let path = databases
        .config
        .data_dir
        .join(format!("{stem}.{extension}"));
    path.to_string_lossy().into_owned()
}

fn new_file(
    databases: &Databases,
    stmt: &ast::CreateDatabase,
    spec: &ast::FileSpec,
    (size, extension): (u64, &str),
) -> SqlResult<NewFile> {
    let default_name = match extension {
        "ldf" => format!("{}_log", stmt.name),
        _ => stmt.name.clone(),
    };
    file_of(databases, spec, &default_name, (size, extension))
        .map_err(|e| e.at_line(spec.line as i32))
}

/// A file clause with what it leaves out: `(size, extension)` are those of a file that says neither.
pub fn file_of(
    databases: &Databases,
    spec: &ast::FileSpec,
    default_name: &str,
    (size, extension): (u64, &str),
) -> SqlResult<NewFile> {
    if spec.offline || spec.new_name.is_some() {
        return Err(refuse(NEW_FILE));
    }
    let logical_name = spec.name.clone().unwrap_or_else(|| default_name.to_owned());
    let path = match &spec.filename {
        Some(p) => p.clone(),
        None => default_path(databases, &logical_name, extension),
    };
    let size = bytes_of(spec.size)?.unwrap_or(size);
    if size < LEAST {
        return Err(SqlError::new(&messages::FILE_SIZE_TOO_SMALL, &[]));
    }
    let max_size = max_size_of(spec.max_size)?;
    if max_size.is_some_and(|max| max < size) {
        return Err(SqlError::new(
            &messages::MAXSIZE_BELOW_SIZE,
            &[&logical_name],
        ));
    }
    let growth = growth_of(spec.growth)?;
    if let (Some(Growth::Bytes(growth)), Some(max)) = (growth, max_size)
        && growth > max
    {
        return Err(growth_above(&logical_name, 2));
    }
    Ok(NewFile {
        logical_name,
        path,
        size,
        max_size,
        growth: growth.unwrap_or(DEFAULT_GROWTH),
        file_id: 0,
    })
}

/// 5169. State 1: FILEGROWTH was asked for, 2: the file is new, 3: MAXSIZE was asked for.
pub fn growth_above(file: &str, state: u8) -> SqlError {
    SqlError::new(&messages::GROWTH_ABOVE_MAXSIZE, &[&file]).with_state(state)
}

fn too_large() -> SqlError {
    SqlError::new(&messages::FILE_SIZE_TOO_LARGE, &[])
}

/// A SIZE in bytes, whole pages. 1842 beyond what page numbers reach.
pub fn bytes_of(size: Option<ast::Size>) -> SqlResult<Option<u64>> {
    let Some(size) = size else {
        return Ok(None);
    };
    let bytes = size.bytes().ok_or_else(too_large)?;
    if bytes / PAGE > i32::MAX as u64 {
        return Err(too_large());
    }
    Ok(Some(bytes.next_multiple_of(PAGE)))
}

/// A MAXSIZE: `None` for UNLIMITED and where nothing is said.
pub fn max_size_of(size: Option<ast::Size>) -> SqlResult<Option<u64>> {
    match size {
        Some(s) if s.unit == SizeUnit::Unlimited => Ok(None),
        other => bytes_of(other),
    }
}

/// A FILEGROWTH: 0 is none, others are whole extents.
pub fn growth_of(size: Option<ast::Size>) -> SqlResult<Option<Growth>> {
    match size {
        None => Ok(None),
        Some(s) if s.value == 0 => Ok(Some(Growth::None)),
        Some(s) if s.unit == SizeUnit::Percent => {
            let percent = u32::try_from(s.value).map_err(|_| too_large())?;
            Ok(Some(Growth::Percent(percent)))
        }
        some => {
            let bytes = bytes_of(some)?.unwrap_or(0).next_multiple_of(EXTENT);
            Ok(Some(Growth::Bytes(bytes)))
        }
    }
}

#[cfg(test)]
mod tests {
    use duramen_tsql::ast::Size;

    use super::*;

    fn size(value: u64, unit: SizeUnit) -> Option<Size> {
        Some(Size { value, unit })
    }

    #[test]
    fn sizes_have_their_units() {
        let bytes = |v, u| bytes_of(size(v, u)).ok().flatten();
        assert_eq!(bytes(3, SizeUnit::Default), Some(3 * MB));
        assert_eq!(bytes(1, SizeUnit::TB), Some(1 << 40));
        assert_eq!(bytes(10, SizeUnit::KB), Some(16 * KB));
        assert_eq!(bytes(17, SizeUnit::TB), None);
        assert!(bytes_of(size(50, SizeUnit::Percent)).is_err());
        assert_eq!(max_size_of(size(0, SizeUnit::Unlimited)).ok(), Some(None));
        let growth = |v, u| growth_of(size(v, u)).ok().flatten();
        assert_eq!(growth(10, SizeUnit::Percent), Some(Growth::Percent(10)));
        assert_eq!(growth(100, SizeUnit::KB), Some(Growth::Bytes(128 * KB)));
        assert_eq!(growth(0, SizeUnit::MB), Some(Growth::None));
    }
}
