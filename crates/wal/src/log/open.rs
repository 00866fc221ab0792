//! Making a log, and opening one after whatever happened to it.
//!
//! Opening leaves the log so that nothing of its former life can come back. In this order, each step safe to repeat when
//! a crash comes in between: find the end ([`super::scan`]); give VLFs activated beyond the end their number back (the
//! use count stays, so the next use has the other parity); overwrite what may have been in flight behind the end; start
//! a new epoch. The block that was being filled at the crash is never added to: the head is the next sector.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use duramen_base::Lsn;
use duramen_observe::{DbCounters, FileIo};
use duramen_os::sync::{Condvar, Mutex, Rank, RwLock};
use duramen_os::{AlignedBuf, DiskFile, Env, IoError, OpenOptions, time};

use super::ahead::Ahead;
use super::headers::Headers;
use super::scan::{End, Scan};
use super::state::{FileState, State, Vlf};
use super::{Log, WINDOW};
use crate::config::{LogConfig, LogError, LogFileSpec, LogScan, Watch};
use crate::planted::{Bug, Planted};
use crate::vlf::{FORMAT_VERSION, HEADER_BYTES, STAMP, VlfHeader, split_initial};

const STAMP_BYTES: u64 = 1 << 20;

fn io_error(path: &Path) -> impl Fn(IoError) -> LogError + '_ {
    move |cause| LogError::Io {
        path: path.to_path_buf(),
        cause,
    }
}

/// From where to scan (NULL: the oldest record), and where a restored log ends (NULL: nobody says).
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub start: Lsn,
    pub stop: Lsn,
}

impl Log {
    pub(crate) fn create_planted(
        env: &Env,
        cfg: LogConfig,
        spec: &LogFileSpec,
        header_page: &[u8; 8192],
        planted: Planted,
    ) -> Result<Arc<Log>, LogError> {
        let (file, mut vlfs) =
            make_file(env, &cfg, spec, header_page, 0, Some(cfg.first_seq.max(1)))?;
        vlfs[0].active = true;
        let mut s = State::new(cfg.sector.max(512) as usize, vec![file], vlfs);
        s.epoch = next_epoch(0);
        s.durable.end = (s.space.vlfs[0].header.seq, (HEADER_BYTES / 512) as u32);
        s.start_block(HEADER_BYTES);
        Ok(Log::start(env, cfg, s, planted))
    }

    pub(crate) fn open_planted(
        env: &Env,
        cfg: LogConfig,
        specs: &[LogFileSpec],
        start: Lsn,
        stop: Lsn,
        planted: Planted,
    ) -> Result<(Arc<Log>, LogScan), LogError> {
        Log::open_within(env, cfg, specs, Bounds { start, stop }, planted, None)
    }

    pub(super) fn open_within(
        env: &Env,
        cfg: LogConfig,
        specs: &[LogFileSpec],
        bounds: Bounds,
        planted: Planted,
        watch: Option<&mut dyn Watch>,
    ) -> Result<(Arc<Log>, LogScan), LogError> {
        let Bounds { start, stop } = bounds;
        let mut files = Vec::new();
        let mut vlfs = Vec::new();
        for spec in specs {
            let index = files.len();
            let (file, mut found) = open_file(env, &cfg, spec, index, planted)?;
            files.push(file);
            vlfs.append(&mut found);
        }
        if vlfs.is_empty() {
            return Err(LogError::Damaged {
                db_name: cfg.db_name.clone(),
                at: start,
                what: "there are no VLFs",
            });
        }
        let end = Scan {
            db_name: &cfg.db_name,
            files: &files,
            vlfs: &vlfs,
            planted,
            stop,
        }
        .run(start, watch)?;
        if !planted.on(Bug::NoEpochBump) {
            clear_behind(&files, &mut vlfs, &end)?;
        }
        let seq = vlfs[end.vlf].header.seq;
        for vlf in &mut vlfs {
            vlf.active = (end.first.vlf..=seq).contains(&vlf.header.seq);
        }
        let mut s = State::new(cfg.sector.max(512) as usize, files, vlfs);
        s.space.current = end.vlf;
        s.needs.unknown = true;
        s.epoch = if planted.on(Bug::NoEpochBump) {
            end.epoch
        } else {
            next_epoch(end.epoch)
        };
        debug_assert!(
            s.space.vlfs[end.vlf].active,
            "open/1: the log ends in a VLF that is not in use"
        );
        debug_assert!(
            s.epoch > end.epoch || planted.on(Bug::NoEpochBump),
            "open/2: the log goes on in an epoch that has been"
        );
        s.queue.chain = end.chain;
        s.queue.previous_bytes = end.previous_bytes;
        s.queue.last = end.last;
        s.durable.lsn = end.last;
        s.durable.end = (seq, (end.offset / 512) as u32);
        s.start_block(end.offset);
        let scan = LogScan {
            end: s.next_lsn(),
            last_record: end.last,
            first: end.first,
        };
        Ok((Log::start(env, cfg, s, planted), scan))
    }

    fn start(env: &Env, cfg: LogConfig, mut s: State, planted: Planted) -> Arc<Log> {
        s.profile = cfg.profile;
        if let Some(broker) = &cfg.memory {
            s.buffers.follow(broker);
        }
        s.look_at_volume();
        let counters = DbCounters::of(cfg.db_id);
        let log = Arc::new(Log {
            env: env.clone(),
            cfg,
            planted,
            counters,
            read_last: Mutex::ranked(Rank::LogRead, None),
            head: s.sealer.head().clone(),
            tight: s.space.tight.clone(),
            state: Mutex::ranked(Rank::Log, s),
            progress: Condvar::new(),
            work: Condvar::new(),
            subscribers: RwLock::ranked(Rank::LogSubscribers, Vec::new()),
            flusher: Mutex::ranked(Rank::LogThreads, None),
            helpers: Mutex::ranked(Rank::LogThreads, Vec::new()),
            pulse: super::Pulse::default(),
            written: AtomicU64::new(0),
            grower: Mutex::ranked(Rank::LogThreads, None),
        });
        log.start_flusher();
        log
    }
}

/// Larger than every epoch before, also when an epoch left no block behind: time goes on, and if it does not, one more.
fn next_epoch(last: u64) -> u64 {
    (last + 1).max(time::wall().unix_nanos().clamp(0, i128::from(u64::MAX / 2)) as u64)
}

/// Makes a log file: header page, stamped VLFs, all durable. `seq` activates the first VLF.
pub(super) fn make_file(
    env: &Env,
    cfg: &LogConfig,
    spec: &LogFileSpec,
    header_page: &[u8; 8192],
    index: usize,
    seq: Option<u32>,
) -> Result<(FileState, Vec<Vlf>), LogError> {
    let fail = io_error(&spec.path);
    let sizes = split_initial(spec.size);
    if sizes.is_empty() {
        return Err(fail(IoError::NoSpace));
    }
    let options = OpenOptions {
        create: cfg.volatile,
        create_new: !cfg.volatile,
        direct: !cfg.volatile,
        ..OpenOptions::default()
    };
    let mut file = env.disk.open(&spec.path, &options).map_err(&fail)?;
    if cfg.volatile {
        file = duramen_os::volatile(file);
    }
    let mut vlfs = Vec::new();
    let mut offset = HEADER_BYTES;
    for size in sizes {
        let mut header = VlfHeader {
            version: u16::from(FORMAT_VERSION),
            size,
            offset,
            ..VlfHeader::default()
        };
        if let (Some(seq), 0) = (seq, vlfs.len()) {
            header.seq = seq;
            header.use_count = 1;
        }
        vlfs.push(Vlf {
            file: index,
            header,
            active: false,
        });
        offset += size;
    }
    if cfg.volatile && file.len().map_err(&fail)? > offset {
        file.set_len(offset).map_err(&fail)?;
    }
    let wanted = || !duramen_os::thread::is_given_up();
    file.allocate_while(0, offset, &wanted).map_err(&fail)?;
    file.write_at(header_page, 0).map_err(&fail)?;
    let filled = if cfg.volatile { HEADER_BYTES } else { offset };
    let zeroing = duramen_observe::Zeroing::begin(&spec.path, HEADER_BYTES, filled);
    let mut pace = |done| {
        zeroing.at(done);
        go_on(true)
    };
    write_vlfs(&*file, &vlfs, !cfg.volatile, &mut pace).map_err(&fail)?;
    file.sync().map_err(&fail)?;
    if let (Some(dir), false) = (spec.path.parent(), cfg.volatile) {
        env.disk.sync_dir(dir).map_err(&fail)?;
    }
    let state = FileState {
        spec: spec.clone(),
        io: Arc::new(FileIo::new(cfg.db_id, spec.file_id, file.handle())),
        file,
        bytes: offset,
        ahead: Ahead::default(),
    };
    Ok((state, vlfs))
}

/// Between two writes of a growth that somebody has asked for (`asked`): whether they still want it.
pub(super) fn go_on(asked: bool) -> Result<(), IoError> {
    match asked && duramen_os::thread::is_given_up() {
        false => Ok(()),
        true => Err(IoError::GivenUp),
    }
}

/// Writes the headers of new VLFs and, with `stamp`, fills them. Not yet durable. `pace` is told after each write how many
/// bytes have been written; it may sleep, and an error of it ends the writing.
pub(super) fn write_vlfs(
    file: &dyn DiskFile,
    vlfs: &[Vlf],
    stamp: bool,
    pace: &mut dyn FnMut(u64) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let mut done = 0;
    let mut buf = AlignedBuf::zeroed(STAMP_BYTES as usize);
    for vlf in vlfs {
        let h = &vlf.header;
        buf[..HEADER_BYTES as usize].fill(0);
        h.encode(&mut buf);
        if !stamp {
            file.write_at(&buf[..HEADER_BYTES as usize], h.offset)?;
            continue;
        }
        buf[HEADER_BYTES as usize..].fill(STAMP);
        let mut at = 0;
        while at < h.size {
            let n = (h.size - at).min(STAMP_BYTES);
            file.write_at(&buf[..n as usize], h.offset + at)?;
            done += n;
            pace(done)?;
            buf[..HEADER_BYTES as usize].fill(STAMP);
            at += n;
        }
    }
    Ok(())
}

/// Opens a log file and walks its VLF headers. A growth that a crash cut short is cut off.
fn open_file(
    env: &Env,
    cfg: &LogConfig,
    spec: &LogFileSpec,
    index: usize,
    planted: Planted,
) -> Result<(FileState, Vec<Vlf>), LogError> {
    let fail = io_error(&spec.path);
    let options = OpenOptions {
        direct: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(&spec.path, &options).map_err(&fail)?;
    let bytes = file.len().map_err(&fail)?;
    let mut vlfs = Vec::new();
    let mut at = HEADER_BYTES;
    let mut headers = Headers::new(&file, bytes);
    while at + HEADER_BYTES <= bytes {
        let header = headers.at(at).map_err(&fail)?;
        let blank = || {
            let first = &headers.bytes()[..512];
            matches!(first[0], 0 | STAMP) && first.iter().all(|b| *b == first[0])
        };
        match header {
            Some(header) if at + header.size <= bytes => {
                at += header.size;
                vlfs.push(Vlf {
                    file: index,
                    header,
                    active: false,
                });
            }
            // Space that a growth had allocated, maybe stamped, before its headers were durable; or whose last VLF's
            // header is there while the file's new length is not.
            None if blank() => break,
            Some(header) if header.seq == 0 => break,
            _ if planted.on(Bug::DamagedHeaderEnds) => break,
            _ => {
                return Err(LogError::Damaged {
                    db_name: cfg.db_name.clone(),
                    at: Lsn::NULL,
                    what: "a VLF header is unreadable",
                });
            }
        }
    }
    if at < bytes && !vlfs.is_empty() {
        file.set_len(at).map_err(&fail)?;
        file.sync().map_err(&fail)?;
    }
    let state = FileState {
        spec: spec.clone(),
        io: Arc::new(FileIo::new(cfg.db_id, spec.file_id, file.handle())),
        file,
        bytes: at,
        ahead: Ahead::default(),
    };
    Ok((state, vlfs))
}

/// Removes what may have been in flight behind the end: headers of later VLFs first, then the bytes.
fn clear_behind(files: &[FileState], vlfs: &mut [Vlf], end: &End) -> Result<(), LogError> {
    let seq = vlfs[end.vlf].header.seq;
    for vlf in vlfs.iter_mut().filter(|v| v.header.seq > seq) {
        vlf.header.seq = 0;
        // Its next use has the parity of the one before this, of which sectors may be left.
        vlf.header.mixed = 2;
        let mut buf = AlignedBuf::zeroed(HEADER_BYTES as usize);
        vlf.header.encode(&mut buf);
        let file = &files[vlf.file];
        file.file
            .write_durable_at(&buf, vlf.header.offset)
            .map_err(io_error(&file.spec.path))?;
    }
    let vlf = &vlfs[end.vlf];
    let file = &files[vlf.file];
    let fail = io_error(&file.spec.path);
    let stop = vlf.header.size.min(end.offset + WINDOW);
    let mut buf = AlignedBuf::zeroed(STAMP_BYTES as usize);
    buf.fill(STAMP);
    let mut at = end.offset;
    while at < stop {
        let n = (stop - at).min(STAMP_BYTES);
        file.file
            .write_durable_at(&buf[..n as usize], vlf.header.offset + at)
            .map_err(&fail)?;
        at += n;
    }
    Ok(())
}
