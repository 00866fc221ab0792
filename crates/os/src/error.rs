//! What can go wrong with a file, as situations a caller can act on.

use std::fmt;

/// An input or output error. Cheap to clone: a failed log write is reported to everybody who waits for it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IoError {
    /// There is no such file or directory.
    NotFound,
    /// `create_new` met a file that exists.
    Exists,
    /// The operating system refuses access.
    Denied,
    /// The file was opened read-only, or the file system is.
    ReadOnly,
    /// The disk is full (or a quota is).
    NoSpace,
    /// The read ends beyond the end of the file.
    Eof,
    /// Whoever asked for it has given it up between two steps.
    GivenUp,
    /// Anything else: the operating system's error number and the call that gave it.
    Os { code: i32, call: &'static str },
}

impl IoError {
    /// The operating system's error number, as messages print it.
    pub fn code(&self) -> i32 {
        match self {
            IoError::NotFound => 2,
            IoError::Exists => 17,
            IoError::Denied => 13,
            IoError::ReadOnly => 30,
            IoError::NoSpace => 28,
            // Windows' ERROR_HANDLE_EOF, which SQL Server's messages print for a short read.
            IoError::Eof => 38,
            // Windows' ERROR_OPERATION_ABORTED.
            IoError::GivenUp => 995,
            IoError::Os { code, .. } => *code,
        }
    }

    /// The error that a real device gives for a medium failure (EIO).
    pub const fn device(call: &'static str) -> IoError {
        IoError::Os { code: 5, call }
    }

    pub(crate) fn from_errno(e: rustix::io::Errno, call: &'static str) -> IoError {
        use rustix::io::Errno;
        match e {
            Errno::NOENT => IoError::NotFound,
            Errno::EXIST => IoError::Exists,
            Errno::ACCESS | Errno::PERM => IoError::Denied,
            Errno::ROFS => IoError::ReadOnly,
            Errno::NOSPC | Errno::DQUOT => IoError::NoSpace,
            other => IoError::Os {
                code: other.raw_os_error(),
                call,
            },
        }
    }

    pub(crate) fn from_std(e: &std::io::Error, call: &'static str) -> IoError {
        match e.raw_os_error() {
            Some(code) => Self::from_errno(rustix::io::Errno::from_raw_os_error(code), call),
            None if e.kind() == std::io::ErrorKind::UnexpectedEof => IoError::Eof,
            None => IoError::Os { code: 5, call },
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoError::NotFound => f.write_str("no such file or directory"),
            IoError::Exists => f.write_str("the file exists"),
            IoError::Denied => f.write_str("access is denied"),
            IoError::ReadOnly => f.write_str("read-only file or file system"),
            IoError::NoSpace => f.write_str("no space left on the disk"),
            IoError::Eof => f.write_str("read beyond the end of the file"),
            IoError::GivenUp => f.write_str("given up by whoever asked for it"),
            IoError::Os { code, call } => write!(f, "{call} failed: operating system error {code}"),
        }
    }
}

impl std::error::Error for IoError {}
