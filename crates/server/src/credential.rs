//! The password of sa at rest: a salted hash in the data directory, made at the first start.

use std::fmt;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::OnceLock;

use duramen_os::{Env, IoError, OpenOptions, random};
use ring::{hmac, pbkdf2};

const FILE: &str = "sa.credential";
/// Format mark, salt, hash.
const MARK: &[u8; 8] = b"DURSA\x00\x00\x01";
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
const FILE_BYTES: usize = 8 + SALT_BYTES + HASH_BYTES;
/// A login costs some milliseconds; drivers open connections by the hundred.
const ITERATIONS: NonZeroU32 = match NonZeroU32::new(10_000) {
    Some(n) => n,
    None => NonZeroU32::MIN,
};
static ALGORITHM: pbkdf2::Algorithm = pbkdf2::PBKDF2_HMAC_SHA256;

pub struct Credential {
    salt: [u8; SALT_BYTES],
    hash: [u8; HASH_BYTES],
    /// Made when a password has been found right: the next one is compared in a moment. The key lives in this
    /// process only, so nothing that is at rest becomes easier to guess.
    quick_key: hmac::Key,
    quick: OnceLock<hmac::Tag>,
}

#[derive(Debug)]
pub enum CredentialError {
    Io(IoError),
    /// The file is not one of ours.
    Damaged,
    /// A password was given that is not the one of the first start, nor of sa now.
    Differs,
    TooShort,
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CredentialError::Io(error) => write!(f, "the password file {FILE}: {error}"),
            CredentialError::Damaged => write!(f, "the password file {FILE} is damaged"),
            CredentialError::Differs => f.write_str(
                "sa has another password in this data directory: start with that one or without one, and use ALTER LOGIN to change it",
            ),
            CredentialError::TooShort => f.write_str("the sa password needs at least 8 characters"),
        }
    }
}

impl std::error::Error for CredentialError {}

impl From<IoError> for CredentialError {
    fn from(error: IoError) -> CredentialError {
        CredentialError::Io(error)
    }
}

impl Credential {
    /// Reads the credential, or makes it from `given` at the first start. A password that had to be made up is
    /// given back, to be shown once.
    pub fn open(
        env: &Env,
        dir: &Path,
        given: Option<&str>,
    ) -> Result<(Credential, Option<String>), CredentialError> {
        let path = dir.join(FILE);
        if env.disk.exists(&path) {
            let credential = Credential::read(env, &path)?;
            return match given {
                Some(password) if !credential.matches(password) => Err(CredentialError::Differs),
                _ => Ok((credential, None)),
            };
        }
        let made = match given {
            Some(password) if password.chars().count() < 8 => {
                return Err(CredentialError::TooShort);
            }
            Some(_) => None,
            None => Some(generate()),
        };
        let password = made.as_deref().or(given).unwrap_or_default();
        let credential = Credential::of(password);
        credential.write(env, dir)?;
        Ok((credential, made))
    }

    fn of(password: &str) -> Credential {
        let mut salt = [0; SALT_BYTES];
        random::fill(&mut salt);
        let mut hash = [0; HASH_BYTES];
        pbkdf2::derive(ALGORITHM, ITERATIONS, &salt, password.as_bytes(), &mut hash);
        Credential::with(salt, hash)
    }

    fn with(salt: [u8; SALT_BYTES], hash: [u8; HASH_BYTES]) -> Credential {
        let mut key = [0; 32];
        random::fill(&mut key);
        Credential {
            salt,
            hash,
            quick_key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            quick: OnceLock::new(),
        }
    }

    /// In a time that does not depend on where the difference is.
    pub fn matches(&self, password: &str) -> bool {
        if let Some(tag) = self.quick.get()
            && hmac::verify(&self.quick_key, password.as_bytes(), tag.as_ref()).is_ok()
        {
            return true;
        }
        let right = pbkdf2::verify(
            ALGORITHM,
            ITERATIONS,
            &self.salt,
            password.as_bytes(),
            &self.hash,
        )
        .is_ok();
        if right {
            let _ = self
                .quick
                .set(hmac::sign(&self.quick_key, password.as_bytes()));
        }
        right
    }

    fn read(env: &Env, path: &Path) -> Result<Credential, CredentialError> {
        let options = OpenOptions {
            read_only: true,
            ..OpenOptions::default()
        };
        let file = env.disk.open(path, &options)?;
        if file.len()? != FILE_BYTES as u64 {
            return Err(CredentialError::Damaged);
        }
        let mut bytes = [0; FILE_BYTES];
        file.read_at(&mut bytes, 0)?;
        let (mark, rest) = bytes.split_at(MARK.len());
        let (salt, hash) = rest.split_at(SALT_BYTES);
        match (mark == MARK, salt.try_into(), hash.try_into()) {
            (true, Ok(salt), Ok(hash)) => Ok(Credential::with(salt, hash)),
            _ => Err(CredentialError::Damaged),
        }
    }

    /// Under another name first, so that a crash leaves either no file or a whole one.
    fn write(&self, env: &Env, dir: &Path) -> Result<(), CredentialError> {
        let path = dir.join(FILE);
        let new = dir.join("sa.credential.new");
        let options = OpenOptions {
            create: true,
            ..OpenOptions::default()
        };
        let file = env.disk.open(&new, &options)?;
        file.set_len(FILE_BYTES as u64)?;
        file.write_at(&[&MARK[..], &self.salt, &self.hash].concat(), 0)?;
        file.sync()?;
        env.disk.rename(&new, &path)?;
        env.disk.sync_dir(dir)?;
        Ok(())
    }
}

/// 24 characters, easy to type, with what password rules ask for.
fn generate() -> String {
    // 64 characters: six bits each, no bias.
    const LETTERS: &[u8; 64] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789-_.+=";
    let mut bytes = [0; 22];
    random::fill(&mut bytes);
    let body: String = bytes
        .iter()
        .map(|b| LETTERS[(b & 63) as usize] as char)
        .collect();
    format!("D1{body}")
}

#[cfg(test)]
mod tests {
    //! First start, later starts, a wrong later password, a damaged file.
    use super::*;
    use duramen_os::sim::Simulation;

    #[test]
    fn made_once_and_checked_ever_after() {
        let dir = Path::new("/data");
        Simulation::new(7).run(|sim| {
            let env = Env::with_disk(sim.disk());
            env.disk.create_dir_all(dir).unwrap();
            let (_, made) = Credential::open(&env, dir, None).unwrap();
            let password = made.unwrap();
            assert_eq!(password.chars().count(), 24);
            let (again, made) = Credential::open(&env, dir, None).unwrap();
            assert!(
                made.is_none()
                    && again.matches(&password)
                    && again.matches(&password)
                    && !again.matches("x")
            );
            assert!(Credential::open(&env, dir, Some(&password)).is_ok());
            assert!(matches!(
                Credential::open(&env, dir, Some("another one")),
                Err(CredentialError::Differs)
            ));
            let path = dir.join(FILE);
            let file = env.disk.open(&path, &OpenOptions::default()).unwrap();
            file.write_at(b"X", 0).unwrap();
            assert!(matches!(
                Credential::open(&env, dir, None),
                Err(CredentialError::Damaged)
            ));
        });
    }
}
