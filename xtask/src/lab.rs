//! The lab as its user has it: a small run of several experiments, its record read again, two runs compared, and the
//! report opened in a browser (headless Chromium), which must draw every picture. The dashboard too, logged in to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::server::{PASSWORD, Server, free_port, scratch};
use crate::target_dir;
use crate::test::Tally;

/// Experiments that together show every part of a report, small; each of their trials five times.
const RUN: [&str; 6] = [
    "run",
    "durability",
    "growth",
    "vlf-count",
    "--scale",
    "0.0005",
];
/// What is compared with it.
const AGAIN: [&str; 4] = ["run", "durability", "--scale", "0.0005"];
/// A browser that has not drawn a page after this long never will.
const BROWSER_LIMIT: Duration = Duration::from_secs(60);

pub fn in_test(install: bool, tally: &mut Tally) {
    let dir = match scratch("lab") {
        Ok(dir) => dir,
        Err(e) => {
            println!("lab: {e}");
            return tally.step("lab: a directory", false);
        }
    };
    let done = all(install, &dir, tally);
    if let Err(e) = &done {
        println!("lab: {e}");
    }
    tally.step(
        "lab: runs, reads its record again and compares",
        done.is_ok(),
    );
    let _ = std::fs::remove_dir_all(&dir);
}

fn all(install: bool, dir: &Path, tally: &mut Tally) -> Result<(), String> {
    let (first, second) = (dir.join("first"), dir.join("second"));
    lab(&RUN, &[Path::new("--out"), &first])?;
    lab(&AGAIN, &[Path::new("--out"), &second])?;
    let record = read(&first.join("run.json"))?;
    for part in [
        "\"durability\"",
        "\"growth\"",
        "\"vlf-count\"",
        "\"findings\"",
        "\"claims\"",
        "\"repeats\"",
    ] {
        if !record.contains(part) {
            return Err(format!("run.json has no {part}"));
        }
    }
    if record.contains("\"why\"") {
        return Err("a trial was skipped on a server of the lab's own".to_owned());
    }
    let page = read(&first.join("report.html"))?;
    lab(&["report"], &[&first])?;
    if read(&first.join("report.html"))? != page {
        return Err("the record does not give the same report again".to_owned());
    }
    lab(&["compare"], &[&first, &second])?;
    if lab(&["run", "nothing", "--scale", "1"], &[]).is_ok() {
        return Err("an unknown experiment is run".to_owned());
    }
    match browser(install) {
        Ok(browser) => {
            for page in [first.join("report.html"), second.join("compare.html")] {
                let drawn = open(&browser, &page, dir);
                if let Err(e) = &drawn {
                    println!("lab: {}: {e}", page.display());
                }
                tally.step("lab: a page in Chromium", drawn.is_ok());
            }
            let drawn = dashboard(&browser, dir);
            if let Err(e) = &drawn {
                println!("dashboard: {e}");
            }
            tally.step("the dashboard in Chromium", drawn.is_ok());
        }
        Err(why) => tally
            .skipped
            .push(format!("lab: pages in a browser ({why})")),
    }
    Ok(())
}

fn lab(words: &[&str], paths: &[&Path]) -> Result<(), String> {
    let out = Command::new(target_dir().join("release").join("duramen"))
        .arg("lab")
        .args(words)
        .args(paths)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("duramen lab does not start: {e}"))?;
    match out.status.success() {
        true => Ok(()),
        false => Err(format!(
            "lab {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&out.stderr)
        )),
    }
}

/// Chromium, installed when that is asked for.
fn browser(install: bool) -> Result<PathBuf, String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let find = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let all = names
            .iter()
            .flat_map(|n| dirs.iter().map(move |d| d.join(n)));
        all.into_iter().find(|p| p.is_file())
    };
    if find().is_none() && install {
        for words in [
            &["-q", "update"][..],
            &["-q", "-y", "install", "--no-install-recommends", "chromium"],
        ] {
            let _ = Command::new("apt-get")
                .args(words)
                .env("DEBIAN_FRONTEND", "noninteractive")
                .stdout(Stdio::null())
                .status();
        }
    }
    find().ok_or_else(|| "there is no Chromium; apt-get install chromium brings it".to_owned())
}

/// The page as the browser has it after drawing: every picture has a place and a size, and it can be photographed.
fn open(browser: &Path, page: &Path, dir: &Path) -> Result<(), String> {
    let text = read(page)?;
    let picture = dir.join("page.png");
    let url = format!("file://{}", page.display());
    let profile = format!("--user-data-dir={}", dir.join("profile").display());
    let common = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1100,3000",
        &profile,
    ];
    let dom = browse(browser, &common, &["--dump-dom", &url])?;
    let drawn = dom.matches("<svg").count();
    if drawn == 0 || drawn != text.matches("<svg").count() {
        return Err(format!("{drawn} pictures are drawn"));
    }
    let shot = format!("--screenshot={}", picture.display());
    browse(browser, &common, &[&shot, &url])?;
    let size = std::fs::metadata(&picture)
        .map_err(|e| format!("no photograph: {e}"))?
        .len();
    // A blank page of this size takes less than 20 KB.
    match size > 40_000 {
        true => Ok(()),
        false => Err(format!("the photograph has {size} bytes: nothing is on it")),
    }
}

/// A server's live page, reached by the form as a person would, which must move while nobody touches it.
fn dashboard(browser: &Path, dir: &Path) -> Result<(), String> {
    let address = format!("127.0.0.1:{}", free_port()?);
    let server = Server::start_with(&dir.join("dashboard"), &["--dashboard", &address])?;
    // A page that fills the dashboard's form in: the browser has no hands.
    let form = dir.join("form.html");
    let text = format!(
        "<form method=post action=\"http://{address}/login\"><input name=user value=sa><input name=password value=\"{PASSWORD}\">\
         </form><script>document.forms[0].submit()</script>"
    );
    std::fs::write(&form, text).map_err(|e| e.to_string())?;
    let profile = format!("--user-data-dir={}", dir.join("visitor").display());
    let url = format!("file://{}", form.display());
    let common = ["--headless", "--no-sandbox", "--disable-gpu", &profile];
    // The page's clock stands still while it asks: four hundred of its seconds are some of ours, and looks at the server.
    let dom = browse(
        browser,
        &common,
        &["--virtual-time-budget=400000", "--dump-dom", &url],
    )?;
    drop(server);
    let wanted = [
        "id=\"live\"",
        "Log flushed",
        "class=\"line",
        "Log of master",
        "Waits of the last minute",
    ];
    match wanted.iter().find(|w| !dom.contains(**w)) {
        Some(missing) => Err(format!("the page in the browser has no {missing}")),
        None if !dom.contains(" points=\"7") => Err("no line of a picture has moved".to_owned()),
        None => Ok(()),
    }
}

fn browse(browser: &Path, common: &[&str], words: &[&str]) -> Result<String, String> {
    let mut child = Command::new(browser)
        .args(common)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{}: {e}", browser.display()))?;
    let mut out = child.stdout.take().expect("stdout is piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut out, &mut text).map(|_| text)
    });
    let limit = Instant::now() + BROWSER_LIMIT;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("the browser does not end".to_owned());
            }
        }
    }
    let text = reader
        .join()
        .map_err(|_| "the browser's output".to_owned())?;
    text.map_err(|e| e.to_string())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
