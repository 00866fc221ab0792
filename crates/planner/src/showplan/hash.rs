//! What two plans have in common that differ in figures and values only: `query_plan_hash`.

use super::PlanLine;

/// The same number for plans with the same operators in the same places over the same tables and indexes, whatever they
/// estimate and compare; 0 for none.
pub fn plan_hash(lines: &[PlanLine]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |text: &str| {
        for b in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for line in lines {
        add(&line.parent.map_or(String::new(), |p| p.to_string()));
        add(line.physical);
        add(&line.logical);
        line.shape.element.each_object(&mut add);
    }
    if lines.is_empty() { 0 } else { hash }
}
