//! Four letters for a set of settings, short enough for a column.

use serde_json::Value;

/// Four letters, the same for the same `value`; two other values share them once in 456 976 times.
/// They don't depend on the versions of tickpath and Rust.
pub(crate) fn letters(value: &Value) -> String {
    // serde_json sorts keys by name, so the text is unique. FNV-1a, 64 bits.
    let mut hash = value.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut letter = || {
        let letter = b'a' + (hash % 26) as u8;
        hash /= 26;
        char::from(letter)
    };
    [letter(), letter(), letter(), letter()].into_iter().collect()
}

/// `value` without zero, empty, false or null parts, at any depth, so that a key that a later
/// version adds (switched off) does not change the letters. `None` if nothing is left.
pub(crate) fn switched_on(value: Value) -> Option<Value> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Number(number) => (number.as_f64() != Some(0.0)).then_some(Value::Number(number)),
        Value::String(text) => (!text.is_empty()).then_some(Value::String(text)),
        Value::Array(elements) => (!elements.is_empty()).then(|| {
            let elements = elements.into_iter().map(|one| switched_on(one).unwrap_or_default());
            Value::Array(elements.collect())
        }),
        Value::Object(fields) => {
            let on = |(name, value)| Some((name, switched_on(value)?));
            let fields: serde_json::Map<String, Value> =
                fields.into_iter().filter_map(on).collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        yes @ Value::Bool(true) => Some(yes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Fixed here because old listings and notes must stay readable.
    #[test]
    fn letters_stay_as_they_are() {
        assert_eq!(
            letters(&json!({"b": [1, 2], "a": "x"})),
            letters(&json!({"a": "x", "b": [1, 2]}))
        );
        assert_eq!(letters(&json!({"a": 1})), "pvqo");
        assert_ne!(letters(&json!({"a": 1})), letters(&json!({"a": 2})));
    }

    #[test]
    fn what_is_switched_off_leaves_no_trace() {
        let with = json!({"rate": 5.0, "inject": {"delay_us": 0, "x": [], "y": "", "z": null},
            "list": [{"on": true, "off": false}]});
        let without = json!({"rate": 5.0, "list": [{"on": true}]});
        assert_eq!(switched_on(with), Some(without));
        assert_eq!(switched_on(json!({"a": {"b": 0}})), None);
    }
}
