//! Values by tag.

use std::collections::BTreeMap;

/// Tags below this have a place in a table. FIX 4.4 itself ends with 956.
const SMALL_TAGS: usize = 1024;

/// Values by tag. Small tags, nearly all of a message, are found without a search.
#[derive(Debug)]
pub(super) struct ByTag<V> {
    small: Vec<Option<V>>,
    large: BTreeMap<u32, V>,
}

impl<V> Default for ByTag<V> {
    fn default() -> ByTag<V> {
        ByTag { small: Vec::new(), large: BTreeMap::new() }
    }
}

impl<V> ByTag<V> {
    #[inline]
    pub fn get(&self, tag: u32) -> Option<&V> {
        match self.small.get(tag as usize) {
            Some(value) => value.as_ref(),
            None => self.large.get(&tag),
        }
    }

    #[inline]
    pub fn get_mut(&mut self, tag: u32) -> Option<&mut V> {
        match self.small.get_mut(tag as usize) {
            Some(value) => value.as_mut(),
            None => self.large.get_mut(&tag),
        }
    }

    /// In place of the tag's former value.
    pub fn insert(&mut self, tag: u32, value: V) {
        let at = tag as usize;
        if at >= SMALL_TAGS {
            self.large.insert(tag, value);
            return;
        }
        if self.small.len() <= at {
            self.small.resize_with(at + 1, || None);
        }
        self.small[at] = Some(value);
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.small.iter().flatten().chain(self.large.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]
        #[test]
        fn a_tag_has_its_latest_value(tags in prop::collection::vec(
            prop_oneof![0u32..30, 1000u32..1050, any::<u32>()], 0..40), others in any::<u32>()) {
            let (mut table, mut map) = (ByTag::default(), BTreeMap::new());
            for (at, tag) in tags.iter().enumerate() {
                table.insert(*tag, at);
                map.insert(*tag, at);
            }
            for tag in tags.iter().chain(&[others, 0, 1023, 1024]) {
                prop_assert_eq!(table.get(*tag), map.get(tag));
            }
            prop_assert!(table.values().eq(map.values()));
        }
    }
}
