//! The scripting variables that are settings: SQLCMDHEADERS is `-h`, whoever sets it.

use super::args::Options;

/// The variables that `:setvar` may change while a script runs.
pub const CHANGEABLE: &[&str] = &[
    "SQLCMDCOLSEP",
    "SQLCMDCOLWIDTH",
    "SQLCMDERRORLEVEL",
    "SQLCMDHEADERS",
    "SQLCMDLOGINTIMEOUT",
    "SQLCMDMAXFIXEDTYPEWIDTH",
    "SQLCMDMAXVARTYPEWIDTH",
    "SQLCMDSTATTIMEOUT",
];

/// The variables that only the environment and the command line set.
pub const READ_ONLY: &[&str] = &[
    "SQLCMDDBNAME",
    "SQLCMDINI",
    "SQLCMDPACKETSIZE",
    "SQLCMDPASSWORD",
    "SQLCMDSERVER",
    "SQLCMDUSER",
    "SQLCMDWORKSTATION",
];

/// Sets what a variable stands for; others do nothing. The error says what is wrong with the value.
pub fn apply(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    let number = || {
        value
            .trim()
            .parse::<i64>()
            .map_err(|_| "not a number.".to_string())
    };
    let within = |least: i64, most: i64| match number()? {
        n if (least..=most).contains(&n) => Ok(n),
        _ => Err(format!("must be from {least} to {most}.")),
    };
    let width = |n: i64| usize::try_from(n).unwrap_or(0);
    match name {
        "SQLCMDCOLSEP" => options.separator = value.to_string(),
        "SQLCMDCOLWIDTH" => {
            options.screen_width = match number()? {
                0 => 0,
                n if (9..=65_535).contains(&n) => width(n),
                _ => return Err("must be from 9 to 65535.".to_string()),
            }
        }
        "SQLCMDERRORLEVEL" => {
            options.shown_least = u8::try_from(within(-1, 25)?).unwrap_or(0);
        }
        "SQLCMDHEADERS" => {
            options.headers = match number()? {
                n if n >= -1 => n,
                _ => return Err("must be -1 or more.".to_string()),
            }
        }
        "SQLCMDLOGINTIMEOUT" => options.login_timeout_s = within(0, 65_534)?.unsigned_abs(),
        "SQLCMDSTATTIMEOUT" => options.query_timeout_s = within(0, 65_534)?.unsigned_abs(),
        "SQLCMDMAXFIXEDTYPEWIDTH" => options.fixed_width = width(within(0, 8_000)?),
        "SQLCMDMAXVARTYPEWIDTH" => options.max_width = width(within(0, 8_000)?),
        "SQLCMDPACKETSIZE" => {
            options.packet_bytes = u32::try_from(within(512, 32_767)?).unwrap_or(4096);
        }
        _ => {}
    }
    Ok(())
}

/// What `:listvar` shows before the variables of the script.
pub fn listed(options: &Options) -> Vec<(&'static str, String)> {
    vec![
        ("SQLCMDCOLSEP", options.separator.clone()),
        ("SQLCMDCOLWIDTH", options.screen_width.to_string()),
        ("SQLCMDDBNAME", options.database.clone()),
        ("SQLCMDERRORLEVEL", options.shown_least.to_string()),
        ("SQLCMDHEADERS", options.headers.to_string()),
        ("SQLCMDLOGINTIMEOUT", options.login_timeout_s.to_string()),
        ("SQLCMDMAXFIXEDTYPEWIDTH", options.fixed_width.to_string()),
        ("SQLCMDMAXVARTYPEWIDTH", options.max_width.to_string()),
        ("SQLCMDPACKETSIZE", options.packet_bytes.to_string()),
        ("SQLCMDSERVER", options.server.clone()),
        ("SQLCMDSTATTIMEOUT", options.query_timeout_s.to_string()),
        ("SQLCMDUSER", options.user.clone()),
        ("SQLCMDWORKSTATION", options.workstation.clone()),
    ]
}
