//! What trace flag 1222 writes of a deadlock: its graph as lines, an element a line and deeper ones further in.
//!
//! <https://learn.microsoft.com/sql/relational-databases/sql-server-deadlocks-guide#trace-flag-1204-and-trace-flag-1222>. The
//! attributes are those of `xml_deadlock_report`.

/// The lines of a graph. What is no graph gives none.
pub(super) fn lines(xml: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut depth = 0;
    let mut rest = xml;
    while let Some((text, after)) = rest.split_once('<') {
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            out.push(format!("{}{}", " ".repeat(depth), plain(line.trim_end())));
        }
        let Some((tag, after)) = after.split_once('>') else {
            return out;
        };
        rest = after;
        if tag.starts_with('/') {
            depth -= usize::from(tag != "/victim-list" && depth > 0);
            continue;
        }
        let (tag, empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let indent = " ".repeat(depth);
        match name {
            "victim-list" => continue,
            "deadlock" => out.push("deadlock-list".to_owned()),
            "victimProcess" => {
                let id = pairs(attributes).next().map_or(String::new(), |(_, v)| v);
                out.push(format!(" deadlock victim={id}"));
            }
            name => {
                let mut line = format!("{indent}{name}");
                for (key, value) in pairs(attributes) {
                    line += &format!(" {key}={value}");
                }
                out.push(line);
            }
        }
        // The lists are inside the line of the victim.
        depth += match name {
            _ if empty => 0,
            "deadlock" => 2,
            _ => 1,
        };
    }
    out
}

/// `a="b" c="d"` as they were before they were escaped.
fn pairs(attributes: &str) -> impl Iterator<Item = (&str, String)> {
    let mut parts = attributes.split('"');
    std::iter::from_fn(move || {
        let key = parts.next()?.trim().strip_suffix('=')?;
        Some((key, plain(parts.next()?)))
    })
}

fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    let text = text.replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_written_as_sql_server_writes_it() {
        let xml = "<deadlock><victim-list><victimProcess id=\"process52\"/></victim-list><process-list><process id=\"process52\" lockMode=\"X\" clientapp=\"a &quot;b&quot;\"><inputbuf>UPDATE t SET a = 1\nWHERE b &lt; 2</inputbuf></process></process-list><resource-list><keylock resource=\"KEY: 5:7 (ab)\"><owner-list><owner id=\"process51\"/></owner-list><waiter-list><waiter id=\"process52\" mode=\"X\" requestType=\"wait\"/></waiter-list></keylock></resource-list></deadlock>";
        let wanted = [
            "deadlock-list",
            " deadlock victim=process52",
            "  process-list",
            "   process id=process52 lockMode=X clientapp=a \"b\"",
            "    inputbuf",
            "     UPDATE t SET a = 1",
            "     WHERE b < 2",
            "  resource-list",
            "   keylock resource=KEY: 5:7 (ab)",
            "    owner-list",
            "     owner id=process51",
            "    waiter-list",
            "     waiter id=process52 mode=X requestType=wait",
        ];
        assert_eq!(lines(xml), wanted);
        assert!(lines("no graph").is_empty());
    }
}
