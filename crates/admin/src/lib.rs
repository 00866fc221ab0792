//! What is done to whole databases: CREATE, ALTER and DROP DATABASE, backups and restores, and what msdb remembers of them.
//!
//! | module | owns |
//! |---|---|
//! | `backup` | BACKUP and RESTORE in all their forms |
//! | `database_ddl` | CREATE, ALTER and DROP DATABASE |
//! | `history` | the history of backups and restores in msdb |
//! | `suspect_pages` | `msdb.dbo.suspect_pages` |

#![forbid(unsafe_code)]

pub mod backup;
pub mod database_ddl;
pub mod history;
pub mod suspect_pages;
