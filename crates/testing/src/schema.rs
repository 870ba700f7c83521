//! Whether JSON is as one of our schemas says. Only the keywords that our schemas have: a library
//! for all of them was a seventh of what the tests compile, and gave the tests a `serde_json` with
//! other features than the binary's.

use serde_json::{Map, Value};

/// The faults of `value` by `schema`, each with the JSON pointer of its place; empty if there are
/// none.
///
/// # Panics
/// If the schema has a keyword, or a form of one, that is not known here: it would check nothing.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut check = Check { root: schema, faults: Vec::new() };
    check.value(schema, value, "");
    check.faults
}

struct Check<'a> {
    root: &'a Value,
    faults: Vec<String>,
}

impl<'a> Check<'a> {
    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        let keywords = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return self.fault(at, "must be absent"),
            schema => object(schema),
        };
        for (keyword, asked) in keywords {
            match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" | "default" => {}
                "$ref" => self.value(self.referred(asked), value, at),
                "type" if !is_of_types(asked, value) => self.fault(at, &format!("is no {asked}")),
                "const" if asked != value => self.fault(at, &format!("is not {asked}")),
                "minimum" if value.as_f64() < asked.as_f64() && value.is_number() => {
                    self.fault(at, &format!("is below {asked}"));
                }
                "maximum" if value.as_f64() > asked.as_f64() && value.is_number() => {
                    self.fault(at, &format!("is above {asked}"));
                }
                "minItems" if items(value).is_some_and(|all| all.len() < count(asked)) => {
                    self.fault(at, &format!("has fewer than {asked} items"));
                }
                "maxItems" if items(value).is_some_and(|all| all.len() > count(asked)) => {
                    self.fault(at, &format!("has more than {asked} items"));
                }
                "type" | "const" | "minimum" | "maximum" | "minItems" | "maxItems" => {}
                "anyOf" | "oneOf" => self.alternatives(keyword, array(asked), value, at),
                "required" => self.required(array(asked), value, at),
                "properties" => self.properties(object(asked), value, at),
                "additionalProperties" => self.additional(keywords, asked, value, at),
                "prefixItems" => self.items(array(asked).iter(), 0, value, at),
                "items" => {
                    let prefix = keywords.get("prefixItems").map_or(0, |all| array(all).len());
                    self.items(std::iter::repeat(asked), prefix, value, at);
                }
                unknown => panic!("the schema has {unknown:?}, which this check lacks: add it"),
            }
        }
    }

    fn fault(&mut self, at: &str, why: &str) {
        self.faults.push(format!("{at:?} {why}"));
    }

    fn referred(&self, reference: &Value) -> &'a Value {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        let found = pointer.and_then(|pointer| self.root.pointer(pointer));
        found.unwrap_or_else(|| panic!("{reference} refers to nothing in this schema"))
    }

    fn alternatives(&mut self, keyword: &str, schemas: &[Value], value: &Value, at: &str) {
        let holds = |schema: &&Value| {
            let mut check = Check { root: self.root, faults: Vec::new() };
            check.value(schema, value, at);
            check.faults.is_empty()
        };
        let holding = schemas.iter().filter(holds).count();
        if holding == 0 || (keyword == "oneOf" && holding > 1) {
            self.fault(at, &format!("is as {holding} of {} schemas say", schemas.len()));
        }
    }

    fn required(&mut self, keys: &[Value], value: &Value, at: &str) {
        let Value::Object(value) = value else { return };
        for key in keys.iter().map(|key| key.as_str().expect("a key")) {
            if !value.contains_key(key) {
                self.fault(at, &format!("lacks {key:?}"));
            }
        }
    }

    fn properties(&mut self, schemas: &Map<String, Value>, value: &Value, at: &str) {
        let Value::Object(value) = value else { return };
        for (key, schema) in schemas {
            if let Some(value) = value.get(key) {
                self.value(schema, value, &format!("{at}/{key}"));
            }
        }
    }

    /// The keys that `properties` does not name.
    fn additional(&mut self, of: &Map<String, Value>, schema: &Value, value: &Value, at: &str) {
        let Value::Object(value) = value else { return };
        let named = of.get("properties").map(object);
        for (key, value) in value {
            if !named.is_some_and(|named| named.contains_key(key)) {
                self.value(schema, value, &format!("{at}/{key}"));
            }
        }
    }

    /// One schema for each item from the one at `first`.
    fn items<'s>(
        &mut self,
        schemas: impl Iterator<Item = &'s Value>,
        first: usize,
        value: &Value,
        at: &str,
    ) {
        let all = items(value).unwrap_or_default().iter().enumerate().skip(first);
        for ((index, item), schema) in all.zip(schemas) {
            self.value(schema, item, &format!("{at}/{index}"));
        }
    }
}

fn is_of_types(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        unknown => panic!("{unknown:?} is no type"),
    };
    match types {
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    }
}

fn object(schema: &Value) -> &Map<String, Value> {
    schema.as_object().unwrap_or_else(|| panic!("{schema} is no object"))
}

fn array(schema: &Value) -> &[Value] {
    items(schema).unwrap_or_else(|| panic!("{schema} is no array"))
}

fn items(value: &Value) -> Option<&[Value]> {
    value.as_array().map(Vec::as_slice)
}

fn count(schema: &Value) -> usize {
    schema.as_u64().and_then(|count| usize::try_from(count).ok()).expect("a count")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Values that the schema allows, and values that it doesn't.
    #[track_caller]
    fn check(schema: &Value, good: &[Value], bad: &[Value]) {
        for value in good {
            assert_eq!(faults(schema, value), [""; 0], "{schema}: {value}");
        }
        for value in bad {
            assert_eq!(faults(schema, value).len(), 1, "{schema}: {value}");
        }
    }

    #[test]
    fn values_have_the_type_the_value_and_the_size_that_is_asked() {
        let any =
            [json!(null), json!(true), json!(1), json!(0.5), json!("x"), json!([]), json!({})];
        let names = ["null", "boolean", "integer", "number", "string", "array", "object"];
        for (one, name) in names.iter().enumerate() {
            for (other, value) in any.iter().enumerate() {
                let is_integer_as_number = *name == "number" && other == 2;
                let allowed = one == other || is_integer_as_number;
                let (good, bad) = if allowed { (1, 0) } else { (0, 1) };
                let value = std::slice::from_ref(value);
                check(&json!({ "type": name }), &value[..good], &value[..bad]);
            }
        }
        check(&json!({"type": ["null", "integer"]}), &[json!(null), json!(2)], &[json!("2")]);
        check(&json!({"type": "integer"}), &[json!(2.0), json!(u64::MAX)], &[]);
        check(&json!({"const": "a"}), &[json!("a")], &[json!("b"), json!(null)]);
        check(&json!({"minimum": 0}), &[json!(0), json!(0.1), json!("-1")], &[json!(-1)]);
        check(&json!({"maximum": 9}), &[json!(9), json!("10")], &[json!(10)]);
        check(&json!({"minItems": 1, "maxItems": 2}), &[json!([1]), json!(7)], &[]);
        check(&json!({"minItems": 1, "maxItems": 2}), &[], &[json!([]), json!([1, 2, 3])]);
        check(&json!(true), &any, &[]);
        check(&json!(false), &[], &any);
    }

    #[test]
    fn parts_are_checked_where_they_stand() {
        let number = json!({"type": "number"});
        let schema =
            json!({"properties": {"a": number, "b": {"items": number}}, "required": ["a"]});
        check(&schema, &[json!({"a": 1, "b": [1, 2], "c": "x"}), json!([])], &[]);
        check(&schema, &[], &[json!({}), json!({"a": "1"}), json!({"a": 1, "b": [1, "2"]})]);
        assert_eq!(faults(&schema, &json!({"a": 1, "b": [1, "2"]})), ["\"/b/1\" is no \"number\""]);
        let closed = json!({"properties": {"a": true}, "additionalProperties": false});
        check(&closed, &[json!({"a": "x"}), json!({})], &[json!({"b": 1})]);
        check(&json!({"additionalProperties": number}), &[json!({"x": 1})], &[json!({"x": "1"})]);
        let pair = json!({"prefixItems": [number, {"type": "string"}], "items": false});
        check(&pair, &[json!([1, "x"]), json!([1])], &[json!(["x"]), json!([1, "x", 1])]);
    }

    #[test]
    fn alternatives_and_references_are_followed() {
        let (integer, number) = (json!({"type": "integer"}), json!({"type": "number"}));
        check(&json!({"anyOf": [integer, number]}), &[json!(1), json!(0.5)], &[json!("x")]);
        check(&json!({"oneOf": [integer, number]}), &[json!(0.5)], &[json!(1), json!("x")]);
        let tree = json!({
            "$ref": "#/$defs/tree",
            "$defs": {"tree": {"items": {"$ref": "#/$defs/tree"}, "type": "array"}},
        });
        check(&tree, &[json!([]), json!([[], [[]]])], &[json!([[], [1]])]);
    }

    #[test]
    #[should_panic(expected = "\"multipleOf\", which this check lacks")]
    fn a_keyword_that_is_not_checked_is_an_error() {
        faults(&json!({"multipleOf": 1}), &json!(1));
    }
}
