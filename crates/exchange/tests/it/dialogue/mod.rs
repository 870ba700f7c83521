//! Dialogues in short form: traders' messages, and one line for each message that they get.

#![allow(dead_code, reason = "each test file uses its part")]

use crate::driven::Driven;
use exchange::Config;

/// Number of connections.
const STREAMS: u32 = 4;

pub struct Dialogue {
    pub driven: Driven,
    lines: Vec<String>,
}

impl Dialogue {
    /// Account `a` on connection 0, `b` on 1, `c` on 2; connection 3 is not authenticated.
    pub fn new(config: Config) -> Dialogue {
        let mut dialogue = Dialogue { driven: Driven::new(config), lines: Vec::new() };
        (0..STREAMS).for_each(|stream| dialogue.driven.connect(stream));
        for (stream, account) in (0..).zip(["a", "b", "c"]) {
            let asked = format!(r#"{{"type":"AUTHENTICATE","api_token":"{account}"}}"#);
            assert_eq!(dialogue.driven.ask(stream, &asked), [r#"{"type":"AUTHENTICATED"}"#]);
        }
        dialogue
    }

    /// Sends a message, in which `'` stands for `"`, and records all replies and reports.
    pub fn say(&mut self, stream: u32, text: &str) {
        let mut bytes = Vec::new();
        let text = text.replace('\'', "\"");
        crate::driven::write_text(&mut bytes, |out| out.extend_from_slice(text.as_bytes()));
        self.driven.feed(stream, &bytes);
        self.note();
    }

    /// An order in BTC_USDT that is good till cancelled.
    pub fn order(&mut self, stream: u32, id: &str, side: &str, price: &str, amount: &str) {
        self.order_with(stream, id, side, price, amount, "");
    }

    /// An order in BTC_USDT with more keys, which replace the usual ones: a price of `-` is a
    /// market order, and a time in force among them replaces the default.
    pub fn order_with(
        &mut self,
        stream: u32,
        id: &str,
        side: &str,
        price: &str,
        amount: &str,
        more: &str,
    ) {
        let price = match price {
            "-" => "'type':'MARKET'".to_owned(),
            price => format!("'type':'LIMIT','price':'{price}'"),
        };
        let time_in_force = match more.contains("time_in_force") {
            true => "",
            false => ",'time_in_force':'GOOD_TILL_CANCELLED'",
        };
        let more = if more.is_empty() { String::new() } else { format!(",{more}") };
        self.say(
            stream,
            &format!(
                "{{'type':'CREATE_ORDER','order':{{'instrument_code':'BTC_USDT','client_id':'{id}',\
                 'side':'{side}',{price},'amount':'{amount}'{time_in_force}{more}}}}}"
            ),
        );
    }

    pub fn amend(&mut self, stream: u32, id: &str, more: &str) {
        self.say(
            stream,
            &format!(
                "{{'type':'AMEND_ORDER','client_id':'{id}','instrument_code':'BTC_USDT',{more}}}"
            ),
        );
    }

    pub fn cancel(&mut self, stream: u32, id: &str) {
        self.say(
            stream,
            &format!("{{'type':'CANCEL_ORDER','client_id':'{id}','instrument_code':'BTC_USDT'}}"),
        );
    }

    /// Records all messages since the last call.
    pub fn note(&mut self) {
        for stream in 0..STREAMS {
            for text in self.driven.texts(stream) {
                self.lines.push(format!("{stream} {}", brief(&text)));
            }
        }
    }

    /// The transcript so far, after a replay check.
    pub fn told(&mut self) -> String {
        let check = self.driven.exchange.replay_check();
        assert_eq!(check.equal, Some(true), "{}", check.why);
        self.told_unchecked()
    }

    /// The transcript so far.
    pub fn told_unchecked(&mut self) -> String {
        std::mem::take(&mut self.lines).join("\n")
    }
}

/// A report without the fields that all reports share.
fn brief(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let field = |name: &&str| match &value[name] {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => format!(" {name}={text}"),
        other => format!(" {name}={other}"),
    };
    let names = [
        "client_id",
        "replaced_client_id",
        "price",
        "stop_price",
        "amount",
        "remaining",
        "place_kept",
        "status",
        "count",
        "order_book_sequence",
        "reason",
    ];
    let short = |text: String| text.replace("order_book_sequence", "sequence");
    let kind = value["type"].as_str().unwrap();
    let uid = value["uid"].as_str().unwrap_or("-");
    format!("{uid} {kind}{}", short(names.iter().map(field).collect()))
}
