//! The page: a frame that is sent once, and a part that is drawn anew every second.

use std::collections::VecDeque;

use duramen_plot::{Lines, Series, escape};

use super::look::{Looks, Map, REMEMBERED, Rate, Table};
use super::visits::{Visit, lock};
use crate::report::page::{Page, head, number as shown, row, row_of_text};
use crate::sql::{Rows, number, string};

/// Fetches the moving part; where that is refused the visit is over. Open details stay open, and a hidden page rests.
pub const SCRIPT: &str = "\
const live = document.getElementById('live');
async function look() {
  if (!document.hidden) try {
    const reply = await fetch('/live');
    if (reply.status == 401) return location.reload();
    if (reply.ok) live.innerHTML = await reply.text();
    document.body.classList.remove('lost');
  } catch (e) { document.body.classList.add('lost'); }
  setTimeout(look, 1000);
}
setTimeout(look, 1000);
";

const LOOK: &str = "<style>body{max-width:1560px}.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(600px,1fr));gap:.2rem 1.5rem}\
    form{margin:0}header{display:flex;justify-content:space-between;align-items:baseline;gap:1rem;flex-wrap:wrap}header h1{margin:0}\
    td.text{text-align:left;white-space:normal;font-family:ui-monospace,monospace}.lost #live{opacity:.4}.why{color:#b0324f}\
    form.login{display:grid;grid-template-columns:max-content 16rem;gap:.5rem 1rem;margin-top:1.5rem}form.login button{grid-column:2;justify-self:start}</style>";

/// Asks who is there; `why` the last answer was refused.
pub fn login(why: Option<&str>) -> String {
    let mut page = Page::new("Duramen");
    page.raw(LOOK);
    page.tag("h1", "Duramen");
    page.text("Log in with a login of the server. What it may not see is not shown.");
    if let Some(why) = why {
        page.raw(&format!(
            "<p class=\"why\" role=\"alert\">{}</p>",
            escape(why)
        ));
    }
    page.raw(
        "<form class=\"login\" method=\"post\" action=\"/login\">\
         <label for=\"user\">Login</label><input id=\"user\" name=\"user\" autocomplete=\"username\" required autofocus>\
         <label for=\"password\">Password</label><input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\">\
         <button>Log in</button></form>",
    );
    page.end()
}

/// The whole page of a visit.
pub fn whole(visit: &Visit) -> String {
    let mut page = Page::new("Duramen: live");
    page.raw(LOOK);
    page.raw(&format!(
        "<header><h1>Duramen</h1><form method=\"post\" action=\"/logout\">{} <button>Log out</button></form></header>",
        escape(&visit.user)
    ));
    page.raw("<noscript><p class=\"why\">Without scripts this page moves only when it is loaded again.</p></noscript>");
    page.raw("<main id=\"live\">");
    page.raw(&live(visit));
    page.raw("</main><script src=\"/live.js\"></script>");
    page.end()
}

/// The part that moves.
pub fn live(visit: &Visit) -> String {
    let looks = lock(&visit.looks);
    let mut page = Page::part();
    about(&mut page, looks.about.as_ref());
    plots(&mut page, &looks);
    page.section("databases", "Databases and their logs");
    table(&mut page, looks.databases.as_ref());
    maps(&mut page, looks.maps.as_ref());
    page.section("waits", "Waits of the last minute");
    waits(&mut page, &looks);
    page.section("sessions", "Sessions");
    table(&mut page, looks.sessions.as_ref());
    page.section("statements", "Statements that took longest, together");
    table(&mut page, looks.statements.as_ref());
    page.section("growths", "Growths and shrinks of files");
    table(&mut page, looks.growths.as_ref());
    page.text_of_part()
}

fn about(page: &mut Page, table: Option<&Table>) {
    match table {
        Some(Ok(rows)) => {
            let Some(row) = rows.rows.first() else {
                return;
            };
            let version = string(&row[1]);
            let up = number(&row[3]) as u64;
            page.text(&format!(
                "{}: {}; up {} d {:02}:{:02}:{:02}",
                string(&row[0]),
                version.lines().next().unwrap_or_default(),
                up / 86_400,
                up / 3600 % 24,
                up / 60 % 60,
                up % 60
            ));
        }
        Some(Err(why)) => refused(page, why),
        None => page.text("The first look is under way."),
    }
}

fn refused(page: &mut Page, why: &str) {
    page.raw(&format!("<p class=\"why\">{}</p>", escape(why)));
}

/// Title, unit and lines of a picture.
type Picture = (&'static str, &'static str, &'static [(Rate, &'static str)]);

const PICTURES: [Picture; 6] = [
    (
        "Requests",
        "a second",
        &[
            (Rate::Transactions, "transactions"),
            (Rate::Batches, "batches"),
        ],
    ),
    ("Log flushed", "MB/s", &[(Rate::LogBytes, "log")]),
    ("Log flushes", "a second", &[(Rate::LogFlushes, "flushes")]),
    (
        "Pages written",
        "a second",
        &[
            (Rate::CheckpointPages, "checkpoints"),
            (Rate::BackgroundPages, "background writer"),
            (Rate::LazyWrites, "lazy writer"),
        ],
    ),
    (
        "Time of a write",
        "ms",
        &[(Rate::LogWriteMs, "log"), (Rate::DataWriteMs, "data")],
    ),
    (
        "Writes under way",
        "on average",
        &[(Rate::LogQueue, "log"), (Rate::DataQueue, "data")],
    ),
];

fn plots(page: &mut Page, looks: &Looks) {
    if let Some(why) = &looks.rates_failed {
        refused(page, why);
    }
    let empty = VecDeque::new();
    let last = looks.rates.values().filter_map(|l| l.back()).map(|p| p.0);
    let end = last.fold(60.0_f64, f64::max);
    page.raw("<div class=\"plots\">");
    for (title, unit, lines) in PICTURES {
        let series = lines.iter().map(|(rate, name)| Series {
            name: (*name).to_owned(),
            points: looks
                .rates
                .get(rate)
                .unwrap_or(&empty)
                .iter()
                .copied()
                .collect(),
        });
        let picture = Lines {
            title: title.to_owned(),
            x_name: "s".to_owned(),
            unit: unit.to_owned(),
            series: series.collect(),
            range: Some(((end - REMEMBERED as f64).max(0.0), end)),
            height: 130.0,
            ..Lines::default()
        };
        page.raw(&picture.svg());
    }
    page.raw("</div>");
}

fn maps(page: &mut Page, maps: Option<&Result<Vec<Map>, String>>) {
    let maps = match maps {
        Some(Ok(maps)) => maps,
        Some(Err(why)) => return refused(page, why),
        None => return,
    };
    page.raw("<div class=\"plots\">");
    for map in maps {
        let size: f64 = map.vlfs.iter().map(|v| v.0).sum();
        page.log_map(
            format!("Log of {}", map.database),
            format!("{} VLFs, {size:.1} MB; dark: active", map.vlfs.len()),
            map.vlfs.iter().copied(),
        );
    }
    page.raw("</div>");
}

const WAITS_SHOWN: usize = 15;

fn waits(page: &mut Page, looks: &Looks) {
    if let Some(why) = &looks.waits_failed {
        return refused(page, why);
    }
    let all = looks.waited();
    let total: f64 = all.iter().map(|w| w.ms).sum();
    if all.is_empty() {
        return page.text("Nobody waited.");
    }
    let names = ["wait", "seconds", "%", "running %", "count", "ms each"];
    let mut rows = head(&names.map(str::to_owned));
    let mut running = 0.0;
    for wait in all.iter().take(WAITS_SHOWN) {
        let part = wait.ms * 100.0 / total;
        running += part;
        rows.push_str(&row(&[
            escape(&wait.kind),
            format!("{:.2}", wait.ms / 1000.0),
            format!("{part:.1}"),
            format!("{running:.1}"),
            shown(wait.tasks),
            format!("{:.3}", wait.ms / wait.tasks),
        ]));
    }
    page.table(&rows);
}

fn table(page: &mut Page, table: Option<&Table>) {
    match table {
        Some(Ok(rows)) if rows.rows.is_empty() => page.text("None."),
        Some(Ok(rows)) => {
            let text = body(rows);
            page.table(&text);
        }
        Some(Err(why)) => refused(page, why),
        None => page.text("The first look is under way."),
    }
}

fn body(rows: &Rows) -> String {
    let mut out = head(&rows.names);
    for values in &rows.rows {
        let cells: Vec<String> = values
            .iter()
            .map(|v| match v {
                v if v.is_null() => String::new(),
                v => escape(&string(v)),
            })
            .collect();
        let texts = rows.names.last().is_some_and(|n| n.trim() == "statement");
        out.push_str(&if texts {
            row_of_text(&cells)
        } else {
            row(&cells)
        });
    }
    out
}
