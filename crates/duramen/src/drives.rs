//! Paths of Windows, `X:\dir\file`, that scripts and command lines name: directories stand for their drives.

use std::path::PathBuf;

/// `X=DIR` or `X:=DIR`: a drive's letter, in upper case, and the directory that stands for it.
pub fn parse(value: &str) -> Option<(char, PathBuf)> {
    let (letter, dir) = value.split_once('=')?;
    let mut chars = letter.trim_end_matches(':').chars();
    let first = chars.next().filter(char::is_ascii_alphabetic)?;
    let whole = chars.next().is_none() && !dir.is_empty();
    whole.then(|| (first.to_ascii_uppercase(), PathBuf::from(dir)))
}

/// Where `path` is: below its drive's directory when it names a drive that has one, else where it says.
pub fn place(drives: &[(char, PathBuf)], path: &str) -> PathBuf {
    let mut chars = path.chars();
    let letter = chars.next().map(|c| c.to_ascii_uppercase());
    let on_drive = chars.next() == Some(':');
    let drive = drives.iter().find(|(d, _)| Some(*d) == letter && on_drive);
    match drive {
        Some((_, dir)) => dir.join(chars.as_str().replace('\\', "/").trim_start_matches('/')),
        None => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_its_drive() {
        let drives = [parse("c=/scripts").unwrap(), parse("L:=logs").unwrap()];
        let at = |path| place(&drives, path).display().to_string();
        assert_eq!(at(r"C:\SQL\a b\run.sql"), "/scripts/SQL/a b/run.sql");
        assert_eq!(at(r"l:out.txt"), "logs/out.txt");
        assert_eq!(at(r"D:\x.sql"), r"D:\x.sql");
        assert_eq!(at("/c/x.sql"), "/c/x.sql");
        assert_eq!(at(""), "");
        for bad in ["C", "=x", "C=", "CC=x", "1=x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
