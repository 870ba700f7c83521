//! The rows of engine scenarios: which server takes the flow, and with which book.

use engine::OPEN_ORDERS_MAX;
use record::engine::{EMPTY_DISPATCH, IDEAL};

/// The server behind a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// A matching engine.
    Engine,
    /// No engine: each operation is matched on its type and answered with one report. The floor.
    Nobody,
    /// No engine, for as long as the engine takes: the best that a server of this speed can do.
    Burner,
}

/// The book of a row, before its first operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Book {
    /// Ten thousand orders.
    Shallow,
    /// A million orders.
    Deep,
}

/// A server with its book and its checks.
#[derive(Debug)]
pub struct Row {
    /// The name in a plan.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The book.
    pub book: Book,
    /// Whether the engine checks every order by account.
    pub has_risk: bool,
    /// The server.
    pub serves: ServerKind,
    /// Whether the engine may prefetch what later operations need.
    pub look_ahead: bool,
    /// Its tables have room for at least this many open orders; 0: for as many as the flow can
    /// have.
    pub open_orders_min: u32,
}

/// All rows.
pub const ROWS: &[Row] = &[
    Row::plain("shallow", "ten thousand orders, matching alone", Book::Shallow),
    Row {
        has_risk: true,
        ..Row::plain("shallow-risk", "ten thousand orders, every risk check on", Book::Shallow)
    },
    Row {
        look_ahead: true,
        ..Row::plain("shallow-look-ahead", "as shallow, with look-ahead", Book::Shallow)
    },
    Row {
        open_orders_min: 1 << 20,
        ..Row::plain("shallow-large-tables", "as shallow, in tables for 2^20 orders", Book::Shallow)
    },
    Row::plain("deep", "a million orders, matching alone", Book::Deep),
    Row {
        has_risk: true,
        ..Row::plain("deep-risk", "a million orders, every risk check on", Book::Deep)
    },
    Row {
        look_ahead: true,
        ..Row::plain("deep-look-ahead", "as deep, with look-ahead", Book::Deep)
    },
    Row {
        open_orders_min: OPEN_ORDERS_MAX,
        ..Row::plain("deep-large-tables", "as deep, in tables for 2^24 orders", Book::Deep)
    },
    Row {
        serves: ServerKind::Nobody,
        ..Row::plain(
            EMPTY_DISPATCH,
            "no engine: one report an operation through the same loop",
            Book::Shallow,
        )
    },
    Row {
        has_risk: true,
        serves: ServerKind::Burner,
        ..Row::plain(
            IDEAL,
            "no engine in the measured part: burns the time that shallow-risk took before it",
            Book::Shallow,
        )
    },
];

/// The row with that name.
///
/// # Errors
/// The names of all rows.
pub fn find_row(name: &str) -> Result<&'static Row, String> {
    ROWS.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        format!("this client knows {}", names.join(", "))
    })
}

impl Row {
    /// A row without risk and look-ahead, with tables of the size that the flow needs.
    pub const fn plain(name: &'static str, about: &'static str, book: Book) -> Row {
        Row {
            name,
            about,
            book,
            has_risk: false,
            serves: ServerKind::Engine,
            look_ahead: false,
            open_orders_min: 0,
        }
    }
}
