//! Files that backups go to and come from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_backup::{BEGUN, Device, Media, Medium, Stripe, TapeTime, cannot_open};
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::fold;
use duramen_os::{DiskFile, IoError, OpenOptions, sparing, thread, time};
use duramen_types::temporal::days_from_ymd;
use duramen_types::{ConvertCtx, DateTime, SqlType as T, Value, convert};

use crate::databases::Databases;
use crate::places::Purpose;

/// As SQL Server writes a moment in a message: `Jan  2 2030 12:00:00:000AM`.
fn long_text(t: TapeTime) -> String {
    const STYLE: i32 = 109;
    let to = T::nvarchar(40);
    let shown = convert::convert(
        &time(t),
        &T::DATETIME,
        &to,
        Some(STYLE),
        &ConvertCtx::default(),
    );
    shown.ok().and_then(|v| v.as_text()).unwrap_or_default()
}

pub fn time(t: TapeTime) -> Value {
    let (year, month, day, hour, minute, second) = t.parts();
    let date = days_from_ymd(i32::from(year), u32::from(month), u32::from(day));
    let Some(days) = date.filter(|_| year > 0) else {
        return Value::Null;
    };
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    DateTime::from_days_units(days, seconds as u64 * 10_000_000)
        .map_or(Value::Null, Value::DateTime)
}

/// The device that takes everything and keeps nothing.
pub fn is_null(shown: &str) -> bool {
    shown.eq_ignore_ascii_case("nul") || shown.eq_ignore_ascii_case("nul:")
}

/// What a statement says of compression. A media set has compressed sets only, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    On,
    Off,
    /// As the media set is; a new one, as 'backup compression default' says.
    Unsaid {
        default: bool,
    },
}

impl Compression {
    fn wanted(self) -> bool {
        matches!(
            self,
            Compression::On | Compression::Unsaid { default: true }
        )
    }

    /// 3098 when sets of the other kind are there.
    fn check(self, compressed: bool) -> SqlResult<()> {
        let (asked, other) = match (self, compressed) {
            (Compression::On, false) => ("COMPRESSION", "NO_COMPRESSION"),
            (Compression::Off, true) => ("NO_COMPRESSION", "COMPRESSION"),
            _ => return Ok(()),
        };
        Err(SqlError::new(
            &messages::MEDIA_INCOMPATIBLE,
            &[&asked, &asked, &other],
        ))
    }
}

/// What a statement says of media that have sets, or of those it makes.
pub struct Placing {
    /// Sets go, the header stays.
    pub init: bool,
    /// Both go.
    pub format: bool,
    /// Neither expiration nor the media's name is looked at.
    pub skip: bool,
    pub compression: Compression,
    /// Not only in the folders for backups.
    pub everywhere: bool,
    /// MEDIANAME and MEDIADESCRIPTION.
    pub name: String,
    pub description: String,
}

impl Placing {
    /// Whether a set may go to a medium with this header: 3098, 3231, 4037; and over its sets: 4030.
    fn check(&self, medium: &Medium, families: u16, shown: &str) -> SqlResult<()> {
        self.compression.check(medium.compressed)?;
        if medium.media.families != families {
            let args: [&dyn std::fmt::Display; 3] = [&shown, &medium.media.families, &families];
            return Err(SqlError::new(&messages::MEDIA_FAMILIES_DIFFER, &args));
        }
        if self.skip {
            return Ok(());
        }
        if !self.name.is_empty() {
            check_media_name(&self.name, medium)?;
        }
        let now = TapeTime::of_unix(time::wall().unix_seconds());
        let expires = medium.sets.iter().map(|s| s.header.expires).max();
        match expires.filter(|at| self.init && *at > now) {
            None => Ok(()),
            Some(at) => {
                let args: [&dyn std::fmt::Display; 2] = [&shown, &long_text(at)];
                Err(SqlError::new(&messages::MEDIUM_NOT_EXPIRED, &args))
            }
        }
    }
}

/// 4037 unless it is the medium's name. That case does not count is *assumed*.
pub fn check_media_name(name: &str, medium: &Medium) -> SqlResult<()> {
    if fold(name) == fold(&medium.media.name) {
        return Ok(());
    }
    let args: [&dyn std::fmt::Display; 3] = [&name, &medium.media.name, &medium.shown];
    Err(SqlError::new(&messages::MEDIA_NAME_DIFFERS, &args))
}

/// Whether INIT and FORMAT may take what is there: nothing, what begins as a medium, ours or SQL Server's, or what power has
/// left of one that had just been begun: its length without its bytes.
fn may_overwrite(file: &dyn DiskFile, length: u64) -> Result<bool, IoError> {
    if length == 0 {
        return Ok(true);
    }
    let mut head = [0; BEGUN.len()];
    let there = length.min(head.len() as u64) as usize;
    file.read_at(&mut head[..there], 0)?;
    let lost = length <= head.len() as u64 && head.iter().all(|b| *b == 0);
    Ok(lost || head.starts_with(b"TAPE") || head == *b"MSSQLBAK")
}

/// Where a new set goes.
pub struct Place {
    pub device: Device,
    /// In the container, and on the device.
    pub at: u64,
    stored: u64,
    pub compressed: bool,
    pub position: u32,
    pub media: Media,
    path: Option<PathBuf>,
    file: Option<Arc<dyn DiskFile>>,
    /// The file was not there.
    fresh: bool,
    /// Nothing is behind `stored` any more.
    cut: bool,
}

impl Place {
    /// As storage is told of it.
    pub fn stripe(&self) -> Stripe {
        Stripe {
            device: self.device.clone(),
            at: self.at,
            compressed: self.compressed,
            stored: self.stored,
            media: self.media.clone(),
        }
    }

    /// Whether a set can be written to both.
    fn goes_with(&self, other: &Place) -> bool {
        let (a, b) = (&self.media, &other.media);
        a.set_guid == b.set_guid && a.number != b.number && self.position == other.position
    }
}

impl Databases {
    /// Below the directory of backups, when it is no full path.
    pub fn backup_path(&self, shown: &str) -> PathBuf {
        let drive = shown.as_bytes().get(1) == Some(&b':');
        if drive || Path::new(shown).is_absolute() {
            return self.resolve(shown);
        }
        let dir = self.backup_dir();
        // A directory that cannot be made is found missing when the file is made.
        let _ = self.engine.env.disk.create_dir_all(&dir);
        dir.join(shown.replace('\\', "/"))
    }

    /// `SERVERPROPERTY('InstanceDefaultBackupPath')`
    pub fn backup_dir(&self) -> PathBuf {
        let own = || self.config.data_dir.join("backup");
        self.config.files.backup_dir.clone().unwrap_or_else(own)
    }

    /// 3201, 3203, 3241.
    pub(crate) fn open_medium(&self, shown: &str) -> SqlResult<Medium> {
        if is_null(shown) {
            return Err(cannot_open(&IoError::NotFound, shown));
        }
        let path = self.backup_path(shown);
        Medium::open(&*self.engine.env.disk, &path, shown)
    }

    /// The media of a striped set, or one. As `open_medium`; 3132, 3227, 3258.
    pub fn open_media(&self, devices: &[String]) -> SqlResult<Medium> {
        let open = |d: &String| self.open_medium(d);
        let mut media = devices.iter().map(open).collect::<SqlResult<Vec<_>>>()?;
        match media.len() {
            1 => Ok(media.remove(0)),
            _ => Medium::joined(media),
        }
    }

    /// Opens devices to write a set over them, over what is there or behind it; given up again when one fails. 3231 when
    /// what is there is a set of another number of media, 3258 when it is not of one set. What is overwritten is there
    /// until all are found to be fit.
    pub fn place_sets(&self, devices: &[String], placing: &Placing) -> SqlResult<Vec<Place>> {
        let guid = duramen_os::random::guid();
        let mut places: Vec<Place> = Vec::new();
        for (i, device) in devices.iter().enumerate() {
            let number = i as u16 + 1;
            let stripe = (guid, number, devices.len() as u16);
            let placed = self.place_set(device, placing, stripe);
            let placed = placed.and_then(|place| match places.first() {
                Some(first) if !first.goes_with(&place) => {
                    let shown: [&dyn std::fmt::Display; 1] = [device];
                    let error = SqlError::new(&messages::MEDIUM_OF_ANOTHER_SET, &shown);
                    self.give_up_set(&place);
                    Err(error)
                }
                _ => Ok(place),
            });
            match placed {
                Ok(place) => places.push(place),
                Err(e) => {
                    places.iter().for_each(|p| self.give_up_set(p));
                    return Err(e);
                }
            }
        }
        for i in 0..places.len() {
            if let Err(e) = self.clear(&mut places[i]) {
                places.iter().for_each(|p| self.give_up_set(p));
                return Err(e);
            }
        }
        Ok(places)
    }

    /// What is overwritten is gone, and what an interrupted backup has left behind the last set.
    fn clear(&self, place: &mut Place) -> SqlResult<()> {
        let Some(file) = &place.file else {
            return Ok(());
        };
        let fail = |e: IoError| cannot_open(&e, &place.device.shown);
        place.cut = true;
        match file.shrink_while(place.stored, &|| !thread::is_given_up()) {
            Err(IoError::GivenUp) => return Err(SqlError::given_up()),
            shrunk => shrunk.map_err(fail)?,
        }
        if place.stored == 0 {
            // Else power could leave the old length with neither the old bytes nor these.
            file.sync().map_err(fail)?;
            file.write_durable_at(&BEGUN, 0).map_err(fail)?;
        }
        // The name comes first: once the set is durable, the database says that it has it, and lets go of its log.
        match place.path.as_deref().and_then(Path::parent) {
            Some(dir) => self.engine.env.disk.sync_dir(dir).map_err(fail),
            None => Ok(()),
        }
    }

    /// Opens a device to write a set, over what is there or behind it. `guid`, `number` and `families` say which device
    /// of which set it becomes.
    fn place_set(
        &self,
        shown: &str,
        placing: &Placing,
        (guid, number, families): ([u8; 16], u16, u16),
    ) -> SqlResult<Place> {
        let mut family = [0; 4];
        family.copy_from_slice(&guid[..4]);
        let mut place = Place {
            device: Device {
                file: None,
                shown: shown.to_owned(),
            },
            at: 0,
            stored: 0,
            compressed: placing.compression.wanted(),
            position: 1,
            media: Media {
                set_guid: guid,
                family: u32::from_le_bytes(family),
                name: placing.name.clone(),
                description: placing.description.clone(),
                software: String::new(),
                written: TapeTime::default(),
                families,
                number,
            },
            path: None,
            file: None,
            fresh: false,
            cut: false,
        };
        if is_null(shown) {
            return Ok(place);
        }
        let fail = |e: IoError| cannot_open(&e, shown);
        let disk = &self.engine.env.disk;
        let (path, file) = self.open_device(&mut place, placing).map_err(fail)?;
        let length = file.len().map_err(fail)?;
        if (placing.init || placing.format) && !may_overwrite(&*file, length).map_err(fail)? {
            return Err(fail(IoError::Denied));
        }
        let there = match (length, placing) {
            (0, _) | (_, Placing { format: true, .. }) => None,
            (_, Placing { init: true, .. }) => Medium::labelled(&**disk, &path, shown)?,
            _ => Some(Medium::open(&**disk, &path, shown)?),
        };
        let file = sparing(file).map_err(fail)?;
        place.device.file = Some(file.clone());
        place.file = Some(file);
        place.path = Some(path);
        if let Some(medium) = there {
            if !placing.init && medium.foreign_compressed() {
                let what = "BACKUP to a compressed media set of SQL Server";
                return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
            }
            placing.check(&medium, families, shown)?;
            place.compressed = medium.compressed;
            if !placing.init {
                place.at = medium.end();
                place.stored = medium.stored(place.at);
                place.position = medium.sets.len() as u32 + 1;
            }
            place.media = medium.media;
        }
        Ok(place)
    }

    /// Opens a device for nobody but this backup, by the name that it has without links.
    fn open_device(
        &self,
        place: &mut Place,
        placing: &Placing,
    ) -> Result<(PathBuf, Arc<dyn DiskFile>), IoError> {
        let disk = &self.engine.env.disk;
        let path = disk.canonical(&self.backup_path(&place.device.shown))?;
        self.may_be_at(&path, Purpose::Backup, placing.everywhere)?;
        if self.database_with(&path).is_some() {
            // Also one that is offline, or whose file is not there.
            return Err(IoError::InUse);
        }
        place.fresh = !disk.exists(&path);
        let options = OpenOptions {
            create: true,
            direct: true,
            ..OpenOptions::default()
        };
        let folders = self.folders(Purpose::Backup, placing.everywhere);
        let file = disk.open_named(&path, &options, folders.as_deref())?;
        match file.try_lock()? {
            true => Ok((path, file)),
            false => Err(IoError::InUse),
        }
    }

    /// After a failure: the device is as it was, as far as that is possible.
    pub fn give_up_set(&self, place: &Place) {
        let _undoing = thread::undoing();
        let disk = &self.engine.env.disk;
        let cleaned = match (&place.path, &place.file) {
            (Some(path), file) if place.fresh => {
                // Its space goes here, not when the last who has it open lets go.
                let emptied = file.as_ref().map_or(Ok(()), |file| file.set_len(0));
                disk.remove(path).and(emptied)
            }
            (_, Some(file)) if place.cut => file.set_len(place.stored),
            _ => Ok(()),
        };
        // What stays has no end, and nobody takes it for a set.
        let _ = cleaned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_tape() {
        let at = |days, seconds: u32| {
            Value::DateTime(DateTime {
                days,
                ticks: seconds * 300,
            })
        };
        assert_eq!(
            time(TapeTime::new(2024, 2, 29, 23, 59, 58)),
            at(45_349, 86_398)
        );
        assert_eq!(time(TapeTime::new(2000, 1, 1, 0, 0, 0)), at(36_524, 0));
        assert_eq!(
            time(TapeTime::new(2017, 6, 1, 12, 59, 12)),
            at(42_885, 46_752)
        );
        assert_eq!(time(TapeTime::default()), Value::Null);
    }
}
