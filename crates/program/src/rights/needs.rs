//! What a thing needs of whoever names it: a part of the row that declares the thing, without a default.

use std::fmt::Write;

use super::Right;

/// What a right is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Server,
    /// The database that a view is looked at in, or else the session's.
    CurrentDatabase,
    /// The database of this argument, by name or id; none is the current one.
    DatabaseInArgument(usize),
    /// The same, where none is all of them: then the server is asked.
    DatabasesInArgument(usize),
    /// The object of this argument; none is its whole database.
    ObjectInArgument(usize),
    /// The object of the second argument in the database of the first, both by id.
    ObjectOfDatabase,
    /// The database that a statement names.
    NamedDatabase,
    /// What a statement names: an object, or where it is none its database, so that nobody learns which it is.
    Object,
    /// The database and the schema that something is made in.
    NewObject,
    /// The schema that a statement names.
    Schema,
    /// The database `master`.
    Master,
    /// The database, for what its users and roles may.
    Principals,
}

/// A right, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    pub right: Right,
    pub of: Of,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Everybody may; and why that tells nothing and changes nothing of others.
    Public(&'static str),
    /// One of these is enough.
    AnyOf(&'static [Need]),
    /// Members of sysadmin alone.
    Sysadmin,
    /// Members of sysadmin, and of what is said.
    Members(&'static str),
    /// Nothing here runs it: it is refused by name, whoever asks.
    NotHere,
}

/// Rows are those of things that the caller may see.
pub const VISIBLE: Needs = Needs::Public("rows that metadata visibility shows");
/// Facts that are the same for everybody.
pub const FACTS: Needs = Needs::Public("the same for everybody");
/// A session's own.
pub const OWN: Needs = Needs::Public("the session's own");
/// It runs other things, each of which asks.
pub const ASKS: Needs = Needs::Public("what it runs or reads is asked for itself");

macro_rules! needs {
    ($($(#[$doc:meta])* $name:ident = $right:ident $of:ident $(($n:literal))?;)*) => {
        $($(#[$doc])* pub const $name: Needs = Needs::AnyOf(&[Need {
            right: Right::$right,
            of: Of::$of $(($n))?,
        }]);)*
    };
}

needs! {
    SERVER_STATE = ViewServerState Server;
    CHANGES_STATE = AlterServerState Server;
    CONTROL_SERVER = ControlServer Server;
    TRACE = AlterTrace Server;
    LOGINS = AlterAnyLogin Server;
    SETTINGS = AlterSettings Server;
    DATABASE_STATE = ViewDatabaseState CurrentDatabase;
    STATE_OF_ARGUMENT = ViewDatabaseState DatabaseInArgument(0);
    OWNER = Control CurrentDatabase;
    OWNER_OF_ARGUMENT = Control DatabaseInArgument(0);
    ALTERS_OBJECT = Alter ObjectInArgument(0);
    READS_OBJECT = Select ObjectInArgument(0);
}

/// State of a database's objects: of all of them, or of the one that the caller controls.
pub const STATE_OF_OBJECTS: Needs = Needs::AnyOf(&[
    Need {
        right: Right::ViewDatabaseState,
        of: Of::DatabasesInArgument(0),
    },
    Need {
        right: Right::Control,
        of: Of::ObjectOfDatabase,
    },
]);

/// Rows that a view shows of all sessions to who may see the server's state, and of the own ones to everybody.
pub const OWN_SESSIONS: Needs =
    Needs::Public("the own sessions; all of them with VIEW SERVER STATE");

impl Of {
    fn shown(self) -> String {
        match self {
            Of::Server => "the server".to_owned(),
            Of::CurrentDatabase => "the current database".to_owned(),
            Of::DatabaseInArgument(n) => format!("the database in argument {}", n + 1),
            Of::DatabasesInArgument(n) => {
                format!(
                    "the database in argument {}, all of them without one",
                    n + 1
                )
            }
            Of::ObjectInArgument(n) => format!("the object in argument {}", n + 1),
            Of::ObjectOfDatabase => "the object in argument 2".to_owned(),
            Of::NamedDatabase => "the database it names".to_owned(),
            Of::Object => "the object it names".to_owned(),
            Of::NewObject => "the database, and ALTER on the schema".to_owned(),
            Of::Schema => "the schema it names".to_owned(),
            Of::Master => "master".to_owned(),
            Of::Principals => "the database".to_owned(),
        }
    }
}

impl Needs {
    /// The first of the rights that are enough.
    pub fn first(&self) -> Option<Need> {
        match self {
            Needs::AnyOf(all) => all.first().copied(),
            _ => None,
        }
    }

    /// For a list of things that nearly everybody may: the right, or what holds without one.
    pub fn in_a_word(&self) -> &'static str {
        match self {
            Needs::Public(why) => why,
            Needs::Sysadmin => "sysadmin",
            Needs::Members(of) => of,
            Needs::NotHere => "refused",
            Needs::AnyOf(all) => all.first().map_or("", |need| need.right.name()),
        }
    }

    /// In words: the right, and of what.
    pub fn shown(&self) -> (String, String) {
        match self {
            Needs::Public(why) => ("none".to_owned(), (*why).to_owned()),
            Needs::Sysadmin => ("sysadmin".to_owned(), "the server".to_owned()),
            Needs::Members(of) => ("sysadmin, or membership".to_owned(), (*of).to_owned()),
            Needs::NotHere => ("refused".to_owned(), "40517 for everybody".to_owned()),
            Needs::AnyOf(all) => {
                let (mut rights, mut of) = (String::new(), String::new());
                for (i, need) in all.iter().enumerate() {
                    let or = if i > 0 { " or " } else { "" };
                    let _ = write!(rights, "{or}{}", need.right.name());
                    let _ = write!(of, "{or}{}", need.of.shown());
                }
                (rights, of)
            }
        }
    }
}
