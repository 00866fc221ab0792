//! What a picture must keep: a valid document, places that fit, nothing lost by thinning.

use crate::{
    Bar, Bars, CELLS_MAX, Cell, Columns, Lines, POINTS_MAX, Scale, Series, Strip, escape, shown,
};

/// Every tag is closed in order and no name breaks out of its attribute.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next();
        let name = name.expect("a tag has a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn names_cannot_break_a_document() {
    let name = "a<b>&\"c\"\u{1}".to_owned();
    assert_eq!(escape(&name), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}");
    let points = vec![
        (1.0, 5.0),
        (f64::NAN, 1.0),
        (2.0, f64::INFINITY),
        (3.0, 7.0),
    ];
    let series = |n: &str| Series {
        name: n.to_owned(),
        points: points.clone(),
    };
    let lines = Lines {
        title: name.clone(),
        series: vec![series(&name), series("b")],
        dots: true,
        ..Lines::default()
    };
    let svg = lines.svg();
    assert_well_formed(&svg);
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    let bar = |value, reference| Bar {
        name: name.clone(),
        value,
        group: 9,
        reference,
    };
    let bars = Bars {
        bars: vec![bar(1.0, Some(2.0)), bar(f64::NAN, None)],
        ..Bars::default()
    };
    assert_well_formed(&bars.svg());
    let columns = Columns {
        buckets: vec![(0.0, 1.0, 3.0), (1.0, 2.0, 5.0)],
        ..Columns::default()
    };
    assert_well_formed(&columns.svg());
    for empty in [
        Lines::default().svg(),
        Bars::default().svg(),
        Strip::default().svg(),
    ] {
        assert_well_formed(&empty);
    }
}

#[test]
fn scales_place_values_and_round_their_ends() {
    let linear = Scale::linear([3.0, 97.0]);
    assert_eq!(linear.ticks(), vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    assert_eq!(linear.place(50.0), 0.5);
    assert_eq!(linear.place(1e9), 1.0);
    let log = Scale::log([0.0, 20.0, 30_000.0]);
    assert_eq!(log.ticks(), vec![10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]);
    assert!((log.place(1_000.0) - 0.5).abs() < 1e-9);
    assert_eq!(log.place(0.0), 0.0);
}

#[test]
fn numbers_are_short() {
    let cases = [
        (0.0, "0"),
        (0.125, "0.125"),
        (1.5, "1.5"),
        (99.96, "100"),
        (1_234.0, "1234"),
        (12_345.0, "12.3 k"),
        (126_399.0, "126 k"),
        (51_200_000.0, "51.2 M"),
        (2.5e9, "2.5 G"),
    ];
    for (value, text) in cases {
        assert_eq!(shown(value), text);
    }
}

#[test]
fn thinning_keeps_the_peak() {
    let mut points: Vec<(f64, f64)> = (0..100_000).map(|n| (n as f64, 1.0)).collect();
    points[77_777].1 = 50.0;
    let lines = Lines {
        series: vec![Series {
            name: String::new(),
            points,
        }],
        ..Lines::default()
    };
    let svg = lines.svg();
    let drawn = svg.split("points=\"").nth(1).expect("a line is drawn");
    let drawn = drawn.split('"').next().expect("the attribute ends");
    assert!(drawn.split(' ').count() <= POINTS_MAX);
    // 50 is the top of the scale: y = 40.
    assert!(drawn.contains(",40.0"), "the peak is lost");
}

#[test]
fn many_cells_are_joined_and_none_is_lost() {
    let mut cells = vec![
        Cell {
            size: 1.0,
            class: 0,
            name: "x".to_owned(),
        };
        126_399
    ];
    cells[60_000].class = 2;
    let strip = Strip {
        cells,
        ..Strip::default()
    };
    let svg = strip.svg();
    assert!(svg.matches("<rect").count() <= CELLS_MAX);
    assert_eq!(svg.matches("class=\"v2\"").count(), 1);
}
