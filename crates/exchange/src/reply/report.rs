//! A report in each dialect.

use wire::reply::{
    Fill, OrderAmended, OrderBooked, OrderDone, RequestApplied, StopTriggered, StopWaiting,
    TradePrevented, encode_amended, encode_booked, encode_decremented, encode_done, encode_fill,
    encode_mass_cancelled, encode_triggered, encode_waiting,
};
use wire::sbe::exchange::{self as sbe, ReportNumbers};

/// A report that both dialects have.
pub(crate) trait Report {
    /// Appends it as JSON.
    fn write_json(&self, out: &mut Vec<u8>);
    /// Appends it as a frame of SBE.
    fn write_sbe(&self, out: &mut Vec<u8>, place: ReportNumbers);
}

macro_rules! reports {
    ($($report:ident: $json:path, $sbe:path;)*) => {
        $(impl Report for $report<'_> {
            #[inline]
            fn write_json(&self, out: &mut Vec<u8>) {
                $json(out, self);
            }

            #[inline]
            fn write_sbe(&self, out: &mut Vec<u8>, place: ReportNumbers) {
                $sbe(out, place, self);
            }
        })*
    };
}

reports! {
    OrderBooked: encode_booked, sbe::encode_booked;
    Fill: encode_fill, sbe::encode_fill;
    OrderDone: encode_done, sbe::encode_done;
    OrderAmended: encode_amended, sbe::encode_replaced;
    StopWaiting: encode_waiting, sbe::encode_waiting;
    StopTriggered: encode_triggered, sbe::encode_triggered;
    TradePrevented: encode_decremented, sbe::encode_decremented;
}

/// The end of a mass cancel.
pub(crate) struct MassCancelled<'a>(pub RequestApplied<'a>);

impl Report for MassCancelled<'_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        encode_mass_cancelled(out, &self.0);
    }

    fn write_sbe(&self, out: &mut Vec<u8>, place: ReportNumbers) {
        sbe::encode_mass_cancelled(out, place.sequence, &self.0);
    }
}
