//! What the machine gives this process: memory, a name, a number. Facts, never settings.

use std::path::Path;

use crate::sim::sched;

/// A simulated machine is the same everywhere: what the engine sizes itself by must not differ between replays.
const SIM_MEMORY: u64 = 1 << 30;

/// Bytes of memory this process may use: the smallest limit of its control groups, or the machine's memory.
pub fn memory_bytes() -> u64 {
    if sched::here().is_some() {
        return SIM_MEMORY;
    }
    let machine = proc_kb("/proc/meminfo", "MemTotal:").unwrap_or(SIM_MEMORY);
    cgroup_limit().map_or(machine, |limit| limit.min(machine))
}

/// Bytes of the machine's memory that are free or can be freed at once.
pub fn available_bytes() -> u64 {
    if sched::here().is_some() {
        return SIM_MEMORY;
    }
    proc_kb("/proc/meminfo", "MemAvailable:").unwrap_or(0)
}

/// Bytes of memory that this process occupies; `None` where the kernel does not say.
pub fn resident_bytes() -> Option<u64> {
    if sched::here().is_some() {
        return None;
    }
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// What this process occupies, by what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resident {
    /// Heap, stacks and pages of the buffer pool.
    pub anonymous: u64,
    /// The program, its libraries, and files that are mapped or shared.
    pub of_files: u64,
}

/// The parts of [`resident_bytes`].
pub fn resident_parts() -> Option<Resident> {
    if sched::here().is_some() {
        return None;
    }
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(Resident {
        anonymous: parse_kb(&text, "RssAnon:")?,
        of_files: parse_kb(&text, "RssFile:")? + parse_kb(&text, "RssShmem:")?,
    })
}

/// Lets this process have as many open files as the system permits it: a connection is one. The number; `None` where the
/// kernel refuses, and in simulations.
pub fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    if sched::here().is_some() {
        return None;
    }
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).ok()?;
    limit.maximum
}

/// Processors that this process may use; a simulated machine has two.
pub fn processors() -> usize {
    if sched::here().is_some() {
        return 2;
    }
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The host's name, empty when it has none.
pub fn host_name() -> String {
    if sched::here().is_some() {
        return "SIMULATED".to_owned();
    }
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// What runs the machine: the kernel's name, and of the distribution its name and version; empty where nobody says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Platform {
    pub system: String,
    pub distribution: String,
    pub release: String,
    /// `x86_64`
    pub architecture: String,
}

/// The platform; a simulated one is called so.
pub fn platform() -> Platform {
    if sched::here().is_some() {
        return Platform {
            system: "Simulation".to_owned(),
            ..Platform::default()
        };
    }
    let name = rustix::system::uname();
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let field = |field: &str| {
        let value = release.lines().find_map(|l| l.strip_prefix(field));
        value.unwrap_or_default().trim_matches('"').to_owned()
    };
    Platform {
        system: name.sysname().to_string_lossy().into_owned(),
        distribution: field("NAME="),
        release: field("VERSION_ID="),
        architecture: name.machine().to_string_lossy().into_owned(),
    }
}

/// What the kernel says of the processors.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Processor {
    /// Empty where nobody says, as on ARM.
    pub model: String,
    pub vendor: String,
    /// 0 where nobody says.
    pub mhz: u32,
    pub sockets: u32,
    /// Of a socket.
    pub cores: u32,
    /// Logical processors of a socket.
    pub threads: u32,
    /// Names of what it can do: `sse2`, `avx2`.
    pub flags: Vec<String>,
}

/// The processors; all of one kind, as far as the first tells. `None` in simulations.
pub fn processor() -> Option<Processor> {
    if sched::here().is_some() {
        return None;
    }
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    Some(parse_processor(&text))
}

fn parse_processor(text: &str) -> Processor {
    let values = |field: &'static str| {
        text.lines().filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == field).then(|| value.trim())
        })
    };
    let first = |field| values(field).next().unwrap_or_default();
    let number = |field| first(field).parse::<u32>().ok().filter(|n| *n > 0);
    let all = u32::try_from(values("processor").count()).unwrap_or(u32::MAX);
    let sockets = values("physical id").collect::<std::collections::BTreeSet<_>>();
    let sockets = u32::try_from(sockets.len()).unwrap_or(1).max(1);
    let threads = number("siblings").unwrap_or(all / sockets).max(1);
    let flags = match first("flags") {
        "" => first("Features"),
        flags => flags,
    };
    Processor {
        model: first("model name").to_owned(),
        vendor: first("vendor_id").to_owned(),
        mhz: first("cpu MHz").parse::<f64>().map_or(0, |n| n as u32),
        sockets,
        cores: number("cpu cores").unwrap_or(threads),
        threads,
        flags: flags.split_whitespace().map(str::to_owned).collect(),
    }
}

/// What this process has taken since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessTimes {
    /// Milliseconds of processors: in the program, and in the kernel for it.
    pub user_ms: u64,
    pub kernel_ms: u64,
    pub page_faults: u64,
}

/// Milliseconds of a tick of the kernel's statistics: it tells a hundred a second to everybody.
const TICK_MS: u64 = 10;

/// What this process has taken; `None` where the kernel does not say, and in simulations.
pub fn process_times() -> Option<ProcessTimes> {
    if sched::here().is_some() {
        return None;
    }
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    parse_process_times(&text)
}

fn parse_process_times(text: &str) -> Option<ProcessTimes> {
    // The second field, in parentheses, may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ProcessTimes {
        page_faults: number(7)? + number(9)?,
        user_ms: number(11)? * TICK_MS,
        kernel_ms: number(12)? * TICK_MS,
    })
}

/// Processor time of a thread of this process, by the system's number of it.
pub(crate) fn thread_cpu(id: u32) -> Option<std::time::Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(std::time::Duration::from_nanos(nanos))
}

/// Milliseconds since the machine started, of all its processors together: those in which they worked, and idled. `None`
/// where the kernel does not say, and in simulations.
pub fn processor_times() -> Option<(u64, u64)> {
    if sched::here().is_some() {
        return None;
    }
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    parse_processor_times(&text)
}

fn parse_processor_times(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|l| l.strip_prefix("cpu "))?;
    // What guests took is in the first two already.
    let times: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .filter_map(|n| n.parse().ok())
        .collect();
    let idle = times.get(3)? + times.get(4)?;
    let all: u64 = times.iter().sum();
    Some(((all - idle) * TICK_MS, idle * TICK_MS))
}

/// A fact that the firmware tells of the machine, by the name of its file: `sys_vendor`, `bios_date`. `None` where it tells
/// nothing, as in containers, or to administrators only.
pub fn firmware(fact: &str) -> Option<String> {
    if sched::here().is_some() {
        return None;
    }
    let path = Path::new("/sys/class/dmi/id").join(fact);
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Bytes of the machine's memory, this process's limits aside, of its swap and of swap that is free, and of the file cache.
pub fn system_memory() -> (u64, u64, u64, u64) {
    if sched::here().is_some() {
        return (SIM_MEMORY, 0, 0, 0);
    }
    let of = |field| proc_kb("/proc/meminfo", field).unwrap_or(0);
    (
        of("MemTotal:"),
        of("SwapTotal:"),
        of("SwapFree:"),
        of("Cached:"),
    )
}

/// Where the volume of `path` is mounted, and which file system it has; `None` where nobody says.
pub fn mount_of(path: &Path) -> Option<(String, String)> {
    if sched::here().is_some() {
        return None;
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    longest_mount(&mounts, path)
}

fn longest_mount(mounts: &str, path: &Path) -> Option<(String, String)> {
    let mounted = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let holds = mounted.filter(|(at, _)| path.starts_with(at));
    // Of two at one place the later hides the other.
    let found = holds.max_by_key(|(at, _)| at.len())?;
    Some((found.0.to_owned(), found.1.to_owned()))
}

/// Bytes of address space that this process has reserved.
pub fn virtual_bytes() -> u64 {
    if sched::here().is_some() {
        return 0;
    }
    proc_kb("/proc/self/status", "VmSize:").unwrap_or(0)
}

/// The number of this process.
pub fn process_id() -> u32 {
    if sched::here().is_some() {
        return 1;
    }
    std::process::id()
}

/// The value of a `Name:   n kB` line.
fn proc_kb(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    parse_kb(&text, field)
}

fn parse_kb(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(field))?;
    let kb: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kb.checked_mul(1024)
}

/// The smallest `memory.max` from this process's group up to the root (version 2), or version 1's limit.
fn cgroup_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let own = groups.lines().find_map(|l| l.strip_prefix("0::"));
    let own = own.unwrap_or("/").trim_start_matches('/');
    let leaf = Path::new("/sys/fs/cgroup").join(own);
    let v2 = leaf
        .ancestors()
        .take_while(|d| d.starts_with("/sys/fs/cgroup"))
        .filter_map(|d| read(&d.join("memory.max")))
        .min();
    v2.or_else(|| read(Path::new("/sys/fs/cgroup/memory/memory.limit_in_bytes")))
}

#[cfg(test)]
mod tests {
    //! The files of this machine are read, and their format is understood.

    use super::*;

    #[test]
    fn memory_is_known() {
        assert!(memory_bytes() > 1 << 20);
        assert!(resident_bytes().is_none_or(|b| b > 0 && b < memory_bytes()));
        assert!(process_id() > 0);
    }

    #[test]
    fn lines_of_proc_are_parsed() {
        let text = "MemTotal:       1024 kB\nMemFree:  oops kB\n";
        assert_eq!(parse_kb(text, "MemTotal:"), Some(1 << 20));
        assert_eq!(parse_kb(text, "MemFree:"), None);
        assert_eq!(parse_kb(text, "Swap:"), None);
    }

    #[test]
    fn processors_are_understood() {
        let one = |id: u32, socket: u32| {
            format!(
                "processor\t: {id}\nvendor_id\t: GenuineIntel\nmodel name\t: A CPU @ 2.00GHz\ncpu MHz\t\t: 1999.9\n\
                 physical id\t: {socket}\nsiblings\t: 4\ncpu cores\t: 2\nflags\t\t: sse sse2\n\n"
            )
        };
        let text: String = (0..8).map(|id| one(id, id / 4)).collect();
        let found = parse_processor(&text);
        assert_eq!((found.model.as_str(), found.mhz), ("A CPU @ 2.00GHz", 1999));
        assert_eq!((found.sockets, found.cores, found.threads), (2, 2, 4));
        assert_eq!(found.flags, ["sse", "sse2"]);
        // ARM names neither sockets nor cores.
        let arm = parse_processor("processor\t: 0\nFeatures\t: fp asimd\n\nprocessor\t: 1\n");
        assert_eq!((arm.sockets, arm.cores, arm.threads), (1, 2, 2));
        assert_eq!((arm.model.as_str(), arm.flags.len()), ("", 2));
        assert!(processor().is_some());
    }

    #[test]
    fn times_are_understood() {
        let own = "7 (a) b) S 1 7 7 0 -1 4194560 1000 5 20 0 300 40 0 0 20 0 9 0 100 1 2\n";
        let times = parse_process_times(own).map(|t| (t.user_ms, t.kernel_ms, t.page_faults));
        assert_eq!(times, Some((3000, 400, 1020)));
        let all = "cpu  10 0 20 600 70 1 2 3 4 5\ncpu0 1 2 3 4\n";
        assert_eq!(parse_processor_times(all), Some((360, 6700)));
        assert_eq!(parse_processor_times("intr 0\n"), None);
        assert!(process_times().is_some() && processor_times().is_some());
    }

    #[test]
    fn the_nearest_mount_has_the_path() {
        let mounts = "/dev/a / ext4 rw 0 0\n/dev/b /data xfs rw 0 0\nproc /proc proc rw 0 0\n";
        let of = |p: &str| longest_mount(mounts, Path::new(p)).map(|m| m.1);
        assert_eq!(of("/data/x.mdf").as_deref(), Some("xfs"));
        assert_eq!(of("/database/x.mdf").as_deref(), Some("ext4"));
        assert_eq!(longest_mount("", Path::new("/")), None);
    }

    #[test]
    fn a_simulated_machine_is_always_the_same() {
        crate::sim::Simulation::new(1).run(|_| {
            assert_eq!((memory_bytes(), process_id()), (SIM_MEMORY, 1));
        });
    }
}
