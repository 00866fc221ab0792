//! The command line: sqlcmd's conventions, which no common argument parser follows. A value may be attached
//! (`-Slocalhost`, `-h-1`) or stand apart (`-S localhost`, `-h -1`), and `-v` takes every `name=value` that follows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::settings;
use crate::drives;

pub const USAGE: &str = "\
usage: duramen sql [-U LOGIN [-P PASSWORD]] [-S [tcp:]HOST[\\INSTANCE][,PORT]] [options]
  -A                      the dedicated administrator connection, as -S admin:HOST[,PORT] (port 1434)
  -d DATABASE             the database to start in
  -Q QUERY | -q QUERY     run the query and exit | and go on with standard input
  -i FILE[,FILE...]       run scripts (otherwise standard input)
  -o FILE                 write output to a file; -u: in UTF-16
  -v NAME=VALUE ...       variables for $(NAME)
  -x                      leave $(NAME) alone
  -X[1]                   refuse ED and !! (1: and exit)
  -b                      stop at the first error, with exit code 1
  -V LEVEL                errors below this severity do not count for -b; the exit code is the severity
  -m LEVEL                do not show errors below this severity
  -r[0|1]                 errors (1: all messages) to standard error
  -h ROWS                 rows between headers; -1: none
  -W                      remove trailing blanks
  -s SEPARATOR            between columns
  -w WIDTH                wrap lines at this width
  -y WIDTH, -Y WIDTH      show so many characters of (max) and xml columns (0: all), of other text columns
  -k[1|2]                 control characters become blanks (1: one for each, 2: one for several)
  -e                      echo the input
  -p[1]                   times of each batch (1: with colons between)
  -c WORD                 ends a batch instead of GO
  -I                      SET QUOTED_IDENTIFIER ON
  -l SECONDS, -t SECONDS  time-outs of login and query
  -a BYTES                packet size
  -H NAME                 this machine's name, for the server
  -N                      encrypt (the server is always asked to)
  -C                      trust any certificate
  -J FILE                 trust this certificate (PEM)
  --drive X=DIR           directory of files named X:\\... in -i, -o, :r and their like; again for more
Defaults come from SQLCMDSERVER, SQLCMDUSER, SQLCMDPASSWORD, SQLCMDDBNAME and the other variables of sqlcmd (:listvar).";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    Run(Box<Options>),
    Help,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub host: String,
    pub port: u16,
    /// The instance named after a backslash, whose port somebody has to know.
    pub instance: Option<String>,
    /// `-A`: the dedicated administrator connection.
    pub admin: bool,
    /// As given to `-S`, for SQLCMDSERVER.
    pub server: String,
    pub user: String,
    pub password: String,
    pub database: String,
    pub query: Option<String>,
    /// `-q`: go on after the query.
    pub stay: bool,
    pub inputs: Vec<String>,
    pub output: Option<String>,
    /// `-u`: files are written in UTF-16.
    pub unicode: bool,
    pub variables: BTreeMap<String, String>,
    pub no_substitution: bool,
    /// `-X`: no ED and no `!!`; with `1` they end the run.
    pub no_shell: Option<bool>,
    pub exit_on_error: bool,
    /// Rows between headers; 0: once; -1: never.
    pub headers: i64,
    pub trim: bool,
    pub separator: String,
    /// `-w`: where lines wrap; 0: nowhere.
    pub screen_width: usize,
    /// `-y`: characters shown of values without a bound; 0: all.
    pub max_width: usize,
    /// `-Y`: characters shown of other text; 0: all.
    pub fixed_width: usize,
    /// `-k`: 0 keeps control characters, 1 makes a blank of each, 2 of several together.
    pub control: u8,
    pub echo: bool,
    /// `-p`: tell times; `true` with colons between.
    pub statistics: Option<bool>,
    /// `-c`: the word that ends a batch.
    pub terminator: String,
    pub quoted_identifier: bool,
    pub login_timeout_s: u64,
    pub query_timeout_s: u64,
    /// `-V`: the lowest severity that counts for `-b`.
    pub severity_least: u8,
    /// `-m`: the lowest severity of errors that are shown.
    pub shown_least: u8,
    /// `-r`: severity from which messages go to standard error; `None`: never.
    pub stderr_from: Option<u8>,
    pub packet_bytes: u32,
    pub workstation: String,
    pub trust_any: bool,
    pub certificate: Option<String>,
    /// `--drive`: directories that stand for the drives of paths of files.
    pub drives: Vec<(char, PathBuf)>,
}

/// Where a default instance accepts its dedicated administrator connection.
const ADMIN_PORT: u16 = 1434;
/// Messages of this severity and above are errors.
pub const FIRST_ERROR: u8 = 11;

/// Flags that take no value.
const SWITCHES: &str = "bWeICxENuA?";
/// Flags whose value, if there is one, is attached.
const ATTACHED: &str = "rkpX";
/// Flags that take one.
const VALUED: &str = "SUPdiQqhsoltJVmaHwyYc";
/// Flags of sqlcmd that ask for what is not here.
const REFUSED: &[(char, &str)] = &[
    ('D', "an ODBC data source name"),
    ('G', "authentication by Entra ID"),
    ('K', "an application intent"),
    ('L', "a list of servers"),
    ('M', "multi-subnet failover"),
    ('R', "the client's regional settings"),
    (
        'f',
        "a code page: input is UTF-8, UTF-16 or Windows-1252, output UTF-8 or (-u) UTF-16",
    ),
    ('g', "column encryption"),
    ('j', "raw error messages"),
    ('z', "a change of the password"),
    ('Z', "a change of the password"),
];

/// Parses the arguments after `duramen sql`.
pub fn parse(args: &[String]) -> Result<Parsed, String> {
    parse_with(args, |name| std::env::var(name).ok())
}

pub(super) fn parse_with(
    args: &[String],
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Parsed, String> {
    let setting = |name: &str| environment(name).unwrap_or_default();
    let mut options = Options {
        server: setting("SQLCMDSERVER"),
        user: setting("SQLCMDUSER"),
        password: setting("SQLCMDPASSWORD"),
        database: setting("SQLCMDDBNAME"),
        workstation: setting("SQLCMDWORKSTATION"),
        separator: " ".to_string(),
        max_width: 256,
        terminator: "GO".to_string(),
        login_timeout_s: 8,
        severity_least: FIRST_ERROR,
        packet_bytes: 4096,
        ..Options::default()
    };
    for name in settings::CHANGEABLE.iter().chain(&["SQLCMDPACKETSIZE"]) {
        if let Some(value) = environment(name).filter(|v| !v.is_empty()) {
            settings::apply(&mut options, name, &value)?;
        }
    }
    let mut rest = args.iter().peekable();
    while let Some(arg) = rest.next() {
        if arg == "--help" {
            return Ok(Parsed::Help);
        }
        if arg == "--drive" {
            let value = rest.next().ok_or("'--drive': Missing argument.")?;
            let drive = drives::parse(value);
            options
                .drives
                .push(drive.ok_or(format!("'--drive {value}': not LETTER=DIR."))?);
            continue;
        }
        let mut letters = arg.strip_prefix(['-', '/']).unwrap_or("").chars();
        let Some(flag) = letters.next() else {
            return Err(format!("'{arg}': Unexpected argument."));
        };
        let attached = letters.as_str();
        if let Some((_, what)) = REFUSED.iter().find(|(f, _)| *f == flag) {
            return Err(format!("'-{flag}': {what} is not supported."));
        }
        if flag == 'v' {
            let mut given = Vec::from_iter((!attached.is_empty()).then(|| attached.to_string()));
            while let Some(next) = rest.next_if(|a| !a.starts_with('-') && a.contains('=')) {
                given.push(next.clone());
            }
            variables(&mut options, &given)?;
        } else if ATTACHED.contains(flag) {
            attached_value(&mut options, flag, attached)
                .ok_or_else(|| format!("'{arg}': Unexpected argument."))?;
        } else if SWITCHES.contains(flag) {
            // Switches may stand together: -bW.
            for flag in arg.chars().skip(1) {
                if !SWITCHES.contains(flag) {
                    return Err(format!("'{arg}': Unknown Option."));
                }
                if flag == '?' {
                    return Ok(Parsed::Help);
                }
                switch(&mut options, flag)?;
            }
        } else if VALUED.contains(flag) {
            let value = match attached {
                "" => rest
                    .next()
                    .cloned()
                    .ok_or(format!("'-{flag}': Missing argument."))?,
                attached => attached.to_string(),
            };
            valued(&mut options, flag, value)?;
        } else {
            return Err(format!("'{arg}': Unknown Option."));
        }
    }
    finish(options)
}

fn variables(options: &mut Options, given: &[String]) -> Result<(), String> {
    if given.is_empty() {
        return Err("'-v': Missing argument.".to_string());
    }
    for pair in given {
        let (name, value) = pair
            .split_once('=')
            .ok_or(format!("'-v {pair}': not NAME=VALUE."))?;
        let value = value
            .strip_prefix('"')
            .and_then(|v| v.strip_suffix('"'))
            .unwrap_or(value);
        options
            .variables
            .insert(name.to_ascii_uppercase(), value.to_string());
    }
    Ok(())
}

fn attached_value(options: &mut Options, flag: char, value: &str) -> Option<()> {
    match (flag, value) {
        ('r', "" | "0") => options.stderr_from = Some(FIRST_ERROR),
        ('r', "1") => options.stderr_from = Some(0),
        ('k', "" | "1") => options.control = 1,
        ('k', "2") => options.control = 2,
        ('p', "") => options.statistics = Some(false),
        ('p', "1") => options.statistics = Some(true),
        ('X', "") => options.no_shell = Some(false),
        ('X', "1") => options.no_shell = Some(true),
        _ => return None,
    }
    Some(())
}

fn switch(options: &mut Options, flag: char) -> Result<(), String> {
    match flag {
        'b' => options.exit_on_error = true,
        'W' => options.trim = true,
        'e' => options.echo = true,
        'I' => options.quoted_identifier = true,
        'C' => options.trust_any = true,
        'x' => options.no_substitution = true,
        'u' => options.unicode = true,
        'A' => options.admin = true,
        'N' => {}
        _ => return Err("'-E': integrated security is not supported; give -U and -P.".to_string()),
    }
    Ok(())
}

fn valued(options: &mut Options, flag: char, value: String) -> Result<(), String> {
    let severity = |least: i64| {
        let level = value.parse::<i64>().ok();
        level
            .filter(|level| (least..=25).contains(level))
            .map(|level| u8::try_from(level).unwrap_or(0))
            .ok_or(format!(
                "'-{flag} {value}': a severity from {least} to 25 is needed."
            ))
    };
    let variable = match flag {
        'h' => "SQLCMDHEADERS",
        's' => "SQLCMDCOLSEP",
        'w' => "SQLCMDCOLWIDTH",
        'y' => "SQLCMDMAXVARTYPEWIDTH",
        'Y' => "SQLCMDMAXFIXEDTYPEWIDTH",
        'l' => "SQLCMDLOGINTIMEOUT",
        't' => "SQLCMDSTATTIMEOUT",
        'm' => "SQLCMDERRORLEVEL",
        'a' => "SQLCMDPACKETSIZE",
        _ => "",
    };
    if !variable.is_empty() {
        let named = |e: String| format!("'-{flag} {value}': {e}");
        return settings::apply(options, variable, &value).map_err(named);
    }
    match flag {
        'S' => options.server = value,
        'U' => options.user = value,
        'P' => options.password = value,
        'd' => options.database = value,
        'i' => options
            .inputs
            .extend(value.split(',').map(|f| f.trim().to_string())),
        'Q' | 'q' => {
            options.stay = flag == 'q';
            options.query = Some(value);
        }
        'o' => options.output = Some(value),
        'V' => options.severity_least = severity(0)?,
        'H' => options.workstation = value,
        'c' => options.terminator = value,
        _ => options.certificate = Some(value),
    }
    Ok(())
}

fn finish(mut options: Options) -> Result<Parsed, String> {
    if options.query.is_some() && !options.inputs.is_empty() {
        return Err("The -q and -Q options cannot be used with -i.".to_string());
    }
    if options.trim && (options.max_width != 256 || options.fixed_width != 0) {
        return Err("The -W and -y/-Y options are mutually exclusive.".to_string());
    }
    if options.user.is_empty() {
        return Err("'-U': a login is needed (integrated security is not supported).".to_string());
    }
    if options.server.is_empty() {
        options.server = "localhost".to_string();
    }
    options.set_server()?;
    Ok(Parsed::Run(Box::new(options)))
}

impl Options {
    /// Takes the name of the server apart: `[tcp:]HOST[\INSTANCE][,PORT]`.
    pub fn set_server(&mut self) -> Result<(), String> {
        let address = match self.server.split_once(':') {
            Some((protocol, rest)) if protocol.eq_ignore_ascii_case("tcp") => rest,
            Some((protocol, rest)) if protocol.eq_ignore_ascii_case("admin") => {
                self.admin = true;
                rest
            }
            Some((protocol @ ("np" | "lpc"), _)) => {
                return Err(format!(
                    "'-S {}': the protocol {protocol} is not supported; give tcp:HOST,PORT.",
                    self.server
                ));
            }
            _ => &self.server,
        };
        let (name, port) = match address.split_once(',') {
            Some((name, port)) => {
                let port = port.trim().parse();
                let port = port.map_err(|_| format!("'-S {}': not a port.", self.server))?;
                (name, Some(port))
            }
            None => (address, None),
        };
        let (host, instance) = match name.split_once('\\') {
            Some((host, instance)) => (host, Some(instance)),
            None => (name, None),
        };
        // A port says more than a name.
        let instance =
            instance.filter(|i| port.is_none() && !i.eq_ignore_ascii_case("MSSQLSERVER"));
        self.instance = instance.map(str::to_string);
        self.host = match host.trim() {
            "." | "(local)" | "" => "localhost".to_string(),
            host => host.to_string(),
        };
        let usual = if self.admin { ADMIN_PORT } else { 1433 };
        self.port = port.unwrap_or(usual);
        Ok(())
    }
}
