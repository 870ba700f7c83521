//! The frame of every page: one file that fetches nothing and runs nothing.

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
            body { (body) }
        }
    };
    page.into_string()
}

/// `json` as a block of the page that browsers don't show and programs can read.
pub fn embedded(id: &str, json: &str) -> Markup {
    // Within JSON `<` stands in strings only, where it may be written by number. So neither `</script`
    // nor `<!--` can end or change the block.
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
    fn a_title_is_text() {
        assert!(frame("a<b>", &html! {}).contains("<title>a&lt;b&gt;</title>"));
    }
}
