//! Decodes the order of a `CREATE_ORDER`.

use crate::fault::MessageFault;
use crate::json::{Fields, Scanner, Slot, Text, ValueKind};
use crate::request::decode::{client_id, decimal, delivery, instrument_code, optional};
use crate::request::{CreateOrder, PostOnly, Side, TimeInForce};

#[derive(Default)]
pub(super) struct RawOrder<'a> {
    instrument_code: Slot<Text<'a>>,
    pub(super) client_id: Slot<Text<'a>>,
    side: Slot<Text<'a>>,
    kind: Slot<Text<'a>>,
    price: Slot<Text<'a>>,
    amount: Slot<Text<'a>>,
    time_in_force: Slot<Text<'a>>,
    expire_time: Slot<i64>,
    stop_price: Slot<Text<'a>>,
    display_amount: Slot<Text<'a>>,
    post_only: Slot<Text<'a>>,
    tick: Slot<i64>,
    response_ns: Slot<i64>,
}

impl<'a> Fields<'a> for RawOrder<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "instrument_code" => value.text(&mut self.instrument_code),
            "client_id" => value.text(&mut self.client_id),
            "side" => value.text(&mut self.side),
            "type" => value.text(&mut self.kind),
            "price" => value.text(&mut self.price),
            "amount" => value.text(&mut self.amount),
            "time_in_force" => value.text(&mut self.time_in_force),
            "expire_time" => value.integer(&mut self.expire_time),
            "stop_price" => value.text(&mut self.stop_price),
            "display_amount" => value.text(&mut self.display_amount),
            "post_only" => value.text(&mut self.post_only),
            "tick" => value.integer(&mut self.tick),
            "response_ns" => value.integer(&mut self.response_ns),
            _ => value.skip(),
        }
    }
}

impl<'a> RawOrder<'a> {
    pub(super) fn create_order(
        &mut self,
        account_id: Option<Text<'a>>,
    ) -> Result<CreateOrder<'a>, MessageFault> {
        let client_id = client_id(&self.client_id, "order.client_id")?;
        let market = match &**self.kind.get("order.type")? {
            "LIMIT" => false,
            "MARKET" => true,
            _ => {
                let (field, allowed) = ("order.type", "LIMIT, MARKET");
                return Err(MessageFault::UnknownValue { field, allowed });
            }
        };
        let side = Side::read(self.side.get("order.side")?, "order.side")?;
        let price = match market {
            false => Some(decimal(&self.price, "order.price")?),
            true => absent(&self.price, "order.price", "order.type MARKET").map(|()| None)?,
        };
        let amount = decimal(&self.amount, "order.amount")?;
        let time_in_force = self.time_in_force()?;
        let instrument_code = instrument_code(&mut self.instrument_code, "order.instrument_code")?;
        Ok(CreateOrder {
            instrument_code,
            client_id,
            side,
            price,
            amount,
            time_in_force,
            stop_price: optional(&self.stop_price, "order.stop_price", decimal)?,
            display_amount: optional(&self.display_amount, "order.display_amount", decimal)?,
            post_only: optional(&self.post_only, "order.post_only", post_only)?,
            delivery: delivery(
                (&self.tick, "order.tick"),
                (&self.response_ns, "order.response_ns"),
            )?,
            account_id,
        })
    }

    fn time_in_force(&self) -> Result<TimeInForce, MessageFault> {
        let field = "order.time_in_force";
        let time_in_force = match &**self.time_in_force.get(field)? {
            "GOOD_TILL_CANCELLED" => TimeInForce::GoodTillCancelled,
            "IMMEDIATE_OR_CANCELLED" | "IMMEDIATE_OR_CANCEL" => TimeInForce::ImmediateOrCancelled,
            "FILL_OR_KILL" => TimeInForce::FillOrKill,
            "GOOD_TILL_DATE" => {
                let expire_time_ms = *self.expire_time.get("order.expire_time")?;
                return Ok(TimeInForce::GoodTillDate { expire_time_ms });
            }
            _ => {
                let allowed =
                    "GOOD_TILL_CANCELLED, IMMEDIATE_OR_CANCELLED, FILL_OR_KILL, GOOD_TILL_DATE";
                return Err(MessageFault::UnknownValue { field, allowed });
            }
        };
        let with = "an order.time_in_force other than GOOD_TILL_DATE";
        absent(&self.expire_time, "order.expire_time", with)?;
        Ok(time_in_force)
    }
}

fn post_only(slot: &Slot<Text<'_>>, field: &'static str) -> Result<PostOnly, MessageFault> {
    match &**slot.get(field)? {
        "REJECT" => Ok(PostOnly::Reject),
        "REPRICE" => Ok(PostOnly::Reprice),
        _ => Err(MessageFault::UnknownValue { field, allowed: "REJECT, REPRICE" }),
    }
}

/// A field that must be absent or null.
#[inline]
fn absent<T: ValueKind>(
    slot: &Slot<T>,
    field: &'static str,
    with: &'static str,
) -> Result<(), MessageFault> {
    match slot {
        Slot::Absent => Ok(()),
        _ => Err(MessageFault::NotWith { field, with }),
    }
}
