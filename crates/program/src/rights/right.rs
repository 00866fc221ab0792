//! Every permission that something here asks for: its name, the code that catalogs keep, what it is given on, and what
//! else it includes.
//!
//! Codes: `sys.database_permissions.type` and `sys.server_permissions.type`. What covers what: Microsoft Learn,
//! "Permissions (Database Engine)". The permissions that SQL Server 2022 has split VIEW SERVER STATE into are not here.

/// The widest thing that a permission is given on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Server,
    Database,
    /// Databases, schemas and objects.
    Object,
}

macro_rules! rights {
    ($($right:ident $name:literal $code:literal $level:ident;)*) => {
        /// A permission.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Right { $($right,)* }

        impl Right {
            pub const ALL: &[Right] = &[$(Right::$right,)*];

            /// As GRANT names it.
            pub const fn name(self) -> &'static str {
                match self { $(Right::$right => $name,)* }
            }

            /// As catalogs keep it.
            pub const fn code(self) -> &'static str {
                match self { $(Right::$right => $code,)* }
            }

            pub const fn level(self) -> Level {
                match self { $(Right::$right => Level::$level,)* }
            }
        }
    };
}

rights! {
    Select "SELECT" "SL" Object;
    Insert "INSERT" "IN" Object;
    Update "UPDATE" "UP" Object;
    Delete "DELETE" "DL" Object;
    Execute "EXECUTE" "EX" Object;
    References "REFERENCES" "RF" Object;
    Alter "ALTER" "AL" Object;
    Control "CONTROL" "CL" Object;
    ViewDefinition "VIEW DEFINITION" "VW" Object;
    Connect "CONNECT" "CO" Database;
    ViewDatabaseState "VIEW DATABASE STATE" "VWDS" Database;
    Showplan "SHOWPLAN" "SPLN" Database;
    Checkpoint "CHECKPOINT" "CP" Database;
    BackupDatabase "BACKUP DATABASE" "BADB" Database;
    BackupLog "BACKUP LOG" "BALO" Database;
    CreateTable "CREATE TABLE" "CRTB" Database;
    CreateView "CREATE VIEW" "CRVW" Database;
    CreateProcedure "CREATE PROCEDURE" "CRPR" Database;
    CreateFunction "CREATE FUNCTION" "CRFN" Database;
    CreateType "CREATE TYPE" "CRTY" Database;
    CreateSynonym "CREATE SYNONYM" "CRSN" Database;
    CreateSchema "CREATE SCHEMA" "CRSM" Database;
    CreateRole "CREATE ROLE" "CRRL" Database;
    AlterAnySchema "ALTER ANY SCHEMA" "ALSM" Database;
    AlterAnyUser "ALTER ANY USER" "ALUS" Database;
    AlterAnyRole "ALTER ANY ROLE" "ALRL" Database;
    AlterAnyDataspace "ALTER ANY DATASPACE" "ALDS" Database;
    AlterAnyScopedConfiguration "ALTER ANY DATABASE SCOPED CONFIGURATION" "ALDC" Database;
    ConnectSql "CONNECT SQL" "COSQ" Server;
    ControlServer "CONTROL SERVER" "CL" Server;
    ViewServerState "VIEW SERVER STATE" "VWSS" Server;
    AlterServerState "ALTER SERVER STATE" "ALSS" Server;
    ViewAnyDefinition "VIEW ANY DEFINITION" "VWAD" Server;
    AlterAnyLogin "ALTER ANY LOGIN" "ALLG" Server;
    AlterAnyDatabase "ALTER ANY DATABASE" "ALDB" Server;
    CreateAnyDatabase "CREATE ANY DATABASE" "CRDB" Server;
    AlterAnyConnection "ALTER ANY CONNECTION" "ALCN" Server;
    AlterSettings "ALTER SETTINGS" "ALST" Server;
    AlterTrace "ALTER TRACE" "ALTR" Server;
    Shutdown "SHUTDOWN" "SHDN" Server;
}

impl Right {
    /// The permission that GRANT names so, in upper case.
    pub fn named(name: &str) -> Option<Right> {
        let name = match name {
            "EXEC" => "EXECUTE",
            "CREATE PROC" => "CREATE PROCEDURE",
            other => other,
        };
        Right::ALL.iter().copied().find(|r| r.name() == name)
    }

    /// The permission of a catalog's code, of the server or of a database.
    pub fn of_code(code: &str, server: bool) -> Option<Right> {
        let mut all = Right::ALL.iter().copied();
        all.find(|r| r.code() == code && r.is_of_server() == server)
    }

    pub fn is_of_server(self) -> bool {
        self.level() == Level::Server
    }

    /// Whether it can be given on a schema or an object.
    pub fn is_of_objects(self) -> bool {
        self.level() == Level::Object
    }

    /// Whether who holds this one holds `asked` too, both on the same thing.
    pub fn includes(self, asked: Right) -> bool {
        use Right::*;
        self == asked
            || match self {
                ControlServer => asked.is_of_server(),
                Control => !asked.is_of_server(),
                Alter => asked == Checkpoint || asked.defines(),
                AlterAnySchema => matches!(asked, CreateSchema | Alter),
                AlterAnyRole => asked == CreateRole,
                AlterServerState => asked == ViewServerState,
                AlterAnyDatabase => asked == CreateAnyDatabase,
                _ => false,
            }
    }

    /// Whether a permission of the server includes one of every database.
    pub fn reaches(self, asked: Right) -> bool {
        use Right::*;
        match self {
            ControlServer => !asked.is_of_server(),
            ViewServerState | AlterServerState => asked == ViewDatabaseState,
            ViewAnyDefinition => asked == ViewDefinition,
            _ => false,
        }
    }

    /// What a database's ALTER includes.
    fn defines(self) -> bool {
        use Right::*;
        self.makes_objects()
            || matches!(
                self,
                Alter
                    | CreateRole
                    | CreateSchema
                    | AlterAnySchema
                    | AlterAnyUser
                    | AlterAnyRole
                    | AlterAnyDataspace
                    | AlterAnyScopedConfiguration
            )
    }

    /// What makes things that are in schemas.
    pub fn makes_objects(self) -> bool {
        use Right::*;
        matches!(
            self,
            CreateTable
                | CreateView
                | CreateProcedure
                | CreateFunction
                | CreateType
                | CreateSynonym
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_find_their_right() {
        for r in Right::ALL {
            assert_eq!(Right::named(r.name()), Some(*r));
            assert_eq!(Right::of_code(r.code(), r.is_of_server()), Some(*r));
        }
        assert_eq!(Right::named("EXEC"), Some(Right::Execute));
        assert_eq!(Right::named("IMPERSONATE"), None);
    }

    #[test]
    fn what_reads_state_gives_no_data_and_changes_nothing() {
        for held in [Right::ViewServerState, Right::ViewDatabaseState] {
            let all = Right::ALL.iter().copied();
            let more: Vec<Right> = all
                .filter(|r| *r != held && (held.includes(*r) || held.reaches(*r)))
                .collect();
            assert!(
                more.iter().all(|r| *r == Right::ViewDatabaseState),
                "{more:?}"
            );
        }
        assert!(!Right::Alter.includes(Right::Select) && !Right::Alter.includes(Right::Control));
        assert!(!Right::AlterAnyLogin.includes(Right::ControlServer));
    }
}
