//! What is known of a kind of statement before any of it runs. `rows` has them, and which row a statement has; DONE tokens,
//! `sys.dm_exec_requests.command`, the default trace, errors, rights and the generated table of statements read them.

mod rows;
pub use self::rows::{Kind, ROWS, into_table};

use crate::rights::Needs;

/// What is known of a kind of statement.
#[derive(Debug)]
pub struct Statement {
    pub name: &'static str,
    /// `Type` in SHOWPLAN_ALL and `StatementType` in its XML.
    pub shown: &'static str,
    /// The command of its DONE token.
    pub done: u16,
    /// The name of the transaction that it begins where none is open.
    pub transaction: &'static str,
    /// `command` in `sys.dm_exec_requests`. *Assumed* where it is the name and no page shows it.
    pub request: &'static str,
    traits: u16,
    /// What it leaves in the default trace when it has succeeded.
    pub audit: Audit,
    pub needs: Needs,
    /// What it does, in a line for the reference.
    pub does: &'static str,
}

/// It says how many rows `@@ROWCOUNT` has; all others make it 0.
const COUNTS: u16 = 1;
/// It has a plan.
const PLAN: u16 = 1 << 1;
/// It changes definitions, in the open transaction if there is one: what it has found is asked anew until it is in no doubt.
const DEFINES: u16 = 1 << 2;
/// No transaction may be open (226).
const ALONE: u16 = 1 << 3;
/// No transaction may be open, and it says so in words of its own (3021, 574, 6115).
const APART: u16 = 1 << 7;
/// No trigger has it (287).
const NO_TRIGGER: u16 = 1 << 4;
/// A function may have it, of its own variables alone (443, 444).
const FUNCTION: u16 = 1 << 5;
/// A read-only database refuses it (3906).
const WRITES: u16 = 1 << 6;
/// It may take long: a cancel of it is tried at every moment (`crates/duramen/tests/it/cancels/kinds.rs`).
const LONG: u16 = 1 << 8;
/// It writes a few rows of the catalog, or what the session alone sees; what it may wait for is tried for all of these at once.
/// A row says one or the other.
const SHORT: u16 = 1 << 9;

/// The kind of row in the default trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audit {
    Nothing,
    /// A row of this class for each object that it names.
    Objects(u16),
    /// The same for databases.
    Databases(u16),
    Schema,
    /// Its text.
    Dbcc,
    /// Its text, and which of BACKUP, RESTORE and BACKUP LOG it is (1 to 3).
    Media(i64),
}

/// How a definition is called where it leaves a trace of its own.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The command of the DONE token.
    pub done: u16,
    /// The transaction's name.
    pub transaction: &'static str,
}

impl Definition {
    /// What a procedure of the system defines.
    pub const fn of_procedure(name: &'static str) -> Definition {
        Definition {
            done: command::OTHER,
            transaction: name,
        }
    }
}

/// Commands of DONE tokens that clients look at.
pub mod command {
    pub const SELECT: u16 = 0xC1;
    pub const INSERT: u16 = 0xC3;
    pub const DELETE: u16 = 0xC4;
    pub const UPDATE: u16 = 0xC5;
    pub const SET: u16 = 0xBE;
    pub const BEGIN: u16 = 0xD4;
    pub const COMMIT: u16 = 0xD5;
    pub const ROLLBACK: u16 = 0xD2;
    pub const EXECUTE: u16 = 0xE0;
    pub const OTHER: u16 = 0xFD;
}

const _: () = {
    let mut at = 0;
    while at < ROWS.len() {
        let row = &ROWS[at];
        assert!(row.has(LONG) != row.has(SHORT), "a row says LONG or SHORT");
        at += 1;
    }
};

impl Kind {
    #[inline]
    pub fn row(self) -> &'static Statement {
        &ROWS[self as usize]
    }

    /// The kind with this number, as `kind as u8` gives it.
    pub fn numbered(number: u8) -> Option<&'static Statement> {
        ROWS.get(usize::from(number))
    }

    pub fn definition(self) -> Definition {
        let row = self.row();
        Definition {
            done: row.done,
            transaction: row.transaction,
        }
    }
}

impl Statement {
    const fn has(&self, wanted: u16) -> bool {
        self.traits & wanted != 0
    }

    pub fn counts_rows(&self) -> bool {
        self.has(COUNTS)
    }

    pub fn has_plan(&self) -> bool {
        self.has(PLAN)
    }

    pub fn defines(&self) -> bool {
        self.has(DEFINES)
    }

    pub fn stands_alone(&self) -> bool {
        self.has(ALONE)
    }

    pub fn refused_in_transactions(&self) -> bool {
        self.has(ALONE | APART)
    }

    pub fn refused_in_triggers(&self) -> bool {
        self.has(NO_TRIGGER)
    }

    pub fn allowed_in_functions(&self) -> bool {
        self.has(FUNCTION)
    }

    pub fn writes(&self) -> bool {
        self.has(WRITES)
    }

    pub fn may_take_long(&self) -> bool {
        self.has(LONG)
    }
}
