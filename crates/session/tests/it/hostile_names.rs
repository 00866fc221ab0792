//! Names of files that the server has open, in every way in which a statement can be given them.
//!
//! A searcher makes up names (links, links in links, hard links, `..`, other letter case, `/proc/self/fd`, very long ones,
//! ones with strange characters) and statements that write at them. Whatever it finds, no byte changes of a file that is
//! open, nor of one that is no backup; and nothing comes to lie outside the folders of a login that is no sysadmin.
//! `HOSTILE_SEED` and `HOSTILE_ROUNDS` run it longer.

// Links of the machine's own file system are what this is about.
#![allow(clippy::disallowed_methods)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use duramen_os::random::Rng;
use duramen_os::{Env, OpenOptions};
use duramen_program::login::LoginRequest;
use duramen_session::Session;

use super::{Started, config, login, number_from, run};

/// A data directory of the machine with a database of someone, which is left alone from then on.
struct World {
    dir: tempfile::TempDir,
    instance: Started,
    /// Files that nothing may change.
    victims: Vec<PathBuf>,
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let mut config = config(Default::default());
        config.storage.data_dir = data.clone();
        config.storage.files.max_tempdb = Some(256 << 20);
        let instance = Started(duramen_session::start(&Env::real(), config).unwrap());
        let mut s = login(&instance);
        let at = |name: &str| dir.path().join(name).display().to_string();
        quiet(
            &mut s,
            "CREATE DATABASE victim ON (NAME = v, FILENAME = 'C:\\v.mdf', SIZE = 1MB), (NAME = v2, FILENAME = 'C:\\v2.ndf', SIZE = 1MB) LOG ON (NAME = v_log, FILENAME = 'C:\\v.ldf', SIZE = 1MB)",
        );
        quiet(
            &mut s,
            "CREATE DATABASE own ON (NAME = o, FILENAME = 'C:\\o.mdf', SIZE = 1MB) LOG ON (NAME = o_log, FILENAME = 'C:\\o.ldf', SIZE = 1MB); ALTER DATABASE own SET RECOVERY SIMPLE",
        );
        quiet(
            &mut s,
            &format!("BACKUP DATABASE own TO DISK = '{}'", at("own.bak")),
        );
        quiet(
            &mut s,
            "CREATE DATABASE gone ON (NAME = g, FILENAME = 'C:\\g.mdf', SIZE = 1MB) LOG ON (NAME = g_log, FILENAME = 'C:\\g.ldf', SIZE = 1MB)",
        );
        quiet(
            &mut s,
            "ALTER DATABASE gone SET OFFLINE; ALTER DATABASE victim SET READ_ONLY",
        );
        quiet(&mut s, "CREATE LOGIN bob WITH PASSWORD = 'Secret-2'");
        quiet(
            &mut s,
            "USE own; CREATE USER bob FOR LOGIN bob; ALTER ROLE db_owner ADD MEMBER bob; USE master; ALTER SERVER ROLE dbcreator ADD MEMBER bob",
        );
        write(&data.join("sa.credential"), b"scrypt of a password");
        write(&dir.path().join("letter.txt"), b"Dear Sir or Madam");
        let drive = data.join("drives/C");
        let mut victims: Vec<PathBuf> = ["v.mdf", "v2.ndf", "v.ldf", "g.mdf", "g.ldf"]
            .map(|f| drive.join(f))
            .into();
        victims.push(data.join("sa.credential"));
        victims.push(dir.path().join("letter.txt"));
        victims.push(dir.path().join("lock"));
        World {
            dir,
            instance,
            victims,
        }
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        self.victims
            .iter()
            .map(|p| std::fs::read(p).unwrap_or_default())
            .collect()
    }

    /// Until the log that the server has open is laid to its end: it grows ahead of need, and what is not stamped yet is zeros.
    fn settled(&self) {
        let log = self.dir.path().join("data/drives/C/v.ldf");
        let began = duramen_os::time::now();
        while std::fs::read(&log).unwrap().last() == Some(&0) {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "the log is never laid"
            );
            duramen_os::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Every file below the directory but those of the server's own folders.
    fn outside(&self) -> Vec<PathBuf> {
        let mut all = super::packed::files_below(&*Env::real().disk, self.dir.path());
        let real = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_owned());
        let data = real(&self.dir.path().join("data"));
        // Links lead into those, too.
        all.retain(|p| !real(p).starts_with(&data));
        all
    }
}

fn quiet(s: &mut Session, sql: &str) {
    let reported = run(s, sql);
    assert!(
        reported.iter().all(|l| !l.starts_with("Msg ")),
        "{sql}: {reported:?}"
    );
}

fn bob(world: &World) -> Session {
    let request = LoginRequest {
        user: "bob".to_owned(),
        password: "Secret-2".to_owned(),
        ..LoginRequest::default()
    };
    duramen_session::login(&world.instance, &request).expect("bob logs in")
}

fn hold(path: &Path) -> std::sync::Arc<dyn duramen_os::DiskFile> {
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    Env::real().disk.open(path, &options).unwrap()
}

/// One more way to say the same name.
fn disguised(name: &Path, links: &Path, rng: &mut Rng, n: usize) -> PathBuf {
    let part = name.file_name().unwrap_or_default().to_owned();
    let dir = name.parent().unwrap_or(Path::new("/"));
    let link = links.join(format!("l{n}"));
    match rng.below(9) {
        0 => {
            let _ = symlink(name, &link);
            link
        }
        1 => {
            let _ = std::fs::hard_link(name, &link);
            link
        }
        2 => {
            let _ = symlink(dir, &link);
            link.join(part)
        }
        3 => dir.join(".").join(part),
        4 => dir
            .join("..")
            .join(dir.file_name().unwrap_or_default())
            .join(part),
        5 => links
            .join("..")
            .join(links.file_name().unwrap_or_default())
            .join("..")
            .join(
                name.strip_prefix("/")
                    .map_or(part.clone().into(), |_| name.to_owned()),
            ),
        6 => PathBuf::from("/proc/self/root").join(name.strip_prefix("/").unwrap_or(name)),
        7 => dir.join("").join(part),
        _ => name.to_owned(),
    }
}

fn odd_name(world: &World, rng: &mut Rng) -> String {
    let at = |name: &str| world.dir.path().join(name).display().to_string();
    match rng.below(14) {
        0 => at(&"x".repeat(255 + rng.below(40) as usize)),
        1 => at(&"d/".repeat(3000)),
        2 => at("a\nb.bak"),
        3 => at("a\0b.bak"),
        4 => at("quote''d.bak"),
        5 => at("\u{202e}kab.\u{e4}"),
        6 => String::new(),
        7 => "/".to_owned(),
        8 => at("."),
        9 => format!("/proc/self/fd/{}", rng.below(60)),
        10 => "/proc/self/mem".to_owned(),
        11 => "/dev/null".to_owned(),
        12 => at("pipe"),
        _ => "C:\\..\\..\\..\\..\\V.MDF".to_owned(),
    }
}

fn drive_name(rng: &mut Rng) -> String {
    let file = ["v.mdf", "v2.ndf", "v.ldf", "g.mdf", "g.ldf"][rng.below(5) as usize];
    let file: String = file
        .chars()
        .map(|c| {
            if rng.below(2) == 0 {
                c.to_ascii_uppercase()
            } else {
                c
            }
        })
        .collect();
    let between =
        ["C:\\", "c:/", "C:", "c:\\..\\", "C:\\x\\..\\", "C:\\.\\"][rng.below(6) as usize];
    format!("{between}{file}")
}

/// A statement that writes at a name.
fn statement(name: &str, world: &World, rng: &mut Rng, n: usize) -> String {
    let bak = world.dir.path().join("own.bak").display().to_string();
    match rng.below(16) {
        0 | 1 => format!("BACKUP DATABASE own TO DISK = '{name}' WITH FORMAT"),
        2 | 3 => format!("BACKUP DATABASE own TO DISK = '{name}' WITH INIT"),
        4 => format!("BACKUP DATABASE own TO DISK = '{name}'"),
        5 => {
            format!("BACKUP DATABASE own TO DISK = 'nul', DISK = '{name}' WITH FORMAT, COMPRESSION")
        }
        6 => format!("CREATE DATABASE n{n} ON (NAME = n, FILENAME = '{name}', SIZE = 1MB)"),
        7 => format!(
            "CREATE DATABASE n{n} ON (NAME = n, FILENAME = 'C:\\n{n}.mdf', SIZE = 1MB) LOG ON (NAME = nl, FILENAME = '{name}', SIZE = 1MB)"
        ),
        8 => format!("ALTER DATABASE own ADD FILE (NAME = a{n}, FILENAME = '{name}', SIZE = 1MB)"),
        9 => format!(
            "ALTER DATABASE own ADD LOG FILE (NAME = a{n}, FILENAME = '{name}', SIZE = 1MB)"
        ),
        10 => format!(
            "RESTORE DATABASE r{n} FROM DISK = '{bak}' WITH MOVE 'o' TO '{name}', MOVE 'o_log' TO 'C:\\r{n}.ldf', REPLACE"
        ),
        11 => format!(
            "RESTORE DATABASE r{n} FROM DISK = '{bak}' WITH MOVE 'o' TO 'C:\\r{n}.mdf', MOVE 'o_log' TO '{name}', STANDBY = '{name}'"
        ),
        12 => format!(
            "RESTORE DATABASE r{n} FROM DISK = '{bak}' WITH MOVE 'o' TO 'C:\\r{n}.mdf', MOVE 'o_log' TO 'C:\\r{n}.ldf', STANDBY = '{name}'"
        ),
        13 => format!(
            "CREATE EVENT SESSION e{n} ON SERVER ADD EVENT sqlserver.error_reported ADD TARGET package0.event_file (SET filename = '{name}'); ALTER EVENT SESSION e{n} ON SERVER STATE = START; DROP EVENT SESSION e{n} ON SERVER"
        ),
        14 => format!("ALTER DATABASE tempdb MODIFY FILE (NAME = tempdev, FILENAME = '{name}')"),
        _ => format!("CREATE DATABASE n{n} ON (FILENAME = '{name}') FOR ATTACH"),
    }
}

#[test]
fn no_name_leads_to_a_file_that_is_open() {
    let world = World::new();
    let lock = hold(&world.dir.path().join("lock"));
    let links = world.dir.path().join("links");
    std::fs::create_dir(&links).unwrap();
    rustix_pipe(&world.dir.path().join("pipe"));
    world.settled();
    let before = world.bytes();
    let mut rng = Rng::new(number_from("HOSTILE_SEED", 1));
    let (mut sa, mut other) = (login(&world.instance), bob(&world));
    let rounds = number_from("HOSTILE_ROUNDS", 60) as usize;
    let (mut refused, mut done) = (0, 0);
    for n in 0..rounds {
        let name = match rng.below(6) {
            0 => odd_name(&world, &mut rng),
            1 => drive_name(&mut rng),
            _ => {
                let of = rng.below(world.victims.len() as u64) as usize;
                let mut name = world.victims[of].clone();
                for turn in 0..=rng.below(3) as usize {
                    name = disguised(&name, &links, &mut rng, n * 4 + turn);
                }
                name.display().to_string()
            }
        };
        let as_bob = rng.below(3) == 0;
        let s = if as_bob { &mut other } else { &mut sa };
        let outside = world.outside();
        let sql = statement(&name, &world, &mut rng, n);
        let reported = run(s, &sql);
        match reported.iter().any(|l| l.starts_with("Msg ")) {
            true => refused += 1,
            false => done += 1,
        }
        let now = world.bytes();
        for (at, path) in world.victims.iter().enumerate() {
            assert!(
                now[at] == before[at],
                "{path:?} has changed: {sql}: {reported:?}"
            );
        }
        if as_bob {
            assert_eq!(world.outside(), outside, "{sql}: {reported:?}");
        }
        // Where a connection has ended, another one goes on.
        if run(s, "SELECT 1").get(1).is_none_or(|l| l != "1") {
            *s = if as_bob {
                bob(&world)
            } else {
                login(&world.instance)
            };
        }
    }
    assert!(refused > rounds / 2, "{refused} refused, {done} done");
    drop(lock);
    for db in ["master", "own"] {
        let reported = run(&mut sa, &format!("DBCC CHECKDB ({db}) WITH NO_INFOMSGS"));
        assert_eq!(reported, Vec::<String>::new(), "{db}");
    }
}

fn rustix_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|s| s.success()));
}
