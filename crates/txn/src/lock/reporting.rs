//! What event sessions hear of locks. All of it is behind a look whether anybody listens: locks are taken by the million.
//!
//! Called with the owner's list locked; a listener asks nothing of the lock manager.

use std::time::Duration;

use duramen_base::RowsetId;
use duramen_observe::events::{
    self, EventId, LockAcquired, LockModes, LockOwnerType, LockReleased, LockResourceType,
    LockTimeout, LockTimeoutGreaterThan0, emit,
};

use super::held::HeldLock;
use super::{Entity, LockDuration, LockMode, LockOwner, Resource};

#[inline]
pub(super) fn grants_are_wanted() -> bool {
    events::is_wanted(EventId::LockAcquired)
}

#[inline]
pub(super) fn releases_are_wanted() -> bool {
    events::is_wanted(EventId::LockReleased)
}

#[inline]
pub(super) fn timeouts_are_wanted() -> bool {
    events::is_wanted(EventId::LockTimeout) || events::is_wanted(EventId::LockTimeoutGreaterThan0)
}

pub(super) fn mode_of(mode: LockMode) -> LockModes {
    LockModes(mode as u32 + 1)
}

fn kind(resource: &Resource) -> LockResourceType {
    LockResourceType(match resource {
        Resource::Database(_) => 2,
        Resource::File(..) => 3,
        Resource::Object(..) => 5,
        Resource::Page(..) => 6,
        Resource::Key(..) => 7,
        Resource::Extent(..) => 8,
        Resource::Rid(..) => 9,
        Resource::Application(..) => 10,
        Resource::Metadata(..) => 11,
        Resource::Hobt(..) => 12,
        Resource::AllocationUnit(..) => 13,
    })
}

/// `resource_0` to `resource_2`. Of keys they are laid out so that tools that turn them back into the text of
/// `%%lockres%%` find it; of the others *assumed*.
fn words(resource: &Resource) -> [u64; 3] {
    let halves = |n: u64| [n & 0xffff_ffff, n >> 32];
    match *resource {
        Resource::Database(db) => [u64::from(db.0), 0, 0],
        Resource::File(_, file) => [u64::from(file.0), 0, 0],
        Resource::Object(_, object) => [u64::from(object.0 as u32), 0, 0],
        Resource::Page(_, p) | Resource::Extent(_, p) => [u64::from(p.page), u64::from(p.file), 0],
        Resource::Rid(_, p, slot) => {
            let place = u64::from(slot) << 16 | u64::from(p.file);
            [u64::from(p.page), place, 0]
        }
        Resource::Key(_, rowset, hash) => {
            let rowset = rowset.0 as u64;
            let high = u64::from(((hash >> 32) as u16).swap_bytes());
            let low = u64::from((hash as u32).swap_bytes());
            [rowset >> 16 & 0xffff_ffff, high << 16 | rowset >> 48, low]
        }
        Resource::Hobt(_, rowset) => {
            let [low, high] = halves(rowset.0 as u64);
            [low, high, 0]
        }
        Resource::AllocationUnit(_, unit) => {
            let [low, high] = halves(unit as u64);
            [low, high, 0]
        }
        Resource::Metadata(_, class, id) => {
            let [low, high] = halves(id);
            [u64::from(class), low, high]
        }
        Resource::Application(_, hash) => {
            let [low, high] = halves(hash);
            [low, high, 0]
        }
    }
}

pub(super) fn object_of(resource: &Resource) -> u64 {
    match resource {
        Resource::Object(_, object) => u64::from(object.0 as u32),
        _ => 0,
    }
}

fn associated(entity: &Entity, resource: &Resource) -> u64 {
    match resource {
        Resource::Page(..) | Resource::Rid(..) => entity.rowset.0 as u64,
        _ => resource.associated_entity() as u64,
    }
}

fn owner_type(session: bool) -> LockOwnerType {
    match session {
        true => LockOwnerType::SESSION,
        false => LockOwnerType::TRANSACTION,
    }
}

/// `owner` has `mode` on the resource now, after so long.
#[cold]
pub(super) fn acquired(
    owner: &LockOwner,
    entity: &Entity,
    resource: &Resource,
    (mode, duration): (LockMode, LockDuration),
    waited: Duration,
) {
    let [resource_0, resource_1, resource_2] = words(resource);
    emit(|| LockAcquired {
        resource_type: kind(resource),
        mode: mode_of(mode),
        owner_type: owner_type(duration == LockDuration::Session),
        transaction_id: i64::try_from(owner.transaction()).unwrap_or(0),
        database_id: u64::from(resource.db().0),
        lockspace_workspace_id: owner.id(),
        lockspace_sub_id: 0,
        lockspace_nest_id: 0,
        resource_0,
        resource_1,
        resource_2,
        object_id: object_of(resource),
        associated_object_id: associated(entity, resource),
        duration: waited.as_micros() as u64,
        resource_description: resource.description(),
    });
}

/// `owner` has given the request up, after so long.
#[cold]
pub(super) fn timed_out(
    owner: &LockOwner,
    rowset: RowsetId,
    resource: &Resource,
    (mode, session): (LockMode, bool),
    waited: Duration,
) {
    let [resource_0, resource_1, resource_2] = words(resource);
    let entity = Entity {
        rowset,
        ..Entity::default()
    };
    macro_rules! report {
        ($event:ident) => {
            emit(|| $event {
                resource_type: kind(resource),
                mode: mode_of(mode),
                owner_type: owner_type(session),
                transaction_id: i64::try_from(owner.transaction()).unwrap_or(0),
                database_id: u64::from(resource.db().0),
                lockspace_workspace_id: owner.id(),
                lockspace_sub_id: 0,
                lockspace_nest_id: 0,
                resource_0,
                resource_1,
                resource_2,
                object_id: object_of(resource),
                associated_object_id: associated(&entity, resource),
                duration: waited.as_micros() as u64,
                resource_description: resource.description(),
            });
        };
    }
    report!(LockTimeout);
    if waited > Duration::ZERO {
        report!(LockTimeoutGreaterThan0);
    }
}

/// `owner` has given the lock back.
#[cold]
pub(super) fn released(owner: &LockOwner, resource: &Resource, lock: &HeldLock) {
    let [resource_0, resource_1, resource_2] = words(resource);
    emit(|| LockReleased {
        resource_type: kind(resource),
        mode: mode_of(lock.mode),
        owner_type: owner_type(lock.session.is_some()),
        transaction_id: i64::try_from(owner.transaction()).unwrap_or(0),
        database_id: u64::from(resource.db().0),
        lockspace_workspace_id: owner.id(),
        lockspace_sub_id: 0,
        lockspace_nest_id: 0,
        resource_0,
        resource_1,
        resource_2,
        object_id: object_of(resource),
        associated_object_id: associated(&lock.entity, resource),
        resource_description: resource.description(),
    });
}
