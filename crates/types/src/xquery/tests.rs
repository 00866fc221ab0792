use super::*;

const EVENT: &str = "<event name=\"e\" timestamp=\"2026-01-02T03:04:05.678Z\"><data name=\"duration\"><value>40000</value></data><data name=\"file_type\"><value>1</value><text>Log file</text></data><data name=\"empty\"><value/></data><action name=\"sql_text\"><value>a &lt; b &amp; c</value></action></event>";

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn value(xml: &str, query: &str) -> Option<String> {
    let query = parse("value", query).expect("it parses");
    Xml::open(&units(xml))
        .and_then(|x| x.value(&query, &[]))
        .expect("it runs")
}

fn text(xml: &str, query: &str) -> String {
    let query = parse("query", query).expect("it parses");
    Xml::open(&units(xml))
        .and_then(|x| x.query(&query, &[]))
        .expect("it runs")
}

#[test]
fn an_event_is_shredded() {
    let of = |q| value(EVENT, q);
    assert_eq!(
        of("(event/data[@name=\"duration\"]/value)[1]").as_deref(),
        Some("40000")
    );
    assert_eq!(
        of("(/event/@timestamp)[1]").as_deref(),
        Some("2026-01-02T03:04:05.678Z")
    );
    assert_eq!(
        of("(//data[@name='file_type']/text)[1]").as_deref(),
        Some("Log file")
    );
    assert_eq!(
        of("(event/action[@name=\"sql_text\"]/value/text())[1]").as_deref(),
        Some("a < b & c")
    );
    assert_eq!(
        of("(event/data[@name=\"empty\"]/value)[1]").as_deref(),
        Some("")
    );
    assert_eq!(of("(event/data[@name=\"nothing\"]/value)[1]"), None);
    assert_eq!(of("count(event/data)").as_deref(), Some("3"));
    assert_eq!(of("(event/data[2]/value)[1]").as_deref(), Some("1"));
    assert_eq!(
        of("(event/data[last()]/@name)[1]").as_deref(),
        Some("empty")
    );
    assert_eq!(
        of("(event/*[position() = 2]/@name)[1]").as_deref(),
        Some("file_type")
    );
    assert_eq!(
        of("sum(event/data/value[. != \"\"])").as_deref(),
        Some("40001")
    );
    assert_eq!(
        of("(event/data[value > 5]/@name)[1]").as_deref(),
        Some("duration")
    );
    assert_eq!(
        of("(event/data[not(text)]/../@name)[1]").as_deref(),
        Some("e")
    );
    assert_eq!(
        of("concat(string(event[1]/@name), \"-\", local-name(event[1]))").as_deref(),
        Some("e-event")
    );
    assert_eq!(
        of("if (event/data[@name=\"x\"]) then 1 else 2").as_deref(),
        Some("2")
    );
    assert_eq!(
        of("(event/data[contains(@name, \"type\") and value = 1]/value)[1] + 1").as_deref(),
        Some("2")
    );
}

#[test]
fn namespaces_are_of_the_prolog() {
    let xml = "<p:a xmlns:p=\"u\" xmlns=\"d\"><b p:c=\"1\">x</b><p:b/></p:a>";
    let prolog = "declare namespace q=\"u\"; declare default element namespace \"d\"; ";
    assert_eq!(
        value(xml, &format!("{prolog}(q:a/b/@q:c)[1]")).as_deref(),
        Some("1")
    );
    assert_eq!(value(xml, "count(/a)").as_deref(), Some("0"));
    assert_eq!(value(xml, "(/*:a/*:b)[1]").as_deref(), Some("x"));
    // What stands by itself says its namespaces.
    assert_eq!(
        text(xml, &format!("{prolog}/q:a/b")),
        "<b xmlns:p=\"u\" xmlns=\"d\" p:c=\"1\">x</b>"
    );
    assert_eq!(
        parse("value", "z:a").expect_err("no such prefix").number,
        2229
    );
}

#[test]
fn query_gives_nodes_and_values() {
    let xml = "<a><b>1</b><!--c--><b>2</b></a>";
    assert_eq!(text(xml, "/a/b"), "<b>1</b><b>2</b>");
    assert_eq!(text(xml, "/"), xml);
    assert_eq!(text(xml, "data(/a/b)"), "1 2");
    assert_eq!(text(xml, "/a/b[2] | /a/b[1]"), "<b>1</b><b>2</b>");
    assert_eq!(text(xml, "/a/comment()"), "<!--c-->");
    assert_eq!(text(xml, "(/a/b/text(), \"x\")"), "12x");
}

#[test]
fn rows_of_nodes_know_where_they_are() {
    let small = "<r at=\"7\"><e><d>1</d></e><e><d>2</d></e></r>";
    let large = format!(
        "<r at=\"7\"><!--{}--><e><d>1</d></e><e><d>2</d></e></r>",
        "x".repeat(WHOLE_LIMIT)
    );
    for (xml, has_siblings) in [(small, true), (large.as_str(), false)] {
        let rows = parse("nodes", "/r/e").and_then(|q| Xml::open(&units(xml))?.nodes(&q, &[]));
        let rows = rows.expect("it runs");
        let of = |row: usize, q: &str| {
            let query = parse("value", q).expect("it parses");
            Xml::open(&rows[row]).and_then(|x| x.value(&query, &[]))
        };
        assert_eq!(rows.len(), 2);
        assert_eq!(of(1, "d[1]").expect("it runs").as_deref(), Some("2"));
        assert_eq!(of(1, "../@at").expect("it runs").as_deref(), Some("7"));
        assert_eq!(of(0, ".").expect("it runs").as_deref(), Some("1"));
        match has_siblings {
            true => assert_eq!(
                of(0, "(../e[2]/d)[1]").expect("it runs").as_deref(),
                Some("2")
            ),
            false => assert_eq!(
                of(0, "(../e[2]/d)[1]").expect_err("it is not known").number,
                40517
            ),
        }
        // Nodes of nodes, and attributes as rows.
        let inner = parse("nodes", "d")
            .and_then(|q| Xml::open(&rows[1])?.nodes(&q, &[]))
            .expect("it runs");
        let query = parse("value", "../../@at").expect("it parses");
        assert_eq!(
            Xml::open(&inner[0])
                .and_then(|x| x.value(&query, &[]))
                .expect("it runs")
                .as_deref(),
            Some("7")
        );
        let at = parse("nodes", "../@at")
            .and_then(|q| Xml::open(&rows[0])?.nodes(&q, &[]))
            .expect("it runs");
        let query = parse("value", ".").expect("it parses");
        assert_eq!(
            Xml::open(&at[0])
                .and_then(|x| x.value(&query, &[]))
                .expect("it runs")
                .as_deref(),
            Some("7")
        );
    }
}

#[test]
fn one_item_is_known_before_any_document_is() {
    let single = |q| parse("value", q).expect("it parses").body.is_single();
    for q in [
        "(/a/b)[1]",
        "@a",
        ".",
        "../@a",
        "a[1]/b[last()]/@c",
        "count(/a)",
        "\"x\"",
        "/",
        "sql:variable(\"@v\")",
        "a[position()=1]",
        "(a,b)[1]",
        "text()[1]",
    ] {
        assert!(single(q), "{q}");
    }
    for q in [
        "/a",
        "a/@b",
        "//@b",
        "data(a)",
        "(a, b)",
        "a[@x=1]",
        "@*",
        "if (1) then a else 2",
        "(a)[@b]",
    ] {
        assert!(!single(q), "{q}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let number = |q: &str| parse("value", q).expect_err("it is wrong").number;
    assert_eq!(number("/a["), 2209);
    assert_eq!(number("a b"), 2209);
    assert_eq!(number(""), 2209);
    assert_eq!(number("nothing(1)"), 2395);
    assert_eq!(number("for $x in a return $x"), 40517);
    assert_eq!(number("<a/>"), 40517);
    assert_eq!(number("preceding-sibling::a"), 40517);
    assert_eq!(number(&"(".repeat(500)), 191);
    assert!(Xml::open(&units("<a><b></a>x</b><")).is_err());
}

#[test]
fn values_come_from_outside() {
    let query = parse("exist", "/a/b[. = sql:variable(\"@v\")]").expect("it parses");
    assert_eq!(query.outside, [Outside::Variable("@v".to_owned())]);
    let xml = Xml::open(&units("<a><b>5</b></a>")).expect("it opens");
    let exist = |item| xml.exist(&query, &[item]).expect("it runs");
    assert!(exist(Some(Item::Number(5.0))));
    assert!(!exist(Some(Item::Number(6.0))));
    assert!(exist(Some(Item::Text("5".to_owned()))));
    assert!(!exist(None));
}

#[test]
fn a_large_value_is_remembered_until_the_end_of_the_request() {
    let text = |n: usize| -> Vec<u16> {
        let text = format!("<a>{}</a>", "<b/>".repeat(n));
        text.encode_utf16().collect()
    };
    let kept = || TREES.with(|t| t.borrow().iter().map(|(text, _)| text.len()).max());
    Xml::open(&text(1)).expect("it is one");
    for n in [10_000, 20_000] {
        Xml::open(&text(n)).expect("it is one");
    }
    assert_eq!(kept(), Some(text(20_000).len()));
    forget_large();
    assert_eq!(kept(), Some(text(1).len()));
}

/// A large value is read, and its nodes are told, as long as somebody wants them.
#[test]
fn a_large_value_can_be_given_up() {
    let text = format!("<a>{}</a>", "<b>x</b>".repeat(2000));
    let kept = crate::xml::normalized(&text, false).unwrap();
    let units: Vec<u16> = kept.encode_utf16().collect();
    let nodes = parse("nodes", "/a/b").unwrap();
    let read = Xml::open(&units).unwrap();
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let _listening = given_up::listen_to(flag.clone());
    let other: Vec<u16> = text.replace('x', "y").encode_utf16().collect();
    let errors = [
        crate::xml::normalized(&text, false).unwrap_err(),
        Xml::open(&other).err().unwrap(),
        read.nodes(&nodes, &[]).unwrap_err(),
        read.query(&parse("query", "/a/b[. = 'y']").unwrap(), &[])
            .unwrap_err(),
    ];
    assert!(
        errors.iter().all(|e| *e == SqlError::given_up()),
        "{errors:?}"
    );
    flag.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(read.nodes(&nodes, &[]).unwrap().len(), 2000);
}
