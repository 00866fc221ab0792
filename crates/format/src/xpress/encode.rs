//! The other direction: a unit is compressed at once, with the matches that a table of the last place of four bytes
//! finds, and the Huffman code of its own symbols (MS-XCA 2.1.4).
//!
//! Words of bits and whole bytes share one output: a word's place is taken when the decoder would read it, two words
//! ahead of the bits, so that the bytes in between stand where it looks for them.

use super::{LENGTHS_BYTES, SYMBOLS, TABLE_BITS};

const HASH_BITS: u32 = 13;
/// What ends a stream; it is a match as well.
const END: u16 = 256;
const SHORTEST: usize = 4;
/// Places are 16-bit numbers.
pub const MOST_BYTES: usize = 1 << 16;

/// A literal, or a match with what its length has beyond the symbol.
#[derive(Clone, Copy)]
struct Token {
    symbol: u16,
    /// Of a match: the bits below the highest one of its offset.
    offset: u16,
    /// Of a match: its length less 3.
    length: u16,
}

/// Memory that compressing takes, kept from unit to unit.
#[derive(Debug)]
pub struct Encoder {
    last: Vec<u16>,
    tokens: Vec<Token>,
    counts: [u32; SYMBOLS],
    lengths: [u8; SYMBOLS],
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.symbol)
    }
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder {
            last: vec![0; 1 << HASH_BITS],
            tokens: Vec::new(),
            counts: [0; SYMBOLS],
            lengths: [0; SYMBOLS],
        }
    }
}

fn four(b: &[u8], at: usize) -> u32 {
    match b.get(at..at + 4) {
        Some(b) => u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        None => 0,
    }
}

/// How many bytes at `a` and `b`, which is behind it, are the same.
fn same(bytes: &[u8], a: usize, b: usize) -> usize {
    let most = bytes.len() - b;
    let (old, new) = (&bytes[a..a + most], &bytes[b..]);
    let words = old.chunks_exact(8).zip(new.chunks_exact(8));
    let equal = 8 * words.take_while(|(x, y)| x == y).count();
    let rest = old[equal..].iter().zip(&new[equal..]);
    equal + rest.take_while(|(x, y)| x == y).count()
}

impl Encoder {
    /// Appends the compressed form of at most [`MOST_BYTES`] bytes.
    pub fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        debug_assert!(bytes.len() <= MOST_BYTES);
        self.counts.fill(0);
        self.find(bytes);
        self.code();
        let Encoder {
            tokens, lengths, ..
        } = self;
        let at = out.len();
        out.extend(lengths.chunks_exact(2).map(|l| l[0] | (l[1] << 4)));
        let codes = canonical(lengths);
        let mut bits = Bits::new(out, at + LENGTHS_BYTES);
        for t in tokens.iter() {
            let s = usize::from(t.symbol);
            bits.put(u32::from(codes[s]), u32::from(lengths[s]));
            if s < 256 {
                continue;
            }
            if t.length >= 15 {
                match u8::try_from(t.length - 15) {
                    Ok(n) if n < 255 => bits.out.push(n),
                    _ => {
                        bits.out.push(255);
                        bits.out.extend(t.length.to_le_bytes());
                    }
                }
            }
            bits.put(u32::from(t.offset), u32::from(t.symbol - 256) >> 4);
        }
        bits.finish();
    }

    fn push(&mut self, token: Token) {
        self.counts[usize::from(token.symbol)] += 1;
        self.tokens.push(token);
    }

    fn literal(&mut self, byte: u8) {
        self.push(Token {
            symbol: u16::from(byte),
            offset: 0,
            length: 0,
        });
    }

    /// Literals and matches, and the end.
    fn find(&mut self, bytes: &[u8]) {
        self.tokens.clear();
        self.last.fill(0);
        let mut at = 0;
        // Where nothing is found for long, fewer places are tried.
        let mut misses = 0;
        while at < bytes.len() {
            let left = bytes.len() - at;
            let mut length = 0;
            let mut from = 0;
            if left >= SHORTEST && at > 0 {
                let word = four(bytes, at);
                let slot = (word.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize;
                from = usize::from(self.last[slot]);
                self.last[slot] = at as u16;
                if from < at && four(bytes, from) == word {
                    length = same(bytes, from, at);
                }
            }
            if length < SHORTEST {
                misses += 1;
                let skip = (1 + misses / 64).min(left);
                for b in &bytes[at..at + skip] {
                    self.literal(*b);
                }
                at += skip;
                continue;
            }
            misses = 0;
            let offset = at - from;
            let high = offset.ilog2();
            let length = length.min(usize::from(u16::MAX));
            let field = (length - 3) as u16;
            self.push(Token {
                symbol: 256 + (high as u16) * 16 + field.min(15),
                offset: (offset - (1 << high)) as u16,
                length: field,
            });
            at += length;
        }
        self.push(Token {
            symbol: END,
            offset: 0,
            length: 0,
        });
        // One symbol alone has no complete code.
        if self.counts.iter().filter(|n| **n > 0).count() == 1 {
            self.counts[0] += 1;
        }
    }

    /// Code lengths of at most 15 bits: counts are halved until the tree is low enough.
    fn code(&mut self) {
        let mut counts = self.counts;
        while !huffman(&counts, &mut self.lengths) {
            for n in counts.iter_mut().filter(|n| **n > 0) {
                *n = n.div_ceil(2);
            }
        }
    }
}

/// Lengths of the best code for `counts`, of which two at least are not 0; false when one is too long.
fn huffman(counts: &[u32; SYMBOLS], lengths: &mut [u8; SYMBOLS]) -> bool {
    let mut leaves: Vec<(u32, u16)> = (0..SYMBOLS)
        .filter(|s| counts[*s] > 0)
        .map(|s| (counts[s], s as u16))
        .collect();
    leaves.sort_unstable();
    let n = leaves.len();
    // Nodes: the leaves in order, then what joins two, whose weights never fall.
    let mut weight: Vec<u32> = leaves.iter().map(|l| l.0).collect();
    let mut parent = vec![0usize; 2 * n];
    let (mut leaf, mut inner) = (0, n);
    for node in n..2 * n - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            let takes_leaf = leaf < n && (inner >= node || weight[leaf] <= weight[inner]);
            let taken = if takes_leaf { &mut leaf } else { &mut inner };
            sum += weight[*taken];
            parent[*taken] = node;
            *taken += 1;
        }
        weight.push(sum);
    }
    let mut depth = vec![0u8; 2 * n];
    lengths.fill(0);
    for node in (0..2 * n - 2).rev() {
        depth[node] = depth[parent[node]].saturating_add(1);
        if let Some((_, symbol)) = leaves.get(node) {
            if u32::from(depth[node]) > TABLE_BITS {
                return false;
            }
            lengths[usize::from(*symbol)] = depth[node];
        }
    }
    true
}

/// Codes in the order of length and symbol.
fn canonical(lengths: &[u8; SYMBOLS]) -> [u16; SYMBOLS] {
    let mut codes = [0; SYMBOLS];
    let mut next = 0u32;
    for length in 1..=TABLE_BITS as u8 {
        for symbol in (0..SYMBOLS).filter(|s| lengths[*s] == length) {
            codes[symbol] = next as u16;
            next += 1;
        }
        next <<= 1;
    }
    codes
}

struct Bits<'a> {
    out: &'a mut Vec<u8>,
    /// Places of this word and of the next one.
    places: (usize, usize),
    word: u32,
    free: u32,
}

impl Bits<'_> {
    fn new(out: &mut Vec<u8>, at: usize) -> Bits<'_> {
        out.extend([0; 4]);
        Bits {
            out,
            places: (at, at + 2),
            word: 0,
            free: 16,
        }
    }

    fn write(&mut self, at: usize, word: u32) {
        self.out[at..at + 2].copy_from_slice(&(word as u16).to_le_bytes());
    }

    /// At most 16 bits.
    fn put(&mut self, bits: u32, count: u32) {
        if self.free >= count {
            self.free -= count;
            self.word = (self.word << count) | bits;
            return;
        }
        let over = count - self.free;
        self.write(self.places.0, (self.word << self.free) | (bits >> over));
        self.places = (self.places.1, self.out.len());
        self.out.extend([0; 2]);
        self.free = 16 - over;
        self.word = bits & ((1 << over) - 1);
    }

    fn finish(self) {
        let word = self.word << self.free;
        let mut bits = self;
        bits.write(bits.places.0, word);
    }
}
