//! `sys.dm_os_sys_info` and its kin: the machine, the process, its memory and its schedulers.
//!
//! There are no schedulers of SQL Server's kind here: worker threads are the operating system's. A processor is shown as
//! one, so that what counts processors finds them; a session belongs to the one that its number gives (*assumed*, as is
//! what follows from it). Its processor time is that of the sessions, its switches are their waits: a thread that begins one
//! leaves its processor. The dedicated administrator connection has a row of its own. Columns that nobody measures and that
//! may not be NULL are 0.

use duramen_core::load::{self, Load};
use duramen_os::{machine, time};
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::memory::{committed, target};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1085, &SYS_INFO),
    (-1086, &SYS_MEMORY),
    (-1087, &PROCESS_MEMORY),
    (-1088, &SCHEDULERS),
    (-1089, &NODES),
    (-1090, &MEMORY_NODES),
    (-1092, &BUFFERS),
    (-1093, &HOST_INFO),
    (-1094, &SERVICES),
    (-5007, &VOLUMES),
];

const ADDRESS: T = T::varbinary(8);
const KB: u64 = 1024;

fn address(n: u64) -> Value {
    Value::Binary(n.to_be_bytes().to_vec())
}

/// When tempdb was made, which is when the server started: days and ticks, and milliseconds since then.
fn started(cx: &Context) -> (Value, u64) {
    let tempdb = cx.instance.databases.get(duramen_base::DbId::TEMPDB);
    let Some(at) = tempdb.map(|d| d.entry.read().created) else {
        return (Value::Null, 0);
    };
    let Value::DateTime(now) = unix_time(time::wall().unix_nanos()) else {
        return (Value::DateTime(at), 0);
    };
    let ms = |t: duramen_types::DateTime| {
        i64::from(t.days) * 86_400_000 + i64::from(t.ticks) * 1000 / 300
    };
    let since = (ms(now) - ms(at)).max(0);
    (Value::DateTime(at), since.unsigned_abs())
}

fn ticks() -> u64 {
    time::now().nanos() / 1_000_000
}

pub(super) fn processors() -> i64 {
    machine::processors() as i64
}

pub use info::SYS_INFO;

mod info {
    use super::*;

    pub struct Source {
        started: Value,
        uptime_ms: u64,
        committed: u64,
        target: u64,
        workers: i64,
        /// Sockets, and of each its cores and logical processors.
        sockets: (u32, u32, u32),
        /// Milliseconds of processors in the kernel and in the program; all of them in the program, where nobody tells.
        times: (u64, u64),
    }

    fn times() -> (u64, u64) {
        let all = time::process_cpu().as_millis() as u64;
        machine::process_times().map_or((0, all), |t| (t.kernel_ms, t.user_ms))
    }

    /// Where nobody tells, one socket with what the process may use.
    fn sockets() -> (u32, u32, u32) {
        let all = u32::try_from(processors()).unwrap_or(1);
        machine::processor().map_or((1, all, all), |p| (p.sockets, p.cores, p.threads))
    }

    columns! { Source;
        // Nanoseconds of the machine's clock.
        "cpu_ticks", T::BIGINT, NOT_NULL, |_| big(time::now().nanos());
        "ms_ticks", T::BIGINT, NOT_NULL, |_| big(ticks());
        "cpu_count", T::INT, NOT_NULL, |_| int(processors());
        "hyperthread_ratio", T::INT, NOT_NULL, |s| int(s.sockets.2);
        "physical_memory_kb", T::BIGINT, NOT_NULL, |_| big(machine::memory_bytes() / KB);
        // 47 bits of addresses.
        "virtual_memory_kb", T::BIGINT, NOT_NULL, |_| big(137_438_953_344);
        "committed_kb", T::BIGINT, NOT_NULL, |s| big(s.committed);
        "committed_target_kb", T::BIGINT, NOT_NULL, |s| big(s.target);
        "visible_target_kb", T::BIGINT, NOT_NULL, |s| big(s.target);
        "stack_size_in_bytes", T::INT, NOT_NULL, |_| int(2_093_056);
        "os_quantum", T::BIGINT, NOT_NULL, |_| big(4);
        "os_error_mode", T::INT, NOT_NULL, |_| int(0);
        "os_priority_class", T::INT, NULL, |_| Value::Null;
        "max_workers_count", T::INT, NOT_NULL, |s| int(s.workers);
        "scheduler_count", T::INT, NOT_NULL, |_| int(processors());
        "scheduler_total_count", T::INT, NOT_NULL, |_| int(processors());
        "deadlock_monitor_serial_number", T::INT, NOT_NULL, |_| int(0);
        "sqlserver_start_time_ms_ticks", T::BIGINT, NOT_NULL, |s| big(ticks().saturating_sub(s.uptime_ms));
        "sqlserver_start_time", T::DATETIME, NOT_NULL, |s| s.started.clone();
        "affinity_type", T::INT, NOT_NULL, |_| int(2);
        "affinity_type_desc", DESC, NOT_NULL, |_| text("AUTO");
        "process_kernel_time_ms", T::BIGINT, NOT_NULL, |s| big(s.times.0);
        "process_user_time_ms", T::BIGINT, NOT_NULL, |s| big(s.times.1);
        "time_source", T::INT, NOT_NULL, |_| int(0);
        "time_source_desc", DESC, NOT_NULL, |_| text("QUERY_PERFORMANCE_COUNTER");
        // Nobody asks the hypervisor.
        "virtual_machine_type", T::INT, NOT_NULL, |_| int(0);
        "virtual_machine_type_desc", DESC, NOT_NULL, |_| text("NONE");
        "softnuma_configuration", T::INT, NOT_NULL, |_| int(0);
        "softnuma_configuration_desc", DESC, NOT_NULL, |_| text("OFF");
        "process_physical_affinity", T::nvarchar(3072), NOT_NULL, |_| text("");
        "sql_memory_model", T::INT, NOT_NULL, |_| int(1);
        "sql_memory_model_desc", DESC, NOT_NULL, |_| text("CONVENTIONAL");
        "socket_count", T::INT, NOT_NULL, |s| int(s.sockets.0);
        "cores_per_socket", T::INT, NOT_NULL, |s| int(s.sockets.1);
        "numa_node_count", T::INT, NOT_NULL, |_| int(1);
        "container_type", T::INT, NOT_NULL, |_| int(0);
        "container_type_desc", DESC, NOT_NULL, |_| text("NONE");
    }

    pub const SYS_INFO: View = View::new("dm_os_sys_info", SERVER_STATE, COLUMNS, |cx, _| {
        let (started, uptime_ms) = started(cx);
        Ok(vec![row(&Source {
            started,
            uptime_ms,
            committed: committed(&cx.instance) / KB,
            target: target(&cx.instance) / KB,
            // SQL Server's rule for 64-bit machines.
            workers: 512 + (processors() - 4).max(0) * 16,
            sockets: sockets(),
            times: times(),
        })])
    });
}

pub use memory::{PROCESS_MEMORY, SYS_MEMORY};

mod memory {
    use super::*;

    columns! { (u64, u64, u64, u64);
        "total_physical_memory_kb", T::BIGINT, NOT_NULL, |m| big(m.0 / KB);
        "available_physical_memory_kb", T::BIGINT, NOT_NULL, |_| big(machine::available_bytes() / KB);
        "total_page_file_kb", T::BIGINT, NOT_NULL, |m| big((m.0 + m.1) / KB);
        "available_page_file_kb", T::BIGINT, NOT_NULL, |m| big((machine::available_bytes() + m.2) / KB);
        "system_cache_kb", T::BIGINT, NOT_NULL, |m| big(m.3 / KB);
        "kernel_paged_pool_kb", T::BIGINT, NOT_NULL, |_| big(0);
        "kernel_nonpaged_pool_kb", T::BIGINT, NOT_NULL, |_| big(0);
        "system_high_memory_signal_state", T::BIT, NOT_NULL, |m| bit(!low(m));
        "system_low_memory_signal_state", T::BIT, NOT_NULL, |m| bit(low(m));
        "system_memory_state_desc", T::nvarchar(256), NOT_NULL, |m| text(match low(m) {
            true => "Available physical memory is low",
            false => "Available physical memory is high",
        });
    }

    /// Less than a twentieth is available (*assumed*).
    fn low(m: &(u64, u64, u64, u64)) -> bool {
        machine::available_bytes() < m.0 / 20
    }

    pub const SYS_MEMORY: View = View::new("dm_os_sys_memory", SERVER_STATE, COLUMNS, |_, _| {
        Ok(vec![row(&machine::system_memory())])
    });

    pub use process::PROCESS_MEMORY;

    mod process {
        use super::*;

        pub struct Source {
            resident: u64,
            reserved: u64,
            faults: u64,
            low: bool,
        }

        columns! { Source;
            "physical_memory_in_use_kb", T::BIGINT, NOT_NULL, |s| big(s.resident / KB);
            "large_page_allocations_kb", T::BIGINT, NOT_NULL, |_| big(0);
            "locked_page_allocations_kb", T::BIGINT, NOT_NULL, |_| big(0);
            "total_virtual_address_space_kb", T::BIGINT, NOT_NULL, |_| big(137_438_953_344);
            "virtual_address_space_reserved_kb", T::BIGINT, NOT_NULL, |s| big(s.reserved / KB);
            "virtual_address_space_committed_kb", T::BIGINT, NOT_NULL, |s| big(s.resident / KB);
            "virtual_address_space_available_kb", T::BIGINT, NOT_NULL, |s| {
                big(137_438_953_344_u64.saturating_sub(s.reserved / KB))
            };
            "page_fault_count", T::BIGINT, NOT_NULL, |s| big(s.faults);
            "memory_utilization_percentage", T::INT, NOT_NULL, |s| {
                // Of what is committed, in the working set: this system tells what is in memory alone.
                int(i64::from(s.resident > 0) * 100)
            };
            "available_commit_limit_kb", T::BIGINT, NOT_NULL, |_| big(machine::available_bytes() / KB);
            "process_physical_memory_low", T::BIT, NOT_NULL, |s| bit(s.low);
            "process_virtual_memory_low", T::BIT, NOT_NULL, |_| bit(false);
        }

        pub const PROCESS_MEMORY: View =
            View::new("dm_os_process_memory", SERVER_STATE, COLUMNS, |_, _| {
                Ok(vec![row(&Source {
                    resident: machine::resident_bytes().unwrap_or(0),
                    reserved: machine::virtual_bytes(),
                    faults: machine::process_times().map_or(0, |t| t.page_faults),
                    low: machine::available_bytes() < machine::memory_bytes() / 20,
                })])
            });
    }
}

pub use schedulers::{MEMORY_NODES, NODES, SCHEDULERS};

mod schedulers {
    use super::*;

    pub struct Source {
        id: i64,
        /// Requests that run, and those of them that wait for nothing.
        tasks: i64,
        active: i64,
        load: Load,
        /// Requests that no worker has taken: they belong to no processor yet.
        queue: i64,
    }

    /// `scheduler_id` and `parent_node_id` of the dedicated administrator connection.
    const ADMIN: (i64, i64) = (1_048_576, 64);

    impl Source {
        fn new(id: i64, load: Load) -> Source {
            Source {
                id,
                tasks: 0,
                active: 0,
                load,
                queue: 0,
            }
        }

        fn is_admin(&self) -> bool {
            self.id == ADMIN.0
        }
    }

    /// The counters wrap as SQL Server's of this type do.
    fn wrapped(n: u64) -> Value {
        Value::Int((n & 0x7FFF_FFFF) as i32)
    }

    columns! { Source;
        "scheduler_address", ADDRESS, NOT_NULL, |s| address(s.id as u64 + 1);
        "parent_node_id", T::INT, NOT_NULL, |s| int(if s.is_admin() { ADMIN.1 } else { 0 });
        "scheduler_id", T::INT, NOT_NULL, |s| int(s.id);
        "cpu_id", T::INT, NOT_NULL, |s| int(if s.is_admin() { 0 } else { s.id });
        "status", DESC, NOT_NULL, |s| {
            text(if s.is_admin() { "VISIBLE ONLINE (DAC)" } else { "VISIBLE ONLINE" })
        };
        "is_online", T::BIT, NOT_NULL, |_| bit(true);
        "is_idle", T::BIT, NOT_NULL, |s| bit(s.active == 0);
        "preemptive_switches_count", T::INT, NOT_NULL, |s| wrapped(s.load.switches.preemptive);
        "context_switches_count", T::INT, NOT_NULL, |s| wrapped(s.load.switches.context);
        "idle_switches_count", T::INT, NOT_NULL, |_| int(0);
        "current_tasks_count", T::INT, NOT_NULL, |s| int(s.tasks);
        // One of those that wait for nothing runs.
        "runnable_tasks_count", T::INT, NOT_NULL, |s| int((s.active - 1).max(0));
        "current_workers_count", T::INT, NOT_NULL, |s| int(s.tasks);
        "active_workers_count", T::INT, NOT_NULL, |s| int(s.active);
        "work_queue_count", T::BIGINT, NOT_NULL, |s| Value::BigInt(s.queue);
        "pending_disk_io_count", T::INT, NOT_NULL, |_| int(0);
        "load_factor", T::INT, NOT_NULL, |s| int(s.tasks);
        "yield_count", T::INT, NOT_NULL, |_| int(0);
        "last_timer_activity", T::BIGINT, NOT_NULL, |_| big(0);
        "failed_to_create_worker", T::BIT, NOT_NULL, |_| bit(false);
        "active_worker_address", ADDRESS, NULL, |_| Value::Null;
        "memory_object_address", ADDRESS, NOT_NULL, |_| address(0);
        "task_memory_object_address", ADDRESS, NOT_NULL, |_| address(0);
        "quantum_length_us", T::BIGINT, NOT_NULL, |_| big(4000);
        "total_cpu_usage_ms", T::BIGINT, NOT_NULL, |s| big(s.load.cpu_nanos / 1_000_000);
        "total_cpu_idle_capped_ms", T::BIGINT, NOT_NULL, |_| big(0);
        "total_scheduler_delay_ms", T::BIGINT, NOT_NULL, |s| {
            big(s.load.switches.signal_nanos / 1_000_000)
        };
        "ideal_workers_limit", T::INT, NOT_NULL, |_| int(0);
    }

    fn sources(cx: &Context) -> Vec<Source> {
        let waits = duramen_observe::waiting_tasks();
        let sessions = cx.instance.sessions();
        let mut all: Vec<Source> = {
            let departed = cx.instance.departed.lock();
            let processor = |id: i64| Source::new(id, departed.of(id as usize));
            let all = (0..processors()).map(processor);
            all.chain([Source::new(ADMIN.0, departed.admin())])
                .collect()
        };
        let count = all.len() - 1;
        for session in sessions {
            let place = match session.login.admin {
                true => count,
                false => load::place_of(session.spid, count),
            };
            let s = &mut all[place];
            s.load = s.load.plus(&Load::of(&session));
            if session.glance().running {
                s.tasks += 1;
                let waits = waits.iter().any(|w| w.session == session.spid);
                s.active += i64::from(!waits);
            }
        }
        // A request in line goes to whichever processor is free first.
        let queue = cx.instance.work_queue() as i64;
        for (at, s) in all.iter_mut().take(count).enumerate() {
            let (each, more) = (queue / count.max(1) as i64, queue % count.max(1) as i64);
            s.queue = each + i64::from((at as i64) < more);
        }
        all
    }

    pub const SCHEDULERS: View = View::new("dm_os_schedulers", SERVER_STATE, COLUMNS, |cx, _| {
        Ok(sources(cx).iter().map(row).collect())
    });

    pub use nodes::NODES;

    mod nodes {
        use super::*;

        columns! { Vec<Source>;
            "node_id", T::SMALLINT, NOT_NULL, |_| small(0);
            "node_state_desc", T::nvarchar(256), NOT_NULL, |_| text("ONLINE");
            "memory_object_address", ADDRESS, NOT_NULL, |_| address(0);
            "memory_clerk_address", ADDRESS, NOT_NULL, |_| address(0);
            "io_completion_worker_address", ADDRESS, NULL, |_| Value::Null;
            "memory_node_id", T::SMALLINT, NOT_NULL, |_| small(0);
            "cpu_affinity_mask", T::BIGINT, NOT_NULL, |s| big(mask(s));
            "online_scheduler_count", T::SMALLINT, NOT_NULL, |s| small(s.len() as i64);
            "idle_scheduler_count", T::SMALLINT, NOT_NULL, |s| {
                small(s.iter().filter(|s| s.active == 0).count() as i64)
            };
            "active_worker_count", T::INT, NOT_NULL, |s| int(s.iter().map(|s| s.active).sum::<i64>());
            "avg_load_balance", T::INT, NOT_NULL, |s| {
                int(s.iter().map(|s| s.tasks).sum::<i64>() / s.len().max(1) as i64)
            };
            "timer_task_affinity_mask", T::BIGINT, NOT_NULL, |s| big(mask(s));
            "permanent_task_affinity_mask", T::BIGINT, NOT_NULL, |s| big(mask(s));
            "resource_monitor_state", T::BIT, NOT_NULL, |_| bit(false);
            "online_scheduler_mask", T::BIGINT, NOT_NULL, |s| big(mask(s));
            "processor_group", T::SMALLINT, NOT_NULL, |_| small(0);
            "cpu_count", T::INT, NOT_NULL, |s| int(s.len() as i64);
        }

        /// A bit for each.
        fn mask(s: &[Source]) -> u64 {
            s.iter().take(63).fold(0, |m, s| m | 1 << s.id)
        }

        pub const NODES: View = View::new("dm_os_nodes", SERVER_STATE, COLUMNS, |cx, _| {
            let mut all = sources(cx);
            all.retain(|s| !s.is_admin());
            Ok(vec![row(&all)])
        });
    }

    pub use memory_nodes::MEMORY_NODES;

    mod memory_nodes {
        use super::*;

        columns! { (u64, u64);
            "memory_node_id", T::SMALLINT, NOT_NULL, |_| small(0);
            "virtual_address_space_reserved_kb", T::BIGINT, NOT_NULL, |_| big(machine::virtual_bytes() / KB);
            "virtual_address_space_committed_kb", T::BIGINT, NOT_NULL, |_| {
                big(machine::resident_bytes().unwrap_or(0) / KB)
            };
            "locked_page_allocations_kb", T::BIGINT, NOT_NULL, |_| big(0);
            "pages_kb", T::BIGINT, NOT_NULL, |kb| big(kb.0);
            "shared_memory_reserved_kb", T::BIGINT, NOT_NULL, |_| big(0);
            "shared_memory_committed_kb", T::BIGINT, NOT_NULL, |_| big(0);
            "cpu_affinity_mask", T::BIGINT, NOT_NULL, |_| big((1 << processors().min(63)) - 1);
            "online_scheduler_mask", T::BIGINT, NOT_NULL, |_| big((1 << processors().min(63)) - 1);
            "processor_group", T::SMALLINT, NOT_NULL, |_| small(0);
            "foreign_committed_kb", T::BIGINT, NOT_NULL, |_| big(0);
            "target_kb", T::BIGINT, NOT_NULL, |kb| big(kb.1);
        }

        pub const MEMORY_NODES: View =
            View::new("dm_os_memory_nodes", SERVER_STATE, COLUMNS, |cx, _| {
                let instance = &cx.instance;
                Ok(vec![row(&(
                    committed(instance) / KB,
                    target(instance) / KB,
                ))])
            });
    }
}

pub use buffers::BUFFERS;
pub(super) use buffers::kind as page_kind;

mod buffers {
    use duramen_pool::BufferedPage;

    use super::*;

    /// `page_type`, by the number in a page's header.
    pub(in crate::views) fn kind(n: u8) -> &'static str {
        match n {
            1 => "DATA_PAGE",
            2 => "INDEX_PAGE",
            3 => "TEXT_MIX_PAGE",
            4 => "TEXT_TREE_PAGE",
            7 => "SORT_PAGE",
            8 => "GAM_PAGE",
            9 => "SGAM_PAGE",
            10 => "IAM_PAGE",
            11 => "PFS_PAGE",
            13 => "BOOT_PAGE",
            15 => "FILEHEADER_PAGE",
            16 => "DIFF_MAP_PAGE",
            17 => "ML_MAP_PAGE",
            _ => "UNKNOWN_PAGE",
        }
    }

    columns! { BufferedPage;
        "database_id", T::INT, NULL, |b| int(b.db.0);
        "file_id", T::INT, NULL, |b| int(b.page.file);
        "page_id", T::INT, NULL, |b| int(b.page.page);
        "page_level", T::INT, NULL, |b| int(b.level);
        "allocation_unit_id", T::BIGINT, NULL, |b| Value::BigInt(b.unit.0);
        "page_type", DESC, NULL, |b| text(kind(b.page_type));
        "row_count", T::INT, NULL, |b| int(b.rows);
        "free_space_in_bytes", T::INT, NULL, |b| int(b.free_bytes);
        "is_modified", T::BIT, NULL, |b| bit(b.dirty);
        "numa_node", T::INT, NULL, |_| int(0);
        "read_microsec", T::BIGINT, NULL, |_| Value::Null;
        "is_in_bpool_extension", T::BIT, NULL, |_| bit(false);
        "error_code", T::INT, NULL, |_| int(0);
        "op_history", T::binary(4), NULL, |_| Value::Null;
    }

    pub const BUFFERS: View = View::new(
        "dm_os_buffer_descriptors",
        SERVER_STATE,
        COLUMNS,
        |cx, _| {
            let pages = cx.instance.databases.engine.buffered_pages();
            Ok(pages.iter().map(row).collect())
        },
    );
}

pub use host::HOST_INFO;

mod host {
    use super::*;

    columns! { machine::Platform;
        "host_platform", T::nvarchar(256), NOT_NULL, |p| text(&p.system);
        "host_distribution", T::nvarchar(256), NOT_NULL, |p| text(&p.distribution);
        "host_release", T::nvarchar(256), NOT_NULL, |p| text(&p.release);
        "host_service_pack_level", T::nvarchar(256), NOT_NULL, |_| text("");
        "host_sku", T::INT, NULL, |_| Value::Null;
        "os_language_version", T::INT, NOT_NULL, |_| int(0);
        "host_architecture", T::nvarchar(256), NOT_NULL, |p| text(match p.architecture.as_str() {
            "x86_64" => "X64",
            "aarch64" => "ARM64",
            other => other,
        });
    }

    pub const HOST_INFO: View = View::new("dm_os_host_info", FACTS, COLUMNS, |_, _| {
        Ok(vec![row(&machine::platform())])
    });
}

pub use services::SERVICES;

mod services {
    use super::*;

    pub struct Source {
        name: String,
        started: Value,
        instant: bool,
    }

    columns! { Source;
        "servicename", T::nvarchar(256), NOT_NULL, |s| text(&s.name);
        "startup_type", T::INT, NULL, |_| Value::Null;
        "startup_type_desc", T::nvarchar(256), NOT_NULL, |_| text("Manual");
        "status", T::INT, NULL, |_| int(4);
        "status_desc", T::nvarchar(256), NOT_NULL, |_| text("Running");
        "process_id", T::INT, NULL, |_| int(machine::process_id());
        "last_startup_time", T::datetimeoffset(7), NULL, |s| match s.started {
            // The server's time zone is UTC.
            Value::DateTime(at) => {
                duramen_types::DateTimeOffset::from_local(at.days_since_0001(), at.units(), 0)
                    .map_or(Value::Null, Value::DateTimeOffset)
            }
            _ => Value::Null,
        };
        "service_account", T::nvarchar(256), NOT_NULL, |_| text("");
        "filename", T::nvarchar(256), NOT_NULL, |_| text("duramen");
        "is_clustered", T::nvarchar(1), NOT_NULL, |_| text("N");
        "cluster_nodename", T::nvarchar(256), NULL, |_| Value::Null;
        "instant_file_initialization_enabled", T::nvarchar(1), NOT_NULL, |s| text(match s.instant {
            true => "Y",
            false => "N",
        });
    }

    pub const SERVICES: View = View::new("dm_server_services", SERVER_STATE, COLUMNS, |cx, _| {
        Ok(vec![row(&Source {
            name: "SQL Server (MSSQLSERVER)".to_owned(),
            started: started(cx).0,
            instant: cx.instance.databases.engine.instant_file_init(),
        })])
    });
}

pub use volumes::VOLUMES;

/// `sys.dm_os_volume_stats(database_id, file_id)`
mod volumes {
    use super::*;

    pub struct Source {
        db: u16,
        file: u16,
        mount: Option<(String, String)>,
        total: u64,
        free: u64,
    }

    columns! { Source;
        "database_id", T::INT, NULL, |s| int(s.db);
        "file_id", T::INT, NULL, |s| int(s.file);
        "volume_mount_point", T::nvarchar(512), NULL, |s| text_or_null(s.mount.as_ref().map(|m| m.0.as_str()));
        "volume_id", T::nvarchar(512), NULL, |_| Value::Null;
        "logical_volume_name", T::nvarchar(512), NULL, |_| Value::Null;
        "file_system_type", T::nvarchar(512), NULL, |s| text_or_null(s.mount.as_ref().map(|m| m.1.as_str()));
        "total_bytes", T::BIGINT, NULL, |s| big(s.total);
        "available_bytes", T::BIGINT, NULL, |s| big(s.free);
        "supports_compression", T::TINYINT, NULL, |_| tiny(0);
        "supports_alternate_streams", T::TINYINT, NULL, |_| tiny(0);
        "supports_sparse_files", T::TINYINT, NULL, |_| tiny(1);
        "is_read_only", T::TINYINT, NULL, |_| tiny(0);
        "is_compressed", T::TINYINT, NULL, |_| tiny(0);
        "incurs_seek_penalty", T::TINYINT, NULL, |_| Value::Null;
    }

    pub const VOLUMES: View = View::new("dm_os_volume_stats", SERVER_STATE, COLUMNS, |cx, args| {
        let wanted = |i: usize| args.get(i).and_then(Value::as_i64);
        let databases = &cx.instance.databases;
        let disk = &databases.engine.env.disk;
        let mut rows = Vec::new();
        for d in databases.all() {
            for f in &d.entry.read().files {
                let pick = wanted(0) == Some(i64::from(d.db.id.0))
                    && wanted(1) == Some(i64::from(f.file_id));
                if !pick {
                    continue;
                }
                let path = databases.resolve(&f.path);
                rows.push(row(&Source {
                    db: d.db.id.0,
                    file: f.file_id,
                    mount: machine::mount_of(&path),
                    total: disk.total_space(&path).unwrap_or(0),
                    free: disk.free_space(&path).unwrap_or(0),
                }));
            }
        }
        Ok(rows)
    });
}
