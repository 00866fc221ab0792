//! `sys.dm_server_registry` and `sys.dm_tcp_listener_states`: where the server keeps things and where it listens.
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-server-registry-transact-sql>
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tcp-listener-states-transact-sql>

use duramen_core::registry::{Datum, Entry, of_instance};
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1111, &REGISTRY),
    (-1112, &LISTENERS),
];

columns! { Entry;
    "registry_key", T::nvarchar(256), NULL, |e| text(&format!("HKLM\\{}", e.key));
    "value_name", T::nvarchar(256), NULL, |e| text(e.name);
    "value_data", T::VARIANT, NULL, |e| Value::Variant(Box::new(match &e.datum {
        Datum::Text(t) => (T::nvarchar(4000), text(t)),
        Datum::Number(n) => (T::INT, int(*n)),
    }));
}

pub const REGISTRY: View = View::new("dm_server_registry", SERVER_STATE, COLUMNS, |cx, _| {
    Ok(of_instance(&cx.instance).iter().map(row).collect())
});

pub use listeners::LISTENERS;

mod listeners {
    use super::*;
    use duramen_program::login::Listener;

    columns! { Listener;
        "listener_id", T::INT, NOT_NULL, |_| int(1);
        "ip_address", T::nvarchar(48), NOT_NULL, |l| text(&l.address.ip().to_string());
        "is_ipv4", T::BIT, NOT_NULL, |l| bit(l.address.is_ipv4());
        "port", T::INT, NOT_NULL, |l| int(l.address.port());
        "type", T::TINYINT, NOT_NULL, |_| tiny(0);
        "type_desc", T::nvarchar(20), NOT_NULL, |_| text("TSQL");
        "state", T::TINYINT, NOT_NULL, |_| tiny(0);
        "state_desc", T::nvarchar(16), NOT_NULL, |_| text("ONLINE");
        "start_time", T::DATETIME, NOT_NULL, |l| unix_time(l.since.unix_nanos());
    }

    pub const LISTENERS: View =
        View::new("dm_tcp_listener_states", SERVER_STATE, COLUMNS, |cx, _| {
            Ok(cx.instance.listener().iter().map(row).collect())
        });
}
