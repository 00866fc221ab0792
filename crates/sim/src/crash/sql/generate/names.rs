//! Objects that are no tables: procedures, views, functions, types, synonyms, schemas, principals, partition functions.

use super::{Generator, Scene};
use crate::crash::sql::disk;
use crate::crash::sql::model::{At, GLOBAL, Op};
use crate::crash::sql::step::{Batch, Effect, Stmt};
use crate::crash::sql::world::MASTER;

/// Of each kind.
const COUNT: u64 = 2;

/// What is done to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Create,
    Alter,
    Drop,
}

/// Kinds of objects, with the verbs that they know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    Procedure,
    TemporaryProcedure,
    /// A temporary one that is everybody's.
    GlobalProcedure,
    View,
    Function,
    Type,
    Synonym,
    Schema,
    Role,
    User,
    Login,
    ServerRole,
    PartitionFunction,
    PartitionScheme,
    /// Rights in a database, and on the server.
    Permission,
    ServerPermission,
}

const SORTS: [Sort; 16] = [
    Sort::Procedure,
    Sort::TemporaryProcedure,
    Sort::GlobalProcedure,
    Sort::View,
    Sort::Function,
    Sort::Type,
    Sort::Synonym,
    Sort::Schema,
    Sort::Role,
    Sort::User,
    Sort::Login,
    Sort::ServerRole,
    Sort::PartitionFunction,
    Sort::PartitionScheme,
    Sort::Permission,
    Sort::ServerPermission,
];

/// A change of one, as it is written and as the model has it.
struct Change {
    sql: String,
    kind: &'static str,
    name: String,
    text: Option<String>,
    replaces: bool,
}

impl Change {
    fn new(sql: String, kind: &'static str, name: &str, text: Option<&str>) -> Change {
        Change {
            sql,
            kind,
            name: name.to_owned(),
            text: text.map(str::to_owned),
            replaces: false,
        }
    }

    fn replacing(self) -> Change {
        Change {
            replaces: true,
            ..self
        }
    }
}

impl Generator {
    /// Makes, changes or drops one.
    pub(super) fn other(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let sort = *self.rng.choose(&SORTS)?;
        let verb =
            [Verb::Create, Verb::Create, Verb::Alter, Verb::Drop][self.rng.below(4) as usize];
        self.named(scene, sort, verb)
            .or_else(|| self.named(scene, sort, Verb::Create))
    }

    /// The same, of this kind; `None` where there is none, or no room for one.
    pub(super) fn named(&mut self, scene: &Scene<'_>, sort: Sort, verb: Verb) -> Option<Stmt> {
        let db = match sort {
            Sort::TemporaryProcedure => &format!("#{}", scene.who),
            Sort::GlobalProcedure => GLOBAL,
            Sort::Login | Sort::ServerRole | Sort::ServerPermission => MASTER,
            _ => Self::home(scene.who),
        };
        let all = scene.view.dbs.get(db).map(|d| &d.others);
        let of = |kind: &str| -> Vec<(String, String)> {
            let all = all.into_iter().flatten().filter(|(w, _)| w.0 == kind);
            all.map(|(w, text)| (w.1.clone(), text.clone())).collect()
        };
        let change = match sort {
            Sort::Procedure
            | Sort::TemporaryProcedure
            | Sort::GlobalProcedure
            | Sort::View
            | Sort::Function => self.module(&of, sort, verb)?,
            Sort::Type | Sort::Schema | Sort::PartitionFunction => self.plain(&of, sort, verb)?,
            Sort::Synonym => self.synonym(&of, verb)?,
            Sort::Role | Sort::User | Sort::Login => self.principal(&of, sort, verb)?,
            Sort::ServerRole => {
                let (name, _) = self.rng.choose(&of("login"))?.clone();
                self.member(&of, "srvmember", ("SERVER ROLE", "dbcreator"), &name)
            }
            Sort::PartitionScheme => self.scheme(&of, verb)?,
            Sort::Permission => return self.grant(scene),
            Sort::ServerPermission => return self.grant_on_server(scene),
        };
        let op = Op::Other {
            db: db.to_owned(),
            what: (change.kind.to_owned(), change.name),
            text: change.text,
            replaces: change.replaces,
        };
        Some(Stmt {
            sql: change.sql,
            effect: Effect::Do(op),
        })
    }

    /// EXECUTE of a procedure that is there, or is not.
    pub(super) fn call(&mut self, scene: &Scene<'_>) -> Batch {
        let n = self.rng.below(COUNT);
        let (db, name) = match self.rng.below(4) {
            0 => (format!("#{}", scene.who), format!("#p{n}")),
            1 => (GLOBAL.to_owned(), format!("##p{n}")),
            _ => (Self::home(scene.who).to_owned(), format!("p{n}")),
        };
        let table = format!("P {name}");
        Batch::plain(format!("EXEC {name}"), Effect::Calls(At { db, table }))
    }

    /// A name with this prefix that is there, or is not.
    fn one_of(&mut self, of: &[(String, String)], prefix: &str, is_there: bool) -> Option<String> {
        let there: Vec<String> = of.iter().map(|o| o.0.clone()).collect();
        let all = (0..COUNT).map(|n| format!("{prefix}{n}"));
        let all: Vec<String> = all.filter(|n| there.contains(n) == is_there).collect();
        self.rng.choose(&all).cloned()
    }

    fn module(
        &mut self,
        of: &dyn Fn(&str) -> Vec<(String, String)>,
        sort: Sort,
        verb: Verb,
    ) -> Option<Change> {
        let (kind, prefix, word) = match sort {
            Sort::Procedure => ("P", "p", "PROCEDURE"),
            Sort::TemporaryProcedure => ("P", "#p", "PROCEDURE"),
            Sort::GlobalProcedure => ("P", "##p", "PROCEDURE"),
            Sort::View => ("V", "v", "VIEW"),
            _ => ("FN", "f", "FUNCTION"),
        };
        let name = self.one_of(&of(kind), prefix, verb != Verb::Create)?;
        let n = self.rng.below(100);
        let body = match sort {
            Sort::View => format!("VIEW {name} AS SELECT {n} AS x"),
            Sort::Function => {
                format!("FUNCTION {name} (@a int) RETURNS int AS BEGIN RETURN @a + {n} END")
            }
            _ => format!("PROCEDURE {name} AS SELECT {n}"),
        };
        let text = format!("CREATE {body}");
        Some(match verb {
            Verb::Create => Change::new(text.clone(), kind, &name, Some(&text)),
            Verb::Alter => {
                Change::new(format!("ALTER {body}"), kind, &name, Some(&text)).replacing()
            }
            Verb::Drop => Change::new(format!("DROP {word} {name}"), kind, &name, None),
        })
    }

    fn plain(
        &mut self,
        of: &dyn Fn(&str) -> Vec<(String, String)>,
        sort: Sort,
        verb: Verb,
    ) -> Option<Change> {
        let (kind, prefix, word, rest) = match sort {
            Sort::Type => ("type", "ty", "TYPE", " FROM int"),
            Sort::Schema => ("schema", "s", "SCHEMA", ""),
            _ => (
                "pf",
                "px",
                "PARTITION FUNCTION",
                " (int) AS RANGE LEFT FOR VALUES (10)",
            ),
        };
        let name = self.one_of(&of(kind), prefix, verb != Verb::Create)?;
        match verb {
            Verb::Create => {
                let sql = format!("CREATE {word} {name}{rest}");
                Some(Change::new(sql, kind, &name, Some("")))
            }
            Verb::Alter => None,
            Verb::Drop => Some(Change::new(
                format!("DROP {word} {name}"),
                kind,
                &name,
                None,
            )),
        }
    }

    /// A synonym, and the schema that it is in.
    fn synonym(
        &mut self,
        of: &dyn Fn(&str) -> Vec<(String, String)>,
        verb: Verb,
    ) -> Option<Change> {
        let synonyms = of("SN");
        if verb == Verb::Create {
            let name = self.one_of(&synonyms, "sy", false)?;
            let sql = format!("CREATE SYNONYM dbo.{name} FOR dbo.t0");
            return Some(Change::new(sql, "SN", &name, Some("dbo")));
        }
        let (name, from) = self.rng.choose(&synonyms)?.clone();
        if verb == Verb::Drop {
            let sql = format!("DROP SYNONYM {from}.{name}");
            return Some(Change::new(sql, "SN", &name, None));
        }
        let to = match from == "dbo" {
            true => self.rng.choose(&of("schema"))?.0.clone(),
            false => "dbo".to_owned(),
        };
        let sql = format!("ALTER SCHEMA {to} TRANSFER {from}.{name}");
        Some(Change::new(sql, "SN", &name, Some(&to)).replacing())
    }

    fn principal(
        &mut self,
        of: &dyn Fn(&str) -> Vec<(String, String)>,
        sort: Sort,
        verb: Verb,
    ) -> Option<Change> {
        let (kind, prefix, word, rest, text) = match sort {
            Sort::Role => ("role", "r", "ROLE", "", ""),
            Sort::User => ("user", "u", "USER", "", "dbo"),
            _ => ("login", "lg", "LOGIN", " WITH PASSWORD = 'Aa1!bbbb'", "0"),
        };
        let name = self.one_of(&of(kind), prefix, verb != Verb::Create)?;
        Some(match (verb, sort) {
            (Verb::Create, _) => {
                let rest = match sort {
                    Sort::User => format!(" FOR LOGIN {}", disk::login_of(&name)),
                    _ => rest.to_owned(),
                };
                let sql = format!("CREATE {word} {name}{rest}");
                Change::new(sql, kind, &name, Some(text))
            }
            (Verb::Drop, _) => Change::new(format!("DROP {word} {name}"), kind, &name, None),
            (Verb::Alter, Sort::Role) => {
                let (user, _) = self.rng.choose(&of("user"))?.clone();
                self.member(of, "member", ("ROLE", &name), &user)
            }
            (Verb::Alter, Sort::User) => {
                let sql = format!("ALTER USER {name} WITH DEFAULT_SCHEMA = dbo");
                Change::new(sql, kind, &name, Some("dbo")).replacing()
            }
            (Verb::Alter, _) => {
                let off = self.rng.below(2) as usize;
                let sql = format!("ALTER LOGIN {name} {}", ["ENABLE", "DISABLE"][off]);
                Change::new(sql, kind, &name, Some(["0", "1"][off])).replacing()
            }
        })
    }

    /// Somebody comes to a role or leaves it.
    fn member(
        &mut self,
        of: &dyn Fn(&str) -> Vec<(String, String)>,
        kind: &'static str,
        (word, role): (&str, &str),
        who: &str,
    ) -> Change {
        let what = format!("{role} {who}");
        let is_there = of(kind).iter().any(|m| m.0 == what);
        let (verb, text) = match is_there {
            true => ("DROP", None),
            false => ("ADD", Some("")),
        };
        let sql = format!("ALTER {word} {role} {verb} MEMBER {who}");
        Change::new(sql, kind, &what, text)
    }

    fn scheme(&mut self, of: &dyn Fn(&str) -> Vec<(String, String)>, verb: Verb) -> Option<Change> {
        let name = self.one_of(&of("ps"), "sx", verb != Verb::Create)?;
        match verb {
            Verb::Create => {
                let (function, _) = self.rng.choose(&of("pf"))?.clone();
                let sql = format!(
                    "CREATE PARTITION SCHEME {name} AS PARTITION {function} ALL TO ([PRIMARY])"
                );
                Some(Change::new(sql, "ps", &name, Some(&function)))
            }
            Verb::Alter => None,
            Verb::Drop => {
                let sql = format!("DROP PARTITION SCHEME {name}");
                Some(Change::new(sql, "ps", &name, None))
            }
        }
    }
}
