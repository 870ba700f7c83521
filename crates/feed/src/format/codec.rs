//! Converts messages and their headers to bytes and back, with the generated codecs.

use engine::{InstrumentState, PRICE_TICKS_MAX, QUANTITY_LOTS_MAX, Side};
use sbe::definition_codec::{self, DefinitionDecoder, DefinitionEncoder};
use sbe::level_codec::{self, LevelDecoder, LevelEncoder};
use sbe::message_header_codec::{self, MessageHeaderDecoder};
use sbe::order_added_codec::{self, OrderAddedDecoder, OrderAddedEncoder};
use sbe::order_deleted_codec::{self, OrderDeletedDecoder, OrderDeletedEncoder};
use sbe::order_reduced_codec::{self, OrderReducedDecoder, OrderReducedEncoder};
use sbe::state_codec::{self, StateDecoder, StateEncoder};
use sbe::trade_codec::{self, TradeDecoder, TradeEncoder};
use sbe::{ReadBuf, WriteBuf};

use crate::fault::Fault;
use crate::format::message::{Channel, FeedMessage, PacketKind};

/// Bytes before each message, and before the packet's own block.
pub(crate) const MESSAGE_HEADER_BYTES: usize = message_header_codec::ENCODED_LENGTH;
/// Longest message, with its header, bytes.
pub const MESSAGE_BYTES_MAX: usize =
    MESSAGE_HEADER_BYTES + definition_codec::SBE_BLOCK_LENGTH as usize;

/// The standard header before each message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageHeader {
    pub block_bytes: usize,
    pub template: u16,
    pub schema: u16,
    pub version: u16,
}

impl MessageHeader {
    #[inline]
    pub fn decode(bytes: &[u8], at: usize) -> Result<MessageHeader, Fault> {
        if bytes.len() < at + MESSAGE_HEADER_BYTES {
            return Err(Fault::Truncated);
        }
        let header = MessageHeaderDecoder::default().wrap(ReadBuf::new(bytes), at);
        Ok(MessageHeader {
            block_bytes: usize::from(header.block_length()),
            template: header.template_id(),
            schema: header.schema_id(),
            version: header.version(),
        })
    }
}

/// Length of a message, with its header, bytes.
#[inline]
pub(crate) fn message_bytes(message: &FeedMessage) -> usize {
    let block = match message {
        FeedMessage::OrderAdded { .. } => order_added_codec::SBE_BLOCK_LENGTH,
        FeedMessage::OrderReduced { .. } => order_reduced_codec::SBE_BLOCK_LENGTH,
        FeedMessage::OrderDeleted { .. } => order_deleted_codec::SBE_BLOCK_LENGTH,
        FeedMessage::Trade { .. } => trade_codec::SBE_BLOCK_LENGTH,
        FeedMessage::Level { .. } => level_codec::SBE_BLOCK_LENGTH,
        FeedMessage::State { .. } => state_codec::SBE_BLOCK_LENGTH,
        FeedMessage::Definition { .. } => definition_codec::SBE_BLOCK_LENGTH,
    };
    MESSAGE_HEADER_BYTES + usize::from(block)
}

/// Decodes a message's block, which must be complete. `head` is its header.
#[inline]
pub(crate) fn decode(bytes: &[u8], at: usize, head: &MessageHeader) -> Result<FeedMessage, Fault> {
    /// The generated decoder of a template, positioned at its block.
    macro_rules! block {
        ($codec:ident, $decoder:ident) => {{
            if head.block_bytes < usize::from($codec::SBE_BLOCK_LENGTH) {
                return Err(Fault::ShortBlock);
            }
            $decoder::default().wrap(
                ReadBuf::new(bytes),
                at,
                $codec::SBE_BLOCK_LENGTH,
                head.version,
            )
        }};
    }
    Ok(match head.template {
        order_added_codec::SBE_TEMPLATE_ID => {
            let block = block!(order_added_codec, OrderAddedDecoder);
            FeedMessage::OrderAdded {
                instrument: block.instrument(),
                order_id: block.order_id(),
                side: side(block.side())?,
                price_ticks: price(block.price_ticks())?,
                quantity_lots: quantity(block.quantity_lots())?,
            }
        }
        order_reduced_codec::SBE_TEMPLATE_ID => {
            let block = block!(order_reduced_codec, OrderReducedDecoder);
            FeedMessage::OrderReduced {
                instrument: block.instrument(),
                order_id: block.order_id(),
                quantity_lots: quantity(block.quantity_lots())?,
            }
        }
        order_deleted_codec::SBE_TEMPLATE_ID => {
            let block = block!(order_deleted_codec, OrderDeletedDecoder);
            FeedMessage::OrderDeleted { instrument: block.instrument(), order_id: block.order_id() }
        }
        trade_codec::SBE_TEMPLATE_ID => {
            let block = block!(trade_codec, TradeDecoder);
            FeedMessage::Trade {
                instrument: block.instrument(),
                trade_id: block.trade_id(),
                order_id: block.order_id(),
                aggressor_side: side(block.aggressor_side())?,
                price_ticks: price(block.price_ticks())?,
                quantity_lots: quantity(block.quantity_lots())?,
            }
        }
        level_codec::SBE_TEMPLATE_ID => {
            let block = block!(level_codec, LevelDecoder);
            let (quantity_lots, orders) = (block.quantity_lots(), block.orders());
            if (quantity_lots == 0) != (orders == 0) {
                return Err(Fault::BadValue);
            }
            FeedMessage::Level {
                instrument: block.instrument(),
                side: side(block.side())?,
                price_ticks: price(block.price_ticks())?,
                quantity_lots,
                orders,
            }
        }
        state_codec::SBE_TEMPLATE_ID => {
            let block = block!(state_codec, StateDecoder);
            FeedMessage::State { instrument: block.instrument(), state: state(block.state())? }
        }
        definition_codec::SBE_TEMPLATE_ID => {
            let block = block!(definition_codec, DefinitionDecoder);
            let (tick, lot) = (block.tick_decoder(), block.lot_decoder());
            FeedMessage::Definition {
                instrument: block.instrument(),
                code: block.code(),
                tick: (tick.mantissa(), tick.exponent()),
                lot: (lot.mantissa(), lot.exponent()),
                entries: block.entries(),
                book_hash: block.book_hash(),
            }
        }
        _ => return Err(Fault::UnknownTemplate),
    })
}

/// Writes a message at `at`, which must have room for [`message_bytes`] of it.
#[inline]
pub(crate) fn encode(into: &mut [u8], at: usize, message: &FeedMessage) {
    /// The generated encoder of a template, after its header.
    macro_rules! block {
        ($encoder:ident) => {{
            let encoder = $encoder::default().wrap(WriteBuf::new(into), at + MESSAGE_HEADER_BYTES);
            let Ok(block) = encoder.header(at).parent() else { return };
            block
        }};
    }
    match *message {
        FeedMessage::OrderAdded { instrument, order_id, side, price_ticks, quantity_lots } => {
            let mut block = block!(OrderAddedEncoder);
            block.order_id(order_id);
            block.price_ticks(price_ticks);
            block.quantity_lots(quantity_lots);
            block.instrument(instrument);
            block.side(side_out(side));
        }
        FeedMessage::OrderReduced { instrument, order_id, quantity_lots } => {
            let mut block = block!(OrderReducedEncoder);
            block.order_id(order_id);
            block.quantity_lots(quantity_lots);
            block.instrument(instrument);
        }
        FeedMessage::OrderDeleted { instrument, order_id } => {
            let mut block = block!(OrderDeletedEncoder);
            block.order_id(order_id);
            block.instrument(instrument);
        }
        FeedMessage::Trade {
            instrument,
            trade_id,
            order_id,
            aggressor_side,
            price_ticks,
            quantity_lots,
        } => {
            let mut block = block!(TradeEncoder);
            block.trade_id(trade_id);
            block.order_id(order_id);
            block.price_ticks(price_ticks);
            block.quantity_lots(quantity_lots);
            block.instrument(instrument);
            block.aggressor_side(side_out(aggressor_side));
        }
        FeedMessage::Level { instrument, side, price_ticks, quantity_lots, orders } => {
            let mut block = block!(LevelEncoder);
            block.price_ticks(price_ticks);
            block.quantity_lots(quantity_lots);
            block.orders(orders);
            block.instrument(instrument);
            block.side(side_out(side));
        }
        FeedMessage::State { instrument, state } => {
            let mut block = block!(StateEncoder);
            block.instrument(instrument);
            block.state(state_out(state));
        }
        FeedMessage::Definition { instrument, code, tick, lot, entries, book_hash } => {
            let mut block = block!(DefinitionEncoder);
            block.book_hash(book_hash);
            block.entries(entries);
            block.instrument(instrument);
            block.code(&code);
            let mut scaled = block.tick_encoder();
            scaled.mantissa(tick.0);
            scaled.exponent(tick.1);
            let Ok(block) = scaled.parent() else { return };
            let mut scaled = block.lot_encoder();
            scaled.mantissa(lot.0);
            scaled.exponent(lot.1);
        }
    }
}

#[inline]
fn price(ticks: i64) -> Result<i64, Fault> {
    if (1..=PRICE_TICKS_MAX).contains(&ticks) { Ok(ticks) } else { Err(Fault::BadValue) }
}

#[inline]
fn quantity(lots: u64) -> Result<u64, Fault> {
    if (1..=QUANTITY_LOTS_MAX).contains(&lots) { Ok(lots) } else { Err(Fault::BadValue) }
}

#[inline]
fn side(side: sbe::side::Side) -> Result<Side, Fault> {
    match side {
        sbe::side::Side::BUY => Ok(Side::Buy),
        sbe::side::Side::SELL => Ok(Side::Sell),
        sbe::side::Side::NullVal => Err(Fault::BadValue),
    }
}

#[inline]
fn side_out(side: Side) -> sbe::side::Side {
    match side {
        Side::Buy => sbe::side::Side::BUY,
        Side::Sell => sbe::side::Side::SELL,
    }
}

fn state(state: sbe::instrument_state::InstrumentState) -> Result<InstrumentState, Fault> {
    use sbe::instrument_state::InstrumentState as Coded;
    match state {
        Coded::OPEN => Ok(InstrumentState::Open),
        Coded::HALTED => Ok(InstrumentState::Halted),
        Coded::CLOSED => Ok(InstrumentState::Closed),
        Coded::NullVal => Err(Fault::BadValue),
    }
}

fn state_out(state: InstrumentState) -> sbe::instrument_state::InstrumentState {
    use sbe::instrument_state::InstrumentState as Coded;
    match state {
        InstrumentState::Open => Coded::OPEN,
        InstrumentState::Halted => Coded::HALTED,
        InstrumentState::Closed => Coded::CLOSED,
    }
}

#[inline]
pub(crate) fn channel(channel: sbe::channel::Channel) -> Result<Channel, Fault> {
    match channel {
        sbe::channel::Channel::ORDERS => Ok(Channel::Orders),
        sbe::channel::Channel::LEVELS => Ok(Channel::Levels),
        sbe::channel::Channel::NullVal => Err(Fault::BadValue),
    }
}

#[inline]
pub(crate) fn kind(kind: sbe::kind::Kind) -> Result<PacketKind, Fault> {
    match kind {
        sbe::kind::Kind::LIVE => Ok(PacketKind::Live),
        sbe::kind::Kind::REPLAY => Ok(PacketKind::Replay),
        sbe::kind::Kind::SNAPSHOT => Ok(PacketKind::Snapshot),
        sbe::kind::Kind::NullVal => Err(Fault::BadValue),
    }
}
