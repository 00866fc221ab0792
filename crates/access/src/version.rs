//! Who the server says it is. Drivers and scripts branch on the form `Microsoft ... - a.b.c.d`.

/// Major, minor, build, as in LOGINACK.
pub const VERSION: (u8, u8, u16) = (16, 0, 1000);

/// `ProductVersion`.
pub fn product_version() -> String {
    format!("{}.{}.{}.0", VERSION.0, VERSION.1, VERSION.2)
}

/// `@@VERSION`.
pub fn text() -> String {
    format!(
        "Microsoft SQL Server 2022 (compatible) - {} - Duramen {} ({})",
        product_version(),
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH
    )
}
