//! A part of a plan that several threads run: scans dealt out in parts, filters, projections and joins over them, and
//! above them a gathering of rows, of sorted rows, or of groups.
//!
//! The joins' kept sides are made once, before the workers start, and looked up by all. Groups are made by each worker of
//! its rows, and put together by the statement's own thread; sorted rows are merged there. Where that is expected to cost
//! more than sending rows, they change threads at one place of the part (`repartition`): below the grouping, or at a join
//! both of whose sides go to the threads of their keys. Then half of the workers send and half of them make the rest.
//!
//! Where a kept side finds no room in memory it is parted into files, as it would be without other threads, and one thread
//! goes on from there. Where a worker's groups find none everything is begun anew: by threads that get the rows of their
//! groups sent, or by one; both can use files, and nothing has been given out by then.
//!
//! Sums of floats depend on the order of their terms. They are made of each part of the scan, and these added in the
//! order of the parts: every run of a statement gives the same, with as many threads.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::Batch;

use super::aggregate::{self, Partial};
use super::built::{Build, Built};
use super::helpers::{Dealt, Helpers, Task, address};
use super::join::{self, Reads};
use super::repartition::Streams;
use super::{BatchOperator, Boxed, below_project, need, sort, stream};
use crate::children::each_input;
use crate::cx::Cx;
use crate::estimate::estimate;
use crate::host::{Parallelism, WorkerHost};
use crate::parallel::{self, Top};
use crate::plan::{Node, Plan};
use crate::profile::{counted, way_to, whole};
use crate::scan::{Asked, asked};

/// Parts of the scan for each worker: those that end early take more.
const PARTS_EACH: usize = 16;

/// Starts a parallel part: with several threads where that is worth it and can be done. Only the first `limit` rows of a
/// sort will be asked for.
pub fn open<'p>(
    plan: &'p Plan,
    needed: &[bool],
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    let Node::Parallel {
        zone,
        cost,
        max_degree,
        any_order,
    } = &plan.node
    else {
        return super::source::from_rows(plan, needed, cx);
    };
    let allowed = match cx.dealt {
        Some(_) => Parallelism::NONE,
        None => cx.host.parallelism(),
    };
    let degree = allowed.degree(*cost, *max_degree);
    if degree > 1
        && let Some(host) = cx.host.for_workers()
    {
        let zone = Zone {
            plan: zone,
            needed,
            limit,
            degree,
            any_order: *any_order,
            by_part: parallel::is_by_part(zone),
            host,
        };
        if let Some(opened) = zone.open(&allowed, cx)? {
            return Ok(opened);
        }
    }
    let opened = super::open_first(zone, needed, limit, cx);
    cx.built.clear();
    opened
}

/// A part of a plan that is to run in several threads.
struct Zone<'p, 'n> {
    plan: &'p Arc<Plan>,
    needed: &'n [bool],
    limit: u64,
    degree: usize,
    any_order: bool,
    by_part: bool,
    host: Arc<dyn WorkerHost>,
}

/// What the threads of a zone share.
struct Shared {
    dealt: Dealt,
    /// The joins above the one whose rows change threads, by address.
    above: Vec<usize>,
    sent_join: Option<SentJoin>,
}

/// A join whose rows change threads.
struct SentJoin {
    /// Its address, and its columns that are needed.
    at: usize,
    needed: Vec<bool>,
    /// The left side is the kept one.
    build_left: bool,
    /// The kept side's scan.
    kept: Dealt,
    /// By what a profile knows the ways of the kept side's rows and of the others.
    ways: [usize; 2],
}

impl<'p> Zone<'p, '_> {
    /// `None` where one thread has to do it.
    fn open(&self, allowed: &Parallelism, cx: &mut Cx<'_>) -> SqlResult<Option<Boxed<'p>>> {
        let groups = parallel::top(self.plan) == Top::Groups;
        let repartitioned =
            parallel::repartition_point(self.plan, self.degree, self.any_order, allowed);
        if groups && repartitioned.is_some_and(|at| std::ptr::eq(at, &**self.plan)) {
            return self.sent_groups(cx);
        }
        let can_send = parallel::may_send_groups(self.plan, self.any_order);
        let copies = match self.by_part {
            true => self.degree * PARTS_EACH,
            false => self.degree,
        };
        if groups && !finds_room(self.plan, copies, cx) {
            return match can_send {
                true => self.sent_groups(cx),
                false => Ok(None),
            };
        }
        let opened = self.gathered(repartitioned, cx)?;
        match opened {
            // Some thread's groups have found no room: nothing else ends like this without leaving a kept side.
            None if groups && can_send && cx.built.is_empty() => self.sent_groups(cx),
            opened => Ok(opened),
        }
    }

    /// Deals out the scan, and makes what the threads share of joins. `None` where that cannot be done: `Cx::built` has what
    /// there is.
    fn share(&self, repartitioned: Option<&Plan>, cx: &mut Cx<'_>) -> SqlResult<Option<Shared>> {
        let Some(mut dealt) = deal(self.plan, self.degree, cx)? else {
            return Ok(None);
        };
        dealt.by_part = self.by_part;
        let mut shared = Shared {
            dealt,
            above: Vec::new(),
            sent_join: None,
        };
        let repartitioned = repartitioned.map(address);
        let whole = self.share_builds(self.plan, self.needed, repartitioned, &mut shared, cx)?;
        Ok(whole.then_some(shared))
    }

    /// Makes the kept sides of the joins on the way down to the scan, but of the one whose rows change threads. False when one
    /// finds no room: `Cx::built` has what there is.
    fn share_builds(
        &self,
        plan: &Plan,
        needed: &[bool],
        repartitioned: Option<usize>,
        shared: &mut Shared,
        cx: &mut Cx<'_>,
    ) -> SqlResult<bool> {
        match &plan.node {
            Node::Filter { input, predicate } => {
                let mut below = needed.to_vec();
                need(predicate, &mut below);
                self.share_builds(input, &below, repartitioned, shared, cx)
            }
            Node::Project { input, exprs } => {
                let used = stream::used(exprs, needed);
                let below = below_project(input, exprs, &used);
                self.share_builds(input, &below, repartitioned, shared, cx)
            }
            Node::Sort { input, keys } => {
                let mut below = needed.to_vec();
                keys.iter().for_each(|k| need(&k.expr, &mut below));
                self.share_builds(input, &below, repartitioned, shared, cx)
            }
            Node::Aggregate { input, .. } => {
                let below = aggregate::below(plan, needed);
                self.share_builds(input, &below, repartitioned, shared, cx)
            }
            Node::Join {
                left,
                right,
                hash,
                on,
                ..
            } => {
                let reads = Reads::of(needed, left.columns.len(), hash, on.as_ref());
                // The scan was dealt out by what was expected then.
                let build_left = !shared.dealt.is_below(left);
                let sides = [(left, &reads.left_needed), (right, &reads.right_needed)];
                let [kept, probing] = match build_left {
                    true => sides,
                    false => [sides[1], sides[0]],
                };
                let sent = match repartitioned == Some(address(plan)) {
                    true => self.deal_kept(kept.0, kept.1, cx)?,
                    false => None,
                };
                match sent {
                    Some(kept) => {
                        shared.sent_join = Some(SentJoin {
                            at: address(plan),
                            needed: needed.to_vec(),
                            build_left,
                            kept,
                            ways: match build_left {
                                true => [way_to(plan, 0), way_to(plan, 1)],
                                false => [way_to(plan, 1), way_to(plan, 0)],
                            },
                        });
                    }
                    None => match join::shared(plan, &reads, build_left, cx)? {
                        Built::All(build) => {
                            shared.dealt.share(plan, build);
                            if shared.sent_join.is_none() {
                                shared.above.push(address(plan));
                            }
                        }
                        parted => {
                            // One thread goes on from here, with everything that is made.
                            cx.built = shared.dealt.take_builds().into();
                            cx.built.insert(address(plan), (build_left, parted));
                            return Ok(false);
                        }
                    },
                }
                self.share_builds(probing.0, probing.1, repartitioned, shared, cx)
            }
            _ => Ok(true),
        }
    }

    /// Deals out the scan of a join's kept side, for threads that send its rows; `None` where it has to be shared.
    fn deal_kept(&self, side: &Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Option<Dealt>> {
        let Some(zone) = parallel::read_by_many(side) else {
            return Ok(None);
        };
        let Some(dealt) = deal(zone, self.degree, cx)? else {
            return Ok(None);
        };
        let mut shared = Shared {
            dealt,
            above: Vec::new(),
            sent_join: None,
        };
        let whole = self.share_builds(zone, needed, None, &mut shared, cx)?;
        if !whole {
            // It is made again where the side is read as a whole.
            cx.built.clear();
        }
        Ok(whole.then_some(shared.dealt))
    }

    fn task(&self, dealt: Dealt, cx: &Cx<'_>) -> Task {
        Task {
            host: self.host.clone(),
            dealt: Arc::new(dealt),
            vars: cx.vars.clone(),
            convert: cx.convert,
            degree: self.degree,
            profile: cx.profile.clone(),
        }
    }

    /// Threads that read parts of a scan.
    fn readers(&self, dealt: &Dealt) -> usize {
        self.degree.min(dealt.parts()).max(1)
    }

    /// Each thread makes rows, sorted rows or groups of what it has read or been sent; the statement's own puts these
    /// together.
    fn gathered(
        &self,
        repartitioned: Option<&Plan>,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Option<Boxed<'p>>> {
        let Some(shared) = self.share(repartitioned, cx)? else {
            return Ok(None);
        };
        let readers = self.readers(&shared.dealt);
        let makers = match &shared.sent_join {
            Some(_) => self.degree,
            None => readers,
        };
        shared.dealt.each_build(&mut |at, build: &Build| {
            build.expect(match shared.above.contains(&at) {
                true => makers,
                false => readers,
            });
        });
        let sent = shared.sent_join.map(|join| {
            join.kept
                .each_build(&mut |_, build: &Build| build.expect(readers));
            Arc::new(Sent {
                zone: self.plan.clone(),
                at: join.at,
                needed: join.needed,
                build_left: join.build_left,
                kept: Streams::new(readers, makers, join.ways[0]),
                probing: Streams::new(readers, makers, join.ways[1]),
                dealt: Arc::new(join.kept),
                makers,
            })
        });
        let count = makers + if sent.is_some() { readers } else { 0 };
        let mut all = sent.is_some();
        shared
            .dealt
            .each_build(&mut |_, build: &Build| all |= build.notes());
        let threads = Whole {
            count,
            all,
            sent: sent.clone(),
        };
        let task = self.task(shared.dealt, cx);
        let (limit, by_part) = (self.limit, self.by_part);
        let (zone, needed) = (self.plan.clone(), self.needed.to_vec());
        // Whether the thread makes something; one that sends has done so when this is known.
        let begins = move |number: u32, cx: &mut Cx<'_>| match &sent {
            Some(sent) => sent.begin(number as usize - 1, cx),
            None => Ok(true),
        };
        match parallel::top(self.plan) {
            Top::Rows => {
                let helpers = Helpers::start(task, count, false, move |number, cx, give| {
                    if !begins(number, cx)? {
                        return Ok(());
                    }
                    let mut input = super::open(&zone, &needed, cx)?;
                    while let Some(batch) = input.next(cx)? {
                        give(batch)?;
                    }
                    Ok(())
                })?;
                let helpers = threads.checked(helpers);
                Ok(helpers.map(|helpers| Box::new(Gather(helpers)) as Boxed<'p>))
            }
            Top::Sorted => {
                let helpers = Helpers::start(task, count, true, move |number, cx, give| {
                    let Node::Sort { input, keys } = &zone.node else {
                        return Ok(());
                    };
                    if !begins(number, cx)? {
                        return Ok(());
                    }
                    whole(&zone, cx, |cx, rows| {
                        sort::run((input, keys), &needed, limit, cx, &mut |batch| {
                            *rows += batch.rows();
                            give(batch)
                        })
                    })
                })?;
                let helpers = threads.checked(helpers);
                Ok(helpers.map(|helpers| sort::merged(self.plan, helpers, limit)))
            }
            Top::Groups => {
                let helpers = Helpers::start(task, count, false, move |number, cx, give| {
                    if !begins(number, cx)? {
                        return Ok(());
                    }
                    whole(&zone, cx, |cx, rows| {
                        aggregate::partials(&zone, &needed, by_part, cx, &mut |partial| {
                            *rows += partial.as_ref().map_or(0, Partial::groups);
                            give(partial)
                        })
                    })
                })?;
                match threads.checked(helpers) {
                    Some(helpers) => aggregate::together(self.plan, by_part, helpers, cx),
                    None => Ok(None),
                }
            }
        }
    }

    /// Each thread makes the groups of its keys, whose rows others send to it.
    fn sent_groups(&self, cx: &mut Cx<'_>) -> SqlResult<Option<Boxed<'p>>> {
        let Some(shared) = self.share(None, cx)? else {
            return Ok(None);
        };
        let (senders, makers) = (self.readers(&shared.dealt), self.degree);
        shared
            .dealt
            .each_build(&mut |_, build: &Build| build.expect(senders));
        let count = senders + makers;
        let streams = Arc::new(Streams::new(senders, makers, way_to(self.plan, 0)));
        let (zone, ways) = (self.plan.clone(), streams.clone());
        let needed = self.needed.to_vec();
        let task = self.task(shared.dealt, cx);
        let helpers = Helpers::start(task, count, false, move |number, cx, give| {
            let number = number as usize - 1;
            match number.checked_sub(makers) {
                Some(sender) => aggregate::send(&zone, &needed, ways.outgoing(sender)?, cx),
                None => {
                    let from = ways.incoming(number)?;
                    let mut groups = counted(&zone, cx, |cx| aggregate::received(&zone, from, cx))?;
                    while let Some(batch) = groups.next(cx)? {
                        give(batch)?;
                    }
                    Ok(())
                }
            }
        })?;
        if helpers.workers() < count {
            streams.abandon();
            return Ok(None);
        }
        Ok(Some(Box::new(Gather(helpers))))
    }
}

/// How many threads there have to be.
struct Whole {
    count: usize,
    /// Fewer do not do.
    all: bool,
    sent: Option<Arc<Sent>>,
}

impl Whole {
    fn checked<T: Send + 'static>(self, helpers: Helpers<T>) -> Option<Helpers<T>> {
        if !self.all || helpers.workers() == self.count {
            return Some(helpers);
        }
        if let Some(sent) = self.sent {
            sent.kept.abandon();
            sent.probing.abandon();
        }
        None
    }
}

/// A join both of whose sides' rows go to the threads of their keys.
struct Sent {
    zone: Arc<Plan>,
    at: usize,
    needed: Vec<bool>,
    build_left: bool,
    /// The kept side's scan.
    dealt: Arc<Dealt>,
    kept: Streams,
    probing: Streams,
    /// Threads that join, and run what is above. The others send.
    makers: usize,
}

impl Sent {
    /// Sends what the thread with this number reads of both sides, or gives it its end of the ways there. True: it makes
    /// what is above.
    fn begin(&self, number: usize, cx: &mut Cx<'_>) -> SqlResult<bool> {
        let Some(sender) = number.checked_sub(self.makers) else {
            let kept = self.kept.incoming(number)?;
            let probing = self.probing.incoming(number)?;
            cx.incoming = Some(Box::new((self.at, self.build_left, kept, probing)));
            return Ok(true);
        };
        let kept = self.kept.outgoing(sender)?;
        let probing = self.probing.outgoing(sender)?;
        let Some(join) = at(&self.zone, self.at) else {
            return Ok(false);
        };
        let others = cx.dealt.replace(self.dealt.clone());
        let sent = join::send(join, &self.needed, self.build_left, kept, cx);
        cx.dealt = others;
        sent?;
        join::send(join, &self.needed, !self.build_left, probing, cx)?;
        Ok(false)
    }
}

/// The plan with this address.
fn at(plan: &Plan, wanted: usize) -> Option<&Plan> {
    let mut found = (address(plan) == wanted).then_some(plan);
    each_input(&plan.node, &mut |p| found = found.or_else(|| at(p, wanted)));
    found
}

/// Whether so many copies of a plan's rows are expected to find room in memory: otherwise one thread does it from the start.
fn finds_room(plan: &Plan, copies: usize, cx: &Cx<'_>) -> bool {
    /// Of a kept row besides its columns, about.
    const ROW_BYTES: f64 = 32.0;
    let expected = estimate(plan);
    let bytes = expected.rows * (expected.bytes + ROW_BYTES) * copies as f64;
    bytes <= cx.host.workspace().limit() as f64 / 2.0
}

/// Cuts the scan that the workers share; `None` where it has to stay whole, or gives nothing anyway.
fn deal(zone: &Plan, degree: usize, cx: &mut Cx<'_>) -> SqlResult<Option<Dealt>> {
    let scan = parallel::driving(zone);
    let Node::Scan { table, lock, .. } = &scan.node else {
        return Ok(None);
    };
    let bounds = match asked(scan, cx)? {
        Asked::All => None,
        Asked::Within(bounds) => Some(*bounds),
        Asked::Nothing => return Ok(None),
    };
    let wanted = degree * PARTS_EACH;
    let parts = table.def.parts(bounds.as_ref(), *lock, wanted, cx)?;
    Ok(parts
        .filter(|p| !p.is_empty())
        .map(|parts| Dealt::new(scan, bounds, parts)))
}

/// Rows as the workers have them.
struct Gather(Helpers<Batch>);

impl BatchOperator for Gather {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        self.0.next(0, cx)
    }
}
