//! Usage and exit codes; what is found is tested where it is found.

// Temporary directories are outside the simulated world.
#![allow(clippy::disallowed_methods)]

use duramen_check::Finding;

use super::*;

fn args(dir: &Path) -> Vec<String> {
    vec![dir.display().to_string()]
}

#[test]
fn exit_codes() {
    assert_eq!(run(&[]), 2);
    assert_eq!(run(&["--help".to_owned()]), 0);
    let dir = std::env::temp_dir().join(format!("duramen-check-run-{}", std::process::id()));
    assert_eq!(run(&args(&dir)), 2);
    std::fs::create_dir_all(&dir).unwrap();
    assert_eq!(run(&args(&dir)), 2);
    std::fs::write(dir.join("broken.mdf"), [7; 9000]).unwrap();
    assert_eq!(run(&args(&dir)), 1);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_report_names_its_findings_and_counts_the_rest() {
    let finding = |n: u32| Finding {
        number: 824,
        severity: 16,
        state: 1,
        page: None,
        object: None,
        unit: None,
        text: format!("Page {n}: torn page."),
    };
    let report = FileReport {
        path: "t.mdf".into(),
        summary: "data file 1: 9 of 64 pages checked".into(),
        notes: Vec::new(),
        findings: (0..60).map(finding).collect(),
        more_findings: 5,
        checked: true,
    };
    let text = render(&report, None);
    assert!(text.starts_with("t.mdf: data file 1: 9 of 64 pages checked; 65 findings\n"));
    assert!(text.contains("  824: Page 7: torn page.\n"));
    assert!(text.ends_with("  and 15 more\n"));
}
