//! `--set KEY=VALUE`: any key of a scenario, named by its path.

use record::nearest::did_you_mean;

/// Applies `a.b.c=value`. A list member goes by its `name` or index. The value is read as TOML if
/// it is TOML, and as plain text otherwise.
pub fn apply(scenario: &mut toml::Table, set: &str) -> Result<(), String> {
    let (path, text) =
        set.split_once('=').ok_or("write KEY=VALUE, such as load.rate_per_second=400000")?;
    let (path, text) = (path.trim(), text.trim());
    let mut place = scenario as &mut dyn KeyedValues;
    let mut keys = path.split('.').peekable();
    loop {
        let key = keys.next().unwrap_or_default();
        let known = place.keys();
        let value = place.value(key).ok_or_else(|| unknown(key, path, &known))?;
        let is_last = keys.peek().is_none();
        match (value, is_last) {
            (toml::Value::Table(table), false) => place = table,
            (toml::Value::Array(list), false) => place = list,
            (_, false) => return Err(format!("{key} is a value, it has no keys of its own")),
            (toml::Value::Table(_), true) => {
                return Err(format!("{path} is a table; set one of its keys"));
            }
            (value, true) => {
                *value = read_value(text, value);
                return Ok(());
            }
        }
    }
}

/// An error that names what is closest to a misspelt key, then all.
fn unknown(key: &str, path: &str, known: &str) -> String {
    let meant = did_you_mean(key, known.split(", "));
    format!("there is no {key:?} in {path}.{meant} There are: {known}")
}

/// A number as rates are written: 400000, 400_000, 400k or 1.5M.
pub fn scaled(text: &str) -> Option<f64> {
    let (number, factor) = match text.strip_suffix('k') {
        Some(number) => (number, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |number| (number, 1e6)),
    };
    Some(number.replace('_', "").parse::<f64>().ok()? * factor)
}

/// The path in `a.b.c=value`.
pub fn path(set: &str) -> &str {
    set.split_once('=').map_or(set, |(path, _)| path).trim()
}

/// `text` as TOML, unless it is not TOML, or a number where a text is expected.
fn read_value(text: &str, old: &toml::Value) -> toml::Value {
    let parsed = format!("value = {text}").parse::<toml::Table>();
    let parsed = parsed.ok().and_then(|mut table| table.remove("value"));
    match parsed {
        Some(toml::Value::Integer(_) | toml::Value::Float(_)) if old.is_str() => text.into(),
        Some(value) => value,
        None if old.is_float() => scaled(text).map_or_else(|| text.into(), toml::Value::from),
        None if old.is_integer() => match scaled(text) {
            Some(number) if number.fract() == 0.0 => (number as i64).into(),
            _ => text.into(),
        },
        None => text.into(),
    }
}

/// Something with values under keys: a table, or a list with named members.
trait KeyedValues {
    fn value(&mut self, key: &str) -> Option<&mut toml::Value>;
    fn keys(&self) -> String;
}

impl KeyedValues for toml::Table {
    fn value(&mut self, key: &str) -> Option<&mut toml::Value> {
        self.get_mut(key)
    }

    fn keys(&self) -> String {
        toml::Table::keys(self).map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

impl KeyedValues for Vec<toml::Value> {
    fn value(&mut self, key: &str) -> Option<&mut toml::Value> {
        let named = |one: &toml::Value| one.get("name").and_then(toml::Value::as_str) == Some(key);
        let index = self.iter().position(named).or_else(|| key.parse().ok())?;
        self.get_mut(index)
    }

    fn keys(&self) -> String {
        let name =
            |one: &toml::Value| one.get("name").map(|name| name.to_string().replace('"', ""));
        self.iter().filter_map(name).collect::<Vec<_>>().join(", ")
    }
}
