//! The flags of `duramen serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use duramen_wal::LogProfile;

pub const HELP: &str = "\
usage: duramen serve [OPTIONS]

  --data-dir DIR           where everything is kept            (default ./data)
  --listen ADDR:PORT       where clients connect               (default 127.0.0.1:1433)
  --admin-listen ADDR:PORT|off  the dedicated administrator connection
                           (default 127.0.0.1:1434 beside port 1433, else a free port)
  --sa-password PW         password of sa, at the first start  (or MSSQL_SA_PASSWORD; else one is made)
  --tls-cert FILE          the certificate, PEM, with its chain (default: one is made in DIR)
  --tls-key FILE           its key, PEM; both or neither
  --force-encryption on|off  refuse clients that do not encrypt (default off)
  --drive X=DIR            directory of the paths X:\\...       (default DATA-DIR/drives/X)
  --backup-dir DIR         of backups without a full path, and of those of
                           who is no sysadmin                  (default DATA-DIR/backup)
  --file-dir DIR           where who is no sysadmin may make database files, besides DATA-DIR
                           and the folders of drives; again for more
  --max-tempdb SIZE        of tempdb's files and what spills   (default a quarter of what is free)
  --keep-free PERCENT      of each volume, for logs and recovery (default 5)
  --max-memory SIZE        e.g. 512MB, 2GB                     (default half of the memory)
  --log-profile PROFILE    2012, 2014, 2019, 2022 or native    (default native)
  --log-sector SIZE        auto, 512 or 4096                   (default auto)
  --instant-file-init on|off                                   (default on)
  -E                       a file gives 64 extents before it is the next one's turn
  -T FLAG                  a trace flag that is on for the server; again for more
  --dashboard ADDR:PORT|off  a live page for browsers          (default off)
";

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    /// Of the dedicated administrator connection; outer `None`: as [`Options::admin_address`] has it.
    pub admin: Option<Option<SocketAddr>>,
    pub sa_password: Option<String>,
    /// The certificate and its key; `None`: one of our own in the data directory.
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// Clients that do not encrypt are refused.
    pub force_encryption: bool,
    pub drives: Vec<(char, PathBuf)>,
    /// `None`: a folder of the data directory.
    pub backup_dir: Option<PathBuf>,
    pub file_dirs: Vec<PathBuf>,
    /// `None`: a quarter of what is free.
    pub max_tempdb: Option<u64>,
    /// Per cent of each volume.
    pub keep_free: u32,
    /// `None`: half of the memory.
    pub max_memory: Option<u64>,
    pub profile: LogProfile,
    /// `None`: the device's.
    pub sector: Option<u32>,
    pub instant_file_init: bool,
    /// A file gives 64 extents when it is its turn.
    pub large_extents: bool,
    pub trace_flags: Vec<i64>,
    /// Where browsers find the live page.
    pub dashboard: Option<SocketAddr>,
}

impl Options {
    /// Where the dedicated administrator connection is accepted: on this machine alone, unless it is said otherwise; at
    /// SQL Server's port beside SQL Server's, as a default instance has it, else at any.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        let port = if self.listen.port() == 1433 { 1434 } else { 0 };
        let default = Some(SocketAddr::from(([127, 0, 0, 1], port)));
        self.admin.unwrap_or(default)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parsed {
    Run(Box<Options>),
    Help,
}

/// Reads the arguments; `environment_password` is `MSSQL_SA_PASSWORD`.
pub fn parse(args: &[String], environment_password: Option<String>) -> Result<Parsed, String> {
    let mut options = Options {
        data_dir: PathBuf::from("./data"),
        listen: SocketAddr::from(([127, 0, 0, 1], 1433)),
        admin: None,
        sa_password: environment_password.filter(|password| !password.is_empty()),
        tls_cert: None,
        tls_key: None,
        force_encryption: false,
        drives: Vec::new(),
        backup_dir: None,
        file_dirs: Vec::new(),
        max_tempdb: None,
        keep_free: duramen_os::KEPT_PERCENT,
        max_memory: None,
        profile: LogProfile::Native,
        sector: None,
        instant_file_init: true,
        large_extents: false,
        trace_flags: Vec::new(),
        dashboard: None,
    };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let (flag, inline) = match arg.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
            _ => (arg.as_str(), None),
        };
        if matches!(flag, "--help" | "-h") {
            return Ok(Parsed::Help);
        }
        if flag == "-E" {
            options.large_extents = true;
            continue;
        }
        if let Some(number) = flag.strip_prefix("-T") {
            let number = match number {
                "" => rest.next().map_or("", String::as_str),
                attached => attached,
            };
            let number = number.parse().ok().filter(|n| *n > 0);
            let number =
                number.ok_or_else(|| format!("{flag}: the number of a trace flag is wanted"))?;
            options.trace_flags.push(number);
            continue;
        }
        if !FLAGS.contains(&flag) {
            return Err(format!(
                "unknown option '{flag}'; duramen serve --help lists them"
            ));
        }
        let value = match inline {
            Some(value) => value,
            None => rest
                .next()
                .cloned()
                .ok_or_else(|| format!("{flag} needs a value"))?,
        };
        set(&mut options, flag, value)?;
    }
    if options.tls_cert.is_some() != options.tls_key.is_some() {
        return Err("--tls-cert and --tls-key go together".to_owned());
    }
    Ok(Parsed::Run(Box::new(options)))
}

const FLAGS: [&str; 17] = [
    "--data-dir",
    "--listen",
    "--admin-listen",
    "--sa-password",
    "--tls-cert",
    "--tls-key",
    "--force-encryption",
    "--drive",
    "--backup-dir",
    "--file-dir",
    "--max-tempdb",
    "--keep-free",
    "--max-memory",
    "--log-profile",
    "--log-sector",
    "--instant-file-init",
    "--dashboard",
];

fn set(options: &mut Options, flag: &str, value: String) -> Result<(), String> {
    let bad = |what: &str| format!("{flag} {value}: {what}");
    match flag {
        "--data-dir" => options.data_dir = PathBuf::from(value),
        "--listen" => options.listen = listen(&value).ok_or_else(|| bad("not ADDR:PORT"))?,
        "--admin-listen" => {
            options.admin = match value.as_str() {
                "off" => Some(None),
                _ => Some(Some(
                    listen(&value).ok_or_else(|| bad("not ADDR:PORT or off"))?,
                )),
            }
        }
        "--sa-password" => options.sa_password = Some(value),
        "--tls-cert" => options.tls_cert = Some(PathBuf::from(value)),
        "--tls-key" => options.tls_key = Some(PathBuf::from(value)),
        "--force-encryption" => {
            options.force_encryption = match value.as_str() {
                "on" => true,
                "off" => false,
                _ => return Err(bad("not on or off")),
            }
        }
        "--drive" => {
            let drive = crate::drives::parse(&value).ok_or_else(|| bad("not LETTER=DIR"))?;
            if options.drives.iter().any(|(letter, _)| *letter == drive.0) {
                return Err(bad("the drive is given twice"));
            }
            options.drives.push(drive);
        }
        "--backup-dir" => options.backup_dir = Some(PathBuf::from(value)),
        "--file-dir" => options.file_dirs.push(PathBuf::from(value)),
        "--max-tempdb" => {
            let bytes = size(&value).ok_or_else(|| bad("not a size such as 20GB"))?;
            if bytes < 64 << 20 {
                return Err(bad("at least 64MB"));
            }
            options.max_tempdb = Some(bytes);
        }
        "--keep-free" => {
            let percent = value.trim_end_matches('%').parse().ok();
            let percent = percent.filter(|p| *p <= 50);
            options.keep_free = percent.ok_or_else(|| bad("not a number from 0 to 50"))?;
        }
        "--max-memory" => {
            let bytes = size(&value).ok_or_else(|| bad("not a size such as 512MB"))?;
            if bytes < 32 << 20 {
                return Err(bad("at least 32MB"));
            }
            options.max_memory = Some(bytes);
        }
        "--log-profile" => {
            options.profile = match value.as_str() {
                "2012" => LogProfile::V2012,
                "2014" => LogProfile::V2014,
                "2019" => LogProfile::V2019,
                "2022" => LogProfile::V2022,
                "native" => LogProfile::Native,
                _ => return Err(bad("not 2012, 2014, 2019, 2022 or native")),
            }
        }
        "--log-sector" => {
            options.sector = match value.as_str() {
                "auto" => None,
                "512" => Some(512),
                "4096" => Some(4096),
                _ => return Err(bad("not auto, 512 or 4096")),
            }
        }
        "--instant-file-init" => {
            options.instant_file_init = match value.as_str() {
                "on" => true,
                "off" => false,
                _ => return Err(bad("not on or off")),
            }
        }
        "--dashboard" => {
            options.dashboard = match value.as_str() {
                "off" => None,
                _ => Some(listen(&value).ok_or_else(|| bad("not ADDR:PORT or off"))?),
            }
        }
        _ => return Err(format!("unknown option '{flag}'")),
    }
    Ok(())
}

/// `ADDR:PORT`, `localhost:PORT` or `PORT`.
fn listen(text: &str) -> Option<SocketAddr> {
    if let Ok(port) = text.parse::<u16>() {
        return Some(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    text.parse().ok()
}

/// Bytes, with K, M, G or T (and an optional B) behind them.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let text = text.strip_suffix('B').unwrap_or(&text);
    let (digits, shift) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let number: u64 = digits.trim().parse().ok()?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    //! Every flag of the design, in both spellings, and what is wrong is said.
    use super::*;

    fn run(args: &[&str]) -> Result<Parsed, String> {
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        parse(&args, None)
    }

    #[test]
    fn all_flags() {
        let Ok(Parsed::Run(options)) = run(&[
            "--data-dir",
            "/d",
            "--listen=0.0.0.0:14330",
            "--sa-password=a=b",
            "--drive",
            "e=/fast",
            "--drive=F:=/slow",
            "--max-memory",
            "2GB",
            "--backup-dir=/b",
            "--file-dir=/one",
            "--file-dir",
            "/two",
            "--max-tempdb",
            "1G",
            "--keep-free=2%",
            "--log-profile",
            "2012",
            "--log-sector=512",
            "--instant-file-init",
            "off",
            "--dashboard",
            "127.0.0.1:8433",
            "-T3604",
            "-E",
            "-T",
            "1118",
        ]) else {
            panic!("all flags parse");
        };
        assert_eq!(options.listen.port(), 14330);
        assert_eq!(options.sa_password.as_deref(), Some("a=b"));
        assert_eq!(
            options.drives,
            [('E', PathBuf::from("/fast")), ('F', PathBuf::from("/slow"))]
        );
        assert_eq!(options.max_memory, Some(2 << 30));
        assert_eq!(options.backup_dir, Some(PathBuf::from("/b")));
        assert_eq!(options.file_dirs, [PathBuf::from("/one"), "/two".into()]);
        assert_eq!((options.max_tempdb, options.keep_free), (Some(1 << 30), 2));
        assert_eq!(options.profile, LogProfile::V2012);
        assert_eq!(options.sector, Some(512));
        assert!(!options.instant_file_init && options.large_extents);
        assert_eq!(options.trace_flags, [3604, 1118]);
        assert_eq!(options.dashboard.map(|d| d.port()), Some(8433));
        assert_eq!(run(&["--help"]), Ok(Parsed::Help));
    }

    #[test]
    fn wrong_ones_are_named() {
        for args in [
            &["--nope"][..],
            &["-T"],
            &["-Tx"],
            &["--listen"],
            &["--listen", "x"],
            &["--drive", "EE=/x"],
            &["--drive", "E=/x", "--drive", "e=/y"],
            &["--max-memory", "1KB"],
            &["--max-tempdb", "1MB"],
            &["--keep-free", "51"],
            &["--keep-free", "x"],
            &["--max-memory", "99999999999T"],
            &["--log-profile", "2008"],
            &["--log-sector", "1024"],
            &["--dashboard", "here"],
        ] {
            let message = run(args).expect_err("refused");
            assert!(message.contains(args[0]), "{message}");
        }
    }
}
