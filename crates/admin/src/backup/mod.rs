//! BACKUP and RESTORE: what their options mean, who may run them on what, what they tell.
//!
//! The sets themselves are `duramen_backup`'s. An option takes effect, is so anyway, or is refused by its name:
//! `known` says which. Every error but a refused option is followed by 3013.

mod known;
mod master;
mod options;
mod pages;
mod restore;
mod said;
pub mod show;
mod standby;
mod stop;
mod take;
mod tolerated;
mod verify;

use std::collections::BTreeSet;

use duramen_backup::Medium;
use duramen_base::{PageId, SqlError, SqlResult, messages};
use duramen_storage::RecoveryModel;

use duramen_access::database_options::model_of;

pub use options::{Given, Options};
pub use pages::parse_pages;

/// `sys.databases.recovery_model_desc`
pub fn model_name(options: u64) -> &'static str {
    match model_of(options) {
        RecoveryModel::Full => "FULL",
        RecoveryModel::BulkLogged => "BULK_LOGGED",
        RecoveryModel::Simple => "SIMPLE",
    }
}

/// A statement with its variables filled in.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// Empty for RESTORE HEADERONLY and its like.
    pub database: String,
    /// The files that DISK names.
    pub devices: Vec<String>,
    pub options: Options,
    /// Logical name and path.
    pub moves: Vec<(String, String)>,
    /// PAGE of RESTORE DATABASE.
    pub pages: BTreeSet<PageId>,
    /// FILE and FILEGROUP of RESTORE DATABASE.
    pub files: Vec<FilePart>,
    /// BACKUP ... MIRROR TO
    pub mirrored: bool,
}

impl Statement {
    /// What a RESTORE says of its media: 4037 for a MEDIANAME that is not theirs; 3279 for a password, which no set of ours
    /// has, and which nobody can check in one of SQL Server.
    fn may_read(&self, medium: &Medium) -> SqlResult<()> {
        if self.options.has("MEDIAPASSWORD") || self.options.has("PASSWORD") {
            return Err(SqlError::new(&messages::BACKUP_PASSWORD_WRONG, &[]));
        }
        match self.options.has("MEDIANAME") {
            true => duramen_core::databases::media::check_media_name(
                &self.options.text("MEDIANAME"),
                medium,
            ),
            false => Ok(()),
        }
    }
}

/// What is to be restored of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilePart {
    /// By its logical name.
    File(String),
    Filegroup(String),
}

fn refuse(what: &str) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}
