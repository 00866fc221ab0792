//! What the threads of a process have had of the processors, and how long they have stood in line for one: beside how long
//! something took it tells how much of that was the machine's other work.

use std::collections::BTreeMap;
use std::time::Duration;

/// Of each thread: nanoseconds on a processor, and in line for one (`/proc/PID/task/TID/schedstat`).
pub struct Threads(BTreeMap<String, (u64, u64)>);

/// What happened between two looks.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    /// Of the thread that worked most.
    pub cpu: Duration,
    /// How long that thread, or whoever watched, stood in line: the longer of the two, as they may have done so together.
    pub waited: Duration,
}

/// The numbers of one thread; `None` when it has ended.
fn of_thread(task: &str) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("{task}/schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map(|n| n.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

impl Threads {
    pub fn of(process: u32) -> Threads {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
        let tasks = tasks.expect("the process lives").flatten();
        let tasks = tasks.map(|t| t.path().display().to_string());
        let mut all: BTreeMap<_, _> = tasks
            .filter_map(|t| Some((t.clone(), of_thread(&t)?)))
            .collect();
        if let Some(own) = of_thread("/proc/thread-self") {
            all.insert(String::new(), own);
        }
        Threads(all)
    }

    /// What has happened since `before`. A thread that is new, or has ended, is not told of.
    pub fn since(&self, before: &Threads) -> Spent {
        let change = |name: &String, now: &(u64, u64)| {
            let was = before.0.get(name)?;
            Some((now.0.saturating_sub(was.0), now.1.saturating_sub(was.1)))
        };
        let others = self.0.iter().filter(|(name, _)| !name.is_empty());
        let busiest = others.filter_map(|(name, now)| change(name, now)).max();
        let busiest = busiest.unwrap_or_default();
        let own = self.0.get("").and_then(|now| change(&String::new(), now));
        let waited = busiest.1.max(own.unwrap_or_default().1);
        Spent {
            cpu: Duration::from_nanos(busiest.0),
            waited: Duration::from_nanos(waited),
        }
    }
}
