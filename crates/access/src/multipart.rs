//! Names of several parts, as functions get them in texts.

/// `a.b.c` in parts, last first; brackets and double quotes delimit. `None` for what is not a name.
pub fn parts(name: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut chars = name.trim().chars().peekable();
    loop {
        let mut part = String::new();
        let end = match chars.peek() {
            Some('[') => Some(']'),
            Some('"') => Some('"'),
            _ => None,
        };
        if let Some(end) = end {
            chars.next();
            loop {
                match chars.next()? {
                    c if c == end && chars.peek() == Some(&end) => {
                        chars.next();
                        part.push(end);
                    }
                    c if c == end => break,
                    c => part.push(c),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|c| *c != '.') {
                part.push(c);
            }
        }
        out.push(part);
        match chars.next() {
            None => break,
            Some('.') => {}
            Some(_) => return None,
        }
    }
    out.reverse();
    (out.len() <= 3).then_some(out)
}
