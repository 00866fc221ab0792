//! Hash joins over batches.
//!
//! One side is kept (*built*): its rows by column, and for each key a chain of the rows that have it, in their order. The
//! other side's batches are looked up against it (*probed*). A single key column of whole numbers that lie close together
//! needs no hashing: the chains are found by the number's distance from the least, and keys that come in order are found
//! in order too.
//!
//! The right side is built, as the row join does it, unless it is expected to be much larger than the left one; so small
//! joins give their rows in the left side's order. Rows that ON refuses, and those that nobody joins, are as in the row
//! join: an unmatched probed row comes where it stands, an unmatched built row at the end.
//!
//! When the built side finds no room in memory, both sides are written to files by their keys' hashes, and the pairs of
//! files are joined one after the other; a file that is still too large is parted again.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::batch::{Batch, Column, NO_ROW};
use duramen_types::{CollationId, SqlType};

use super::built::{Build, Built, NONE, ROW_BYTES};
use super::join_blocks::Blocks;
use super::keys::MAX_ROUNDS;
use super::repartition::{Incoming, Outgoing};
use super::spilled::{Purpose, Reader, Writer};
use super::store::{Store, nothing};
use super::vector::{self, BatchExpr};
use super::{BatchOperator, Boxed, may_be_wide, need, rows_together, source};
use crate::cx::Cx;
use crate::estimate::estimate;
use crate::exec;
use crate::expr::Expr;
use crate::plan::{JoinKind, Node, OutColumn, Plan};
use crate::row_join;
use crate::seek_join::{FEW_ROWS, SeekJoin};
use crate::spill::Grant;

/// A right side that is expected to be this large is built only when the left one is no smaller.
const LARGE_ROWS: f64 = 65_536.0;
/// Joined rows that are put together at a time.
const PAIRS: usize = 4096;
/// Bytes of those, if they are not that large.
const LARGE: usize = 1 << 20;
/// The columns of a join's inputs that somebody reads.
pub(super) struct Reads {
    /// By ON, or above the join: left columns, then right ones.
    carried: Vec<bool>,
    left_width: usize,
    /// Those, and the keys'.
    pub left_needed: Vec<bool>,
    pub right_needed: Vec<bool>,
}

impl Reads {
    pub fn of(
        needed: &[bool],
        left_width: usize,
        keys: &[(Expr, Expr)],
        on: Option<&Expr>,
    ) -> Reads {
        let mut carried = needed.to_vec();
        if let Some(on) = on {
            need(on, &mut carried);
        }
        let (left, right) = carried.split_at(left_width);
        let (mut left_needed, mut right_needed) = (left.to_vec(), right.to_vec());
        for (l, r) in keys {
            need(l, &mut left_needed);
            need(r, &mut right_needed);
        }
        Reads {
            carried,
            left_width,
            left_needed,
            right_needed,
        }
    }

    pub fn left_carried(&self) -> &[bool] {
        &self.carried[..self.left_width]
    }

    pub fn right_carried(&self) -> &[bool] {
        &self.carried[self.left_width..]
    }
}

/// Starts a hash join.
pub fn open<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    let Node::Join {
        left,
        right,
        kind,
        hash,
        on,
        ..
    } = &plan.node
    else {
        return source::from_rows(plan, needed, cx);
    };
    let reads = Reads::of(needed, left.columns.len(), hash, on.as_ref());
    if let Some((build_left, build, probe)) = cx.take_incoming(plan) {
        let mut join = HashJoin::new(plan, &reads, build_left)?;
        join.start(Feed::Streams(build), Feed::Streams(probe), 0, cx)?;
        return Ok(Box::new(join));
    }
    if let Some(build) = cx.shared_build(plan) {
        return probed(plan, &reads, (build, true), cx);
    }
    if let Some((build_left, built)) = cx.take_built(plan) {
        return match built {
            Built::All(build) => probed(plan, &reads, (build, false), cx),
            Built::Parted(built) => {
                let probe = side_feed(plan, &reads, !build_left, cx)?;
                let mut join = HashJoin::new(plan, &reads, build_left)?;
                join.part_probed(built, probe, 0, cx)?;
                Ok(Box::new(join))
            }
        };
    }
    let mut left_input = super::open(left, &reads.left_needed, cx)?;
    if SeekJoin::find(right, hash, *kind).is_some() {
        // Few rows on the left seek their partners; `exec::Join` knows how.
        let mut first = Vec::new();
        let mut rows = 0;
        let mut ended = false;
        while rows <= FEW_ROWS && !ended {
            match left_input.next(cx)? {
                Some(batch) => {
                    rows += batch.rows();
                    first.push(batch);
                }
                None => ended = true,
            }
        }
        let again = Box::new(source::Again::new(first, left_input));
        if ended {
            let input = exec::Operator::Columns(Box::new(source::Rows::new(again)));
            return source::of_operator(row_join::over(plan, input, cx)?, plan, needed);
        }
        left_input = again;
    }
    let build_left = builds_left(left, right);
    let right_input = super::open(right, &reads.right_needed, cx)?;
    let left_feed = Feed::input(left_input, hash.iter().map(|h| &h.0), reads.left_carried());
    let right_feed = Feed::input(
        right_input,
        hash.iter().map(|h| &h.1),
        reads.right_carried(),
    );
    let (build_feed, probe_feed) = match build_left {
        true => (left_feed, right_feed),
        false => (right_feed, left_feed),
    };
    let mut join = HashJoin::new(plan, &reads, build_left)?;
    join.start(build_feed, probe_feed, 0, cx)?;
    Ok(Box::new(join))
}

/// A hash join of started inputs, all of whose columns are wanted. The right side is kept.
pub fn over<'p>(
    plan: &'p Plan,
    left: Boxed<'p>,
    right: Boxed<'p>,
    cx: &mut Cx<'_>,
) -> SqlResult<impl BatchOperator + use<'p>> {
    let Node::Join {
        left: below,
        hash,
        on,
        ..
    } = &plan.node
    else {
        return Err(internal());
    };
    let all = vec![true; plan.columns.len()];
    let reads = Reads::of(&all, below.columns.len(), hash, on.as_ref());
    let probe = Feed::input(left, hash.iter().map(|h| &h.0), reads.left_carried());
    let build = Feed::input(right, hash.iter().map(|h| &h.1), reads.right_carried());
    let mut join = HashJoin::new(plan, &reads, false)?;
    join.start(build, probe, 0, cx)?;
    Ok(join)
}

/// Whether the left side is the one that is kept.
pub fn builds_left(left: &Plan, right: &Plan) -> bool {
    let expected = estimate(right).rows;
    expected > LARGE_ROWS && estimate(left).rows < expected
}

/// The kept side of a join for several threads to look up in, or in files where memory does not suffice for it.
pub(super) fn shared(
    plan: &Plan,
    reads: &Reads,
    build_left: bool,
    cx: &mut Cx<'_>,
) -> SqlResult<Built> {
    let feed = side_feed(plan, reads, build_left, cx)?;
    let join = HashJoin::new(plan, reads, build_left)?;
    join.build(feed, (0, join.build_side.outer), cx)
}

/// Sends one side's rows, their keys behind the columns, to the threads that join them.
pub(super) fn send(
    plan: &Plan,
    needed: &[bool],
    is_left: bool,
    mut out: Outgoing,
    cx: &mut Cx<'_>,
) -> SqlResult<()> {
    let Node::Join { left, hash, on, .. } = &plan.node else {
        return Err(internal());
    };
    let reads = Reads::of(needed, left.columns.len(), hash, on.as_ref());
    let collations: Vec<_> = hash.iter().map(|(l, _)| l.ty.collation).collect();
    let mut sent = || -> SqlResult<()> {
        let mut feed = side_feed(plan, &reads, is_left, cx)?;
        while let Some((batch, keys)) = feed.next(hash.len(), cx)? {
            let n = batch.rows();
            let mut columns = batch.into_columns();
            columns.extend_from_slice(&keys);
            out.put(&columns, (&keys, &collations), n)?;
        }
        Ok(())
    };
    let sent = sent();
    out.end(sent)
}

fn internal() -> SqlError {
    SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])
}

/// What one side of a join gives.
fn side_feed<'p>(
    plan: &'p Plan,
    reads: &Reads,
    is_left: bool,
    cx: &mut Cx<'_>,
) -> SqlResult<Feed<'p>> {
    let Node::Join {
        left, right, hash, ..
    } = &plan.node
    else {
        return Err(internal());
    };
    Ok(match is_left {
        true => {
            let input = super::open(left, &reads.left_needed, cx)?;
            Feed::input(input, hash.iter().map(|h| &h.0), reads.left_carried())
        }
        false => {
            let input = super::open(right, &reads.right_needed, cx)?;
            Feed::input(input, hash.iter().map(|h| &h.1), reads.right_carried())
        }
    })
}

/// A join whose kept side is there already, with that of other threads or for this one alone.
fn probed<'p>(
    plan: &'p Plan,
    reads: &Reads,
    (build, shared): (Arc<Build>, bool),
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    let build_left = build.left;
    let probe = side_feed(plan, reads, !build_left, cx)?;
    let mut join = HashJoin::new(plan, reads, build_left)?;
    join.pair = Some(join.pair_of(build, probe, shared));
    Ok(Box::new(join))
}

/// What a join knows of one of its inputs.
struct Side<'p> {
    columns: &'p [OutColumn],
    /// The columns that ON or somebody above reads.
    carried: Vec<bool>,
    /// Its rows come even when nobody joins them.
    outer: bool,
}

/// One side's rows, with their keys.
enum Feed<'p> {
    Input {
        input: Boxed<'p>,
        keys: Vec<BatchExpr<'p>>,
        carried: Vec<bool>,
    },
    /// From a file, the keys behind the columns.
    File(Reader),
    /// From other threads, in the same form.
    Streams(Incoming),
}

impl<'p> Feed<'p> {
    fn input(input: Boxed<'p>, keys: impl Iterator<Item = &'p Expr>, carried: &[bool]) -> Feed<'p> {
        Feed::Input {
            input,
            keys: BatchExpr::all(keys),
            carried: carried.to_vec(),
        }
    }

    /// The next rows: the carried columns, and the keys.
    fn next(&mut self, keys: usize, cx: &mut Cx<'_>) -> SqlResult<Option<(Batch, Columns)>> {
        cx.check_cancelled()?;
        match self {
            Feed::Input {
                input,
                keys,
                carried,
            } => {
                let Some(batch) = input.next(cx)? else {
                    return Ok(None);
                };
                let keys = vector::columns(keys, &batch, cx)?;
                Ok(Some((batch.only(carried), keys)))
            }
            Feed::File(reader) => Ok(reader.next_block()?.map(|batch| with_keys(batch, keys))),
            Feed::Streams(from) => Ok(from.next(cx)?.map(|batch| with_keys(batch, keys))),
        }
    }
}

/// The last columns of a batch apart.
fn with_keys(batch: Batch, keys: usize) -> (Batch, Columns) {
    let n = batch.rows();
    let mut columns = batch.into_columns();
    let keys = columns.split_off(columns.len() - keys);
    (Batch::new(n, columns), keys)
}

type Columns = Vec<Arc<Column>>;

/// A probed batch that is being joined.
struct Probe {
    batch: Batch,
    heads: Vec<u32>,
    /// The row at hand, and the rest of its chain.
    row: usize,
    chain: u32,
    /// Which rows ON has let through; only kept when the probed side is outer and there is an ON, or more built rows are to come.
    matched: Vec<bool>,
    /// The pairs handed on so far were not all of the batch.
    split: bool,
}

struct HashJoin<'p> {
    build_side: Side<'p>,
    build_left: bool,
    probe_side: Side<'p>,
    collations: Vec<CollationId>,
    key_types: Vec<SqlType>,
    on: Option<BatchExpr<'p>>,
    may_be_wide: bool,
    /// Pairs of files still to be joined: built side, probed side, round.
    work: Vec<(Reader, Reader, u32)>,
    pair: Option<Pair<'p>>,
    /// Of a part that was joined block by block, the probed rows without a partner.
    lonely: Option<Blocks>,
}

/// A built side and the rows to look up in it.
struct Pair<'p> {
    build: Arc<Build>,
    /// Other threads look up in it too.
    shared: bool,
    probe: Option<Feed<'p>>,
    current: Option<Probe>,
    /// Which built rows were joined, for an outer built side; of one that threads share only the last of them knows.
    matched: Vec<bool>,
    /// Built rows looked at for having no partner.
    unmatched: usize,
    /// The built rows are not all of their part.
    blocks: Option<Blocks>,
}

impl<'p> HashJoin<'p> {
    /// A join that has no rows yet.
    fn new(plan: &'p Plan, reads: &Reads, build_left: bool) -> SqlResult<HashJoin<'p>> {
        let Node::Join {
            left,
            right,
            kind,
            hash,
            on,
            ..
        } = &plan.node
        else {
            return Err(internal());
        };
        let left_side = Side {
            columns: &left.columns,
            carried: reads.left_carried().to_vec(),
            outer: matches!(kind, JoinKind::Left | JoinKind::Full),
        };
        let right_side = Side {
            columns: &right.columns,
            carried: reads.right_carried().to_vec(),
            outer: matches!(kind, JoinKind::Right | JoinKind::Full),
        };
        let (build_side, probe_side) = match build_left {
            true => (left_side, right_side),
            false => (right_side, left_side),
        };
        let keys = |(l, r): &(Expr, Expr)| match build_left {
            true => l.ty,
            false => r.ty,
        };
        Ok(HashJoin {
            build_side,
            build_left,
            probe_side,
            collations: hash.iter().map(|(l, _)| l.ty.collation).collect(),
            key_types: hash.iter().map(keys).collect(),
            on: on.as_ref().map(BatchExpr::new),
            may_be_wide: may_be_wide(plan.columns.iter().map(|c| &c.ty)),
            work: Vec::new(),
            pair: None,
            lonely: None,
        })
    }

    /// Reads a built side; joins it with the probed one, or parts both for later.
    fn start(
        &mut self,
        build: Feed<'p>,
        probe: Feed<'p>,
        round: u32,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        if round >= MAX_ROUNDS
            && let (Feed::File(build), Feed::File(probe)) = (&build, &probe)
        {
            let blocks = Blocks::new(build.again(), probe.again());
            return self.next_block(blocks, cx);
        }
        match self.build(build, (round, false), cx)? {
            Built::All(build) => self.pair = Some(self.pair_of(build, probe, false)),
            Built::Parted(built) => self.part_probed(built, probe, round, cx)?,
        }
        Ok(())
    }

    fn pair_of(&self, build: Arc<Build>, probe: Feed<'p>, shared: bool) -> Pair<'p> {
        let own = self.build_side.outer && !shared;
        Pair {
            shared,
            matched: vec![false; if own { build.store.rows() } else { 0 }],
            build,
            probe: Some(probe),
            current: None,
            unmatched: 0,
            blocks: None,
        }
    }

    /// Reads as many built rows as there is memory for, to be joined with all probed ones of their part.
    fn next_block(&mut self, mut blocks: Blocks, cx: &mut Cx<'_>) -> SqlResult<()> {
        let mut grant = Grant::new(cx.host.workspace());
        let side = &self.build_side;
        let mut store = Store::new(side.columns, &side.carried);
        let mut keys: Vec<Column> = self.key_types.iter().map(Column::of).collect();
        let mut bytes = 0;
        while let Some(batch) = blocks.rest.next_block()? {
            cx.check_cancelled()?;
            bytes += batch.heap_bytes() + batch.rows() * ROW_BYTES;
            let (batch, new_keys) = with_keys(batch, keys.len());
            for (all, new) in keys.iter_mut().zip(&new_keys) {
                all.append(new);
            }
            store.append(&batch);
            if !grant.hold(bytes) {
                break;
            }
        }
        if store.rows() == 0 {
            if self.probe_side.outer {
                blocks.probe_again();
                self.lonely = Some(blocks);
            }
            return Ok(());
        }
        let store = (store, self.build_left);
        let build = Build::new(store, keys, &self.collations, grant, cx)?;
        let probe = Feed::File(blocks.probe_again());
        let pair = self.pair_of(Arc::new(build), probe, false);
        self.pair = Some(Pair {
            blocks: Some(blocks),
            ..pair
        });
        Ok(())
    }

    /// The next probed rows that no block had a partner for; `None`: there are no more.
    fn next_lonely(&mut self) -> SqlResult<Option<Batch>> {
        while let Some(blocks) = &mut self.lonely {
            let Some(batch) = blocks.next_lonely()? else {
                self.lonely = None;
                break;
            };
            let (batch, _) = with_keys(batch, self.collations.len());
            let n = batch.rows();
            if n > 0 {
                let side = &self.build_side;
                let built = nothing(side.columns, &side.carried, n);
                return Ok(Some(self.both(built, batch.into_columns(), n)));
            }
        }
        Ok(None)
    }

    /// Parts the probed side as the built one is parted.
    fn part_probed(
        &mut self,
        built: Writer,
        mut probe: Feed<'p>,
        round: u32,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let mut probed = Writer::new(Purpose::Other, cx)?;
        while let Some((batch, keys)) = probe.next(self.collations.len(), cx)? {
            self.part(&mut probed, batch, &keys, round)?;
        }
        // Both have all parts, or none where no row came.
        let pairs = built.finish()?.into_iter().zip(probed.finish_all()?);
        self.work.extend(pairs.map(|(b, p)| (b, p, round + 1)));
        Ok(())
    }

    fn part(
        &self,
        writer: &mut Writer,
        batch: Batch,
        keys: &[Arc<Column>],
        round: u32,
    ) -> SqlResult<()> {
        let n = batch.rows();
        let mut columns = batch.into_columns();
        columns.extend_from_slice(keys);
        writer.put_by_key(&columns, (keys, &self.collations), n, round)
    }

    /// `noting`: threads note in it what they have joined.
    fn build(
        &self,
        mut feed: Feed<'p>,
        (round, noting): (u32, bool),
        cx: &mut Cx<'_>,
    ) -> SqlResult<Built> {
        let mut grant = Grant::new(cx.host.workspace());
        let side = &self.build_side;
        let mut store = Store::new(side.columns, &side.carried);
        let mut keys: Vec<Column> = self.key_types.iter().map(Column::of).collect();
        let mut bytes = 0;
        while let Some((batch, new_keys)) = feed.next(keys.len(), cx)? {
            let key_bytes: usize = new_keys.iter().map(|c| c.heap_bytes()).sum();
            bytes += batch.heap_bytes() + key_bytes + batch.rows() * ROW_BYTES;
            for (all, new) in keys.iter_mut().zip(&new_keys) {
                all.append(new);
            }
            store.append(&batch);
            if !grant.hold(bytes) && round < MAX_ROUNDS {
                let mut writer = Writer::new(Purpose::Hash(round), cx)?;
                let n = store.rows();
                let columns = store.take_columns();
                let mut from = 0;
                let some = 16 * rows_together(bytes, n);
                while from < n {
                    cx.check_cancelled()?;
                    let to = n.min(from + some);
                    let slice = |c: &Column| Arc::new(c.slice(from, to));
                    let some = columns.iter().map(|c| slice(c)).collect();
                    let some_keys: Columns = keys.iter().map(slice).collect();
                    self.part(&mut writer, Batch::new(to - from, some), &some_keys, round)?;
                    from = to;
                }
                drop((columns, keys));
                while let Some((batch, keys)) = feed.next(self.collations.len(), cx)? {
                    self.part(&mut writer, batch, &keys, round)?;
                }
                return Ok(Built::Parted(writer));
            }
        }
        let store = (store, self.build_left);
        let build = Build::new(store, keys, &self.collations, grant, cx)?;
        Ok(Built::All(Arc::new(match noting {
            true => build.noting(),
            false => build,
        })))
    }
}

impl BatchOperator for HashJoin<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        loop {
            cx.check_cancelled()?;
            if self.lonely.is_some()
                && let Some(batch) = self.next_lonely()?
            {
                return Ok(Some(batch));
            }
            let Some(mut pair) = self.pair.take() else {
                let Some((build, probe, round)) = self.work.pop() else {
                    return Ok(None);
                };
                self.start(Feed::File(build), Feed::File(probe), round, cx)?;
                continue;
            };
            if let Some(probe) = pair.current.take() {
                let batch = self.join(&mut pair, probe, cx)?;
                self.pair = Some(pair);
                if batch.is_some() {
                    return Ok(batch);
                }
                continue;
            }
            let Some(feed) = &mut pair.probe else {
                // The pair goes when its last row has gone.
                if let Some(batch) = self.rest(&mut pair) {
                    self.pair = Some(pair);
                    return Ok(Some(batch));
                }
                let blocks = pair.blocks.take();
                // What it holds is the next block's.
                drop(pair);
                if let Some(blocks) = blocks {
                    self.next_block(blocks, cx)?;
                }
                continue;
            };
            match feed.next(self.collations.len(), cx)? {
                None => {
                    pair.probe = None;
                    if pair.shared && pair.build.leave() {
                        pair.matched = pair.build.noted();
                        // They come after all that was read.
                        cx.part = usize::MAX;
                    }
                }
                Some((batch, keys)) => {
                    let mut heads = Vec::new();
                    pair.build.heads(&keys, batch.rows(), &mut heads);
                    let some = self.on.is_some() || pair.blocks.is_some();
                    let outer_on = some && self.probe_side.outer;
                    pair.current = Some(Probe {
                        chain: heads.first().copied().unwrap_or(NONE),
                        matched: vec![false; if outer_on { batch.rows() } else { 0 }],
                        batch,
                        heads,
                        row: 0,
                        split: false,
                    });
                }
            }
            self.pair = Some(pair);
        }
    }
}

impl HashJoin<'_> {
    /// Joins on in a probed batch; `None` when that gave no row.
    fn join(
        &self,
        pair: &mut Pair<'_>,
        mut probe: Probe,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Option<Batch>> {
        let build = &pair.build;
        let n = probe.batch.rows();
        let inline = self.probe_side.outer && self.on.is_none() && pair.blocks.is_none();
        let (mut probed, mut built) = (Vec::new(), Vec::new());
        let most = self.pairs_at_once(build, &probe.batch);
        while probe.row < n && probed.len() < most {
            let (row, head) = (probe.row as u32, probe.heads[probe.row]);
            if head == NONE && inline {
                probed.push(row);
                built.push(NO_ROW);
            }
            while probe.chain != NONE && probed.len() < most {
                probed.push(row);
                built.push(probe.chain);
                probe.chain = build.next[probe.chain as usize];
            }
            if probe.chain == NONE {
                probe.row += 1;
                probe.chain = probe.heads.get(probe.row).copied().unwrap_or(NONE);
            }
        }
        let ended = probe.row >= n;
        if self.on.is_some() && !probed.is_empty() {
            let joined = self.pairs(build, &probe.batch, &probed, &built);
            if let Some(on) = &self.on {
                let kept = vector::select(on, &joined, cx)?;
                probed = kept.iter().map(|i| probed[*i as usize]).collect();
                built = kept.iter().map(|i| built[*i as usize]).collect();
            }
        }
        if self.build_side.outer {
            match pair.shared {
                true => build.note(&built),
                false => {
                    for row in &built {
                        if let Some(slot) = pair.matched.get_mut(*row as usize) {
                            *slot = true;
                        }
                    }
                }
            }
        }
        if !probe.matched.is_empty() {
            probed
                .iter()
                .for_each(|i| probe.matched[*i as usize] = true);
            match &mut pair.blocks {
                Some(blocks) if ended => blocks.note(&probe.matched),
                None if ended => with_unmatched(&probe, &mut probed, &mut built),
                _ => {}
            }
        }
        let out = match probed.is_empty() {
            true => None,
            false => Some(self.pairs(build, &probe.batch, &probed, &built)),
        };
        if !ended {
            probe.split = true;
            pair.current = Some(probe);
        }
        Ok(out)
    }

    /// So many pairs are put together: fewer where values may be large.
    fn pairs_at_once(&self, build: &Build, batch: &Batch) -> usize {
        if !self.may_be_wide {
            return PAIRS;
        }
        let built = build.row_bytes;
        let probed = batch.heap_bytes() / batch.rows().max(1);
        (LARGE / (built + probed).max(1)).clamp(1, PAIRS)
    }

    /// The joined rows of some pairs.
    fn pairs(&self, build: &Build, batch: &Batch, probed: &[u32], built: &[u32]) -> Batch {
        let in_place = probed.len() == batch.rows()
            && probed.iter().enumerate().all(|(i, row)| i as u32 == *row);
        let own = match in_place {
            true => batch.columns().to_vec(),
            false => batch.gather(probed).into_columns(),
        };
        self.both(build.store.gather(built), own, probed.len())
    }

    fn both(&self, built: Vec<Arc<Column>>, probed: Vec<Arc<Column>>, n: usize) -> Batch {
        let (mut left, right) = match self.build_left {
            true => (built, probed),
            false => (probed, built),
        };
        left.extend(right);
        Batch::new(n, left)
    }

    /// Built rows that nobody has joined, when the built side is outer.
    fn rest(&self, pair: &mut Pair<'_>) -> Option<Batch> {
        let mut rows = Vec::new();
        let most = rows_together(pair.build.row_bytes, 1);
        while pair.unmatched < pair.matched.len() && rows.len() < most {
            if !pair.matched[pair.unmatched] {
                rows.push(pair.unmatched as u32);
            }
            pair.unmatched += 1;
        }
        if rows.is_empty() {
            return None;
        }
        let side = &self.probe_side;
        let probed = nothing(side.columns, &side.carried, rows.len());
        Some(self.both(pair.build.store.gather(&rows), probed, rows.len()))
    }
}

/// Adds the rows of a probed batch that ON has refused every partner: where they stand, or behind the others when some
/// of the batch is gone already.
fn with_unmatched(probe: &Probe, probed: &mut Vec<u32>, built: &mut Vec<u32>) {
    let lonely = (0..probe.matched.len() as u32).filter(|i| !probe.matched[*i as usize]);
    if probe.split {
        let before = probed.len();
        probed.extend(lonely);
        built.resize(built.len() + probed.len() - before, NO_ROW);
        return;
    }
    let mut pairs: Vec<(u32, u32)> = probed.drain(..).zip(built.drain(..)).collect();
    pairs.extend(lonely.map(|i| (i, NO_ROW)));
    pairs.sort_by_key(|(row, _)| *row);
    probed.extend(pairs.iter().map(|p| p.0));
    built.extend(pairs.iter().map(|p| p.1));
}
