//! tds
