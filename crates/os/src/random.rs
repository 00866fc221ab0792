//! Random numbers: from the system in the real world, from the seed in a simulation.

use std::cell::RefCell;

use rustix::rand::{GetRandomFlags, getrandom};

pub use crate::rng::Rng;
use crate::sim::sched;

thread_local! {
    static FAST: RefCell<Option<Rng>> = const { RefCell::new(None) };
}

/// 64 random bits. Not for secrets: see [`fill`].
pub fn next_u64() -> u64 {
    if let Some(here) = sched::here() {
        return here.random();
    }
    FAST.try_with(|rng| {
        rng.borrow_mut()
            .get_or_insert_with(|| Rng::new(system_u64()))
            .next_u64()
    })
    // Only while the thread's locals are being taken down.
    .unwrap_or_else(|_| system_u64())
}

/// Random bytes good enough for keys, salts and nonces (the kernel's generator) outside simulations.
pub fn fill(buf: &mut [u8]) {
    if let Some(here) = sched::here() {
        for part in buf.chunks_mut(8) {
            part.copy_from_slice(&here.random().to_le_bytes()[..part.len()]);
        }
        return;
    }
    system_fill(buf);
}

/// A version-4 GUID in SQL Server's byte order.
pub fn guid() -> [u8; 16] {
    let mut g = [0; 16];
    fill(&mut g);
    // Data3 is little-endian in memory: its high byte, with the version, is byte 7.
    g[7] = (g[7] & 0x0f) | 0x40;
    g[8] = (g[8] & 0x3f) | 0x80;
    g
}

fn system_u64() -> u64 {
    let mut b = [0; 8];
    system_fill(&mut b);
    u64::from_le_bytes(b)
}

fn system_fill(buf: &mut [u8]) {
    let mut rest = buf;
    while !rest.is_empty() {
        match getrandom(&mut *rest, GetRandomFlags::empty()) {
            Ok(n) => rest = &mut rest[n..],
            Err(rustix::io::Errno::INTR) => {}
            // Linux has had getrandom since 3.17; a seccomp filter without it is no place for a server with keys.
            Err(e) => unreachable!("the kernel gives no random numbers: {e}"),
        }
    }
}
