//! tiberius against a running server; the cases are those of cases.md.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod values;

use std::future::Future;
use std::time::{Duration, Instant};

use tiberius::{
    AuthMethod, Client, ColumnData, Command, Config, EncryptionLevel, IntoSql, IsolationLevel,
    Query, Row, SqlTableDataRow, TableValueRow, TokenRow, error::Error, numeric::Numeric,
};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use values::Listed;

type Connection = Client<Compat<TcpStream>>;

/// Why a case did not hold.
enum Trouble {
    /// The driver cannot.
    Skip(&'static str),
    Server(Error),
    Wrong(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Server(error)
    }
}

type Case = Result<(), Trouble>;

fn check<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Case {
    if got == wanted {
        return Ok(());
    }
    let cut = |value: &T| format!("{value:?}").chars().take(200).collect::<String>();
    let (got, wanted) = (cut(&got), cut(&wanted));
    Err(Trouble::Wrong(format!(
        "{what}: got {got}, wanted {wanted}"
    )))
}

struct Arguments {
    host: String,
    port: u16,
    password: String,
    database: String,
    certificate: String,
    cases: String,
}

impl Arguments {
    fn config(&self, level: EncryptionLevel) -> Config {
        let mut config = Config::new();
        config.host(&self.host);
        config.port(self.port);
        config.database(&self.database);
        config.authentication(AuthMethod::sql_server("sa", &self.password));
        config.encryption(level);
        if level == EncryptionLevel::Strict {
            config.host("localhost");
            config.trust_cert_ca(&self.certificate);
        } else {
            config.trust_cert();
        }
        config
    }

    async fn connect(&self) -> Result<Connection, Error> {
        self.login(self.config(EncryptionLevel::Required)).await
    }

    async fn login(&self, config: Config) -> Result<Connection, Error> {
        let tcp = TcpStream::connect((self.host.as_str(), self.port)).await?;
        tcp.set_nodelay(true)?;
        Client::connect(config, tcp.compat_write()).await
    }
}

#[derive(Default)]
struct Report {
    passed: u32,
    failed: u32,
    skipped: u32,
}

impl Report {
    async fn run(&mut self, name: &str, case: impl Future<Output = Case>) {
        let within = tokio::time::timeout(Duration::from_secs(40), case).await;
        let ended =
            within.unwrap_or_else(|_| Err(Trouble::Wrong("not done after 40 s".to_owned())));
        let line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match ended {
            Ok(()) => {
                self.passed += 1;
                println!("ok {name}");
            }
            Err(Trouble::Skip(why)) => {
                self.skipped += 1;
                println!("skip {name}: {why}");
            }
            Err(Trouble::Server(error)) => {
                self.failed += 1;
                println!("not ok {name}: {}", line(error.to_string()));
            }
            Err(Trouble::Wrong(why)) => {
                self.failed += 1;
                println!("not ok {name}: {}", line(why));
            }
        }
    }
}

/// All rows of the first result set.
async fn rows(c: &mut Connection, text: &str) -> Result<Vec<Row>, Error> {
    c.simple_query(text).await?.into_first_result().await
}

async fn ints(c: &mut Connection, text: &str) -> Result<Vec<i32>, Error> {
    let rows = rows(c, text).await?;
    Ok(rows.iter().filter_map(|r| r.get::<i32, _>(0)).collect())
}

async fn run(c: &mut Connection, text: &str) -> Case {
    c.simple_query(text).await?.into_results().await?;
    Ok(())
}

/// The error of a text.
async fn refused(c: &mut Connection, text: &str) -> Result<tiberius::error::TokenError, Trouble> {
    let outcome = match c.simple_query(text).await {
        Ok(stream) => stream.into_results().await.map(|_| ()),
        Err(error) => Err(error),
    };
    match outcome {
        Err(Error::Server(token)) => Ok(token),
        Err(error) => Err(error.into()),
        Ok(()) => Err(Trouble::Wrong(format!("no error from {text}"))),
    }
}

async fn over(a: &Arguments, level: EncryptionLevel, encrypted: &str) -> Case {
    let mut c = a.login(a.config(level)).await?;
    check("SELECT 1", ints(&mut c, "SELECT 1").await?, vec![1])?;
    let text =
        "SELECT encrypt_option, DB_NAME() FROM sys.dm_exec_connections WHERE session_id = @@SPID";
    let found = rows(&mut c, text).await?;
    check(
        "encrypt_option",
        found[0].get::<&str, _>(0),
        Some(encrypted),
    )?;
    check(
        "database",
        found[0].get::<&str, _>(1),
        Some(a.database.as_str()),
    )?;
    c.close().await?;
    Ok(())
}

async fn refused_login(a: &Arguments, config: Config) -> Result<u32, Trouble> {
    match a.login(config).await {
        Err(Error::Server(token)) => Ok(token.code()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(Trouble::Wrong("the login was accepted".to_owned())),
    }
}

/// A value that was read, to be sent back.
struct Sent(ColumnData<'static>);

impl IntoSql<'static> for Sent {
    fn into_sql(self) -> ColumnData<'static> {
        self.0
    }
}

fn parameter(value: ColumnData<'static>, wanted: &Listed) -> ColumnData<'static> {
    match (&value, wanted.kind.as_str()) {
        // The driver counts the nought before the point as a digit: 39 of them.
        (ColumnData::Numeric(Some(n)), _) if n.scale() == 38 => {
            ColumnData::String(Some(wanted.lossy().into()))
        }
        // A float holds no more than 15 digits of money: as text.
        (ColumnData::F64(Some(_)), "decimal") => ColumnData::String(Some(wanted.lossy().into())),
        _ => value,
    }
}

async fn types(c: &mut Connection, values: &[&Listed]) -> Case {
    for wanted in values {
        let text = format!("SELECT CAST({} AS {})", wanted.expression, wanted.ty);
        let row = rows(c, &text).await?.remove(0);
        let value = row.into_iter().next().expect("a column");
        let name = wanted.name();
        check(
            &format!("{name} read"),
            values::spelled(&value, wanted),
            values::known(wanted),
        )?;
        run(c, "DROP TABLE IF EXISTS dbo.there_and_back").await?;
        run(
            c,
            &format!("CREATE TABLE dbo.there_and_back (v {} NULL)", wanted.ty),
        )
        .await?;
        let mut insert = Query::new("INSERT INTO dbo.there_and_back (v) VALUES (@P1)");
        insert.bind(Sent(parameter(value, wanted)));
        insert.execute(c).await?;
        let row = rows(c, "SELECT v FROM dbo.there_and_back").await?.remove(0);
        let back = row.into_iter().next().expect("a column");
        check(
            &format!("{name} sent back"),
            values::spelled(&back, wanted),
            values::known(wanted),
        )?;
    }
    Ok(())
}

async fn rowversion(c: &mut Connection) -> Case {
    run(c, "DROP TABLE IF EXISTS dbo.stamped").await?;
    run(
        c,
        "CREATE TABLE dbo.stamped (id int NOT NULL PRIMARY KEY, stamp rowversion NOT NULL)",
    )
    .await?;
    run(c, "INSERT INTO dbo.stamped (id) VALUES (1), (2)").await?;
    let found = rows(c, "SELECT stamp FROM dbo.stamped ORDER BY id").await?;
    let stamp = |row: &Row| {
        row.get::<&[u8], _>(0)
            .map(<[u8]>::to_vec)
            .unwrap_or_default()
    };
    check(
        "bytes",
        (stamp(&found[0]).len(), stamp(&found[1]).len()),
        (8, 8),
    )?;
    check("grows", stamp(&found[0]) < stamp(&found[1]), true)
}

async fn parameters(c: &mut Connection) -> Case {
    run(c, "DELETE FROM dbo.pair").await?;
    let letters = "gr\u{fc}\u{df} \u{3b1} \u{1f600}";
    for (id, name) in [
        (1, Some("one")),
        (2, None),
        (3, Some(letters)),
        (4, Some("it's")),
    ] {
        let text = "INSERT INTO dbo.pair (id, name) VALUES (@P1, @P2)";
        check("inserted", c.execute(text, &[&id, &name]).await?.total(), 1)?;
    }
    let found = c
        .query("SELECT id FROM dbo.pair WHERE name = @P1", &[&letters])
        .await?;
    check(
        "by text",
        found.into_row().await?.and_then(|r| r.get::<i32, _>(0)),
        Some(3),
    )?;
    let found = c
        .query("SELECT name FROM dbo.pair WHERE id = @P1", &[&2])
        .await?;
    check(
        "null",
        found
            .into_row()
            .await?
            .map(|r| r.get::<&str, _>(0).is_none()),
        Some(true),
    )?;
    let long = "x".repeat(10_000);
    let found = c
        .query("SELECT CAST(LEN(@P1) AS int), @P1", &[&long.as_str()])
        .await?;
    let row = found.into_row().await?.expect("a row");
    check("length", row.get::<i32, _>(0), Some(10_000))?;
    check("long", row.get::<&str, _>(1), Some(long.as_str()))?;
    let names: Vec<String> = (1..=100).map(|i| format!("@P{i}")).collect();
    let mut many = Query::new(format!("SELECT {}", names.join(", ")));
    (0..100i32).for_each(|i| many.bind(i));
    let row = many.query(c).await?.into_row().await?.expect("a row");
    let got: Vec<i32> = (0..100).filter_map(|i| row.get::<i32, _>(i)).collect();
    check("hundred", got, (0..100).collect())
}

async fn results(c: &mut Connection) -> Case {
    let text =
        "SELECT 1 AS a; SELECT N'x' AS b, 2 AS b; SELECT id FROM dbo.pair WHERE 1 = 0; SELECT 3";
    let sets = c.simple_query(text).await?.into_results().await?;
    check(
        "sets",
        sets.iter().map(Vec::len).collect(),
        vec![1, 1, 0, 1],
    )?;
    let names: Vec<&str> = sets[1][0].columns().iter().map(|c| c.name()).collect();
    check("names", names, vec!["b", "b"])?;
    check("second", sets[1][0].get::<i32, _>(1), Some(2))?;
    check("last", sets[3][0].get::<i32, _>(0), Some(3))
}

async fn counts(c: &mut Connection) -> Case {
    run(c, "DELETE FROM dbo.pair").await?;
    for (text, wanted) in [
        ("INSERT INTO dbo.pair (id) VALUES (1), (2), (3)", 3),
        ("UPDATE dbo.pair SET name = N'n' WHERE id > 1", 2),
        ("UPDATE dbo.pair SET name = N'n' WHERE id > 10", 0),
        ("DELETE FROM dbo.pair", 3),
    ] {
        check(text, c.execute(text, &[]).await?.total(), wanted)?;
    }
    Ok(())
}

async fn large(c: &mut Connection) -> Case {
    let text = "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
        SELECT i, REPLICATE(N'w', i % 100) FROM n OPTION (MAXRECURSION 0)";
    let found = rows(c, text).await?;
    check("rows", found.len(), 20_000)?;
    for (at, row) in found.iter().enumerate() {
        check("number", row.get::<i32, _>(0), Some(at as i32 + 1))?;
        check(
            "text",
            row.get::<&str, _>(1),
            Some("w".repeat((at + 1) % 100).as_str()),
        )?;
    }
    Ok(())
}

async fn unicode(c: &mut Connection) -> Case {
    let text = "SELECT N'\u{65e5}\u{672c}' AS [\u{3b1}\u{3b2} \u{436}], 1 AS [gr\u{fc}\u{df}]";
    let found = rows(c, text).await?;
    let names: Vec<&str> = found[0].columns().iter().map(|c| c.name()).collect();
    check(
        "names",
        names,
        vec!["\u{3b1}\u{3b2} \u{436}", "gr\u{fc}\u{df}"],
    )?;
    check("text", found[0].get::<&str, _>(0), Some("\u{65e5}\u{672c}"))
}

async fn commit(a: &Arguments, c: &mut Connection) -> Case {
    run(c, "DELETE FROM dbo.pair").await?;
    let mut other = a.connect().await?;
    other.begin_transaction().await?;
    other
        .execute("INSERT INTO dbo.pair (id) VALUES (7)", &[])
        .await?;
    let seen = "SELECT COUNT(*) FROM dbo.pair WITH (READPAST)";
    check("before", ints(c, seen).await?, vec![0])?;
    other.commit_transaction().await?;
    check("after", ints(c, seen).await?, vec![1])?;
    other.close().await?;
    Ok(())
}

async fn rollback(c: &mut Connection) -> Case {
    run(c, "DELETE FROM dbo.pair").await?;
    c.begin_transaction().await?;
    c.execute("INSERT INTO dbo.pair (id) VALUES (8)", &[])
        .await?;
    check(
        "inside",
        ints(c, "SELECT @@TRANCOUNT + COUNT(*) FROM dbo.pair").await?,
        vec![2],
    )?;
    c.rollback_transaction().await?;
    check(
        "after",
        ints(c, "SELECT @@TRANCOUNT + COUNT(*) FROM dbo.pair").await?,
        vec![0],
    )
}

async fn isolation(c: &mut Connection) -> Case {
    let asked = "SELECT CAST(transaction_isolation_level AS int) FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
    for (level, number) in [
        (IsolationLevel::Serializable, 4),
        (IsolationLevel::Snapshot, 5),
        (IsolationLevel::ReadCommitted, 2),
    ] {
        c.begin_transaction_with_isolation(level).await?;
        check("level", ints(c, asked).await?, vec![number])?;
        c.commit_transaction().await?;
    }
    Ok(())
}

async fn savepoint(c: &mut Connection) -> Case {
    run(c, "DELETE FROM dbo.pair").await?;
    c.begin_transaction().await?;
    run(c, "INSERT INTO dbo.pair (id) VALUES (1)").await?;
    // Not the driver's save_transaction: it counts the name in characters where the protocol counts bytes.
    run(c, "SAVE TRANSACTION half").await?;
    run(c, "INSERT INTO dbo.pair (id) VALUES (2)").await?;
    run(c, "ROLLBACK TRANSACTION half").await?;
    run(c, "INSERT INTO dbo.pair (id) VALUES (3)").await?;
    c.commit_transaction().await?;
    check(
        "rows",
        ints(c, "SELECT id FROM dbo.pair ORDER BY id").await?,
        vec![1, 3],
    )
}

async fn fields(c: &mut Connection) -> Case {
    let e = refused(c, "\n\nEXEC dbo.fails 42").await?;
    check(
        "number, severity, state",
        (e.code(), e.class(), e.state()),
        (50000, 12, 7),
    )?;
    check("line, text", (e.line(), e.message()), (4, "wrong thing 42"))?;
    check("procedure", e.procedure().rsplit('.').next(), Some("fails"))
}

async fn goes_on(c: &mut Connection) -> Case {
    run(
        c,
        "DELETE FROM dbo.pair; INSERT INTO dbo.pair (id) VALUES (1)",
    )
    .await?;
    for (number, text) in [
        (8134, "SELECT 1 / 0"),
        (2627, "INSERT INTO dbo.pair (id) VALUES (1)"),
        (208, "SELECT * FROM dbo.no_such_table"),
        (102, "SELECT 1 FROM dbo.pair +"),
        (50123, "THROW 50123, N'thrown', 5"),
        (245, "SELECT CAST('x' AS int)"),
    ] {
        check(text, refused(c, text).await?.code(), number)?;
        check(
            "after it",
            ints(c, "SELECT id FROM dbo.pair").await?,
            vec![1],
        )?;
    }
    Ok(())
}

async fn inside(c: &mut Connection) -> Case {
    let error = refused(c, "SELECT 1; RAISERROR('inside', 16, 1); SELECT 2").await?;
    check("text", error.message(), "inside")?;
    check("lives on", ints(c, "SELECT 5").await?, vec![5])
}

async fn output(c: &mut Connection) -> Case {
    let mut call = Command::new("dbo.outputs");
    call.bind_param("@a", 3);
    call.bind_out_param("@b", "in");
    call.bind_out_param("@c", Numeric::new_with_scale(0, 4));
    call.bind_out_param("@d", None::<&str>);
    let got = call.exec(c).await?.into_command_result().await?;
    check("status", got.return_code(), 4)?;
    check("text", got.try_return_value::<&str>("@b")?, Some("in-3"))?;
    let number = got.try_return_value::<Numeric>("@c")?;
    check("decimal", number, Some(Numeric::new_with_scale(45_000, 4)))
}

async fn status(c: &mut Connection) -> Case {
    let mut call = Command::new("dbo.rows_and_status");
    call.bind_param("@n", 5);
    let got = call.exec(c).await?.into_command_result().await?;
    check("status", got.return_code(), 7)?;
    let first = got
        .to_query_result(0)
        .and_then(|rows| rows[0].get::<i32, _>(0));
    let second = got
        .to_query_result(1)
        .and_then(|rows| rows[0].get::<i32, _>(0));
    check("rows", (first, second), (Some(5), Some(6)))
}

async fn timeout(a: &Arguments) -> Case {
    let mut config = a.config(EncryptionLevel::Required);
    config.command_timeout(Some(Duration::from_secs(1)));
    let mut c = a.login(config).await?;
    let started = Instant::now();
    let ended = match c.simple_query("WAITFOR DELAY '00:00:20'").await {
        Ok(stream) => stream.into_results().await.map(|_| ()),
        Err(error) => Err(error),
    };
    check("an error", ended.is_err(), true)?;
    check("soon", started.elapsed() < Duration::from_secs(8), true)
}

/// A row of bulk.rows.
fn bulk_row(i: i32) -> TokenRow<'static> {
    use tiberius::time::{Date, DateTime2, Time};
    let some = i % 10 != 0;
    let n = i64::from(i);
    // 2020-01-02 03:04:05.678 and i minutes, in milliseconds of the day.
    let at = 11_045_678u64 + i as u64 * 60_000;
    let day = 737_425 + (at / 86_400_000) as u32;
    let mut row = TokenRow::with_capacity(12);
    row.push(ColumnData::I32(Some(i)));
    row.push(ColumnData::I16(some.then_some((i % 100 - 50) as i16)));
    row.push(ColumnData::I64(some.then_some(n * 1_000_000_000_000)));
    row.push(ColumnData::Bit(some.then_some(i % 2 == 1)));
    let amount = Numeric::new_with_scale(i128::from(n) * 10_000 + 2_500, 4);
    row.push(ColumnData::Numeric(some.then_some(amount)));
    row.push(ColumnData::F64(some.then_some(f64::from(i) / 4.0)));
    row.push(ColumnData::String(some.then(|| format!("name {i}").into())));
    row.push(ColumnData::String(
        some.then(|| format!("\u{3b1}{i}").into()),
    ));
    row.push(ColumnData::Date(
        some.then(|| Date::new(730_119 + i as u32)),
    ));
    let seen = DateTime2::new(Date::new(day), Time::new(at % 86_400_000, 3));
    row.push(ColumnData::DateTime2(some.then_some(seen)));
    row.push(ColumnData::Binary(
        some.then(|| i.to_be_bytes().to_vec().into()),
    ));
    row.push(ColumnData::String(
        some.then(|| "\u{436}".repeat(i as usize * 10).into()),
    ));
    row
}

async fn copy(c: &mut Connection, list: Vec<i32>) -> Result<u64, Error> {
    let mut load = c.bulk_insert("dbo.copied").await?;
    for i in list {
        load.send(bulk_row(i)).await?;
    }
    Ok(load.finalize().await?.total())
}

async fn bulk_rows(c: &mut Connection) -> Case {
    run(c, "DELETE FROM dbo.copied").await?;
    check("count", copy(c, (1..=1000).collect()).await?, 1000)?;
    let row = rows(c, "EXEC dbo.check_copied").await?.remove(0);
    check(
        "dbo.check_copied",
        (row.get::<i32, _>(0), row.get::<i32, _>(1)),
        (Some(1000), Some(0)),
    )
}

async fn bulk_error(c: &mut Connection) -> Case {
    run(c, "DELETE FROM dbo.copied").await?;
    match copy(c, (1..20).chain([3]).collect()).await {
        Err(Error::Server(token)) => check("number", token.code(), 2627)?,
        Err(error) => return Err(error.into()),
        Ok(_) => return Err(Trouble::Wrong("a duplicate key was accepted".to_owned())),
    }
    check(
        "nothing stays",
        ints(c, "SELECT COUNT(*) FROM dbo.copied").await?,
        vec![0],
    )
}

struct Pair(i32, Option<&'static str>);

impl TableValueRow<'static> for Pair {
    fn bind_fields(&self, row: &mut SqlTableDataRow<'static>) {
        row.add_field(self.0);
        row.add_field(self.1);
    }

    fn get_db_type() -> &'static str {
        "dbo.pairs"
    }
}

async fn tvp(c: &mut Connection) -> Case {
    run(
        c,
        "DROP PROCEDURE IF EXISTS dbo.take; DROP TYPE IF EXISTS dbo.pairs",
    )
    .await?;
    run(
        c,
        "CREATE TYPE dbo.pairs AS TABLE (id int NOT NULL, name nvarchar(40) NULL)",
    )
    .await?;
    run(
        c,
        "CREATE PROCEDURE dbo.take @rows dbo.pairs READONLY, @factor int AS \
         SELECT SUM(id) * @factor, COUNT(name), COUNT(*) FROM @rows",
    )
    .await?;
    let mut call = Command::new("dbo.take");
    call.bind_table(
        "@rows",
        vec![
            Pair(1, Some("one")),
            Pair(2, None),
            Pair(3, Some("\u{3b1}")),
        ],
    );
    call.bind_param("@factor", 10);
    let got = call.exec(c).await?.into_command_result().await?;
    let row = &got.to_query_result(0).expect("a result set")[0];
    let found: Vec<i32> = (0..3).filter_map(|i| row.get::<i32, _>(i)).collect();
    check("rows", found, vec![60, 2, 3])
}

async fn skip(why: &'static str) -> Case {
    Err(Trouble::Skip(why))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [host, port, password, database, certificate, cases] = &words[..] else {
        eprintln!("usage: tiberius-cases HOST PORT PASSWORD DATABASE CERTIFICATE CASES");
        std::process::exit(2);
    };
    let a = Arguments {
        host: host.clone(),
        port: port.parse().expect("a port"),
        password: password.clone(),
        database: database.clone(),
        certificate: certificate.clone(),
        cases: cases.clone(),
    };
    let mut r = Report::default();
    r.run(
        "connect.clear",
        over(&a, EncryptionLevel::NotSupported, "FALSE"),
    )
    .await;
    r.run(
        "connect.login-only",
        over(&a, EncryptionLevel::Off, "FALSE"),
    )
    .await;
    r.run("connect.tls", over(&a, EncryptionLevel::Required, "TRUE"))
        .await;
    r.run("connect.strict", over(&a, EncryptionLevel::Strict, "TRUE"))
        .await;
    r.run("connect.versions", skip("the driver asks for one version")).await;
    r.run("connect.refused", async {
        let mut config = a.config(EncryptionLevel::Required);
        config.authentication(AuthMethod::sql_server("sa", "certainly not the password"));
        check("number", refused_login(&a, config).await?, 18456)?;
        a.connect().await?.close().await?;
        Ok(())
    })
    .await;
    r.run("connect.no-database", async {
        let mut config = a.config(EncryptionLevel::Required);
        config.database("no_such_database");
        let number = refused_login(&a, config).await?;
        check("number", number == 4060 || number == 18456, true)
    })
    .await;
    // A case that ends its connection must not take the others with it: each has its own.
    macro_rules! with {
        ($name:expr, $case:expr) => {
            r.run($name, async {
                let mut connection = a.connect().await?;
                let case: Case = ($case)(&mut connection).await;
                case
            })
            .await
        };
    }
    let values = values::read(&format!("{}/types.tsv", a.cases));
    let mut names: Vec<&str> = Vec::new();
    for value in &values {
        if !names.contains(&value.case.as_str()) {
            names.push(&value.case);
        }
    }
    for name in names {
        let mine: Vec<&Listed> = values.iter().filter(|v| v.case == name).collect();
        match name {
            "types.surrogate" => {
                r.run(name, skip("the driver decodes whole characters"))
                    .await
            }
            "types.sql_variant" => r.run(name, skip("the driver knows no sql_variant")).await,
            _ => with!(name, async |c: &mut Connection| types(c, &mine).await),
        }
    }
    with!("types.rowversion", rowversion);
    with!("query.parameters", parameters);
    r.run("query.prepared", skip("the driver prepares nothing"))
        .await;
    with!("query.results", results);
    with!("query.counts", counts);
    with!("query.large", large);
    with!("query.unicode", unicode);
    with!("transaction.commit", async |c: &mut Connection| commit(
        &a, c
    )
    .await);
    with!("transaction.rollback", rollback);
    with!("transaction.isolation", isolation);
    with!("transaction.savepoint", savepoint);
    with!("error.fields", fields);
    with!("error.goes-on", goes_on);
    with!("error.inside", inside);
    r.run("error.messages", skip("the driver keeps no messages"))
        .await;
    with!("procedure.output", output);
    with!("procedure.status", status);
    r.run("cancel.timeout", timeout(&a)).await;
    let why =
        "the driver looks for the acknowledgement in the reply that it cancels, not behind it";
    r.run("cancel.request", skip(why)).await;
    with!("bulk.rows", bulk_rows);
    with!("bulk.error", bulk_error);
    with!("tvp.rows", tvp);
    r.run("describe.columns", skip("the driver describes nothing"))
        .await;
    r.run("reset.session", skip("the driver has no pool")).await;
    println!(
        "{} passed, {} failed, {} skipped",
        r.passed, r.failed, r.skipped
    );
    std::process::exit(i32::from(r.failed > 0));
}
