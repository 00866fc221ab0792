//! The first article's scripts as they are, one after the other: the sample's backup restored, the standard test, the
//! cleanup. `DURAMEN_MATERIAL` names the directory above them; without it the test says so and passes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{BINARY, PASSWORD, Process, Scratch};

fn scripts() -> Option<PathBuf> {
    let material = std::env::var_os("DURAMEN_MATERIAL")?;
    let dir = Path::new(&material).join("sources/scripts");
    dir.is_dir().then_some(dir)
}

/// Runs a program to its end; its output when it succeeded.
fn succeeds(command: &mut Command) -> String {
    let output = command
        .env("SQLCMDPASSWORD", PASSWORD)
        .output()
        .expect("starts");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out
}

#[test]
fn the_scripts_run_unchanged() {
    let Some(scripts) = scripts() else {
        eprintln!("skipped: DURAMEN_MATERIAL is not set, or has no scripts");
        return;
    };
    let scratch = Scratch::new("first-article");
    let dir = scratch.path();
    let backups = dir.join("c/SQLBackups");
    std::fs::create_dir_all(&backups).expect("a directory");
    let backup = backups.join("CreditBackup100.bak");
    succeeds(
        Command::new(BINARY)
            .args(["sample", "credit", "--rows", "2000", "--backup"])
            .arg(&backup),
    );
    let drive = |letter: &str| format!("{letter}={}", dir.join(letter.to_lowercase()).display());
    let flags = ["--drive", &drive("C"), "--drive", &drive("L")];
    let server = Process::start(&dir.join("data"), &flags);
    let at = format!("tcp:127.0.0.1,{}", server.port);
    let run = |script: &str| {
        succeeds(
            Command::new(BINARY)
                .args([
                    "sql", "-S", &at, "-U", "sa", "-C", "-b", "-W", "-s", "|", "-i",
                ])
                .arg(scripts.join(script)),
        )
    };
    let prepared = run("1a-initial-preparation.sql");
    for line in [
        "100 percent processed.",
        "RESTORE DATABASE successfully processed",
        "BACKUP DATABASE successfully processed",
    ] {
        assert!(prepared.contains(line), "{line}: {prepared}");
    }
    let head = std::fs::read(backups.join("CreditBackup110.bak")).expect("the baseline");
    assert!(head.starts_with(b"MSSQLBAK"), "it is compressed");
    // Twice, with the cleanup between: each begins with the same rows.
    for _ in 0..2 {
        let tested = run("1b-standard-test.sql");
        for shown in [
            "name|rows|reserved|data|index_size|unused",
            "RecoveryUnitId|FileId|FileSize|StartOffset|FSeqNo|Status|Parity|CreateLSN",
            "File Name|Physical Name|Total Size in MB|Available Space In MB|file_id|Filegroup Name",
            "Loop 5 done in ",
            "Total Elapsed Time (sec)",
            "wait_type|wait_time_s|pct|running_pct",
            "\ncharge|2000|",
            "\ncharge|64000|",
            "CreditData|C:\\SQLData\\CreditData.mdf|",
            "CreditLog|L:\\SQLLogs\\CreditLog.ldf|",
        ] {
            assert!(tested.contains(shown), "{shown:?}: {tested}");
        }
        run("1c-cleanup.sql");
    }
    server.stop();
}
