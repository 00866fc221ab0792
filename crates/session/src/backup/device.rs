//! Files that backups go to and come from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::{DiskFile, IoError, OpenOptions};
use duramen_storage::backup::{Device, Media, Medium, Stripe, TapeTime, cannot_open};

use crate::databases::Databases;

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
    pub(crate) fn backup_path(&self, shown: &str) -> PathBuf {
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
    pub(crate) fn backup_dir(&self) -> PathBuf {
        self.config.data_dir.join("backup")
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
    pub(crate) fn open_media(&self, devices: &[String]) -> SqlResult<Medium> {
        let open = |d: &String| self.open_medium(d);
        let mut media = devices.iter().map(open).collect::<SqlResult<Vec<_>>>()?;
        match media.len() {
            1 => Ok(media.remove(0)),
            _ => Medium::joined(media),
        }
    }

    /// Opens devices to write a set over them, over what is there or behind it; given up again when one fails. 3231 when
    /// what is there is a set of another number of media, 3258 when it is not of one set.
    pub(crate) fn place_sets(
        &self,
        devices: &[String],
        overwrite: bool,
        compression: Compression,
        names: &(String, String),
    ) -> SqlResult<Vec<Place>> {
        let guid = duramen_os::random::guid();
        let mut places: Vec<Place> = Vec::new();
        for (i, device) in devices.iter().enumerate() {
            let number = i as u16 + 1;
            let stripe = (guid, number, devices.len() as u16);
            let placed = self.place_set(device, overwrite, compression, names.clone(), stripe);
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
        Ok(places)
    }

    /// Opens a device to write a set, over what is there or behind it. `guid`, `number` and `families` say which device
    /// of which set it becomes.
    fn place_set(
        &self,
        shown: &str,
        overwrite: bool,
        compression: Compression,
        (name, description): (String, String),
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
            compressed: compression.wanted(),
            position: 1,
            media: Media {
                set_guid: guid,
                family: u32::from_le_bytes(family),
                name,
                description,
                software: String::new(),
                written: TapeTime::default(),
                families,
                number,
            },
            path: None,
            file: None,
            fresh: false,
        };
        if is_null(shown) {
            return Ok(place);
        }
        let path = self.backup_path(shown);
        let disk = &self.engine.env.disk;
        place.fresh = !disk.exists(&path);
        let options = OpenOptions {
            create: true,
            direct: true,
            ..OpenOptions::default()
        };
        let fail = |e: &IoError| cannot_open(e, shown);
        let file = disk.open(&path, &options).map_err(|e| fail(&e))?;
        if !file.try_lock().map_err(|e| fail(&e))? {
            let code = "32(The process cannot access the file because it is being used by another process.)";
            return Err(SqlError::new(
                &messages::CANNOT_OPEN_BACKUP_DEVICE,
                &[&shown, &code],
            ));
        }
        let length = file.len().map_err(|e| fail(&e))?;
        if !overwrite && length > 0 {
            let medium = Medium::open(&**disk, &path, shown)?;
            if medium.foreign_compressed() {
                let what = "BACKUP to a compressed media set of SQL Server";
                return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
            }
            compression.check(medium.compressed)?;
            place.compressed = medium.compressed;
            if medium.media.families != families {
                let args: [&dyn std::fmt::Display; 3] = [&shown, &medium.media.families, &families];
                return Err(SqlError::new(&messages::MEDIA_FAMILIES_DIFFER, &args));
            }
            place.at = medium.end();
            place.stored = medium.stored(place.at);
            place.position = medium.sets.len() as u32 + 1;
            place.media = medium.media;
        }
        // What is overwritten is gone, and what an interrupted backup has left behind the last set.
        file.set_len(place.stored).map_err(|e| fail(&e))?;
        place.device.file = Some(file.clone());
        place.file = Some(file);
        place.path = Some(path);
        // The name comes first: once the set is durable, the database says that it has it, and lets go of its log.
        if let Some(dir) = place.path.as_deref().and_then(Path::parent)
            && let Err(e) = disk.sync_dir(dir)
        {
            self.give_up_set(&place);
            return Err(fail(&e));
        }
        Ok(place)
    }

    /// After a failure: the device is as it was, as far as that is possible.
    pub(crate) fn give_up_set(&self, place: &Place) {
        let disk = &self.engine.env.disk;
        let cleaned = match (&place.path, &place.file) {
            (Some(path), _) if place.fresh => disk.remove(path),
            (_, Some(file)) => file.set_len(place.stored),
            _ => Ok(()),
        };
        // What stays has no end, and nobody takes it for a set.
        let _ = cleaned;
    }
}
