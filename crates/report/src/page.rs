//! The frame of every page: one file that fetches nothing and runs nothing.
//!
//! See docs/decisions/004-report-page-and-live-view.md.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Colours, dashes and layout; the classes that [`crate::plot`] names stand there.
const STYLE: &str = include_str!("page.css");

/// A whole page around `body`. `title` is plain text.
pub fn frame(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (PreEscaped(anchored(&body.clone().into_string()))) }
        }
    };
    page.into_string()
}

/// Gives each heading an address of its own, which it links to.
fn anchored(body: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut parts = body.split("<h2>");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (title, rest) = part.split_once("</h2>").unwrap_or((part, ""));
        let letters = title.to_lowercase();
        let words = letters.split(|char: char| !char.is_ascii_alphanumeric());
        let slug = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        let earlier = known.iter().filter(|one| **one == slug).count();
        known.push(slug.clone());
        let id = if earlier == 0 { slug } else { format!("{slug}-{}", earlier + 1) };
        out += &format!("<h2 id=\"{id}\"><a href=\"#{id}\">{title}</a></h2>{rest}");
    }
    out
}

/// `json` as a block of the page that browsers don't show and programs can read.
pub fn embedded(id: &str, json: &str) -> Markup {
    // Within JSON `<` stands in strings only, where it may be written by number. So neither
    // `</script` nor `<!--` can end or change the block.
    let text = json.replace('<', "\\u003c");
    html! { script type="application/json" id=(id) { (PreEscaped(text)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedded_record_cannot_leave_its_block() {
        let json = r#"{"name":"</script><script>alert(1)</script><!--"}"#;
        let block = embedded("record", json).into_string();
        assert_eq!(block.matches("</script").count(), 1);
        let inner = block.split_once('>').unwrap().1.strip_suffix("</script>").unwrap();
        let (ours, given): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(inner).unwrap(), serde_json::from_str(json).unwrap());
        assert_eq!(ours, given);
    }

    #[test]
    fn every_heading_has_an_address() {
        let body = html! { h2 { "Latency, us" } p { "x" } h2 { "Latency, us" } };
        let page = frame("x", &body);
        for id in ["latency-us", "latency-us-2"] {
            assert!(
                page.contains(&format!("<h2 id=\"{id}\"><a href=\"#{id}\">Latency, us</a></h2>"))
            );
        }
    }

    #[test]
    fn a_title_is_text() {
        assert!(frame("a<b>", &html! {}).contains("<title>a&lt;b&gt;</title>"));
    }
}
