//! How each foreign client is got and built, below the target folder, in the versions that the lock files pin.
//!
//! Each function gives the command that runs the driver's program, or says what is missing. Nothing is fetched unless
//! `install` permits it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use super::{client_file, client_folder, clients_dir, succeeds};

/// Python programs share one virtual environment: one thread makes it.
static PYTHON: Mutex<()> = Mutex::new(());

/// Packages of the system are installed by one thread at a time.
static PACKAGES: Mutex<()> = Mutex::new(());

fn packages(names: &[&str]) -> bool {
    let Ok(_one_at_a_time) = PACKAGES.lock() else {
        return false;
    };
    // An old list of packages may do where the update fails.
    let _ = succeeds(Command::new("apt-get").args(["-q", "update"]));
    let mut get = Command::new("apt-get");
    get.args(["-q", "-y", "install", "--no-install-recommends"])
        .args(names)
        .env("DEBIAN_FRONTEND", "noninteractive");
    succeeds(&mut get)
}

fn missing(what: &str) -> String {
    format!("{what} is not installed (cargo xtask test --install)")
}

pub fn pymssql(install: bool) -> Result<Vec<String>, String> {
    python(install, "pymssql", "python/pymssql_cases.py")
}

pub fn python_tds(install: bool) -> Result<Vec<String>, String> {
    python(install, "pytds", "python/python_tds.py")
}

/// Its ODBC driver needs a library that the package does not bring.
pub fn mssql_python(install: bool) -> Result<Vec<String>, String> {
    let load = "import ctypes; ctypes.CDLL('libltdl.so.7')";
    let has = || succeeds(Command::new("python3").args(["-c", load]));
    if !has() {
        if !install {
            return Err(missing("libltdl7"));
        }
        if !packages(&["libltdl7"]) || !has() {
            return Err("apt-get install libltdl7 fails (it needs root)".to_owned());
        }
    }
    python(install, "mssql_python", "python/mssql_python_cases.py")
}

/// SQLAlchemy's program takes its driver before the other arguments.
fn sqlalchemy(install: bool, driver: &str) -> Result<Vec<String>, String> {
    let mut command = python(install, "sqlalchemy", "python/sqlalchemy_cases.py")?;
    command.push(driver.to_owned());
    Ok(command)
}

pub fn sqlalchemy_pymssql(install: bool) -> Result<Vec<String>, String> {
    sqlalchemy(install, "pymssql")
}

pub fn sqlalchemy_mssql_python(install: bool) -> Result<Vec<String>, String> {
    sqlalchemy(install, "mssqlpython")
}

/// A script in the virtual environment that `requirements.txt` describes.
fn python(install: bool, module: &str, script: &str) -> Result<Vec<String>, String> {
    let _one_at_a_time = PYTHON.lock().map_err(|_| "an earlier attempt panicked")?;
    let venv = clients_dir().join("venv");
    let python = venv.join("bin").join("python");
    let requirements = client_folder().join("python").join("requirements.txt");
    let has = |p: &Path| succeeds(Command::new(p).args(["-c", &format!("import {module}")]));
    if !same(&requirements, &venv.join("requirements.txt")) || !has(&python) {
        if !install {
            return Err(missing(module));
        }
        if !succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv)) {
            return Err("python3 -m venv fails".to_owned());
        }
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "-r"])
            .arg(&requirements);
        if !succeeds(&mut pip) || !has(&python) {
            return Err("pip install fails".to_owned());
        }
        keep(&requirements, &venv.join("requirements.txt"))?;
    }
    // -B: no compiled modules beside the sources.
    Ok(vec![
        python.to_string_lossy().into_owned(),
        "-B".to_owned(),
        client_file(script),
    ])
}

/// Whether two files hold the same: a lock file and the one that was installed.
fn same(wanted: &Path, installed: &Path) -> bool {
    match (std::fs::read(wanted), std::fs::read(installed)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

fn keep(wanted: &Path, installed: &Path) -> Result<(), String> {
    std::fs::copy(wanted, installed)
        .map(|_| ())
        .map_err(|e| format!("{}: {e}", installed.display()))
}

/// FreeTDS' programs, from the system's packages, driven by a script of Python's own modules alone.
pub fn freetds(install: bool) -> Result<Vec<String>, String> {
    let has =
        || succeeds(Command::new("tsql").arg("-C")) && succeeds(Command::new("python3").arg("-V"));
    if !has() {
        if !install {
            return Err(missing("tsql"));
        }
        if !packages(&["freetds-bin"]) || !has() {
            return Err("apt-get install freetds-bin fails (it needs root)".to_owned());
        }
    }
    Ok(vec!["python3".to_owned(), client_file("freetds/cases.py")])
}

/// The program over tiberius: a workspace of its own, with its own `Cargo.lock`.
pub fn tiberius(install: bool) -> Result<Vec<String>, String> {
    let target = clients_dir().join("tiberius");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build
        .args(["build", "--quiet", "--locked", "--target-dir"])
        .arg(&target)
        .current_dir(client_folder().join("tiberius"));
    if !install {
        build.arg("--offline");
    }
    if !succeeds(&mut build) {
        return Err("cargo does not build it (cargo xtask test --install fetches it)".to_owned());
    }
    let program = target.join("debug").join("tiberius-cases");
    Ok(vec![program.to_string_lossy().into_owned()])
}

/// The JavaScript program, beside the modules that `package-lock.json` pins.
pub fn tedious(install: bool) -> Result<Vec<String>, String> {
    let dir = clients_dir().join("node");
    let source = client_folder().join("node");
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let lock = source.join("package-lock.json");
    if !same(&lock, &dir.join("node_modules").join("package-lock.json")) {
        if !install {
            return Err(missing("tedious"));
        }
        for name in ["package.json", "package-lock.json"] {
            keep(&source.join(name), &dir.join(name))?;
        }
        if !succeeds(
            Command::new("npm")
                .arg("ci")
                .arg("--silent")
                .current_dir(&dir),
        ) {
            return Err("npm ci fails".to_owned());
        }
        keep(&lock, &dir.join("node_modules").join("package-lock.json"))?;
    }
    // Modules are looked for beside the program.
    keep(&source.join("cases.mjs"), &dir.join("cases.mjs"))?;
    Ok(vec![
        "node".to_owned(),
        dir.join("cases.mjs").to_string_lossy().into_owned(),
    ])
}

/// The Go program, built with the module cache that `go` keeps.
pub fn go(install: bool) -> Result<Vec<String>, String> {
    let binary = clients_dir().join("gocases");
    let mut build = Command::new("go");
    build
        .args(["build", "-o"])
        .arg(&binary)
        .arg(".")
        .current_dir(client_folder().join("go"));
    if !install {
        build.env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
    }
    if !succeeds(&mut build) {
        return Err(
            "go build fails (go missing, or its modules: cargo xtask test --install)".to_owned(),
        );
    }
    Ok(vec![binary.to_string_lossy().into_owned()])
}

/// The Java program, with the driver's jar that `pom.xml` names, fetched by Maven.
pub fn java(install: bool) -> Result<Vec<String>, String> {
    let dir = clients_dir().join("java");
    let source = client_folder().join("java");
    let pom = source.join("pom.xml");
    let jars = dir.join("jars");
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    if !same(&pom, &dir.join("pom.xml")) {
        if !install {
            return Err(missing("mssql-jdbc"));
        }
        let fetched = succeeds(
            Command::new("mvn")
                .args(["-q", "-B", "-f"])
                .arg(&pom)
                .arg("dependency:copy-dependencies")
                .arg(format!("-DoutputDirectory={}", jars.display())),
        );
        if !fetched {
            return Err("Maven does not fetch mssql-jdbc".to_owned());
        }
        keep(&pom, &dir.join("pom.xml"))?;
    }
    let classpath = format!("{}/*:{}", jars.display(), dir.display());
    let mut sources: Vec<PathBuf> = std::fs::read_dir(&source)
        .map_err(|e| e.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "java"))
        .collect();
    sources.sort();
    let mut javac = Command::new("javac");
    javac
        .arg("-cp")
        .arg(&classpath)
        .arg("-d")
        .arg(&dir)
        .args(&sources);
    if !succeeds(&mut javac) {
        return Err("javac fails".to_owned());
    }
    Ok(vec![
        "java".to_owned(),
        "-cp".to_owned(),
        classpath,
        "Cases".to_owned(),
    ])
}
