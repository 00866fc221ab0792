//! Properties of the server, the connection and collations; FORMATMESSAGE, GETANSINULL, NEWSEQUENTIALID.
//!
//! Properties are `sql_variant`: names as nvarchar(128), numbers as int. A name that is not known gives NULL.

use duramen_access::version::{VERSION, product_version};
use duramen_base::{SqlResult, messages};
use duramen_core::session_core::SessionCore;
use duramen_types::{CollationId, DateTime, SqlType, Value};

use super::{Args, variant_int, variant_text};

/// SERVERPROPERTY, with the names of the documentation. The edition is our own, the engine edition that of Enterprise (3).
pub fn server_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let name = args.property(0).unwrap_or_default();
    let (major, minor, build) = VERSION;
    Ok(match name.as_str() {
        "productversion" | "resourceversion" => variant_text(&product_version()),
        "productmajorversion" => variant_text(&major.to_string()),
        "productminorversion" => variant_text(&minor.to_string()),
        "productbuild" => variant_text(&build.to_string()),
        "productlevel" => variant_text("RTM"),
        "edition" => variant_text("Duramen"),
        "editionid" => variant_bigint(1_804_890_536),
        "engineedition" => variant_int(3),
        "servername" | "machinename" | "computernamephysicalnetbios" => {
            variant_text(s.instance.server_name())
        }
        "collation" => variant_text("SQL_Latin1_General_CP1_CI_AS"),
        "collationid" => variant_int(872_468_488),
        "comparisonstyle" => variant_int(196_609),
        "lcid" => variant_int(1033),
        "sqlcharset" => Value::Variant(Box::new((SqlType::TINYINT, Value::TinyInt(1)))),
        "sqlcharsetname" => variant_text("iso_1"),
        "sqlsortorder" => Value::Variant(Box::new((SqlType::TINYINT, Value::TinyInt(52)))),
        "sqlsortordername" => variant_text("nocase_iso"),
        "instancedefaultdatapath" | "instancedefaultlogpath" => {
            variant_text(&s.instance.databases.data_dir_shown())
        }
        "instancedefaultbackuppath" => {
            let dir = s.instance.databases.backup_dir();
            variant_text(&dir.to_string_lossy())
        }
        "errorlogfilename" => variant_text(&duramen_core::folders::shown_error_log()),
        "pathseparator" => variant_text(std::path::MAIN_SEPARATOR_STR),
        "processid" => variant_int(std::process::id() as i32),
        "buildclrversion" => variant_text("v4.0.30319"),
        "licensetype" => variant_text("DISABLED"),
        "resourcelastupdatedatetime" => {
            let built = DateTime {
                days: 46_345,
                ticks: 0,
            };
            Value::Variant(Box::new((SqlType::DATETIME, Value::DateTime(built))))
        }
        "filestreamconfiguredlevel" | "filestreameffectivelevel" => variant_int(0),
        "hadrmanagerstatus" => variant_int(2),
        "isadvancedanalyticsinstalled"
        | "isbigdatacluster"
        | "isclustered"
        | "isexternalauthenticationonly"
        | "isexternalgovernanceenabled"
        | "isfulltextinstalled"
        | "ishadrenabled"
        | "isintegratedsecurityonly"
        | "islocaldb"
        | "ispolybaseinstalled"
        | "isserversuspendedforsnapshotbackup"
        | "issingleuser"
        | "istempdbmetadatamemoryoptimized"
        | "isxtpsupported"
        | "suspendeddatabasecount" => variant_int(0),
        _ => Value::Null,
    })
}

fn variant_bigint(n: i64) -> Value {
    Value::Variant(Box::new((SqlType::BIGINT, Value::BigInt(n))))
}

/// CONNECTIONPROPERTY.
pub fn connection_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let name = args.property(0).unwrap_or_default();
    let address = s.login.client_address.as_str();
    Ok(match name.as_str() {
        "net_transport" | "physical_net_transport" => variant_text("TCP"),
        "protocol_type" => variant_text("TSQL"),
        "auth_scheme" => variant_text("SQL"),
        "client_net_address" if !address.is_empty() => variant_text(address),
        "local_net_address" => {
            let local = s.login.local;
            local.map_or(Value::Null, |a| variant_text(&a.ip().to_string()))
        }
        "local_tcp_port" => {
            let local = s.login.local;
            local.map_or(Value::Null, |a| variant_int(i32::from(a.port())))
        }
        _ => Value::Null,
    })
}

/// COLLATIONPROPERTY(name, property).
pub fn collation_property(_: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let found = args.name(0).and_then(|n| CollationId::from_name(&n));
    let (Some(collation), Some(property)) = (found, args.property(1)) else {
        return Ok(Value::Null);
    };
    Ok(match property.as_str() {
        "codepage" => variant_int(i32::from(collation.code_page())),
        "lcid" => variant_int(collation.lcid() as i32),
        "comparisonstyle" => variant_int(collation.comparison_style() as i32),
        "version" => {
            let version = collation.version();
            Value::Variant(Box::new((SqlType::TINYINT, Value::TinyInt(version))))
        }
        "name" => collation.name().map_or(Value::Null, variant_text),
        // As on the wire: bulk copies of drivers ask for it.
        "tdscollation" => {
            let bytes = Value::Binary(collation.tds_bytes().to_vec());
            Value::Variant(Box::new((SqlType::binary(5), bytes)))
        }
        _ => Value::Null,
    })
}

/// FORMATMESSAGE(text or number, arguments...). NULL for a number that is no message.
pub fn format_message(_: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let text = match args.0.first() {
        Some(Value::Null) | None => return Ok(Value::Null),
        Some(v) => match v.as_text() {
            Some(text) => text,
            None => {
                let number = args.int(0);
                let found = messages::ALL.iter().find(|m| Some(m.number) == number);
                match found {
                    Some(message) => message.text.to_owned(),
                    None => return Ok(Value::Null),
                }
            }
        },
    };
    let typed: Vec<(SqlType, Value)> = args.0[1..].iter().map(typed).collect();
    let text = duramen_program::message_format::format(&text, &typed)?;
    Ok(Value::nvarchar(&text))
}

/// A value beside the type that its variant tells; what RAISERROR would not take keeps a type it refuses.
fn typed(v: &Value) -> (SqlType, Value) {
    let ty = match v {
        Value::Null | Value::Int(_) | Value::Bit(_) => SqlType::INT,
        Value::TinyInt(_) => SqlType::TINYINT,
        Value::SmallInt(_) => SqlType::SMALLINT,
        Value::BigInt(_) => SqlType::BIGINT,
        Value::VarChar(_) => SqlType::varchar(8000),
        Value::NVarChar(_) => SqlType::nvarchar(4000),
        Value::Binary(_) => SqlType::varbinary(8000),
        Value::Float(_) | Value::Real(_) => SqlType::FLOAT,
        Value::Decimal(d) => SqlType::numeric(d.precision(), d.scale()),
        Value::Money(_) | Value::SmallMoney(_) => SqlType::MONEY,
        _ => SqlType::DATETIME,
    };
    (ty, v.clone())
}

/// GETANSINULL: 1 when a column without NULL or NOT NULL allows NULL in this session.
pub fn get_ansi_null(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let named = match args.len() {
        0 => Some(s.database.to_string()),
        _ => args.text(0),
    };
    let Some(name) = named.filter(|n| s.instance.database_id(n).is_some()) else {
        return Ok(Value::Null);
    };
    let allowed = duramen_core::session_core::null_by_default(s, &name);
    Ok(Value::SmallInt(i16::from(allowed)))
}

/// NEWSEQUENTIALID: 100 ns of the clock in the bytes that order a uniqueidentifier last, a counter in those that order it
/// first among them. Greater than any given out since the server started.
pub fn new_sequential_id(_: &SessionCore, _: &Args<'_>) -> SqlResult<Value> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    let clock = (duramen_os::time::wall().unix_nanos() / 100) as u64;
    let mut last = LAST.load(Ordering::Relaxed);
    let next = loop {
        let next = clock.max(last + 1);
        match LAST.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => break next,
            Err(seen) => last = seen,
        }
    };
    // The order of uniqueidentifier: bytes 10 to 15 first, then 8, 9, then the groups.
    let n = next.to_be_bytes();
    let mut g = [0u8; 16];
    g[10..16].copy_from_slice(&n[..6]);
    g[8..10].copy_from_slice(&n[6..]);
    Ok(Value::Guid(g))
}

/// SESSIONPROPERTY: 1 or 0 for an option of the session, NULL for a word that is none of the seven.
pub(super) fn session_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let o = &s.options;
    let on = match args.property(0).unwrap_or_default().as_str() {
        "ansi_nulls" => o.ansi_nulls,
        "ansi_padding" => o.ansi_padding,
        "ansi_warnings" => o.ansi_warnings,
        "arithabort" => o.arithabort,
        "concat_null_yields_null" => o.concat_null_yields_null,
        "numeric_roundabort" => o.numeric_roundabort,
        "quoted_identifier" => o.quoted_identifier,
        _ => return Ok(Value::Null),
    };
    Ok(variant_int(i32::from(on)))
}
