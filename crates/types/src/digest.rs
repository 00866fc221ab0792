//! The digests of HASHBYTES: MD5 (RFC 1321), SHA-1, SHA-256 and SHA-512 (FIPS 180-4).
//!
//! They serve comparison of data, not protection: passwords are `server`'s matter. The round constants of SHA-2 are the
//! fractions of roots of primes and those of MD5 are sines; both are computed, so that no table can be mistyped.

/// Appends the padding of the Merkle-Damgard construction: 0x80, zeros, the length in bits.
fn padded(data: &[u8], block: usize, big_endian: bool) -> Vec<u8> {
    let length_bytes = block / 8;
    let mut out = data.to_vec();
    out.push(0x80);
    while out.len() % block != block - length_bytes {
        out.push(0);
    }
    let bits = (data.len() as u128) * 8;
    match big_endian {
        true => out.extend_from_slice(&bits.to_be_bytes()[16 - length_bytes..]),
        false => out.extend_from_slice(&bits.to_le_bytes()[..length_bytes]),
    }
    out
}

pub fn md5(data: &[u8]) -> [u8; 16] {
    const SHIFTS: [[u32; 4]; 4] = [
        [7, 12, 17, 22],
        [5, 9, 14, 20],
        [4, 11, 16, 23],
        [6, 10, 15, 21],
    ];
    let sines: Vec<u32> = (1..=64)
        .map(|i: u32| (f64::from(i).sin().abs() * 4_294_967_296.0) as u32)
        .collect();
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded(data, 64, false).chunks_exact(64) {
        let words: Vec<u32> = block
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64 {
            let (mix, word) = match i / 16 {
                0 => ((b & c) | (!b & d), i),
                1 => ((d & b) | (!d & c), (5 * i + 1) % 16),
                2 => (b ^ c ^ d, (3 * i + 5) % 16),
                _ => (c ^ (b | !d), (7 * i) % 16),
            };
            let sum = a
                .wrapping_add(mix)
                .wrapping_add(sines[i])
                .wrapping_add(words[word]);
            a = d;
            d = c;
            c = b;
            b = b.wrapping_add(sum.rotate_left(SHIFTS[i / 16][i % 4]));
        }
        for (s, x) in state.iter_mut().zip([a, b, c, d]) {
            *s = s.wrapping_add(x);
        }
    }
    let mut out = [0; 16];
    for (to, word) in out.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    out
}

pub fn sha1(data: &[u8]) -> [u8; 20] {
    let mut state = [
        0x6745_2301u32,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    for block in padded(data, 64, true).chunks_exact(64) {
        let mut w: Vec<u32> = block
            .chunks_exact(4)
            .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        for i in 16..80 {
            w.push((w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]).rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in w.iter().enumerate() {
            let (mix, k) = match i / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999u32),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6),
            };
            let next = a
                .rotate_left(5)
                .wrapping_add(mix)
                .wrapping_add(e)
                .wrapping_add(k)
                .wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (s, x) in state.iter_mut().zip([a, b, c, d, e]) {
            *s = s.wrapping_add(x);
        }
    }
    let mut out = [0; 20];
    for (to, word) in out.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    out
}

/// The first `n` primes.
fn primes(n: usize) -> Vec<u64> {
    let mut found: Vec<u64> = Vec::with_capacity(n);
    let mut candidate = 2;
    while found.len() < n {
        if found.iter().all(|p| candidate % p != 0) {
            found.push(candidate);
        }
        candidate += 1;
    }
    found
}

/// The first 64 bits after the point of the `root`-th (2 or 3) root of `p`.
fn fraction_of_root(p: u64, root: u32) -> u64 {
    // The greatest x below 2^68 with x^root <= p * 2^(64 * root): its low 64 bits are the fraction.
    let (mut low, mut high) = (0u128, 1u128 << 69);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if below_root(middle, p, root) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u64
}

/// Whether `x^root <= p * 2^(64 * root)`, in limbs of 32 bits.
fn below_root(x: u128, p: u64, root: u32) -> bool {
    let limbs = |v: u128| -> Vec<u64> { (0..4).map(|i| (v >> (32 * i)) as u32 as u64).collect() };
    let times = |a: &[u64], b: &[u64]| -> Vec<u64> {
        let mut out = vec![0u64; a.len() + b.len()];
        for (i, x) in a.iter().enumerate() {
            let mut carry = 0u64;
            for (j, y) in b.iter().enumerate() {
                let sum = x * y + out[i + j] + carry;
                out[i + j] = sum & 0xffff_ffff;
                carry = sum >> 32;
            }
            out[i + b.len()] += carry;
        }
        out
    };
    let base = limbs(x);
    let mut power = base.clone();
    for _ in 1..root {
        power = times(&power, &base);
    }
    // Above the 64 * root bits of the fraction stands the integral part, to be at most p, with nothing over when equal.
    let split = 2 * root as usize;
    let whole = power[split..]
        .iter()
        .rev()
        .fold(0u128, |n, limb| (n << 32) | u128::from(*limb));
    whole < u128::from(p) || whole == u128::from(p) && power[..split].iter().all(|l| *l == 0)
}

pub fn sha256(data: &[u8]) -> [u8; 32] {
    let primes = primes(64);
    let k: Vec<u32> = primes
        .iter()
        .map(|p| (fraction_of_root(*p, 3) >> 32) as u32)
        .collect();
    let mut state: Vec<u32> = primes[..8]
        .iter()
        .map(|p| (fraction_of_root(*p, 2) >> 32) as u32)
        .collect();
    for block in padded(data, 64, true).chunks_exact(64) {
        let mut w: Vec<u32> = block
            .chunks_exact(4)
            .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        for i in 16..64 {
            let (x, y) = (w[i - 15], w[i - 2]);
            let s0 = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
            let s1 = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
            let next = w[i - 16]
                .wrapping_add(s0)
                .wrapping_add(w[i - 7])
                .wrapping_add(s1);
            w.push(next);
        }
        let mut v = state.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            let first = v[7]
                .wrapping_add(s1)
                .wrapping_add(choice)
                .wrapping_add(k[i])
                .wrapping_add(w[i]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(first);
            v[0] = first.wrapping_add(s0).wrapping_add(majority);
        }
        for (s, x) in state.iter_mut().zip(v) {
            *s = s.wrapping_add(x);
        }
    }
    let mut out = [0; 32];
    for (to, word) in out.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    out
}

pub fn sha512(data: &[u8]) -> [u8; 64] {
    let primes = primes(80);
    let k: Vec<u64> = primes.iter().map(|p| fraction_of_root(*p, 3)).collect();
    let mut state: Vec<u64> = primes[..8]
        .iter()
        .map(|p| fraction_of_root(*p, 2))
        .collect();
    for block in padded(data, 128, true).chunks_exact(128) {
        let mut w: Vec<u64> = block
            .chunks_exact(8)
            .map(|b| b.iter().fold(0, |n, x| (n << 8) | u64::from(*x)))
            .collect();
        for i in 16..80 {
            let (x, y) = (w[i - 15], w[i - 2]);
            let s0 = x.rotate_right(1) ^ x.rotate_right(8) ^ (x >> 7);
            let s1 = y.rotate_right(19) ^ y.rotate_right(61) ^ (y >> 6);
            let next = w[i - 16]
                .wrapping_add(s0)
                .wrapping_add(w[i - 7])
                .wrapping_add(s1);
            w.push(next);
        }
        let mut v = state.clone();
        for i in 0..80 {
            let s1 = v[4].rotate_right(14) ^ v[4].rotate_right(18) ^ v[4].rotate_right(41);
            let s0 = v[0].rotate_right(28) ^ v[0].rotate_right(34) ^ v[0].rotate_right(39);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            let first = v[7]
                .wrapping_add(s1)
                .wrapping_add(choice)
                .wrapping_add(k[i])
                .wrapping_add(w[i]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(first);
            v[0] = first.wrapping_add(s0).wrapping_add(majority);
        }
        for (s, x) in state.iter_mut().zip(v) {
            *s = s.wrapping_add(x);
        }
    }
    let mut out = [0; 64];
    for (to, word) in out.chunks_exact_mut(8).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(b: &[u8]) -> String {
        b.iter().map(|x| format!("{x:02x}")).collect()
    }

    /// The answers that the standards themselves give for "abc" and for a message of more than one block.
    #[test]
    fn published_answers() {
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(&md5(b"abc")), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(hex(&md5(b"")), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(
            hex(&sha1(b"abc")),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        assert_eq!(hex(&sha1(long)), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        assert_eq!(
            hex(&sha256(b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            hex(&sha256(long)),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
        assert!(hex(&sha512(b"abc")).starts_with("ddaf35a193617abacc417349ae204131"));
        assert!(hex(&sha512(b"abc")).ends_with("2a9ac94fa54ca49f"));
    }
}
