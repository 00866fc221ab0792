//! The command line: sqlcmd's conventions, which no common argument parser follows. A value may be attached
//! (`-Slocalhost`, `-h-1`) or stand apart (`-S localhost`, `-h -1`), and `-v` takes every `name=value` that follows.

use std::collections::BTreeMap;

pub const USAGE: &str = "\
usage: duramen sql -U LOGIN [-P PASSWORD] [-S [tcp:]HOST[,PORT]] [options]
  -d DATABASE             the database to start in
  -Q QUERY | -q QUERY     run the query and exit | and go on with standard input
  -i FILE[,FILE...]       run scripts (otherwise standard input)
  -o FILE                 write output to a file
  -v NAME=VALUE ...       variables for $(NAME)
  -x                      leave $(NAME) alone
  -b                      stop at the first error, with exit code 1
  -V LEVEL                errors below this severity do not count for -b; the exit code is the severity
  -m LEVEL                do not show errors below this severity
  -r[0|1]                 errors (1: all messages) to standard error
  -h ROWS                 rows between headers; -1: none
  -W                      remove trailing blanks
  -s SEPARATOR            between columns
  -e                      echo the input
  -I                      SET QUOTED_IDENTIFIER ON
  -l SECONDS, -t SECONDS  time-outs of login and query
  -a BYTES                packet size
  -H NAME                 this machine's name, for the server
  -N                      encrypt (the server is always asked to)
  -C                      trust any certificate
  -J FILE                 trust this certificate (PEM)
Defaults come from SQLCMDSERVER, SQLCMDUSER, SQLCMDPASSWORD and SQLCMDDBNAME.";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    Run(Box<Options>),
    Help,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub host: String,
    pub port: u16,
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
    pub variables: BTreeMap<String, String>,
    pub no_substitution: bool,
    pub exit_on_error: bool,
    /// Rows between headers; 0: once; -1: never.
    pub headers: i64,
    pub trim: bool,
    pub separator: String,
    pub echo: bool,
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
}

/// Messages of this severity and above are errors.
pub const FIRST_ERROR: u8 = 11;

/// Flags that take no value.
const SWITCHES: &str = "bWeICxEN?";
/// Flags that take one.
const VALUED: &str = "SUPdiQqhsoltJVmaH";

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
        separator: " ".to_string(),
        login_timeout_s: 8,
        severity_least: FIRST_ERROR,
        packet_bytes: 4096,
        ..Options::default()
    };
    let mut rest = args.iter().peekable();
    while let Some(arg) = rest.next() {
        if arg == "--help" {
            return Ok(Parsed::Help);
        }
        let mut letters = arg.strip_prefix(['-', '/']).unwrap_or("").chars();
        let Some(flag) = letters.next() else {
            return Err(format!("'{arg}': Unexpected argument."));
        };
        let attached = letters.as_str();
        if flag == 'v' {
            let mut given = Vec::from_iter((!attached.is_empty()).then(|| attached.to_string()));
            while let Some(next) = rest.next_if(|a| !a.starts_with('-') && a.contains('=')) {
                given.push(next.clone());
            }
            variables(&mut options, &given)?;
        } else if flag == 'r' {
            options.stderr_from = Some(match attached {
                "" | "0" => FIRST_ERROR,
                "1" => 0,
                _ => return Err(format!("'{arg}': Unexpected argument. Enter 0 or 1.")),
            });
        } else if SWITCHES.contains(flag) {
            if !attached.is_empty() {
                return Err(format!("'{arg}': Unknown Option."));
            }
            if flag == '?' {
                return Ok(Parsed::Help);
            }
            switch(&mut options, flag)?;
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

fn switch(options: &mut Options, flag: char) -> Result<(), String> {
    match flag {
        'b' => options.exit_on_error = true,
        'W' => options.trim = true,
        'e' => options.echo = true,
        'I' => options.quoted_identifier = true,
        'C' => options.trust_any = true,
        'x' => options.no_substitution = true,
        'N' => {}
        _ => return Err("'-E': integrated security is not supported; give -U and -P.".to_string()),
    }
    Ok(())
}

fn valued(options: &mut Options, flag: char, value: String) -> Result<(), String> {
    let number = || {
        value
            .parse::<u64>()
            .map_err(|_| format!("'-{flag} {value}': not a number."))
    };
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
        'h' => {
            options.headers = value
                .parse()
                .map_err(|_| format!("'-h {value}': not a number."))?
        }
        's' => options.separator = value,
        'o' => options.output = Some(value),
        'V' => {
            options.severity_least = u8::try_from(number()?)
                .ok()
                .filter(|level| *level <= 25)
                .ok_or(format!("'-V {value}': a severity from 0 to 25 is needed."))?;
        }
        'm' => {
            options.shown_least = match value.as_str() {
                "-1" => 0,
                _ => u8::try_from(number()?)
                    .ok()
                    .filter(|level| *level <= 25)
                    .ok_or(format!("'-m {value}': a severity from -1 to 25 is needed."))?,
            }
        }
        'a' => {
            options.packet_bytes = u32::try_from(number()?)
                .ok()
                .filter(|bytes| (512..=32_767).contains(bytes))
                .ok_or(format!("'-a {value}': a size from 512 to 32767 is needed."))?;
        }
        'H' => options.workstation = value,
        'l' => options.login_timeout_s = number()?,
        't' => options.query_timeout_s = number()?,
        _ => options.certificate = Some(value),
    }
    Ok(())
}

fn finish(mut options: Options) -> Result<Parsed, String> {
    if options.headers < -1 {
        return Err(format!("'-h {}': must be -1 or more.", options.headers));
    }
    if options.query.is_some() && !options.inputs.is_empty() {
        return Err("The -q and -Q options cannot be used with -i.".to_string());
    }
    if options.user.is_empty() {
        return Err("'-U': a login is needed (integrated security is not supported).".to_string());
    }
    if options.server.is_empty() {
        options.server = "localhost".to_string();
    }
    let address = options
        .server
        .strip_prefix("tcp:")
        .unwrap_or(&options.server);
    let (host, port) = match address.split_once(',') {
        Some((host, port)) => {
            let port = port
                .trim()
                .parse()
                .map_err(|_| format!("'-S {}': not a port.", options.server))?;
            (host, port)
        }
        None => (address, 1433),
    };
    if host.contains('\\') {
        return Err(format!(
            "'-S {}': named instances are not supported; give HOST,PORT.",
            options.server
        ));
    }
    options.host = match host {
        "." | "(local)" | "" => "localhost".to_string(),
        host => host.to_string(),
    };
    options.port = port;
    Ok(Parsed::Run(Box::new(options)))
}
