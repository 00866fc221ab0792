//! How large a room may be: what one owner can hold in his head. Lines of tests do not count.

use std::fs;
use std::path::{Path, PathBuf};

use super::inner::collect;

/// Lines of a crate outside its tests.
const MOST_LINES: usize = 20_000;

/// What is wrong with a crate, a line each.
pub fn violations(room: &str, crate_dir: &Path) -> Vec<String> {
    let mut files = Vec::new();
    collect(&crate_dir.join("src"), &mut files);
    let code = files.iter().filter(|f| !is_of_tests(f));
    let texts = code.filter_map(|f| fs::read_to_string(f).ok());
    let lines: usize = texts.map(|text| lines(&text)).sum();
    match lines > MOST_LINES {
        true => vec![format!("{room} has {lines} lines, of {MOST_LINES}")],
        false => Vec::new(),
    }
}

fn is_of_tests(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let folders = file.parent().map(PathBuf::from).unwrap_or_default();
    stem == "tests" || stem.ends_with("_tests") || folders.iter().any(|f| f == "tests")
}

/// Up to the tests at the end of a file.
fn lines(text: &str) -> usize {
    let all: Vec<&str> = text.lines().collect();
    let tests = (0..all.len()).find(|i| {
        let mut behind = all[i + 1..].iter().skip_while(|l| l.starts_with("#["));
        all[*i] == "#[cfg(test)]" && behind.next().is_some_and(|l| l.ends_with('{'))
    });
    tests.unwrap_or(all.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_do_not_count() {
        assert_eq!(lines("a\nb\n#[cfg(test)]\nmod tests {\n}\n"), 2);
        assert_eq!(lines("a\n#[cfg(test)]\nmod tests;\nb\n"), 4);
        assert!(is_of_tests(Path::new("src/tests/pool.rs")));
        assert!(is_of_tests(Path::new("src/log/crash_tests.rs")));
        assert!(!is_of_tests(Path::new("src/contests.rs")));
    }
}
