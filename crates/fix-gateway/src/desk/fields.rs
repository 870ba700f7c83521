//! The fields of a request about orders, found in one pass: a request asks for twenty, and a search
//! for each would go through the whole message when it is not there.

use fix::message::{Message, number};

/// Number of tags that have a place.
const PLACES: usize = 19;

/// See the module.
pub(super) struct Fields<'a> {
    message: Message<'a>,
    /// The first values of the tags that have a place.
    values: [Option<&'a [u8]>; PLACES],
}

/// The place of a tag that requests ask for.
#[inline(always)]
fn place(tag: u32) -> Option<usize> {
    Some(match tag {
        1 => 0,
        11 => 1,
        18 => 2,
        38 => 3,
        40 => 4,
        41 => 5,
        44 => 6,
        54 => 7,
        55 => 8,
        59 => 9,
        97 => 10,
        99 => 11,
        111 => 12,
        126 => 13,
        530 => 14,
        790 => 15,
        fix::tag::DELIVERY_TICK => 16,
        fix::tag::DELIVERY_RESPONSE_NS => 17,
        fix::tag::POST_ONLY_REPRICE => 18,
        _ => return None,
    })
}

impl<'a> Fields<'a> {
    #[inline]
    pub fn of(message: Message<'a>) -> Fields<'a> {
        let mut values = [None; PLACES];
        for field in message.fields() {
            if let Some(place) = place(field.tag) {
                values[place].get_or_insert(message.value(*field));
            }
        }
        Fields { message, values }
    }

    /// The value of the first field with that tag.
    #[inline]
    pub fn get(&self, tag: u32) -> Option<&'a [u8]> {
        match place(tag) {
            Some(place) => self.values[place],
            None => self.message.get(tag),
        }
    }

    /// The same as text; `None` also if it is not UTF-8.
    #[inline]
    pub fn text(&self, tag: u32) -> Option<&'a str> {
        self.get(tag).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The same as a number; `None` also if it is none.
    #[inline]
    pub fn number(&self, tag: u32) -> Option<u64> {
        self.get(tag).and_then(number)
    }

    /// Whether that flag is `Y`.
    #[inline]
    pub fn is_set(&self, tag: u32) -> bool {
        self.get(tag) == Some(b"Y")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fix::message::split;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(128)))]
        /// Fields that come twice or not at all, with and without a place.
        #[test]
        fn the_fields_are_those_of_the_message(
            tags in prop::collection::vec(prop_oneof![1u32..130, 500u32..800, 8010u32..8025], 0..20),
        ) {
            let text: String = tags.iter().enumerate().map(|(n, tag)| format!("{tag}={n}\x01")).collect();
            let mut split_fields = Vec::new();
            split(text.as_bytes(), |_| None, &mut split_fields).unwrap();
            let message = Message::new(text.as_bytes(), &split_fields);
            let fields = Fields::of(message);
            for tag in 0..8030 {
                prop_assert_eq!(fields.get(tag), message.get(tag), "tag {}", tag);
            }
        }
    }
}
