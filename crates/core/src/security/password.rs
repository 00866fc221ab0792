//! Passwords at rest, as SQL Server 2012 and later keep them: 0x0200, four bytes of salt, SHA-512 of the password in
//! UTF-16LE and the salt. And the policy that CHECK_POLICY asks for.

use duramen_base::{SqlError, SqlResult, messages};
use sha2::{Digest, Sha512};

const MARK: [u8; 2] = [2, 0];
const SALT: usize = 4;
const HASH: usize = 64;
/// Characters of the longest password.
const LONGEST: usize = 128;

/// A new hash of a password.
pub fn hash(password: &str) -> Vec<u8> {
    let mut salt = [0; SALT];
    duramen_os::random::fill(&mut salt);
    with_salt(password, salt)
}

fn with_salt(password: &str, salt: [u8; SALT]) -> Vec<u8> {
    let mut sha = Sha512::new();
    for unit in password.encode_utf16() {
        sha.update(unit.to_le_bytes());
    }
    sha.update(salt);
    [&MARK[..], &salt, &sha.finalize()].concat()
}

/// Whether bytes have the form of a hash: what HASHED takes. The older forms (0x0100, SHA-1) are not taken.
pub fn is_hash(bytes: &[u8]) -> bool {
    bytes.len() == MARK.len() + SALT + HASH && bytes.starts_with(&MARK)
}

/// Whether a password is the one of a hash, in a time that does not tell where they differ.
pub fn matches(password: &str, hash: &[u8]) -> bool {
    let Some(salt) = hash.get(2..2 + SALT).and_then(|s| s.try_into().ok()) else {
        return false;
    };
    if !is_hash(hash) {
        return false;
    }
    let own = with_salt(password, salt);
    own.iter().zip(hash).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
}

/// 15156, and with `policy` 15116 and 15118: eight characters at least, of three of four kinds, and not the login's
/// name (Microsoft Learn, "Password policy").
pub fn check(password: &str, login: &str, policy: bool) -> SqlResult<()> {
    if password.chars().count() > LONGEST {
        return Err(SqlError::new(&messages::PASSWORD_TOO_LONG, &[&LONGEST]));
    }
    if !policy {
        return Ok(());
    }
    if password.chars().count() < 8 {
        return Err(SqlError::new(&messages::PASSWORD_TOO_SHORT, &[]));
    }
    let kinds = [
        password.chars().any(|c| c.is_uppercase()),
        password.chars().any(|c| c.is_lowercase()),
        password.chars().any(|c| c.is_ascii_digit()),
        password.chars().any(|c| !c.is_alphanumeric()),
    ];
    let many = kinds.iter().filter(|k| **k).count() >= 3;
    if !many || password.to_lowercase().contains(&login.to_lowercase()) {
        return Err(SqlError::new(&messages::PASSWORD_NOT_COMPLEX, &[]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! The form of the hash against a value made by hand, and the policy's four kinds.
    use super::*;

    #[test]
    fn a_hash_is_salted_sha_512_of_utf_16() {
        let made = with_salt("a", [1, 2, 3, 4]);
        assert_eq!(made[..6], [2, 0, 1, 2, 3, 4]);
        let expected = Sha512::digest([b'a', 0, 1, 2, 3, 4]);
        assert_eq!(&made[6..], expected.as_slice());
        assert!(matches("a", &made) && !matches("A", &made) && !matches("a", &made[..69]));
    }

    #[test]
    fn the_policy_asks_for_three_kinds() {
        let number = |p: &str| check(p, "bob", true).map_err(|e| e.number);
        assert_eq!(number("Short1!"), Err(15116));
        assert_eq!(number("longenough"), Err(15118));
        assert_eq!(number("Longenough1"), Ok(()));
        assert_eq!(number("xBob12345!"), Err(15118));
        assert_eq!(check("", "bob", false).map_err(|e| e.number), Ok(()));
    }
}
