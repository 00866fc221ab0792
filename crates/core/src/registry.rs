//! What scripts look for in the registry of Windows: where the server keeps its files, its port, its version, the machine.
//!
//! There is no registry. Keys and names are those under which SQL Server 2022 keeps what this server truly has; whatever else
//! is asked for is not found. `sys.dm_server_registry` lists what is the instance's own, `xp_regread` and
//! `xp_instance_regread` read that and the machine's.
//!
//! Invariant: a value is looked up when it is asked for; one that nobody knows (the port of a server that does not listen, the
//! name of a processor that does not tell it) has no entry.

use std::net::SocketAddr;

use duramen_access::version;
use duramen_catalog::FileKind;
use duramen_os::machine;

use crate::instance_core::InstanceCore;

/// What the instance's keys are below.
const MICROSOFT: &str = r"Software\Microsoft\Microsoft SQL Server\";

/// A value: REG_SZ or REG_DWORD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Datum {
    Text(String),
    Number(u32),
}

/// A value of a key of HKEY_LOCAL_MACHINE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub key: String,
    pub name: &'static str,
    pub datum: Datum,
}

#[derive(Default)]
struct Entries(Vec<Entry>);

impl Entries {
    fn put(&mut self, key: &str, name: &'static str, datum: Datum) {
        let key = key.to_owned();
        self.0.push(Entry { key, name, datum });
    }

    fn text(&mut self, key: &str, name: &'static str, text: impl Into<String>) {
        self.put(key, name, Datum::Text(text.into()));
    }

    fn number(&mut self, key: &str, name: &'static str, n: u32) {
        self.put(key, name, Datum::Number(n));
    }

    fn known(&mut self, key: &str, name: &'static str, text: Option<String>) {
        if let Some(text) = text.filter(|t| !t.is_empty()) {
            self.text(key, name, text);
        }
    }
}

/// The instance's name: MSSQLSERVER, if its server's has none behind a backslash.
fn instance_name(instance: &InstanceCore) -> &str {
    let named = instance.server_name().split_once('\\');
    named.map_or("MSSQLSERVER", |(_, name)| name)
}

/// `MSSQL16.MSSQLSERVER`
fn instance_id(instance: &InstanceCore) -> String {
    format!("MSSQL{}.{}", version::VERSION.0, instance_name(instance))
}

/// What is the instance's own.
pub fn of_instance(instance: &InstanceCore) -> Vec<Entry> {
    let mut all = Entries::default();
    let product = version::product_version();
    let (name, id) = (instance_name(instance), instance_id(instance));
    if name == "MSSQLSERVER" {
        all.text(
            &format!("{MICROSOFT}Instance Names\\SQL"),
            "MSSQLSERVER",
            id.as_str(),
        );
    }
    let root = format!("{MICROSOFT}{id}\\");
    let server = format!("{root}MSSQLServer");
    let databases = &instance.databases;
    let data = databases.data_dir_shown();
    all.text(&server, "DefaultData", data.as_str());
    all.text(&server, "DefaultLog", data.as_str());
    let backups = databases.backup_dir().to_string_lossy().into_owned();
    all.text(&server, "BackupDirectory", backups);
    // SQL Server and Windows authentication; failed logins are logged.
    all.number(&server, "LoginMode", 2);
    all.number(&server, "AuditLevel", 2);
    let current = format!("{server}\\CurrentVersion");
    all.text(&current, "CurrentVersion", product.as_str());
    let parameters = format!("{server}\\Parameters");
    let log = crate::folders::shown_error_log();
    if let Ok(master) = databases.master() {
        let entry = master.entry.read();
        let file = |kind| entry.files.iter().find(|f| f.kind == kind);
        let path = |kind| file(kind).map(|f| f.path.clone()).unwrap_or_default();
        all.text(
            &parameters,
            "SQLArg0",
            format!("-d{}", path(FileKind::Data)),
        );
        all.text(&parameters, "SQLArg1", format!("-e{log}"));
        all.text(&parameters, "SQLArg2", format!("-l{}", path(FileKind::Log)));
    }
    if let Some(listener) = instance.listener() {
        listening(&mut all, &server, &listener.address);
    }
    let setup = format!("{root}Setup");
    all.text(&setup, "Edition", "Duramen");
    all.text(&setup, "Version", product.as_str());
    all.text(&setup, "PatchLevel", product);
    all.text(&setup, "SQLDataRoot", data);
    all.0
}

fn listening(all: &mut Entries, server: &str, address: &SocketAddr) {
    let tcp = format!("{server}\\SuperSocketNetLib\\Tcp");
    let every = address.ip().is_unspecified();
    all.number(&tcp, "Enabled", 1);
    all.number(&tcp, "ListenOnAllIPs", u32::from(every));
    let port = address.port().to_string();
    if !every {
        let one = format!("{tcp}\\IP1");
        all.number(&one, "Enabled", 1);
        all.number(&one, "Active", 1);
        all.text(&one, "IpAddress", address.ip().to_string());
        all.text(&one, "TcpPort", port.as_str());
        all.text(&one, "TcpDynamicPorts", "");
    }
    let all_ips = format!("{tcp}\\IPAll");
    all.text(&all_ips, "TcpPort", port);
    all.text(&all_ips, "TcpDynamicPorts", "");
}

/// What is the machine's.
fn of_machine() -> Vec<Entry> {
    let mut all = Entries::default();
    let processor = machine::processor().unwrap_or_default();
    let key = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";
    all.known(key, "ProcessorNameString", Some(processor.model));
    all.known(key, "VendorIdentifier", Some(processor.vendor));
    if processor.mhz > 0 {
        all.number(key, "~MHz", processor.mhz);
    }
    let key = r"HARDWARE\DESCRIPTION\System\BIOS";
    for (name, fact) in [
        ("BIOSReleaseDate", "bios_date"),
        ("BIOSVendor", "bios_vendor"),
        ("BIOSVersion", "bios_version"),
        ("SystemManufacturer", "sys_vendor"),
        ("SystemProductName", "product_name"),
    ] {
        all.known(key, name, machine::firmware(fact));
    }
    let key = r"SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName";
    all.known(key, "ComputerName", Some(machine::host_name()));
    all.0
}

/// Why a value cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    Key,
    Value,
}

/// The value of a key of HKEY_LOCAL_MACHINE. `own`: a key of SQL Server stands for the instance's own one, as
/// `xp_instance_regread` has it.
pub fn read(instance: &InstanceCore, key: &str, name: &str, own: bool) -> Result<Datum, Missing> {
    let mut all = of_instance(instance);
    all.extend(of_machine());
    let key = key.trim_end_matches('\\');
    let candidates = match own {
        false => vec![key.to_owned()],
        true => own_keys(instance, key),
    };
    let of_key = |e: &Entry| candidates.iter().any(|k| e.key.eq_ignore_ascii_case(k));
    if let Some(found) = all
        .iter()
        .find(|e| of_key(e) && e.name.eq_ignore_ascii_case(name))
    {
        return Ok(found.datum.clone());
    }
    // A key is there when it, or one below it, has a value.
    let below = |e: &Entry, k: &String| {
        let at = e.key.get(..k.len());
        let begins = at.is_some_and(|at| at.eq_ignore_ascii_case(k));
        begins && matches!(e.key.as_bytes().get(k.len()), None | Some(b'\\'))
    };
    let there = all.iter().any(|e| candidates.iter().any(|k| below(e, k)));
    Err(if there { Missing::Value } else { Missing::Key })
}

/// The keys that a key may mean: itself, and with the instance's name in it.
fn own_keys(instance: &InstanceCore, key: &str) -> Vec<String> {
    let mut keys = vec![key.to_owned()];
    for prefix in [MICROSOFT, r"Software\Microsoft\MSSQLServer\"] {
        let Some((start, rest)) = key.split_at_checked(prefix.len()) else {
            continue;
        };
        if start.eq_ignore_ascii_case(prefix) {
            keys.push(format!("{MICROSOFT}{}\\{rest}", instance_id(instance)));
        }
    }
    keys
}
