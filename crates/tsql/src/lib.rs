//! tsql
