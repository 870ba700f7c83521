//! Tags that the session itself reads and writes.

/// BeginSeqNo.
pub const BEGIN_SEQ_NO: u32 = 7;
/// BeginString.
pub const BEGIN_STRING: u32 = 8;
/// BodyLength.
pub const BODY_LENGTH: u32 = 9;
/// CheckSum.
pub const CHECK_SUM: u32 = 10;
/// EndSeqNo.
pub const END_SEQ_NO: u32 = 16;
/// MsgSeqNum.
pub const MSG_SEQ_NUM: u32 = 34;
/// MsgType.
pub const MSG_TYPE: u32 = 35;
/// NewSeqNo.
pub const NEW_SEQ_NO: u32 = 36;
/// PossDupFlag.
pub const POSS_DUP_FLAG: u32 = 43;
/// RefSeqNum.
pub const REF_SEQ_NUM: u32 = 45;
/// SenderCompID.
pub const SENDER_COMP_ID: u32 = 49;
/// SendingTime.
pub const SENDING_TIME: u32 = 52;
/// TargetCompID.
pub const TARGET_COMP_ID: u32 = 56;
/// Text.
pub const TEXT: u32 = 58;
/// RawDataLength.
pub const RAW_DATA_LENGTH: u32 = 95;
/// RawData.
pub const RAW_DATA: u32 = 96;
/// EncryptMethod.
pub const ENCRYPT_METHOD: u32 = 98;
/// HeartBtInt.
pub const HEART_BT_INT: u32 = 108;
/// TestReqID.
pub const TEST_REQ_ID: u32 = 112;
/// OnBehalfOfCompID.
pub const ON_BEHALF_OF_COMP_ID: u32 = 115;
/// OrigSendingTime.
pub const ORIG_SENDING_TIME: u32 = 122;
/// GapFillFlag.
pub const GAP_FILL_FLAG: u32 = 123;
/// DeliverToCompID.
pub const DELIVER_TO_COMP_ID: u32 = 128;
/// ResetSeqNumFlag.
pub const RESET_SEQ_NUM_FLAG: u32 = 141;
/// RefTagID.
pub const REF_TAG_ID: u32 = 371;
/// RefMsgType.
pub const REF_MSG_TYPE: u32 = 372;
/// SessionRejectReason.
pub const SESSION_REJECT_REASON: u32 = 373;
/// Username.
pub const USERNAME: u32 = 553;
/// Password.
pub const PASSWORD: u32 = 554;
/// CancelOrdersOnDisconnect, user-defined, as some crypto venues have it.
pub const CANCEL_ORDERS_ON_DISCONNECT: u32 = 8013;
/// The feed's number of the tick that caused an order, user-defined.
pub const DELIVERY_TICK: u32 = 8014;
/// From that tick's arrival at the trader to the sending of the order, ns; user-defined.
pub const DELIVERY_RESPONSE_NS: u32 = 8015;
/// In a MarketDataRequest: the last refresh of each tick carries the four fields below;
/// user-defined.
pub const TICK_STAMPS: u32 = 8016;
/// The exchange's number of the tick's last change of a price, user-defined.
pub const TICK_NUMBER: u32 = 8017;
/// When the tick's input was intended, ns on the exchange's clock; user-defined.
pub const TICK_INTENDED_NS: u32 = 8018;
/// When its engine had taken the input; user-defined.
pub const TICK_ACKNOWLEDGED_NS: u32 = 8019;
/// When it encoded the last change as JSON, before it became FIX; user-defined.
pub const TICK_PUBLISHED_NS: u32 = 8020;
/// In an order with ExecInst 6: whether it is repriced, and not rejected, if it would trade on
/// arrival; user-defined.
pub const POST_ONLY_REPRICE: u32 = 8021;
