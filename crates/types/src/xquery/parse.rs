//! XQuery's text made a tree ([`super::tree`]), with the names of its prolog put in.

use std::collections::BTreeMap;

use duramen_base::{SqlError, SqlResult, given_up, messages};

use super::tree::{Axis, Expr, Math, Op, Outside, Query, Step, Test};

/// Expressions may not be nested deeper.
const DEEPEST: usize = 64;
/// Operators of a query that make chains, all together: 191 beyond.
const LONGEST: usize = 1000;

pub struct Parser<'a> {
    method: &'a str,
    rest: &'a str,
    depth: usize,
    chained: usize,
    /// What each prefix means; what is declared last counts.
    prefixes: BTreeMap<String, String>,
    default: String,
    outside: Vec<Outside>,
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Functions and how many arguments they take.
const FUNCTIONS: &[(&str, usize, usize)] = &[
    ("avg", 1, 1),
    ("ceiling", 1, 1),
    ("concat", 2, 255),
    ("contains", 2, 2),
    ("count", 1, 1),
    ("data", 1, 1),
    ("distinct-values", 1, 1),
    ("empty", 1, 1),
    ("false", 0, 0),
    ("floor", 1, 1),
    ("last", 0, 0),
    ("local-name", 0, 1),
    ("lower-case", 1, 1),
    ("max", 1, 1),
    ("min", 1, 1),
    ("namespace-uri", 0, 1),
    ("not", 1, 1),
    ("number", 0, 1),
    ("position", 0, 0),
    ("round", 1, 1),
    ("string", 0, 1),
    ("string-length", 0, 1),
    ("substring", 2, 3),
    ("sum", 1, 1),
    ("true", 0, 0),
    ("upper-case", 1, 1),
];

/// Constructors of types, by local name.
const CONSTRUCTORS: &[&str] = &[
    "base64Binary",
    "boolean",
    "date",
    "dateTime",
    "decimal",
    "double",
    "float",
    "hexBinary",
    "int",
    "integer",
    "long",
    "short",
    "string",
    "time",
];

/// Prefixes that need no declaration.
const KNOWN_PREFIXES: &[(&str, &str)] = &[
    ("fn", "http://www.w3.org/2004/07/xpath-functions"),
    ("sql", "urn:schemas-microsoft-com:xml-sql"),
    ("xml", "http://www.w3.org/XML/1998/namespace"),
    ("xs", "http://www.w3.org/2001/XMLSchema"),
];

/// Axes that a step may name.
const AXES: &[(&str, Axis)] = &[
    ("attribute", Axis::Attribute),
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("parent", Axis::Parent),
    ("self", Axis::Own),
];

/// Reads a query; `method` is named in errors. 2209 and its kin.
pub fn parse(method: &str, text: &str) -> SqlResult<Query> {
    let mut parser = Parser {
        method,
        rest: text,
        depth: 0,
        chained: 0,
        prefixes: KNOWN_PREFIXES
            .iter()
            .map(|(prefix, uri)| ((*prefix).to_owned(), (*uri).to_owned()))
            .collect(),
        default: String::new(),
        outside: Vec::new(),
    };
    parser.prolog()?;
    let body = parser.sequence()?;
    parser.blanks()?;
    match parser.rest.is_empty() {
        true => Ok(Query {
            body,
            outside: parser.outside,
        }),
        false => Err(parser.syntax()),
    }
}

impl Parser<'_> {
    fn syntax(&self) -> SqlError {
        let near: String = match self.rest.chars().next() {
            None => "<eof>".to_owned(),
            Some(c) if is_name_char(c) => {
                self.rest.chars().take_while(|c| is_name_char(*c)).collect()
            }
            Some(c) => c.to_string(),
        };
        let prefix = format!("XQuery [{}()]: ", self.method);
        SqlError::new(&messages::XQUERY_SYNTAX, &[&prefix, &near])
    }

    fn unsupported(&self, what: &str) -> SqlError {
        let what = format!("XQuery: {what}");
        SqlError::new(&messages::NOT_SUPPORTED, &[&what])
    }

    /// White space and comments.
    fn blanks(&mut self) -> SqlResult<()> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with("(:") {
                return Ok(());
            }
            let Some(end) = self.rest.find(":)") else {
                return Err(self.syntax());
            };
            self.rest = &self.rest[end + 2..];
        }
    }

    fn eat(&mut self, s: &str) -> SqlResult<bool> {
        self.blanks()?;
        let found = self.rest.strip_prefix(s);
        if let Some(rest) = found {
            self.rest = rest;
        }
        Ok(found.is_some())
    }

    fn need(&mut self, s: &str) -> SqlResult<()> {
        match self.eat(s)? {
            true => Ok(()),
            false => Err(self.syntax()),
        }
    }

    /// A word of the language, not the beginning of a longer name.
    fn word(&mut self, word: &str) -> SqlResult<bool> {
        self.blanks()?;
        let Some(rest) = self.rest.strip_prefix(word) else {
            return Ok(false);
        };
        if rest
            .chars()
            .next()
            .is_some_and(|c| is_name_char(c) || c == ':')
        {
            return Ok(false);
        }
        self.rest = rest;
        Ok(true)
    }

    fn name(&mut self) -> SqlResult<String> {
        let end = self
            .rest
            .find(|c: char| !is_name_char(c))
            .unwrap_or(self.rest.len());
        let name = self.rest[..end].to_owned();
        match name.chars().next() {
            Some(c) if c.is_alphabetic() || c == '_' => {
                self.rest = &self.rest[end..];
                Ok(name)
            }
            _ => Err(self.syntax()),
        }
    }

    fn literal(&mut self) -> SqlResult<String> {
        self.blanks()?;
        let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return Err(self.syntax());
        };
        let mut out = String::new();
        self.rest = &self.rest[1..];
        loop {
            let Some(end) = self.rest.find(quote) else {
                return Err(self.syntax());
            };
            out.push_str(&self.rest[..end]);
            self.rest = &self.rest[end + 1..];
            // A doubled quote is one.
            if !self.rest.starts_with(quote) {
                break;
            }
            out.push(quote);
            self.rest = &self.rest[1..];
        }
        let plain = |s: &str| {
            s.replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&apos;", "'")
                .replace("&amp;", "&")
        };
        Ok(plain(&out))
    }

    /// `declare namespace p = "uri"; declare default element namespace "uri";`
    fn prolog(&mut self) -> SqlResult<()> {
        let mut declared = 0;
        while self.word("declare")? {
            given_up::after_step(declared)?;
            declared += 1;
            if self.word("default")? {
                if !self.word("element")? || !self.word("namespace")? {
                    return Err(self.syntax());
                }
                self.default = self.literal()?;
            } else {
                if !self.word("namespace")? {
                    return Err(self.syntax());
                }
                self.blanks()?;
                let prefix = self.name()?;
                self.need("=")?;
                let uri = self.literal()?;
                self.prefixes.insert(prefix, uri);
            }
            self.need(";")?;
        }
        Ok(())
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        if self.depth >= DEEPEST {
            return Err(SqlError::new(&messages::NESTED_TOO_DEEPLY, &[]));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// One more operand of a chain: each makes the tree one level higher.
    fn chained(&mut self) -> SqlResult<()> {
        self.chained += 1;
        match self.chained > LONGEST {
            true => Err(SqlError::new(&messages::NESTED_TOO_DEEPLY, &[])),
            false => Ok(()),
        }
    }

    fn sequence(&mut self) -> SqlResult<Expr> {
        let mut items = vec![self.nested(Self::single)?];
        while self.eat(",")? {
            given_up::after_step(items.len())?;
            items.push(self.nested(Self::single)?);
        }
        match items.len() {
            1 => Ok(items.remove(0)),
            _ => Ok(Expr::Sequence(items)),
        }
    }

    fn single(&mut self) -> SqlResult<Expr> {
        self.blanks()?;
        for word in ["for", "let", "some", "every"] {
            let after = self.rest.strip_prefix(word).map(str::trim_start);
            if after.is_some_and(|r| r.starts_with('$')) {
                return Err(self.unsupported(&format!("{word} $...")));
            }
        }
        if self.rest.starts_with('<') || self.rest.starts_with("element ") {
            return Err(self.unsupported("constructors of nodes"));
        }
        let before = self.rest;
        if self.word("if")? {
            if self.eat("(")? {
                let condition = self.sequence()?;
                self.need(")")?;
                if !self.word("then")? {
                    return Err(self.syntax());
                }
                let then = self.nested(Self::single)?;
                if !self.word("else")? {
                    return Err(self.syntax());
                }
                let otherwise = self.nested(Self::single)?;
                return Ok(Expr::If(condition.into(), then.into(), otherwise.into()));
            }
            self.rest = before;
        }
        self.or()
    }

    fn or(&mut self) -> SqlResult<Expr> {
        let mut left = self.and()?;
        while self.word("or")? {
            self.chained()?;
            left = Expr::Or(left.into(), self.and()?.into());
        }
        Ok(left)
    }

    fn and(&mut self) -> SqlResult<Expr> {
        let mut left = self.comparison()?;
        while self.word("and")? {
            self.chained()?;
            left = Expr::And(left.into(), self.comparison()?.into());
        }
        Ok(left)
    }

    fn comparison(&mut self) -> SqlResult<Expr> {
        let left = self.sum()?;
        for (word, op) in [
            ("eq", Op::Eq),
            ("ne", Op::Ne),
            ("lt", Op::Lt),
            ("le", Op::Le),
            ("gt", Op::Gt),
            ("ge", Op::Ge),
        ] {
            if self.word(word)? {
                let right = self.sum()?;
                return Ok(Expr::Compare(op, true, left.into(), right.into()));
            }
        }
        if self.word("is")? || self.eat("<<")? || self.eat(">>")? {
            return Err(self.unsupported("comparisons of nodes"));
        }
        for (sign, op) in [
            ("!=", Op::Ne),
            ("<=", Op::Le),
            (">=", Op::Ge),
            ("=", Op::Eq),
            ("<", Op::Lt),
            (">", Op::Gt),
        ] {
            if self.eat(sign)? {
                let right = self.sum()?;
                return Ok(Expr::Compare(op, false, left.into(), right.into()));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> SqlResult<Expr> {
        let mut left = self.product()?;
        loop {
            let op = match () {
                () if self.eat("+")? => Math::Add,
                () if self.eat("-")? => Math::Sub,
                () => return Ok(left),
            };
            self.chained()?;
            left = Expr::Math(op, left.into(), self.product()?.into());
        }
    }

    fn product(&mut self) -> SqlResult<Expr> {
        let mut left = self.union()?;
        loop {
            let op = match () {
                () if self.eat("*")? => Math::Mul,
                () if self.word("div")? => Math::Div,
                () if self.word("mod")? => Math::Mod,
                () => return Ok(left),
            };
            self.chained()?;
            left = Expr::Math(op, left.into(), self.union()?.into());
        }
    }

    fn union(&mut self) -> SqlResult<Expr> {
        let mut left = self.signed()?;
        while self.eat("|")? || self.word("union")? {
            self.chained()?;
            left = Expr::Union(left.into(), self.signed()?.into());
        }
        Ok(left)
    }

    fn signed(&mut self) -> SqlResult<Expr> {
        if self.eat("-")? {
            let inner = self.nested(Self::signed)?;
            return Ok(Expr::Negate(inner.into()));
        }
        if self.eat("+")? {
            return self.nested(Self::signed);
        }
        let path = self.path()?;
        if self.word("cast")? || self.word("instance")? || self.word("treat")? {
            return Err(self.unsupported("types of expressions"));
        }
        Ok(path)
    }

    fn path(&mut self) -> SqlResult<Expr> {
        self.blanks()?;
        let mut steps = Vec::new();
        let from = if self.eat("//")? {
            steps.push(anything());
            steps.push(self.step()?);
            Expr::Root
        } else if self.eat("/")? {
            match self.at_step() {
                true => steps.push(self.step()?),
                false => return Ok(Expr::Root),
            }
            Expr::Root
        } else if let Some(primary) = self.primary()? {
            primary
        } else {
            steps.push(self.step()?);
            Expr::Context
        };
        loop {
            given_up::after_step(steps.len())?;
            if self.eat("//")? {
                steps.push(anything());
            } else if !self.eat("/")? {
                break;
            }
            steps.push(self.step()?);
        }
        match steps.is_empty() {
            true => Ok(from),
            false => Ok(Expr::Path(from.into(), steps)),
        }
    }

    fn at_step(&self) -> bool {
        let rest = self.rest.trim_start();
        rest.chars()
            .next()
            .is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '@' | '*' | '.'))
    }

    fn predicates(&mut self) -> SqlResult<Vec<Expr>> {
        let mut out = Vec::new();
        while self.eat("[")? {
            given_up::after_step(out.len())?;
            out.push(self.nested(Self::sequence)?);
            self.need("]")?;
        }
        Ok(out)
    }

    /// A literal, a parenthesis, a call or the item at hand, with its predicates; `None` where a step begins.
    fn primary(&mut self) -> SqlResult<Option<Expr>> {
        let Some(first) = self.rest.chars().next() else {
            return Err(self.syntax());
        };
        let expr = match first {
            '"' | '\'' => Expr::Text(self.literal()?),
            '0'..='9' => self.number()?,
            '.' if self.rest.len() > 1 && self.rest.as_bytes()[1].is_ascii_digit() => {
                self.number()?
            }
            '.' if self.rest.starts_with("..") => return Ok(None),
            '.' => {
                self.need(".")?;
                Expr::Context
            }
            '(' => {
                self.need("(")?;
                if self.eat(")")? {
                    Expr::Sequence(Vec::new())
                } else {
                    let inner = self.nested(Self::sequence)?;
                    self.need(")")?;
                    inner
                }
            }
            '$' => return Err(self.unsupported("variables of XQuery")),
            _ => match self.call()? {
                Some(call) => call,
                None => return Ok(None),
            },
        };
        let predicates = self.predicates()?;
        Ok(Some(match predicates.is_empty() {
            true => expr,
            false => Expr::Filter(expr.into(), predicates),
        }))
    }

    fn number(&mut self) -> SqlResult<Expr> {
        let digits = |c: char| !(c.is_ascii_digit() || c == '.');
        let mut end = self.rest.find(digits).unwrap_or(self.rest.len());
        let exponent = self.rest[end..].strip_prefix(['e', 'E']);
        if let Some(tail) = exponent {
            let sign = usize::from(tail.starts_with(['+', '-']));
            let more = tail[sign..]
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(tail.len() - sign);
            end += 1 + sign + more;
        }
        let number = self.rest[..end].parse();
        let number = number.map_err(|_| self.syntax())?;
        self.rest = &self.rest[end..];
        Ok(Expr::Number(number))
    }

    /// A function call, if one is here: a name of a kind of node is a step.
    fn call(&mut self) -> SqlResult<Option<Expr>> {
        let before = self.rest;
        let Ok(mut name) = self.name() else {
            self.rest = before;
            return Ok(None);
        };
        let mut prefix = String::new();
        if self.rest.starts_with(':') && !self.rest.starts_with("::") {
            self.rest = &self.rest[1..];
            let Ok(local) = self.name() else {
                self.rest = before;
                return Ok(None);
            };
            prefix = std::mem::replace(&mut name, local);
        }
        let kinds = ["text", "node", "comment", "processing-instruction"];
        if !self.rest.trim_start().starts_with('(')
            || prefix.is_empty() && kinds.contains(&name.as_str())
        {
            self.rest = before;
            return Ok(None);
        }
        self.need("(")?;
        let mut args = Vec::new();
        if !self.eat(")")? {
            args.push(self.nested(Self::single)?);
            while self.eat(",")? {
                given_up::after_step(args.len())?;
                args.push(self.nested(Self::single)?);
            }
            self.need(")")?;
        }
        if prefix == "sql" {
            let outside = match (name.as_str(), args.as_slice()) {
                ("variable", [Expr::Text(name)]) => Outside::Variable(name.clone()),
                ("column", [Expr::Text(name)]) => Outside::Column(name.clone()),
                _ => return Err(self.syntax()),
            };
            self.outside.push(outside);
            return Ok(Some(Expr::Outside(self.outside.len() - 1)));
        }
        if prefix == "xs" && CONSTRUCTORS.contains(&name.as_str()) && args.len() == 1 {
            return Ok(Some(Expr::Call(format!("xs:{name}"), args)));
        }
        let known = FUNCTIONS
            .iter()
            .find(|(n, min, max)| *n == name && (*min..=*max).contains(&args.len()));
        if known.is_none() || !(prefix.is_empty() || prefix == "fn") {
            let shown = match prefix.as_str() {
                "" => name,
                p => format!("{p}:{name}"),
            };
            let start = format!("XQuery [{}()]: ", self.method);
            return Err(SqlError::new(
                &messages::XQUERY_NO_FUNCTION,
                &[&start, &shown],
            ));
        }
        Ok(Some(Expr::Call(name, args)))
    }

    fn step(&mut self) -> SqlResult<Step> {
        self.blanks()?;
        if self.eat("..")? {
            return self.step_with(Axis::Parent, Test::Any);
        }
        if self.rest.starts_with('.') {
            self.need(".")?;
            return self.step_with(Axis::Own, Test::Any);
        }
        let axis = match self.eat("@")? {
            true => Axis::Attribute,
            false => self.axis()?,
        };
        let test = self.test(axis)?;
        self.step_with(axis, test)
    }

    /// `name::` at the beginning of a step.
    fn axis(&mut self) -> SqlResult<Axis> {
        let end = self.rest.find(|c: char| !is_name_char(c));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let Some(rest) = rest.trim_start().strip_prefix("::") else {
            return Ok(Axis::Child);
        };
        match AXES.iter().find(|(known, _)| *known == name) {
            Some((_, axis)) => {
                self.rest = rest;
                Ok(*axis)
            }
            None if name.is_empty() => Ok(Axis::Child),
            None => Err(self.unsupported(&format!("the axis {name}"))),
        }
    }

    fn step_with(&mut self, axis: Axis, test: Test) -> SqlResult<Step> {
        Ok(Step {
            axis,
            test,
            predicates: self.predicates()?,
        })
    }

    fn test(&mut self, axis: Axis) -> SqlResult<Test> {
        self.blanks()?;
        if self.rest.starts_with('*') {
            self.rest = &self.rest[1..];
            if self.rest.starts_with(':') && !self.rest.starts_with("::") {
                self.rest = &self.rest[1..];
                return Ok(Test::Name(None, Some(self.name()?)));
            }
            return Ok(Test::Name(None, None));
        }
        let name = self.name()?;
        if self.rest.starts_with(':') && !self.rest.starts_with("::") {
            let Some(uri) = self.prefixes.get(&name).cloned() else {
                let start = format!("XQuery [{}()]: ", self.method);
                return Err(SqlError::new(
                    &messages::XQUERY_NO_NAMESPACE,
                    &[&start, &name],
                ));
            };
            self.rest = &self.rest[1..];
            if self.rest.starts_with('*') {
                self.rest = &self.rest[1..];
                return Ok(Test::Name(Some(uri), None));
            }
            return Ok(Test::Name(Some(uri), Some(self.name()?)));
        }
        let kind = match name.as_str() {
            "text" => Some(Test::Text),
            "node" => Some(Test::Any),
            "comment" => Some(Test::Comment),
            "processing-instruction" => Some(Test::Instruction),
            _ => None,
        };
        if let Some(kind) = kind
            && self.eat("(")?
        {
            self.need(")")?;
            return Ok(kind);
        }
        let uri = match axis {
            Axis::Attribute => String::new(),
            _ => self.default.clone(),
        };
        Ok(Test::Name(Some(uri), Some(name)))
    }
}

/// The step that `//` stands for.
fn anything() -> Step {
    Step {
        axis: Axis::DescendantOrSelf,
        test: Test::Any,
        predicates: Vec::new(),
    }
}
