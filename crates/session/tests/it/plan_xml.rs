//! Plans as XML have the shape of the public schema: which elements stand in which, in what order and how often.

use std::collections::BTreeMap;

use crate::{alone, run};

/// What an element holds, in the schema's order; `+` behind those that may come again, `!` behind those that must come.
const SCHEMA: &[(&str, &str)] = &[
    ("ShowPlanXML", "BatchSequence!"),
    ("BatchSequence", "Batch!"),
    ("Batch", "Statements!"),
    ("StmtSimple", "QueryPlan"),
    ("StmtCond", "Condition! Then! Else"),
    ("QueryPlan", "MissingIndexes RelOp!"),
    ("MissingIndexes", "MissingIndexGroup!+"),
    ("MissingIndexGroup", "MissingIndex!+"),
    ("MissingIndex", "ColumnGroup!+"),
    ("ColumnGroup", "Column!+"),
    ("Column", ""),
    ("OutputList", "ColumnReference+"),
    ("ColumnReference", ""),
    ("DefinedValues", "DefinedValue+"),
    ("Object", ""),
    ("SeekPredicates", "SeekPredicateNew!"),
    ("SeekKeys", "Prefix StartRange EndRange"),
    ("Prefix", "RangeColumns! RangeExpressions!"),
    ("StartRange", "RangeColumns! RangeExpressions!"),
    ("EndRange", "RangeColumns! RangeExpressions!"),
    ("Predicate", "ScalarOperator!"),
    ("ComputeScalar", "DefinedValues RelOp!"),
    ("Filter", "DefinedValues RelOp! Predicate!"),
    ("ConstantScan", "DefinedValues Values"),
    ("TableScan", "DefinedValues Object! Predicate"),
    (
        "IndexScan",
        "DefinedValues Object! SeekPredicates Predicate",
    ),
    (
        "TableValuedFunction",
        "DefinedValues Object Predicate RelOp ParameterList",
    ),
    ("Hash1", "DefinedValues HashKeysBuild RelOp!"),
    (
        "Hash2",
        "DefinedValues HashKeysBuild HashKeysProbe BuildResidual ProbeResidual RelOp! RelOp!",
    ),
    (
        "Merge",
        "DefinedValues InnerSideJoinColumns OuterSideJoinColumns Residual RelOp! RelOp!",
    ),
    (
        "NestedLoops",
        "DefinedValues Predicate OuterReferences RelOp! RelOp!",
    ),
    ("StreamAggregate", "DefinedValues GroupBy RelOp!"),
    ("WindowAggregate", "DefinedValues RelOp"),
    ("Sort", "DefinedValues OrderBy! RelOp!"),
    (
        "Top",
        "DefinedValues TieColumns OffsetExpression TopExpression RelOp!",
    ),
    ("Parallelism", "DefinedValues OrderBy RelOp!"),
    ("Spool", "RelOp"),
    ("Update", "DefinedValues Object!+ SetPredicate RelOp!"),
    ("ScalarInsert", "DefinedValues Object!+ SetPredicate"),
    ("SetPredicate", "ScalarOperator!"),
    ("IF", "Condition! Then! Else!"),
    ("Const", ""),
    ("Identifier", "ColumnReference"),
    ("Compare", "ScalarOperator! ScalarOperator"),
];

/// An element: its name, its attributes' text, what it holds.
struct Node {
    name: String,
    attributes: String,
    children: Vec<Node>,
}

fn parsed(text: &str) -> Node {
    let mut open = vec![Node {
        name: String::new(),
        attributes: String::new(),
        children: Vec::new(),
    }];
    for tag in text.split('<').skip(1) {
        let (tag, behind) = tag.split_once('>').expect("a tag ends");
        assert_eq!(behind, "", "no text stands between tags");
        if let Some(name) = tag.strip_prefix('/') {
            let done = open.pop().expect("an element is open");
            assert_eq!(done.name, name);
            open.last_mut().unwrap().children.push(done);
            continue;
        }
        let empty = tag.strip_suffix('/');
        let whole = empty.unwrap_or(tag);
        let (name, attributes) = whole.split_once(' ').unwrap_or((whole, ""));
        let node = Node {
            name: name.to_owned(),
            attributes: attributes.to_owned(),
            children: Vec::new(),
        };
        match empty {
            Some(_) => open.last_mut().unwrap().children.push(node),
            None => open.push(node),
        }
    }
    assert_eq!(open.len(), 1, "every element is closed");
    open.remove(0).children.remove(0)
}

fn check(node: &Node, met: &mut BTreeMap<String, usize>) {
    let names: Vec<&str> = node.children.iter().map(|c| c.name.as_str()).collect();
    *met.entry(node.name.clone()).or_default() += 1;
    let kind = match node.name.as_str() {
        "Hash" => match names.iter().filter(|n| **n == "RelOp").count() {
            1 => "Hash1",
            _ => "Hash2",
        },
        // Of a statement: statements.
        "Then" | "Else" if names == ["Statements"] => "",
        other => other,
    };
    match kind {
        "RelOp" => {
            assert_eq!(names.len(), 2, "{names:?}");
            assert_eq!(names[0], "OutputList");
            for a in [
                "NodeId",
                "PhysicalOp",
                "LogicalOp",
                "EstimateRows",
                "EstimateIO",
                "EstimateCPU",
                "AvgRowSize",
                "EstimatedTotalSubtreeCost",
                "Parallel",
                "EstimateRebinds",
                "EstimateRewinds",
            ] {
                assert_eq!(
                    node.attributes.matches(&format!("{a}=\"")).count(),
                    1,
                    "{a}"
                );
            }
        }
        "ScalarOperator" => assert_eq!(names.len(), 1, "{names:?}"),
        "Concat" | "Sequence" if node.attributes.is_empty() => {
            let inputs = names.iter().filter(|n| **n == "RelOp").count();
            assert!(inputs >= 2, "{names:?}");
        }
        kind => {
            if let Some((_, holds)) = SCHEMA.iter().find(|(name, _)| *name == kind) {
                let mut rest = names.as_slice();
                for part in holds.split_whitespace() {
                    let name = part.trim_end_matches(['+', '!']);
                    let found = rest.iter().take_while(|n| **n == name).count();
                    assert!(found > 0 || !part.contains('!'), "{kind}: {names:?}");
                    let taken = if part.contains('+') {
                        found
                    } else {
                        found.min(1)
                    };
                    rest = &rest[taken..];
                }
                assert!(rest.is_empty(), "{kind}: {names:?}");
            }
        }
    }
    node.children.iter().for_each(|c| check(c, met));
}

#[test]
fn documents_have_the_shape_of_the_schema() {
    let mut s = alone();
    for text in [
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int, b varchar(20), c decimal(9,2))",
        "CREATE INDEX ia ON t (a)",
        "CREATE TABLE h (x int, y nvarchar(30))",
        "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (10, 20)",
        "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
        "CREATE TABLE parts (k int NOT NULL, v int) ON ps (k)",
        "INSERT t SELECT value, value % 97, 'x', 1 FROM GENERATE_SERIES(1, 2000)",
    ] {
        let reported = run(&mut s, text);
        assert!(
            !reported.iter().any(|l| l.starts_with("Msg")),
            "{text}: {reported:?}"
        );
    }
    run(&mut s, "SET SHOWPLAN_XML ON");
    let mut met = BTreeMap::new();
    for text in [
        "SELECT 1",
        "SELECT b FROM t WHERE id = 5 AND b <> 'a<b&\"c\"'",
        "SELECT b FROM t WHERE a = 3",
        "SELECT id FROM t WHERE id > 5 AND id <= 9 OR c IS NULL",
        "SELECT * FROM t JOIN h ON h.x = t.a AND h.y LIKE 'a%'",
        "SELECT * FROM t AS u INNER MERGE JOIN t ON u.id = t.id AND u.a < t.a",
        "SELECT * FROM h AS q CROSS APPLY (SELECT TOP (2) WITH TIES id FROM t WHERE t.a = q.x ORDER BY b) AS z",
        "SELECT a, COUNT(*), SUM(DISTINCT id) FROM t GROUP BY a HAVING MAX(b) > 'c' ORDER BY 2 DESC",
        "SELECT MIN(id), MAX(c) FROM t",
        "SELECT DISTINCT b FROM t UNION ALL SELECT y FROM h EXCEPT SELECT 'k'",
        "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY id), CASE a WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE b END, CONVERT(varchar(10), GETDATE(), 112), -a, ~a, CAST(b AS nvarchar(max)) FROM t",
        "SELECT (SELECT MAX(x) FROM h WHERE x = t.a), (SELECT COUNT(*) FROM h) FROM t WHERE EXISTS (SELECT 1 FROM h WHERE x = t.id) AND a NOT IN (SELECT x FROM h) AND id > ALL (SELECT x FROM h)",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, s) ORDER BY n OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY",
        "WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r",
        "SELECT * FROM parts WHERE k = 12 AND v > 3",
        "SELECT COUNT(*) FROM parts",
        "SELECT * FROM sys.dm_os_wait_stats AS w JOIN sys.databases AS d ON d.database_id = 1 WHERE w.wait_type IN ('A', 'B')",
        "SELECT * FROM sys.dm_db_log_info(DB_ID())",
        "INSERT t VALUES (1, 2, 'x', 3)",
        "INSERT t (id, b) VALUES (1, (SELECT MAX(y) FROM h)), (2, 'z')",
        "INSERT h SELECT id, b FROM t WHERE a = 4",
        "UPDATE t SET a = a + 1, b = UPPER(b) WHERE id BETWEEN 3 AND 5",
        "DELETE h WHERE x IN (1, 2)",
        "DECLARE @v int = 4; IF EXISTS (SELECT * FROM t WHERE id = @v) SELECT 1 ELSE BEGIN SET @v = (SELECT COUNT(*) FROM h) PRINT 'no' END WHILE @v > 0 SET @v -= 1",
    ] {
        let rows = run(&mut s, text);
        assert!(
            rows[0].contains("Microsoft SQL Server 2005 XML Showplan"),
            "{text}: {rows:?}"
        );
        let whole = parsed(&rows[1]);
        assert!(
            whole
                .attributes
                .contains("xmlns=\"http://schemas.microsoft.com/sqlserver/2004/07/showplan\""),
            "{}",
            whole.attributes
        );
        check(&whole, &mut met);
    }
    for name in [
        "ComputeScalar",
        "Filter",
        "ConstantScan",
        "TableScan",
        "IndexScan",
        "Hash",
        "Merge",
        "NestedLoops",
        "StreamAggregate",
        "WindowAggregate",
        "Sort",
        "Top",
        "Concat",
        "Spool",
        "Update",
        "ScalarInsert",
        "TableValuedFunction",
        "SeekKeys",
        "IF",
        "StmtCond",
        "Sequence",
        "Intrinsic",
        "Convert",
    ] {
        assert!(
            met.contains_key(name),
            "{name} is not among {:?}",
            met.keys()
        );
    }
}
