//! `duramen log FILE`: the VLFs, blocks and records of a log file, or the log in a backup, without a server.
//!
//! Also of SQL Server's own files. What is shown is what stands there: nothing is recovered, and the log of a server that
//! died goes on to its last sound block.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use duramen_base::Lsn;
use duramen_inspect::log_records::{self, Blocks};
use duramen_os::Env;
use duramen_types::{Value, to_display};
use duramen_wal::LogFileReader;
use duramen_wal::record::RecordView;

const USAGE: &str = "\
usage: duramen log FILE [--blocks | --records] [--from LSN] [--to LSN] [--set N]

FILE is a log file (.ldf) or a backup. Shows its VLFs and how many records of which operation there are; with --blocks
every log block, with --records every record, with --from and --to only those from LSN to LSN (43:16:1, or hexadecimal
0x0000002b:00000010:0001). --set N: the Nth set of a backup.
";
/// Columns of `fn_dblog` that are shown, with their widths.
const SHOWN: [(&str, usize); 11] = [
    ("Current LSN", 23),
    ("Operation", 20),
    ("Context", 18),
    ("Transaction ID", 14),
    ("Log Record Length", 6),
    ("Page ID", 14),
    ("Slot ID", 5),
    ("Begin Time", 24),
    ("End Time", 24),
    ("Previous LSN", 23),
    ("Description", 0),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Summary,
    Blocks,
    Records,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Options {
    file: String,
    what: What,
    from: Lsn,
    to: Lsn,
    /// Of a backup; the first where nothing is said.
    set: Option<i64>,
}

fn parse(args: &[String]) -> Option<Options> {
    let (file, rest) = args.split_first().filter(|(f, _)| !f.starts_with("--"))?;
    let mut options = Options {
        file: file.clone(),
        what: What::Summary,
        from: Lsn::NULL,
        to: Lsn::MAX,
        set: None,
    };
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--blocks" if options.what == What::Summary => options.what = What::Blocks,
            "--records" if options.what == What::Summary => options.what = What::Records,
            "--from" => options.from = Lsn::parse(rest.next()?)?,
            "--to" => options.to = Lsn::parse(rest.next()?)?,
            "--set" => options.set = Some(rest.next()?.parse().ok()?),
            _ => return None,
        }
    }
    Some(options)
}

/// The exit code.
pub fn run(args: &[String]) -> u8 {
    if args.iter().any(|a| matches!(a.as_str(), "--help" | "-h")) {
        print!("{USAGE}");
        return 0;
    }
    let Some(options) = parse(args) else {
        eprint!("{USAGE}");
        return 2;
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let shown = show(&Env::real(), &options, &mut out);
    let shown = shown.and_then(|()| out.flush().map_err(error_text));
    match shown {
        Ok(()) => 0,
        // Whoever reads has seen enough.
        Err(error) if error == PIPE_CLOSED => 0,
        Err(error) => {
            eprintln!("duramen: {}: {error}", options.file);
            1
        }
    }
}

const PIPE_CLOSED: &str = "pipe closed";

fn error_text(e: std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::BrokenPipe => PIPE_CLOSED.to_owned(),
        _ => e.to_string(),
    }
}

fn show(env: &Env, options: &Options, out: &mut dyn Write) -> Result<(), String> {
    let path = Path::new(&options.file);
    let mut blocks =
        Blocks::open(&*env.disk, path, options.set.unwrap_or(1)).map_err(|e| e.message)?;
    if blocks.is_log_file() {
        if options.set.is_some() {
            return Err("a log file has no sets: --set is for backups".to_owned());
        }
        let reader = LogFileReader::open(&*env.disk, path).map_err(|e| e.to_string())?;
        if reader.vlfs().next().is_none() {
            return Err("no log file: there is no VLF behind the first page".to_owned());
        }
    }
    if options.what == What::Summary && blocks.is_log_file() {
        vlfs(env, path, out).map_err(error_text)?;
    }
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut totals = (0u64, 0u64);
    let (mut first, mut last) = (Lsn::NULL, Lsn::NULL);
    let mut say = |line: String| writeln!(out, "{line}").map_err(error_text);
    match options.what {
        What::Summary => {}
        What::Blocks => say(
            "Block                          Bytes  Used Records  Previous  CRC32C    Epoch"
                .to_owned(),
        )?,
        What::Records => say(heading())?,
    }
    while let Some(block) = blocks.next_block().map_err(|e| e.message)? {
        let h = &block.header;
        let here = Lsn::new(h.vlf, h.number, 1);
        let after = Lsn::new(h.vlf, h.number, h.records.max(1));
        if after < options.from || here > options.to {
            continue;
        }
        totals.0 += 1;
        if options.what == What::Blocks {
            let own = h
                .own
                .map_or(String::new(), |o| format!("{:08x}  {}", block.crc, o.epoch));
            let counts = format!(
                "{:>7} {:>5} {:>7}  {:>8}",
                h.bytes, h.used, h.records, h.previous_bytes
            );
            say(format!("{here:<28} {counts}  {own}"))?;
            continue;
        }
        for slot in 1..=h.records {
            let lsn = block.lsn(slot);
            let Some(record) = block.record(slot).and_then(RecordView::parse) else {
                say(format!("{lsn} the record does not parse"))?;
                continue;
            };
            if lsn < options.from || lsn > options.to {
                continue;
            }
            totals.1 += 1;
            if first.is_null() {
                first = lsn;
            }
            last = lsn;
            if options.what == What::Records {
                say(line(lsn, record.bytes()))?;
                continue;
            }
            let count = counts.entry(record.op().to_string()).or_default();
            count.0 += 1;
            count.1 += record.length() as u64;
        }
    }
    if options.what == What::Summary {
        say(format!(
            "{} blocks, {} records, {first} to {last}",
            totals.0, totals.1
        ))?;
        say(format!(
            "{:<26} {:>10} {:>14}",
            "Operation", "Records", "Bytes"
        ))?;
        for (name, (records, bytes)) in counts {
            say(format!("{name:<26} {records:>10} {bytes:>14}"))?;
        }
    }
    Ok(())
}

/// The map of a log file.
fn vlfs(env: &Env, path: &Path, out: &mut dyn Write) -> std::io::Result<()> {
    let reader = LogFileReader::open(&*env.disk, path);
    let reader = reader.map_err(|e| std::io::Error::other(e.to_string()))?;
    let headings = [
        "StartOffset",
        "FileSize",
        "FSeqNo",
        "Parity",
        "Uses",
        "CreateLSN",
    ];
    let [a, b, c, d, e, f] = headings;
    writeln!(out, "{a:>14} {b:>12} {c:>10} {d:>6} {e:>6}  {f}")?;
    let mut count = 0;
    for v in reader.vlfs() {
        count += 1;
        let numbers = format!("{:>14} {:>12} {:>10}", v.offset, v.size, v.seq);
        let created = match v.create_lsn {
            lsn if lsn.is_null() => "0".to_owned(),
            lsn => lsn.to_string(),
        };
        writeln!(
            out,
            "{numbers} {:>6} {:>6}  {created}",
            v.parity(),
            v.use_count
        )?;
    }
    writeln!(out, "{count} VLFs")?;
    if reader.left_over > 0 {
        writeln!(out, "{} bytes behind them are no VLF", reader.left_over)?;
    }
    Ok(())
}

fn heading() -> String {
    let names = SHOWN.map(|(name, width)| match name {
        "Log Record Length" => format!("{:<width$}", "Length"),
        name => format!("{name:<width$}"),
    });
    names.join(" ").trim_end().to_owned()
}

fn line(lsn: Lsn, record: &[u8]) -> String {
    let columns = log_records::columns();
    let Some(row) = log_records::columns_of(lsn, record) else {
        return format!("{lsn} the record does not parse");
    };
    let cell = |(name, width): &(&str, usize)| {
        let value = columns.iter().zip(&row).find(|(c, _)| c.0 == *name);
        let text = match value {
            None | Some((_, Value::Null)) => String::new(),
            Some((c, v)) => to_display(v, &c.1),
        };
        format!("{text:<width$}")
    };
    let cells: Vec<String> = SHOWN.iter().map(cell).collect();
    cells.join(" ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    //! Arguments, and real logs and log backups.

    use super::*;

    fn args(all: &[&str]) -> Vec<String> {
        all.iter().map(|a| (*a).to_owned()).collect()
    }

    #[test]
    fn arguments() {
        let options = parse(&args(&[
            "f.ldf",
            "--records",
            "--from",
            "43:16:1",
            "--set",
            "2",
        ]));
        let options = options.expect("parses");
        assert_eq!(
            (options.what, options.from),
            (What::Records, Lsn::new(43, 16, 1))
        );
        assert_eq!((options.to, options.set), (Lsn::MAX, Some(2)));
        for wrong in [
            &[][..],
            &["--blocks"],
            &["f", "--from"],
            &["f", "--from", "x"],
            &["f", "g"],
            &["f", "--blocks", "--records"],
        ] {
            assert_eq!(parse(&args(wrong)), None, "{wrong:?}");
        }
        assert_eq!(run(&args(&["--help"])), 0);
        assert_eq!(run(&args(&["/nowhere/f.ldf"])), 1);
    }

    fn lines(path: &Path, what: What) -> Vec<String> {
        let options = Options {
            file: path.display().to_string(),
            what,
            from: Lsn::NULL,
            to: Lsn::MAX,
            set: None,
        };
        let mut out = Vec::new();
        show(&Env::real(), &options, &mut out).expect("readable");
        String::from_utf8_lossy(&out)
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The logs that were closed cleanly end with a checkpoint; six log backups hold sixty inserted rows (their README).
    #[test]
    fn real_logs() {
        let Ok(material) = std::env::var("DURAMEN_MATERIAL") else {
            eprintln!("skipped: DURAMEN_MATERIAL is not set");
            return;
        };
        let material = Path::new(&material);
        let env = Env::real();
        for name in ["pubs_log.ldf", "northwnd_log.ldf"] {
            let path = material.join(name);
            if !env.disk.exists(&path) {
                eprintln!("skipped: {name} is not in DURAMEN_MATERIAL");
                continue;
            }
            let summary = lines(&path, What::Summary);
            assert!(summary.iter().any(|l| l.ends_with(" VLFs")), "{summary:?}");
            let records = lines(&path, What::Records);
            let last = records.last().expect("records");
            assert!(last.contains("LOP_END_CKPT"), "{last}");
            assert!(lines(&path, What::Blocks).len() > 1);
        }
        let dir = material.join("restore-time-clean");
        let Ok(files) = env.disk.list(&dir) else {
            eprintln!("skipped: restore-time-clean is not in DURAMEN_MATERIAL");
            return;
        };
        let mut inserted = 0;
        for path in files {
            let name = path.display().to_string();
            if !name.to_ascii_lowercase().ends_with(".trn") {
                continue;
            }
            let records = lines(&path, What::Records);
            let heap_or_leaf = |l: &&String| {
                l.contains("LOP_INSERT_ROWS")
                    && (l.contains("LCX_HEAP") || l.contains("LCX_CLUSTERED"))
            };
            inserted += records.iter().filter(heap_or_leaf).count();
        }
        assert!(inserted >= 60, "{inserted}");
    }
}
