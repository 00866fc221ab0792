//! Files of a disk in few bytes, for fixtures: units of one repeated byte are counted, the others are compressed by
//! repeating what came before, in whatever file.
//!
//! ```text
//! stream   "DURAPACK" | files u32 | each: length of the path u16, path, bytes u64, units
//! unit     4 KB, or what is left of the file: 0 and its bytes, or 1 and the byte that it repeats
//! short    sequences: literals (number, bytes), match (number; none at the end), distance
//! packed   bytes of the short form u32, and their bits by an arithmetic coder that learns from the two bytes before
//! ```
//! Numbers of the short form are seven bits at a time, the lowest first.

use std::path::{Path, PathBuf};

use duramen_os::{Disk, OpenOptions};

const MAGIC: &[u8; 8] = b"DURAPACK";
const UNIT: usize = 4096;
/// No shorter match is worth its two numbers.
const LEAST: usize = 6;
const TABLE: usize = 1 << 18;
/// Earlier places that are tried.
const TRIES: usize = 48;

/// Packs files under the names that they have.
pub fn pack(disk: &dyn Disk, paths: &[PathBuf]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&(paths.len() as u32).to_le_bytes());
    for path in paths {
        let name = path.to_str().expect("a name of this test");
        let bytes = bytes_of(disk, path);
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        for unit in bytes.chunks(UNIT) {
            if unit.iter().all(|b| *b == unit[0]) {
                out.extend_from_slice(&[1, unit[0]]);
            } else {
                out.push(0);
                out.extend_from_slice(unit);
            }
        }
    }
    encode(&compress(&out))
}

/// Puts packed files onto a disk; their paths.
pub fn unpack(packed: &[u8], disk: &dyn Disk) -> Vec<PathBuf> {
    let stream = expand(&decode(packed));
    let mut rest = &stream[..];
    let mut take = |n: usize| {
        let (head, tail) = rest.split_at(n);
        rest = tail;
        head
    };
    assert_eq!(take(8), MAGIC);
    let files = u32::from_le_bytes(take(4).try_into().unwrap());
    let mut paths = Vec::new();
    for _ in 0..files {
        let name = u16::from_le_bytes(take(2).try_into().unwrap());
        let path = PathBuf::from(std::str::from_utf8(take(usize::from(name))).unwrap());
        let length = u64::from_le_bytes(take(8).try_into().unwrap()) as usize;
        disk.create_dir_all(path.parent().unwrap()).unwrap();
        let options = OpenOptions {
            create_new: true,
            ..OpenOptions::default()
        };
        let file = disk.open(&path, &options).unwrap();
        file.set_len(length as u64).unwrap();
        let mut at = 0;
        while at < length {
            let n = UNIT.min(length - at);
            match take(1)[0] {
                0 => file.write_at(take(n), at as u64).unwrap(),
                _ => match take(1)[0] {
                    0 => {}
                    b => file.write_at(&vec![b; n], at as u64).unwrap(),
                },
            }
            at += n;
        }
        file.sync().unwrap();
        disk.sync_dir(path.parent().unwrap()).unwrap();
        paths.push(path);
    }
    paths
}

pub fn bytes_of(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = disk.open(path, &options).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    if !bytes.is_empty() {
        file.read_at(&mut bytes, 0).unwrap();
    }
    bytes
}

/// Every file below a directory, in name order.
pub fn files_below(disk: &dyn Disk, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in disk.list(dir).unwrap_or_default() {
        match disk.list(&path) {
            Ok(_) => found.append(&mut files_below(disk, &path)),
            Err(_) => found.push(path),
        }
    }
    found
}

fn put_number(out: &mut Vec<u8>, mut n: usize) {
    while n >= 128 {
        out.push(n as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
}

fn hash(bytes: &[u8]) -> usize {
    let word = u32::from_le_bytes(bytes[..4].try_into().unwrap());
    (word.wrapping_mul(2_654_435_761) >> 14) as usize % TABLE
}

fn compress(stream: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut last = vec![usize::MAX; TABLE];
    let mut before = vec![usize::MAX; stream.len()];
    let (mut at, mut literals) = (0, 0);
    while at + LEAST <= stream.len() {
        let (mut best, mut distance) = (0, 0);
        let mut try_at = last[hash(&stream[at..])];
        for _ in 0..TRIES {
            if try_at == usize::MAX {
                break;
            }
            let same = stream[try_at..].iter().zip(&stream[at..]);
            let length = same.take_while(|(a, b)| a == b).count();
            if length > best {
                (best, distance) = (length, at - try_at);
            }
            try_at = before[try_at];
        }
        let step = if best >= LEAST { best } else { 1 };
        if best >= LEAST {
            put_number(&mut out, at - literals);
            out.extend_from_slice(&stream[literals..at]);
            put_number(&mut out, best);
            put_number(&mut out, distance);
            literals = at + best;
        }
        for place in at..(at + step).min(stream.len().saturating_sub(3)) {
            let slot = &mut last[hash(&stream[place..])];
            before[place] = *slot;
            *slot = place;
        }
        at += step;
    }
    put_number(&mut out, stream.len() - literals);
    out.extend_from_slice(&stream[literals..]);
    out
}

fn expand(packed: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut at = 0;
    let number = |at: &mut usize| {
        let (mut n, mut shift) = (0, 0);
        loop {
            let b = packed[*at];
            *at += 1;
            n |= usize::from(b & 127) << shift;
            shift += 7;
            if b < 128 {
                return n;
            }
        }
    };
    while at < packed.len() {
        let literals = number(&mut at);
        out.extend_from_slice(&packed[at..at + literals]);
        at += literals;
        if at >= packed.len() {
            break;
        }
        let length = number(&mut at);
        let distance = number(&mut at);
        for _ in 0..length {
            out.push(out[out.len() - distance]);
        }
    }
    out
}

/// How likely the next bit is a one, of 65,536: by the byte before, and by both bytes before.
struct Model {
    one: Vec<u16>,
    two: Vec<u16>,
    before: [u8; 2],
    /// Bits of this byte so far behind a leading one.
    node: usize,
}

impl Model {
    fn new() -> Model {
        Model {
            one: vec![1 << 15; 1 << 16],
            two: vec![1 << 15; 1 << 24],
            before: [0; 2],
            node: 1,
        }
    }

    fn places(&self) -> (usize, usize) {
        let one = usize::from(self.before[0]) << 8 | self.node;
        (one, usize::from(self.before[1]) << 16 | one)
    }

    fn ones(&self) -> u32 {
        let (one, two) = self.places();
        let sum = u32::from(self.one[one]) + 2 * u32::from(self.two[two]);
        (sum / 3).clamp(32, 65_500)
    }

    fn learn(&mut self, bit: bool) {
        let (one, two) = self.places();
        for (p, rate) in [(&mut self.one[one], 5), (&mut self.two[two], 4)] {
            match bit {
                true => *p += (65_535 - *p) >> rate,
                false => *p -= *p >> rate,
            }
        }
        self.node = self.node << 1 | usize::from(bit);
        if self.node >= 256 {
            self.before = [self.node as u8, self.before[0]];
            self.node = 1;
        }
    }
}

/// The interval that is left, and where a bit of this likelihood divides it.
fn middle(low: u32, high: u32, ones: u32) -> u32 {
    low + ((u64::from(high - low) * u64::from(ones)) >> 16) as u32
}

fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = (bytes.len() as u32).to_le_bytes().to_vec();
    let (mut model, mut low, mut high) = (Model::new(), 0_u32, u32::MAX);
    for byte in bytes {
        for n in (0..8).rev() {
            let bit = byte >> n & 1 == 1;
            let at = middle(low, high, model.ones());
            (low, high) = if bit { (low, at) } else { (at + 1, high) };
            model.learn(bit);
            while (low ^ high) >> 24 == 0 {
                out.push((high >> 24) as u8);
                (low, high) = (low << 8, high << 8 | 255);
            }
        }
    }
    out.extend_from_slice(&high.to_be_bytes());
    out
}

fn decode(packed: &[u8]) -> Vec<u8> {
    let (length, mut rest) = packed.split_at(4);
    let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
    let mut next = || match rest.split_first() {
        Some((b, tail)) => {
            rest = tail;
            u32::from(*b)
        }
        None => 0,
    };
    let (mut model, mut low, mut high) = (Model::new(), 0_u32, u32::MAX);
    let mut at = (0..4).fold(0, |at, _| at << 8 | next());
    let mut out = Vec::with_capacity(length);
    while out.len() < length {
        let mut byte = 0;
        for _ in 0..8 {
            let divide = middle(low, high, model.ones());
            let bit = at <= divide;
            (low, high) = if bit {
                (low, divide)
            } else {
                (divide + 1, high)
            };
            model.learn(bit);
            byte = byte << 1 | u8::from(bit);
            while (low ^ high) >> 24 == 0 {
                (low, high) = (low << 8, high << 8 | 255);
                at = at << 8 | next();
            }
        }
        out.push(byte);
    }
    out
}

#[test]
fn what_was_packed_comes_back() {
    let mut stream = Vec::new();
    for i in 0..60_000_u32 {
        stream.extend_from_slice(&(i % 977).wrapping_mul(i % 7).to_le_bytes());
    }
    let packed = encode(&compress(&stream));
    assert!(packed.len() < stream.len() / 3, "{}", packed.len());
    assert_eq!(expand(&decode(&packed)), stream);
    for few in [&b""[..], b"abcdef", &[255; 40]] {
        assert_eq!(expand(&decode(&encode(&compress(few)))), few);
    }
}
