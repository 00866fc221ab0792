//! `sys.configurations`: the options of SQL Server's sp_configure that mean something here, with the values that hold.
//! None can be changed: sp_configure and RECONFIGURE are not there.

use duramen_types::{SqlType as T, Value};

use super::View;
use super::column::*;
use crate::host::Context;

/// An option: id, name, least, greatest, whether changes would hold at once, whether it is advanced, description, value.
pub struct Configuration(
    i32,
    &'static str,
    i32,
    i32,
    bool,
    bool,
    &'static str,
    fn(&Context) -> i64,
);

const ALL: &[Configuration] = &[
    Configuration(
        103,
        "user connections",
        0,
        32767,
        false,
        true,
        "Number of user connections allowed",
        |_| 0,
    ),
    Configuration(
        115,
        "nested triggers",
        0,
        1,
        true,
        false,
        "Allow triggers to be invoked within triggers",
        |_| 1,
    ),
    Configuration(
        117,
        "remote access",
        0,
        1,
        false,
        false,
        "Allow remote access",
        |_| 0,
    ),
    Configuration(
        124,
        "default language",
        0,
        9999,
        true,
        false,
        "default language",
        |_| 0,
    ),
    Configuration(
        518,
        "show advanced options",
        0,
        1,
        true,
        false,
        "show advanced options",
        |_| 0,
    ),
    Configuration(
        1505,
        "index create memory (KB)",
        704,
        i32::MAX,
        true,
        true,
        "Memory for index create sorts (kBytes)",
        |_| 0,
    ),
    Configuration(
        1539,
        "max degree of parallelism",
        0,
        32767,
        true,
        true,
        "maximum degree of parallelism",
        |_| 0,
    ),
    Configuration(
        1544,
        "max server memory (MB)",
        128,
        i32::MAX,
        true,
        true,
        "Maximum size of server memory (MB)",
        |cx| i64::try_from(cx.instance.databases.config.memory >> 20).unwrap_or(i64::MAX),
    ),
    Configuration(
        1562,
        "clr enabled",
        0,
        1,
        true,
        false,
        "CLR user code execution enabled in the server",
        |_| 0,
    ),
    Configuration(
        16390,
        "xp_cmdshell",
        0,
        1,
        true,
        true,
        "Enable or disable command shell",
        |_| 0,
    ),
    Configuration(
        16391,
        "Ad Hoc Distributed Queries",
        0,
        1,
        true,
        true,
        "Enable or disable Ad Hoc Distributed Queries",
        |_| 0,
    ),
    Configuration(
        16393,
        "contained database authentication",
        0,
        1,
        true,
        false,
        "Enables contained databases and contained authentication",
        |_| 0,
    ),
];

pub struct Source<'a>(&'static Configuration, &'a Context);

fn variant(n: i64) -> Value {
    let n = i32::try_from(n).unwrap_or(i32::MAX);
    Value::Variant(Box::new((T::INT, Value::Int(n))))
}

columns! { Source<'_>;
    "configuration_id", T::INT, NOT_NULL, |s| int(s.0.0);
    "name", T::nvarchar(35), NOT_NULL, |s| text(s.0.1);
    "value", T::VARIANT, NULL, |s| variant((s.0.7)(s.1));
    "minimum", T::VARIANT, NULL, |s| variant(i64::from(s.0.2));
    "maximum", T::VARIANT, NULL, |s| variant(i64::from(s.0.3));
    "value_in_use", T::VARIANT, NULL, |s| variant((s.0.7)(s.1));
    "description", T::nvarchar(255), NOT_NULL, |s| text(s.0.6);
    "is_dynamic", T::BIT, NOT_NULL, |s| bit(s.0.4);
    "is_advanced", T::BIT, NOT_NULL, |s| bit(s.0.5);
}

pub const VIEW: View = View::new("configurations", COLUMNS, |cx, _| {
    Ok(ALL.iter().map(|c| row(&Source(c, cx))).collect())
});
