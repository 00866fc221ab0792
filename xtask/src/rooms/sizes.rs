//! How large a room may be: what one owner can hold in his head. Lines of tests do not count.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::inner::collect;

/// Lines of a crate outside its tests.
const MOST_LINES: usize = 20_000;

/// What is wrong with a crate, a line each.
pub fn violations(room: &str, crate_dir: &Path) -> Vec<String> {
    let (src, mut files) = (crate_dir.join("src"), Vec::new());
    collect(&src, &mut files);
    let code = files.iter().filter(|f| !is_of_tests(f, &src));
    let texts = code.filter_map(|f| fs::read_to_string(f).ok());
    let lines: usize = texts.map(|text| lines(&text)).sum();
    match lines > MOST_LINES {
        true => vec![format!("{room} has {lines} lines, of {MOST_LINES}")],
        false => Vec::new(),
    }
}

/// Where the checkout lies says nothing.
fn is_of_tests(file: &Path, src: &Path) -> bool {
    let within = file.strip_prefix(src).unwrap_or(file).with_extension("");
    let named = |name: &OsStr| name == "tests" || name.to_string_lossy().ends_with("_tests");
    within.iter().any(named)
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
        let src = Path::new("/tests/src");
        let is = |file: &str| is_of_tests(&src.join(file), src);
        assert!(is("tests/pool.rs") && is("tests.rs") && is("log/crash_tests.rs"));
        assert!(!is("contests.rs"));
    }
}
