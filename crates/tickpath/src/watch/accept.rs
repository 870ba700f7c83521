//! Which format a scraper gets (RFC 9110, 12.5.1).

use hyper::header::{ACCEPT, HeaderMap};

/// The format of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenMetrics.
    Text,
    /// Prometheus' own, which can hold native histograms.
    Protobuf,
}

impl Format {
    /// Its media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Format::Text => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }
}

/// The format that the scraper prefers; text if it prefers none. One that accepts neither gets text
/// nevertheless, which the RFC allows (12.4.1).
pub(crate) fn format_for(headers: &HeaderMap) -> Format {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let ranges: Vec<Range> =
        lines.flat_map(|line| split(line, ',')).filter_map(Range::read).collect();
    let quality = |format: Format| {
        let matching = ranges.iter().filter_map(|range| {
            range.specificity(format.media_type()).map(|specificity| (specificity, range.quality))
        });
        // The most specific range counts.
        matching.max_by_key(|(specificity, _)| *specificity).map_or(0.0, |(_, quality)| quality)
    };
    match quality(Format::Protobuf) > quality(Format::Text) {
        true => Format::Protobuf,
        false => Format::Text,
    }
}

/// One element of `Accept`.
struct Range<'a> {
    kind: &'a str,
    /// Names and values, without the quality.
    parameters: Vec<(&'a str, &'a str)>,
    quality: f64,
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Option<Range<'a>> {
        let mut parts = split(text, ';');
        let kind = parts.next().filter(|kind| kind.contains('/'))?;
        let (mut parameters, mut quality) = (Vec::new(), 1.0);
        for (name, value) in parts.filter_map(parameter) {
            if name.eq_ignore_ascii_case("q") {
                quality = value.parse().ok().filter(|quality| (0.0..=1.0).contains(quality))?;
            } else {
                parameters.push((name, value));
            }
        }
        Some(Range { kind, parameters, quality })
    }

    /// How exactly it names the media type; `None` if it does not.
    fn specificity(&self, media_type: &str) -> Option<usize> {
        let mut parts = split(media_type, ';');
        let kind = parts.next()?;
        let own: Vec<(&str, &str)> = parts.filter_map(parameter).collect();
        let has = |(name, value): &(&str, &str)| {
            own.iter().any(|(own_name, own_value)| {
                own_name.eq_ignore_ascii_case(name) && own_value.eq_ignore_ascii_case(value)
            })
        };
        if !self.parameters.iter().all(has) {
            return None;
        }
        let (main, _) = kind.split_once('/')?;
        match self.kind.split_once('/')? {
            ("*", "*") => Some(0),
            (range, "*") if range.eq_ignore_ascii_case(main) => Some(1),
            _ if self.kind.eq_ignore_ascii_case(kind) => Some(2 + self.parameters.len()),
            _ => None,
        }
    }
}

fn parameter(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    Some((name.trim(), value.trim().trim_matches('"')))
}

/// The parts of a list without the spaces around them; empty ones are left out. A separator within
/// quotes is none.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let parts = text.split(move |letter| {
        is_quoted ^= letter == '"';
        letter == separator && !is_quoted
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scraper_gets_the_format_that_it_prefers() {
        const PROTOBUF: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        let format = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(ACCEPT, line.parse().unwrap());
            }
            format_for(&headers)
        };
        let text = "application/openmetrics-text;version=1.0.0";
        for (lines, expected) in [
            // Prometheus with native histograms, and without.
            (vec![format!("{PROTOBUF},{text};q=0.8,*/*;q=0.1")], Format::Protobuf),
            (vec![format!("{text},text/plain;version=0.0.4;q=0.5,*/*;q=0.1")], Format::Text),
            // The order says nothing, the quality does.
            (vec![format!("{text};q=0.5,{PROTOBUF};q=0.6")], Format::Protobuf),
            (vec![format!("{PROTOBUF};q=0.5"), format!("{text};q=0.6")], Format::Text),
            // In several lines, with spaces, in other letters, quoted.
            (
                vec![
                    "Application/OpenMetrics-Text ; Q=0.1".to_owned(),
                    "application/VND.google.protobuf ; encoding=\"delimited\"".to_owned(),
                ],
                Format::Protobuf,
            ),
            // The most specific range counts.
            (vec![format!("*/*, {PROTOBUF};q=0")], Format::Text),
            (vec![format!("*/*;q=0.1, application/*;q=0.5, {text};q=0.2")], Format::Protobuf),
            // A format that we don't have.
            (vec!["application/vnd.google.protobuf;encoding=text".to_owned()], Format::Text),
            (vec!["image/png".to_owned()], Format::Text),
            // No preference.
            (vec![], Format::Text),
            (vec!["*/*".to_owned()], Format::Text),
            (vec![", ;q=1, x, */*;q=2".to_owned()], Format::Text),
        ] {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert_eq!(format(&lines), expected, "{lines:?}");
        }
    }
}
