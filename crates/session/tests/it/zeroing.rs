//! What another session sees of a file that is being filled with zeros.

// A real disk, on which it takes long enough to be seen.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_os::{Env, thread};

use super::{Started, config, login, run};

#[test]
fn percent_complete_moves_while_a_file_is_filled() {
    let dir = std::env::temp_dir().join(format!("duramen-zeroing-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let mut config = config(Default::default());
    config.storage.data_dir = dir.clone();
    config.storage.instant_file_init = false;
    let instance =
        Started(duramen_session::start(&Env::real(), config).expect("the instance starts"));
    let mut s = login(&instance);
    let done = Arc::new(AtomicBool::new(false));
    let made = {
        let mut maker = login(&instance);
        let done = done.clone();
        thread::spawn("maker", move || {
            let mut reported = run(
                &mut maker,
                "CREATE DATABASE z ON (NAME = z, FILENAME = 'Z:\\z.mdf', SIZE = 300MB) LOG ON (NAME = z_log, FILENAME = 'Z:\\z.ldf', SIZE = 2MB)",
            );
            reported.extend(run(
                &mut maker,
                "ALTER DATABASE z MODIFY FILE (NAME = z, SIZE = 400MB)",
            ));
            done.store(true, Ordering::SeqCst);
            reported
        })
    };
    let look = "SET NOCOUNT ON; SELECT command, percent_complete, estimated_completion_time FROM sys.dm_exec_requests
                WHERE command IN ('CREATE DATABASE', 'ALTER DATABASE') AND percent_complete > 0";
    let mut seen = Vec::new();
    while !done.load(Ordering::SeqCst) {
        seen.extend(run(&mut s, look).into_iter().skip(1));
    }
    assert!(made.join().expect("it ends").is_empty());
    let percent = |line: &String| line.split(" | ").nth(1)?.parse::<f32>().ok();
    let percents: Vec<f32> = seen.iter().filter_map(percent).collect();
    assert!(
        percents.iter().any(|p| (1.0..50.0).contains(p)) && percents.iter().all(|p| *p < 100.0),
        "{seen:?}"
    );
    drop(s);
    drop(instance);
    let _ = std::fs::remove_dir_all(&dir);
}
