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
    /// This process, or another one, has the file and does not share it.
    InUse,
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
    /// The error number, as messages print it: Windows', which SQL Server's messages have on every system.
    pub fn code(&self) -> i32 {
        match self {
            IoError::NotFound => 2,
            IoError::Exists => 80,
            IoError::Denied => 5,
            IoError::InUse => 32,
            IoError::ReadOnly => 19,
            IoError::NoSpace => 112,
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
            // A directory, or a link where none may be, is no file that could be opened.
            Errno::ACCESS | Errno::PERM | Errno::ISDIR | Errno::LOOP => IoError::Denied,
            Errno::NOTDIR | Errno::NAMETOOLONG => IoError::NotFound,
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
            IoError::NotFound => f.write_str("The system cannot find the file specified."),
            IoError::Exists => f.write_str("The file exists."),
            IoError::Denied => f.write_str("Access is denied."),
            IoError::InUse => f.write_str(
                "The process cannot access the file because it is being used by another process.",
            ),
            IoError::ReadOnly => f.write_str("The media is write protected."),
            IoError::NoSpace => f.write_str("There is not enough space on the disk."),
            IoError::Eof => f.write_str("Reached the end of the file."),
            IoError::GivenUp => f.write_str("given up by whoever asked for it"),
            IoError::Os { code, call } => write!(f, "{call} failed: operating system error {code}"),
        }
    }
}

impl std::error::Error for IoError {}
