//! Users ask in their own names what they may do.

use std::collections::BTreeSet;
use std::sync::Arc;

use duramen_events::instance::Instance;

use super::super::image;
use super::super::wire::execute;
use super::disk;
use super::fault::Fault;
use super::found;
use super::model::{Db, Model};
use super::rights;

/// Compares what every user is told with what it may do.
pub fn users(instance: &Arc<Instance>, model: &Model) -> Result<(), Fault> {
    for name in disk::DATABASES {
        let Some(db) = model.dbs.get(name) else {
            continue;
        };
        let must = rights::done_by_users(db);
        let mut told = BTreeSet::new();
        for (_, user) in db.others.keys().filter(|w| w.0 == "user") {
            told.extend(told_to(instance, (name, db), user)?);
        }
        if let Some(line) = must.symmetric_difference(&told).next() {
            let text = format!("{name}: {line}: that is {}", must.contains(line));
            return Err(Fault::new("rights", text));
        }
    }
    Ok(())
}

fn told_to(
    instance: &Arc<Instance>,
    (name, db): (&str, &Db),
    user: &str,
) -> Result<Vec<String>, Fault> {
    let login = disk::login_of(user);
    let session = image::login_as(instance, (&login, disk::PASSWORD), name);
    let mut session = session.map_err(|e| Fault::new("login", format!("{login}: {e}")))?;
    let sql = rights::question(db, user);
    let reply = execute(&mut session, &sql);
    match reply.errors.first() {
        Some(e) => Err(Fault::new(
            format!("error {}", e.number),
            format!("{user} asks {sql}: {e}"),
        )),
        None => Ok(reply.rows.iter().map(|r| found::line(r)).collect()),
    }
}
