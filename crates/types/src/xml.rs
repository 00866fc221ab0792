//! xml as a stored type: whether a text is well-formed, and the form in which it is kept.
//!
//! A value is the content of an element: text, elements, comments and instructions in any number. It is kept as text and
//! given back as SQL Server serializes it: no XML declaration, empty elements as `<a/>`, attribute values in double quotes,
//! CDATA as text, line ends as LF, and white space between tags gone unless `xml:space="preserve"` (or CONVERT style 1)
//! keeps it. Names are checked with the classes of XML 1.0; a DTD is refused, as is a prefix that nobody declared.
//! Errors carry line and character as the parser counts them: the character at which it noticed (*assumed* where no example
//! is published).

use duramen_base::messages::{self, Message};
use duramen_base::{SqlError, SqlResult, given_up};

/// Elements may not be nested deeper.
const DEEPEST: usize = 128;

/// The text in its kept form. `keep_space` is CONVERT's style 1 or 3.
pub fn normalized(text: &str, keep_space: bool) -> SqlResult<String> {
    let mut p = Parser {
        chars: text.chars().collect(),
        at: 0,
        out: String::with_capacity(text.len()),
        open: Vec::new(),
        prefixes: vec!["xml".to_owned()],
    };
    p.content(keep_space)?;
    Ok(p.out)
}

/// Text out of the bytes of a document: UTF-16 with or without its mark, else UTF-8.
pub fn decoded(bytes: &[u8]) -> Option<String> {
    let wide = |b: &[u8]| {
        let units: Vec<u16> = b
            .chunks(2)
            .map(|c| u16::from(c[0]) | u16::from(*c.get(1).unwrap_or(&0)) << 8)
            .collect();
        String::from_utf16(&units).ok()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest),
        [b'<', 0, ..] => wide(bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

/// An element that is not closed yet.
struct Open {
    name: String,
    /// How many prefixes were known before it.
    prefixes: usize,
    keep_space: bool,
    /// Its start tag has no `>` yet: what follows decides between `>` and `/>`.
    pending: bool,
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    out: String,
    open: Vec<Open>,
    /// Declared prefixes, innermost last.
    prefixes: Vec<String>,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn starts_with(&self, s: &str) -> bool {
        let mut i = self.at;
        s.chars().all(|c| {
            i += 1;
            self.chars.get(i - 1) == Some(&c)
        })
    }

    fn eat(&mut self, s: &str) -> bool {
        let hit = self.starts_with(s);
        if hit {
            self.at += s.chars().count();
        }
        hit
    }

    fn blanks(&mut self) -> bool {
        let from = self.at;
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
        self.at > from
    }

    /// The error at the character just looked at.
    fn fail(&self, message: &'static Message) -> SqlError {
        let before = &self.chars[..self.at.min(self.chars.len())];
        let line = before.iter().filter(|c| **c == '\n').count() + 1;
        let column = before.iter().rev().take_while(|c| **c != '\n').count() + 1;
        let column = match message.number {
            // The end lies behind the last character.
            9400 => column - 1,
            _ => column,
        };
        SqlError::new(message, &[&line, &column])
    }

    fn ended(&self) -> SqlError {
        self.fail(&messages::XML_UNEXPECTED_END)
    }

    /// What is next is needed: the error says what was expected, or that the input ended.
    fn need(&mut self, s: &str, message: &'static Message) -> SqlResult<()> {
        match self.eat(s) {
            true => Ok(()),
            false if self.peek().is_none() => Err(self.ended()),
            false => Err(self.fail(message)),
        }
    }

    /// A start tag that has content gets its `>`.
    fn settle(&mut self) {
        if let Some(open) = self.open.last_mut().filter(|o| o.pending) {
            open.pending = false;
            self.out.push('>');
        }
    }

    fn content(&mut self, keep_space: bool) -> SqlResult<()> {
        if self.starts_with("<?xml") && self.chars.get(5).copied().is_some_and(is_blank) {
            self.declaration()?;
        }
        let mut steps = 0..;
        loop {
            given_up::after_step(steps.next().unwrap_or(0))?;
            let keep = self.open.last().map_or(keep_space, |o| o.keep_space);
            match self.peek() {
                None if self.open.is_empty() => return Ok(()),
                None => return Err(self.ended()),
                Some('<') if self.eat("<!--") => self.comment()?,
                Some('<') if self.starts_with("<![CDATA[") => self.text(keep)?,
                Some('<') if self.starts_with("<!DOCTYPE") => {
                    return Err(SqlError::new(&messages::XML_DTD, &[]));
                }
                Some('<') if self.eat("<?") => self.instruction()?,
                Some('<') if self.eat("</") => self.end_tag()?,
                Some('<') => self.start_tag(keep)?,
                Some(_) => self.text(keep)?,
            }
        }
    }

    /// `<?xml version="1.0" ...?>`: read and forgotten.
    fn declaration(&mut self) -> SqlResult<()> {
        self.at += 5;
        while !self.eat("?>") {
            if self.peek().is_none() {
                return Err(self.ended());
            }
            if self.peek() == Some('<') {
                return Err(self.fail(&messages::XML_DECLARATION));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn comment(&mut self) -> SqlResult<()> {
        self.settle();
        self.out.push_str("<!--");
        while !self.starts_with("--") {
            let c = self.legal()?;
            self.out.push(c);
        }
        self.at += 2;
        self.need(">", &messages::XML_COMMENT)?;
        self.out.push_str("-->");
        Ok(())
    }

    fn instruction(&mut self) -> SqlResult<()> {
        let target = self.name()?;
        if target.eq_ignore_ascii_case("xml") {
            return Err(self.fail(&messages::XML_DECLARATION_PLACE));
        }
        self.settle();
        self.out.push_str("<?");
        self.out.push_str(&target);
        while !self.starts_with("?>") {
            let c = self.legal()?;
            self.out.push(c);
        }
        self.at += 2;
        self.out.push_str("?>");
        Ok(())
    }

    /// The next character, which may stand in a document.
    fn legal(&mut self) -> SqlResult<char> {
        match self.peek() {
            None => Err(self.ended()),
            Some(c) if is_legal(c) => {
                self.at += 1;
                // Line ends are one LF.
                if c == '\r' {
                    if self.peek() == Some('\n') {
                        self.at += 1;
                    }
                    return Ok('\n');
                }
                Ok(c)
            }
            Some(_) => Err(self.fail(&messages::XML_ILLEGAL_CHARACTER)),
        }
    }

    /// Text up to the next tag, CDATA sections included.
    fn text(&mut self, keep_space: bool) -> SqlResult<()> {
        let mut text = String::new();
        // White space of CDATA and of references is meant.
        let mut meant = keep_space;
        loop {
            if self.eat("<![CDATA[") {
                meant = true;
                while !self.eat("]]>") {
                    let c = self.legal()?;
                    escape_text(c, &mut text);
                }
                continue;
            }
            match self.peek() {
                None | Some('<') => break,
                Some('&') => {
                    let c = self.reference()?;
                    meant = true;
                    escape_text(c, &mut text);
                }
                Some(']') if self.starts_with("]]>") => {
                    return Err(self.fail(&messages::XML_CDATA_END));
                }
                Some(_) => {
                    let c = self.legal()?;
                    meant |= !is_blank(c);
                    escape_text(c, &mut text);
                }
            }
        }
        if meant {
            self.settle();
            self.out.push_str(&text);
        }
        Ok(())
    }

    /// `&lt;`, `&#65;`, `&#x41;`.
    fn reference(&mut self) -> SqlResult<char> {
        self.at += 1;
        if self.eat("#") {
            let hex = self.eat("x");
            let from = self.at;
            let digit = |c: char| {
                if hex {
                    c.is_ascii_hexdigit()
                } else {
                    c.is_ascii_digit()
                }
            };
            while self.peek().is_some_and(digit) {
                self.at += 1;
            }
            let digits: String = self.chars[from..self.at].iter().collect();
            if digits.is_empty() {
                let expected = match hex {
                    true => &messages::XML_HEX_DIGIT,
                    false => &messages::XML_DECIMAL_DIGIT,
                };
                return Err(self
                    .peek()
                    .map_or_else(|| self.ended(), |_| self.fail(expected)));
            }
            self.need(";", &messages::XML_SEMICOLON)?;
            let code = u32::from_str_radix(&digits, if hex { 16 } else { 10 }).ok();
            let c = code.and_then(char::from_u32).filter(|c| is_legal(*c));
            return c.ok_or_else(|| self.fail(&messages::XML_ILLEGAL_CHARACTER));
        }
        let name = self.name()?;
        self.need(";", &messages::XML_SEMICOLON)?;
        Ok(match name.as_str() {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "apos" => '\'',
            "quot" => '"',
            _ => {
                self.at -= 1;
                return Err(self.fail(&messages::XML_UNDECLARED_ENTITY));
            }
        })
    }

    fn name(&mut self) -> SqlResult<String> {
        let from = self.at;
        match self.peek() {
            None => return Err(self.ended()),
            Some(c) if is_name_start(c) => {}
            Some(_) => return Err(self.fail(&messages::XML_ILLEGAL_NAME)),
        }
        while self
            .peek()
            .is_some_and(|c| is_name_start(c) || is_name_rest(c))
        {
            self.at += 1;
        }
        Ok(self.chars[from..self.at].iter().collect())
    }

    /// A name of at most two parts.
    fn qualified(&mut self) -> SqlResult<String> {
        let name = self.name()?;
        let parts: Vec<&str> = name.split(':').collect();
        match parts.as_slice() {
            [_] => Ok(name),
            [a, b] if !a.is_empty() && b.chars().next().is_some_and(is_name_start) => Ok(name),
            [_, _] => Err(self.fail(&messages::XML_QUALIFIED_NAME)),
            _ => Err(self.fail(&messages::XML_MULTIPLE_COLONS)),
        }
    }

    fn start_tag(&mut self, keep_space: bool) -> SqlResult<()> {
        self.at += 1;
        let name = self.qualified()?;
        if self.open.len() >= DEEPEST {
            return Err(SqlError::new(&messages::XML_TOO_DEEP, &[&DEEPEST]));
        }
        self.settle();
        let known = self.prefixes.len();
        let mut keep = keep_space;
        let mut attributes: Vec<(String, String)> = Vec::new();
        let empty = loop {
            let blank = self.blanks();
            match self.peek() {
                None => return Err(self.ended()),
                Some('>') => {
                    self.at += 1;
                    break false;
                }
                Some('/') => {
                    self.at += 1;
                    self.need(">", &messages::XML_GREATER)?;
                    break true;
                }
                Some(_) if !blank => return Err(self.fail(&messages::XML_WHITE_SPACE)),
                Some(_) => {}
            }
            let attribute = self.qualified()?;
            self.blanks();
            self.need("=", &messages::XML_EQUAL)?;
            self.blanks();
            let value = self.value()?;
            if attributes.iter().any(|(n, _)| *n == attribute) {
                return Err(self.fail(&messages::XML_DUPLICATE_ATTRIBUTE));
            }
            if let Some(prefix) = attribute.strip_prefix("xmlns:") {
                self.prefixes.push(prefix.to_owned());
            }
            if attribute == "xml:space" {
                keep = value == "preserve";
            }
            attributes.push((attribute, value));
        };
        let names = attributes.iter().map(|a| a.0.as_str());
        for name in names.chain([name.as_str()]) {
            if let Some((prefix, _)) = name.split_once(':')
                && prefix != "xmlns"
                && !self.prefixes.iter().any(|p| p == prefix)
            {
                return Err(self.fail(&messages::XML_UNDECLARED_PREFIX));
            }
        }
        self.out.push('<');
        self.out.push_str(&name);
        for (name, value) in &attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            value.chars().for_each(|c| escape_value(c, &mut self.out));
            self.out.push('"');
        }
        if empty {
            self.out.push_str("/>");
            self.prefixes.truncate(known);
        } else {
            self.open.push(Open {
                name,
                prefixes: known,
                keep_space: keep,
                pending: true,
            });
        }
        Ok(())
    }

    /// An attribute's value; tabs and line ends in it are blanks.
    fn value(&mut self) -> SqlResult<String> {
        let quote = match self.peek() {
            Some(q @ ('"' | '\'')) => q,
            None => return Err(self.ended()),
            Some(_) => return Err(self.fail(&messages::XML_STRING_LITERAL)),
        };
        self.at += 1;
        let mut out = String::new();
        loop {
            match self.peek() {
                Some(c) if c == quote => {
                    self.at += 1;
                    return Ok(out);
                }
                Some('<') => return Err(self.fail(&messages::XML_LESS_IN_VALUE)),
                Some('&') => out.push(self.reference()?),
                _ => {
                    let c = self.legal()?;
                    out.push(if is_blank(c) { ' ' } else { c });
                }
            }
        }
    }

    fn end_tag(&mut self) -> SqlResult<()> {
        let name = self.qualified()?;
        self.blanks();
        self.need(">", &messages::XML_GREATER)?;
        let fits = self.open.last().is_some_and(|o| o.name == name);
        let Some(open) = self.open.pop().filter(|_| fits) else {
            self.at -= 1;
            return Err(self.fail(&messages::XML_END_TAG));
        };
        if open.pending {
            self.out.push_str("/>");
        } else {
            self.out.push_str("</");
            self.out.push_str(&name);
            self.out.push('>');
        }
        self.prefixes.truncate(open.prefixes);
        Ok(())
    }
}

fn escape_text(c: char, out: &mut String) {
    match c {
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '&' => out.push_str("&amp;"),
        '\r' => out.push_str("&#x0D;"),
        c => out.push(c),
    }
}

fn escape_value(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("&quot;"),
        '\t' => out.push_str("&#x09;"),
        '\n' => out.push_str("&#x0A;"),
        c => escape_text(c, out),
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// XML 1.0, production 2.
fn is_legal(c: char) -> bool {
    is_blank(c) || c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Production 4, coarsely: every letter.
fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | ':')
}

fn is_name_rest(c: char) -> bool {
    c.is_numeric()
        || matches!(
            c,
            '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        normalized(text, false).unwrap_or_else(|e| format!("{} {}", e.number, e.message))
    }

    #[test]
    fn what_is_kept() {
        for (given, kept) in [
            ("<a></a>", "<a/>"),
            (
                "<a>\r\n  <b x='1' y = \"&quot;\"/>\r\n</a>",
                "<a><b x=\"1\" y=\"&quot;\"/></a>",
            ),
            ("<?xml version=\"1.0\"?><a>1</a>", "<a>1</a>"),
            ("text", "text"),
            ("<a/><b/>", "<a/><b/>"),
            ("<a><![CDATA[x < y]]></a>", "<a>x &lt; y</a>"),
            ("<a>&#65;&#x42;&amp;</a>", "<a>AB&amp;</a>"),
            (
                "<a xml:space=\"preserve\"> </a>",
                "<a xml:space=\"preserve\"> </a>",
            ),
            ("<a> x <b/> </a>", "<a> x <b/></a>"),
            ("<!-- c --><?p i?><a/>", "<!-- c --><?p i?><a/>"),
            (
                "<p:a xmlns:p=\"u\"><p:b/></p:a>",
                "<p:a xmlns:p=\"u\"><p:b/></p:a>",
            ),
            ("", ""),
        ] {
            assert_eq!(of(given), kept, "{given}");
        }
        assert_eq!(
            normalized("<a> </a>", true).ok().as_deref(),
            Some("<a> </a>")
        );
    }

    #[test]
    fn what_is_refused() {
        for (given, number) in [
            ("<a>", 9400),
            ("<a><b></a>", 9436),
            ("</a>", 9436),
            ("<a x=1/>", 9413),
            ("<a x/>", 9414),
            ("<a x='1' x='2'/>", 9437),
            ("<a x='<'/>", 9415),
            ("<a x='1'y='2'/>", 9410),
            ("<1/>", 9421),
            ("<a>&nope;</a>", 9448),
            ("<a>& </a>", 9421),
            ("<a>&#xZ;</a>", 9416),
            ("<p:a/>", 9459),
            ("<a:b:c/>", 9456),
            (" <?xml version=\"1.0\"?><a/>", 9438),
            ("<a>\u{1}</a>", 9420),
            ("<a>]]></a>", 9454),
            ("<!-- -- -->", 9424),
            ("<!DOCTYPE a><a/>", 6359),
        ] {
            let number_found = normalized(given, false).map_err(|e| e.number).err();
            assert_eq!(number_found, Some(number), "{given}: {}", of(given));
        }
        assert_eq!(
            of("<a><b></a>"),
            "9436 XML parsing: line 1, character 10, end tag does not match start tag"
        );
        assert_eq!(
            of("<a>"),
            "9400 XML parsing: line 1, character 3, unexpected end of input"
        );
    }
}
