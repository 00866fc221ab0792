//! The server under test: our own, started for every trial, or one that is somebody's.

use std::path::Path;
use std::time::Duration;

use crate::embedded::{Embedded, Settings};
use crate::sql::{Address, Sql, quoted, string};

/// What the server says of itself.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The first line of `@@VERSION`.
    pub version: String,
    /// Of the product: 16 for 2022.
    pub major: u32,
    /// It is Duramen.
    pub ours: bool,
    /// Where it puts new data files, with a separator at the end.
    pub directory: String,
    pub instant_file_init: Option<bool>,
}

enum Kind {
    Embedded(Embedded),
    Remote(Address),
}

/// A server and how a trial's needs are met on it.
pub struct Target {
    kind: Kind,
    pub about: About,
}

impl Target {
    /// A server of our own below a directory.
    pub fn embedded(below: &Path) -> Result<Target, String> {
        let mut server = Embedded::new(below)?;
        server.fresh(&Settings::default())?;
        let mut about = about(server.address())?;
        about.directory = format!("{}/", server.files().display());
        Ok(Target {
            kind: Kind::Embedded(server),
            about,
        })
    }

    /// Somebody's: `mssql://user:password@host:port`.
    pub fn remote(address: Address) -> Result<Target, String> {
        let about = about(&address)?;
        Ok(Target {
            kind: Kind::Remote(address),
            about,
        })
    }

    pub fn address(&self) -> &Address {
        match &self.kind {
            Kind::Embedded(server) => server.address(),
            Kind::Remote(address) => address,
        }
    }

    pub fn connect(&self, database: &str) -> Result<Sql, String> {
        Sql::connect(self.address(), database)
    }

    pub fn is_embedded(&self) -> bool {
        matches!(self.kind, Kind::Embedded(_))
    }

    /// Why a trial with these settings cannot run here; `None` when it can.
    pub fn lacks(&self, settings: &Settings) -> Option<String> {
        if self.is_embedded() {
            return None;
        }
        if settings.large_extents {
            return Some("nobody can ask a server whether it was started with -E".to_owned());
        }
        if !self.about.ours {
            if settings.profile != own_profile(self.about.major) {
                return Some(format!(
                    "the log of version {} does not grow as {} does",
                    self.about.major, settings.profile
                ));
            }
            if self.about.instant_file_init == Some(!settings.instant_file_init) {
                return Some("instant file initialization is not as the trial needs it".to_owned());
            }
        }
        None
    }

    /// Begins a trial: a server of our own starts anew, somebody else's stays as it is.
    pub fn fresh(&mut self, settings: &Settings) -> Result<(), String> {
        match &mut self.kind {
            Kind::Embedded(server) => server.fresh(settings),
            Kind::Remote(_) => Ok(()),
        }
    }

    /// Crashes the server and times its start. Only a server of our own can be treated so.
    pub fn crash_and_start(&mut self) -> Result<Duration, String> {
        match &mut self.kind {
            Kind::Embedded(server) => {
                server.kill();
                server.start()
            }
            Kind::Remote(_) => Err("only a server of the lab's own is killed".to_owned()),
        }
    }

    /// The path of a trial's file, as T-SQL text.
    pub fn file(&self, name: &str) -> String {
        quoted(&format!("{}{name}", self.about.directory))
    }

    /// A second directory beside the first, for a trial that puts its files apart. On a server of our own it is made;
    /// elsewhere the first one serves.
    pub fn file_apart(&self, name: &str) -> Result<String, String> {
        match &self.kind {
            Kind::Embedded(server) => {
                let dir = server.files().join("apart");
                std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
                Ok(quoted(&dir.join(name).display().to_string()))
            }
            Kind::Remote(_) => Ok(self.file(name)),
        }
    }

    /// Drops what a trial made. Errors are those of a database that was never made.
    pub fn clean(&self, database: &str) {
        if let (Kind::Remote(_), Ok(mut sql)) = (&self.kind, self.connect("master")) {
            let name = quoted(database);
            let _ = sql.run(&format!(
                "IF DB_ID({name}) IS NOT NULL BEGIN ALTER DATABASE [{database}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE [{database}] END"
            ));
        }
    }

    /// Ends a server of our own with a checkpoint.
    pub fn stop(&mut self) -> Result<(), String> {
        match &mut self.kind {
            Kind::Embedded(server) => server.stop(),
            Kind::Remote(_) => Ok(()),
        }
    }
}

/// The log profile that a SQL Server of this version has.
fn own_profile(major: u32) -> &'static str {
    match major {
        0..=11 => "2012",
        12..=14 => "2014",
        15 => "2019",
        _ => "2022",
    }
}

fn about(address: &Address) -> Result<About, String> {
    let mut sql = Sql::connect(address, "master")?;
    let version = sql.text("SELECT @@VERSION")?.unwrap_or_default();
    let product = sql.text("SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion'))")?;
    let edition = sql.text("SELECT CONVERT(nvarchar(128), SERVERPROPERTY('Edition'))")?;
    let directory =
        sql.text("SELECT CONVERT(nvarchar(260), SERVERPROPERTY('InstanceDefaultDataPath'))")?;
    let product = product.unwrap_or_default();
    // Old servers lack the view, and an account may not read it: unknown then.
    let instant = sql.query("SELECT instant_file_initialization_enabled FROM sys.dm_server_services WHERE servicename LIKE N'SQL Server (%'");
    let instant = instant.ok().and_then(|sets| {
        let value = sets.first()?.rows.first()?.first()?;
        Some(string(value) == "Y")
    });
    Ok(About {
        version: version.lines().next().unwrap_or_default().to_owned(),
        major: product
            .split('.')
            .next()
            .and_then(|m| m.parse().ok())
            .unwrap_or(0),
        ours: edition.is_some_and(|e| e.starts_with("Duramen")),
        directory: directory.unwrap_or_default(),
        instant_file_init: instant,
    })
}
