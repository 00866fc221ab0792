//! The room order: `ARCHITECTURE.md` holds the table of allowed imports, each `Cargo.toml` what is imported. Rooms within a
//! crate are `inner`'s, circles of its files `circles`', what each module is for `owned`'s, how large a crate may be `sizes`'.

mod circles;
mod inner;
mod owned;
mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::root;

/// Every import that the table of `ARCHITECTURE.md` does not allow, a line each.
pub fn violations() -> Vec<String> {
    let map = match fs::read_to_string(root().join("ARCHITECTURE.md")) {
        Ok(text) => allowed(&text),
        Err(e) => return vec![format!("ARCHITECTURE.md: {e}")],
    };
    let mut wrong = Vec::new();
    let mut rooms = BTreeSet::new();
    let entries = fs::read_dir(root().join("crates")).expect("the workspace has crates");
    for entry in entries.flatten() {
        let room = entry.file_name().to_string_lossy().into_owned();
        let manifest = entry.path().join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            continue;
        };
        wrong.extend(check(&map, &room, &imports(&text)));
        wrong.extend(inner::violations(&room, &entry.path()));
        wrong.extend(circles::violations(&room, &entry.path()));
        wrong.extend(sizes::violations(&room, &entry.path()));
        rooms.insert(room);
    }
    for room in map.keys().filter(|r| !rooms.contains(*r)) {
        wrong.push(format!(
            "ARCHITECTURE.md names the room {room}, which does not exist"
        ));
    }
    wrong
}

fn check(map: &BTreeMap<String, BTreeSet<String>>, room: &str, imports: &[String]) -> Vec<String> {
    let Some(allowed) = map.get(room) else {
        return vec![format!(
            "the room {room} is not in the table of ARCHITECTURE.md"
        )];
    };
    imports
        .iter()
        .filter(|i| !allowed.contains(*i))
        .map(|i| format!("{room} imports {i}, against the room order"))
        .collect()
}

/// The rooms that a manifest names under `[dependencies]` (tests may import more).
fn imports(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && let Some(rest) = line.strip_prefix("duramen-")
        {
            found.extend(rest.split([' ', '.', '=']).next().map(str::to_owned));
        }
    }
    found
}

/// Reads the rows `| room | what | imports |` of the table headed `may import`.
fn allowed(architecture: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut map = BTreeMap::new();
    let rows = architecture
        .lines()
        .skip_while(|l| !l.contains("| may import |"))
        .skip(2);
    for row in rows.take_while(|l| l.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        if let [room, .., imports] = cells.as_slice() {
            let imports = imports
                .split_whitespace()
                .filter(|w| *w != "-")
                .map(str::to_owned)
                .collect();
            map.insert(room.trim_matches('`').to_owned(), imports);
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_import_follows_the_map() {
        assert_eq!(violations(), Vec::<String>::new());
    }

    #[test]
    fn an_upward_arrow_is_found() {
        let map = allowed("| room | owns | may import |\n|---|---|---|\n| wal | log | base os |\n");
        let imports = imports(
            "[package]\nname = \"x\"\n[dependencies]\nduramen-base = 1\nduramen-storage = { path = \"..\" }\n",
        );
        assert_eq!(
            check(&map, "wal", &imports),
            ["wal imports storage, against the room order"]
        );
        assert_eq!(check(&map, "new", &[]).len(), 1);
    }
}
