//! A statement of a given kind.

use super::names::{Sort, Verb};
use super::{Generator, Scene};
use crate::crash::sql::kinds::{Cover, K, KINDS};
use crate::crash::sql::model::Op;
use crate::crash::sql::step::{Batch, Effect, Form, Stmt};

impl Generator {
    /// A batch with a statement of this kind; `None` where there is nothing that it could be about, or where the kind is
    /// not made by itself.
    pub(super) fn of_kind(&mut self, scene: &Scene<'_>, kind: K) -> Option<Batch> {
        use {Sort::*, Verb::*};
        let stmt = match kind {
            K::CreateProcedure => self.named(scene, Procedure, Create),
            K::AlterProcedure => self.named(scene, Procedure, Alter),
            K::DropProcedure => self.named(scene, Procedure, Drop),
            K::CreateView => self.named(scene, View, Create),
            K::AlterView => self.named(scene, View, Alter),
            K::DropView => self.named(scene, View, Drop),
            K::CreateFunction => self.named(scene, Function, Create),
            K::AlterFunction => self.named(scene, Function, Alter),
            K::DropFunction => self.named(scene, Function, Drop),
            K::CreateSchema => self.named(scene, Schema, Create),
            K::DropSchema => self.named(scene, Schema, Drop),
            K::CreateType => self.named(scene, Type, Create),
            K::DropType => self.named(scene, Type, Drop),
            K::CreateSynonym => self.named(scene, Synonym, Create),
            K::AlterSchema => self.named(scene, Synonym, Alter),
            K::DropSynonym => self.named(scene, Synonym, Drop),
            K::CreatePartitionFunction => self.named(scene, PartitionFunction, Create),
            K::DropPartitionFunction => self.named(scene, PartitionFunction, Drop),
            K::CreatePartitionScheme => self.named(scene, PartitionScheme, Create),
            K::DropPartitionScheme => self.named(scene, PartitionScheme, Drop),
            K::AlterPartitionFunction => self.boundary(scene),
            K::AlterPartitionScheme => self.next_used(scene),
            K::CreateLogin => self.named(scene, Login, Create),
            K::AlterLogin => self.named(scene, Login, Alter),
            K::DropLogin => self.named(scene, Login, Drop),
            K::CreateUser => self.named(scene, User, Create),
            K::AlterUser => self.named(scene, User, Alter),
            K::DropUser => self.named(scene, User, Drop),
            K::CreateRole => self.named(scene, Role, Create),
            K::AlterRole => self.named(scene, Role, Alter),
            K::DropRole => self.named(scene, Role, Drop),
            K::AlterServerRole => self.named(scene, ServerRole, Alter),
            K::Permission => self.named(scene, Permission, Alter),
            K::ServerPermission => self.named(scene, ServerPermission, Alter),
            K::CreateTable => self.create(scene),
            K::InsertBulk => return self.bulk(scene),
            K::Select if self.rng.one_in(4) => return self.look_at_rights(scene),
            K::Select => return self.look(scene),
            K::Exec if self.rng.one_in(2) => {
                return nothing("EXEC sys.sp_executesql N'PRINT ''x'''");
            }
            K::Exec => return Some(self.call(scene)),
            K::If => return self.block(scene, 0),
            K::While | K::Block => return self.block(scene, 1),
            K::WaitFor => return self.block(scene, 2),
            K::Print | K::Jump => return self.block(scene, 3),
            K::DeclareTable => return self.block(scene, 4),
            K::Use => return self.block(scene, 5),
            K::Declare | K::SetVariable => return self.block(scene, 6),
            K::RaiseError => return self.block(scene, 7),
            K::TryCatch => return self.try_catch(scene),
            K::CreateDatabase => return self.make_database(scene, true),
            K::DropDatabase => return self.make_database(scene, false),
            K::AlterDatabase => return Some(self.alter_database()),
            K::BackupDatabase => return Some(self.back_up_any(scene)),
            K::BackupLog => return Some(self.back_up_log()),
            K::Restore => return self.restore(),
            K::RestoreShows => return self.show_backup(),
            K::SelectInto
            | K::Insert
            | K::InsertSelect
            | K::Update
            | K::Delete
            | K::Truncate
            | K::AlterAdd
            | K::AlterDropColumn
            | K::AlterDropConstraint
            | K::AlterColumn
            | K::AlterCheck
            | K::EnableTrigger
            | K::AlterSwitch
            | K::CreateIndex
            | K::AlterIndex
            | K::DropIndex
            | K::CreateStatistics
            | K::UpdateStatistics
            | K::DropStatistics
            | K::DropTable
            | K::CreateTrigger
            | K::AlterTrigger
            | K::DropTrigger => self.of_table(scene, kind),
            // They are steps of every aim.
            K::BeginTran | K::Commit | K::Rollback | K::SaveTran | K::Kill => None,
            // Chains have it.
            K::RestoreLog => None,
            // A kind of which `kinds` says that it is made has its arm.
            other => match KINDS[other as usize].cover {
                Cover::Text(sql) => return nothing(sql),
                Cover::Not(_) => None,
                Cover::Made => unreachable!("nothing makes {other:?}"),
            },
        }?;
        Some(Batch {
            stmts: vec![stmt],
            form: Form::Plain,
        })
    }

    /// A statement about a table that is there.
    fn of_table(&mut self, scene: &Scene<'_>, kind: K) -> Option<Stmt> {
        let (at, table) = self.table(scene)?;
        match kind {
            K::SelectInto => self.into(scene, at, table),
            K::Insert => self.insert(scene, at, table),
            K::InsertSelect => self.load(scene, at, table),
            K::Update => self.update(scene, at, table),
            K::Delete => Some(self.delete(scene, at)),
            K::Truncate => stmt(format!("TRUNCATE TABLE {}", at.sql()), Op::Truncate { at }),
            K::AlterAdd => match self.rng.one_in(3) {
                true => self.add_constraint(at, table),
                false => self.add_column(at, table),
            },
            K::AlterDropColumn => self.drop_column(at, table),
            K::AlterDropConstraint => self.drop_constraint(at, table),
            K::AlterColumn => self.alter_column(at, table),
            K::AlterCheck => self.enable_check(at, table),
            K::AlterSwitch => self.switch(scene, at, table),
            K::CreateIndex => self.create_index(at, table),
            K::AlterIndex => self.rebuild(at, table),
            K::DropIndex => self.drop_index(at, table),
            K::CreateStatistics => self.create_statistics(at),
            K::DropStatistics => self.drop_statistics(at, table),
            K::UpdateStatistics => {
                // Where there are none it writes nothing.
                let some = !table.statistics.is_empty() || !table.indexes.is_empty();
                if !some && !self.rng.one_in(4) {
                    return None;
                }
                let sql = format!("UPDATE STATISTICS {}", at.sql());
                stmt(sql, Op::Touch { at, defines: true })
            }
            K::DropTable => stmt(format!("DROP TABLE {}", at.sql()), Op::Drop { at }),
            K::CreateTrigger => self.create_trigger(scene, at),
            K::AlterTrigger => self.alter_trigger(scene, at, table),
            K::DropTrigger => self.drop_trigger(scene, at, table),
            K::EnableTrigger => self.enable_trigger(scene, at, table),
            _ => None,
        }
    }
}

fn stmt(sql: String, op: Op) -> Option<Stmt> {
    Some(Stmt {
        sql,
        effect: Effect::Do(op),
    })
}

fn nothing(sql: &str) -> Option<Batch> {
    Some(Batch::plain(sql.to_owned(), Effect::Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::sql::kinds::ALL;
    use crate::crash::sql::model::Model;
    use crate::crash::sql::step::Level;

    /// Of a kind that `kinds` says is made, and that nothing here makes, the generator says so in a panic.
    #[test]
    fn every_kind_that_is_made_has_its_arm() {
        let view = Model::default();
        for (seed, kind) in (1..).zip(ALL) {
            let scene = Scene {
                who: 0,
                view: &view,
                depth: 0,
                saves: Vec::new(),
                level: Level::default(),
                versioned: false,
            };
            let made = Generator::new(seed, None).of_kind(&scene, *kind);
            let text = matches!(KINDS[*kind as usize].cover, Cover::Text(_));
            assert!(made.is_some() || !text, "{kind:?}");
        }
    }
}
