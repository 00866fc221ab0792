//! What a message is, and how it is found.

use super::ALL;

/// One message of the catalogue.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    pub number: i32,
    pub severity: u8,
    pub text: &'static str,
}

/// The message of that number.
pub fn by_number(number: i32) -> Option<&'static Message> {
    ALL.binary_search_by_key(&number, |m| m.number)
        .ok()
        .map(|i| ALL[i])
}
