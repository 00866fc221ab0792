//! ALTER DATABASE ... SET: what it takes to change the options whose rows stand in [`super::option_rows`].

use std::sync::Arc;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::databases::durability_of;
use duramen_core::unavailable::DatabaseState;
use duramen_storage::RecoveryModel;
use duramen_tsql::ast::{NamedOption, OptionValue, Termination};

use super::option_rows::{self, Effect, Takes};
use super::versioning;
use super::{Admin, refuse};

/// Compatibility levels of SQL Server 2008 to 2022.
const LEVELS: [u8; 7] = [100, 110, 120, 130, 140, 150, 160];

fn all_off(list: &[NamedOption]) -> bool {
    let off = |o: &NamedOption| o.value.as_ref().and_then(OptionValue::as_on_off) == Some(false);
    list.iter().all(off)
}

/// 40517 for an option that no database here has.
pub fn refused(options: &[NamedOption]) -> SqlResult<()> {
    let mut wish = Wish::default();
    options.iter().try_for_each(|o| wish.add(o))?;
    match wish.state.is_some() && options.len() > 1 {
        true => Err(refuse("ALTER DATABASE SET of a state with other options")),
        false => Ok(()),
    }
}

/// What a SET clause asks for.
#[derive(Default)]
struct Wish {
    bits: u64,
    /// Another state than the one it is in.
    state: Option<DatabaseState>,
    compatibility: Option<u8>,
    target_recovery: Option<u32>,
}

impl Wish {
    /// The bits after one option.
    fn add(&mut self, o: &NamedOption) -> SqlResult<()> {
        let word = match &o.value {
            Some(OptionValue::Word(w)) => w.to_ascii_uppercase(),
            None => String::new(),
            Some(OptionValue::Int(n)) => n.to_string(),
            // There are no file tables whose access this could allow.
            Some(OptionValue::List(l)) if o.name == "FILESTREAM" && all_off(l) => return Ok(()),
            Some(_) => return Err(refuse(&format!("ALTER DATABASE SET {}", o.name))),
        };
        let not_here = || refuse(format!("ALTER DATABASE SET {} {word}", o.name).trim_end());
        let row = option_rows::find(&o.name).ok_or_else(not_here)?;
        match row.takes {
            Takes::Words(_) => match row.effect(&word).ok_or_else(not_here)? {
                Effect::Bits { mask, set } => self.bits = (self.bits & !mask) | set,
                Effect::State(state) => self.state = Some(state),
                Effect::Fixed => {}
            },
            // What it changes: see `compatibility`.
            Takes::Level => {
                let level = word.parse().ok().filter(|l| LEVELS.contains(l));
                let levels = LEVELS.each_ref().map(|l| l as &dyn std::fmt::Display);
                let bad = || SqlError::new(&messages::COMPATIBILITY_LEVELS, &levels);
                self.compatibility = Some(level.ok_or_else(bad)?);
            }
            Takes::Seconds => {
                self.target_recovery = Some(word.parse().map_err(|_| not_here())?);
            }
        }
        Ok(())
    }
}

impl Admin<'_> {
    pub(super) fn set(
        &mut self,
        name: &str,
        options: &[NamedOption],
        termination: Option<Termination>,
    ) -> SqlResult<()> {
        let databases = &self.instance().databases;
        let mut wish = Wish::default();
        let Some(db) = databases.find(name) else {
            options.iter().try_for_each(|o| wish.add(o))?;
            return match (wish.state, databases.find_unavailable(name)) {
                (_, Some(gone)) if gone.state == DatabaseState::Restoring => {
                    let args: [&dyn std::fmt::Display; 2] = [&"ALTER DATABASE", &"Restoring"];
                    Err(SqlError::new(&messages::NOT_IN_THIS_STATE, &args))
                }
                (Some(DatabaseState::Online), Some(gone)) => databases.bring_online(&gone),
                (Some(DatabaseState::Emergency), Some(gone)) if gone.is_broken() => {
                    databases.open_broken(&gone)?;
                    self.log_options(name, options);
                    Ok(())
                }
                (_, Some(gone)) => Err(gone.refusal()),
                (_, None) => Err(SqlError::new(&messages::ALTER_DATABASE_NO_ACCESS, &[&name])),
            };
        };
        let before = db.entry.read().options;
        wish.bits = before;
        options.iter().try_for_each(|o| wish.add(o))?;
        self.check_system(&db, &wish)?;
        let leaves = match (wish.state, db.is_in_emergency()) {
            (Some(DatabaseState::Online), false) | (Some(DatabaseState::Emergency), true) => None,
            (state, _) => state,
        };
        if wish.state.is_none() {
            // Anything else waits until it has been recovered.
            db.check_not_in_emergency()?;
        }
        let single = option::SINGLE_USER;
        if before & single != 0 {
            // Whoever sits there keeps its state; the session itself may.
            let free = self.session.try_alone(&db, Some(std::time::Duration::ZERO));
            let name = &db.db.name;
            free.map_err(|_| SqlError::new(&messages::SINGLE_USER_CONNECTED, &[name]))?;
        } else if leaves.is_some() || self.alone_for(before, &wish) {
            if self.session.be_alone(&db, termination)? {
                self.say_rolled_back();
            }
        } else if wish.bits & !before & option::RESTRICTED_USER != 0
            && self
                .session
                .be_among_owners(&db, termination, &self.cancel)?
        {
            self.say_rolled_back();
        }
        let result = match leaves {
            Some(state) => self.change_state(&db, state),
            None if db.is_in_emergency() => Ok(()),
            None => self.write_switched(&db, before, &wish, (options, termination)),
        };
        self.session.among_others();
        if result.is_ok() {
            self.log_options(&db.db.name, options);
        }
        if (before ^ wish.bits) & single != 0 && result.is_ok() {
            self.sit_down_again(&db)?;
        }
        result
    }

    /// 5084, in the error log.
    fn log_options(&self, name: &str, options: &[NamedOption]) {
        for o in options {
            let value = match &o.value {
                Some(OptionValue::Word(w)) => w.to_ascii_uppercase(),
                Some(OptionValue::Int(n)) => n.to_string(),
                _ => "ON".to_owned(),
            };
            let args: [&dyn std::fmt::Display; 3] = [&o.name, &value, &name];
            let text = SqlError::new(&messages::SETTING_OPTION, &args).message;
            self.instance.log_of(self.session, &text);
        }
    }

    /// Whether the change needs the database for itself.
    fn alone_for(&self, before: u64, wish: &Wish) -> bool {
        let to_single = wish.bits & !before & option::SINGLE_USER != 0;
        (before ^ wish.bits) & option::READ_ONLY != 0 || to_single
    }

    /// 5058: the system databases stay open and writable for all.
    fn check_system(&self, db: &OpenDb, wish: &Wish) -> SqlResult<()> {
        let refused = match () {
            () if db.db.id.0 > 4 => return Ok(()),
            () if wish.state == Some(DatabaseState::Emergency) => "EMERGENCY",
            () if wish.state.is_some() => "OFFLINE",
            () if wish.bits & option::READ_ONLY != 0 => "READ_ONLY",
            () if wish.bits & option::SINGLE_USER != 0 => "SINGLE_USER",
            () if wish.bits & option::RESTRICTED_USER != 0 => "RESTRICTED_USER",
            () if db.db.id.0 == 2
                && duramen_access::database_options::model_of(wish.bits)
                    != RecoveryModel::Simple =>
            {
                "RECOVERY"
            }
            () => return Ok(()),
        };
        let name = &db.db.name;
        Err(SqlError::new(
            &messages::OPTION_CANNOT_BE_SET,
            &[&refused, name],
        ))
    }

    /// `write`, between what the row version options want before and after.
    fn write_switched(
        &mut self,
        db: &Arc<OpenDb>,
        before: u64,
        wish: &Wish,
        (options, termination): (&[NamedOption], Option<Termination>),
    ) -> SqlResult<()> {
        let session = &*self.session;
        let switch = versioning::prepare(session, db, options, termination, &self.cancel)?;
        if switch.ended_others {
            self.say_rolled_back();
        }
        let result = self.write(db, before, wish);
        versioning::settle(&switch, db, result.is_ok());
        result
    }

    fn say_rolled_back(&mut self) {
        self.note(&messages::ROLLING_BACK, &[&0]);
        self.note(&messages::ROLLING_BACK, &[&100]);
    }

    fn write(&mut self, db: &Arc<OpenDb>, before: u64, wish: &Wish) -> SqlResult<()> {
        let databases = &self.instance().databases;
        let to_read_only = wish.bits & !before & option::READ_ONLY != 0;
        if to_read_only {
            db.catalog.flush_identities()?;
            db.db.checkpoint()?;
        }
        if let Some(seconds) = wish.target_recovery {
            db.db.set_target_recovery_time(seconds)?;
        }
        databases.write_entry(db, |e| {
            e.options = wish.bits;
            e.compatibility_level = wish.compatibility.unwrap_or(e.compatibility_level);
        })?;
        db.db
            .set_recovery_model(duramen_access::database_options::model_of(wish.bits))?;
        let transactions = &db.db.transactions;
        transactions.set_delayed_durability(durability_of(wish.bits));
        Ok(())
    }

    /// Closes the database, and opens it again unless it goes offline: then a session that is in it goes to master.
    fn change_state(&mut self, db: &Arc<OpenDb>, state: DatabaseState) -> SqlResult<()> {
        let databases = &self.instance().databases;
        match state {
            DatabaseState::Emergency => return databases.enter_emergency(db),
            DatabaseState::Online => return databases.leave_emergency(db),
            _ => databases.take_offline(db)?,
        }
        if self.session.leave_for_master(db.db.id) {
            self.note(&messages::SWITCHED_TO_MASTER, &[]);
        }
        Ok(())
    }

    /// The share of the session itself becomes the only one, or one among others.
    fn sit_down_again(&mut self, db: &OpenDb) -> SqlResult<()> {
        if !self.session.is_in(db.db.id) {
            return Ok(());
        }
        self.session.leave_share(db.db.id);
        self.session.take_share(db.db.id)
    }
}
