//! The parts that the loop works with, aside from its stages: the ends that ticks and replies come
//! to, and the places of their times.

use crate::tick::addresses::Addresses;
use crate::tick::audit_trail::AuditTrail;
use crate::tick::followed_state::FollowedState;
use crate::tick::order_stream::OrderStream;
use crate::tick::receiver::TickReceiver;
use crate::tick::releases::Releases;
use crate::tick::samples::Samples;
use crate::tick::stamped_orders::StampedOrders;
use clock::Clock;
use clock::recorder::Recorder;
use host::processor::ProcessorMeter;
use record::tick::Point;
use transport::datagram::Datagram;
use wire::reply::Stamps;

/// Limit on ticks that are read for the end of a feed behind them.
const TICKS_AFTER_END_MAX: u32 = 1024;

/// The parts of the loop.
pub(crate) struct LoopParts {
    pub(crate) clock: Clock,
    /// The exchange stamps with the same clock.
    pub(crate) is_shared: bool,
    pub(crate) receiver: TickReceiver,
    /// The exchange's state that is compared with the book.
    pub(crate) followed: FollowedState,
    pub(crate) connection: OrderStream,
    /// Whether its thread keeps its core busy.
    pub(crate) spins: bool,
    pub(crate) samples: Samples,
    /// `None`: a tick is handed on as it comes.
    pub(crate) releases: Option<Releases>,
    pub(crate) trail: Option<AuditTrail>,
    /// `None`: the kernel stamps no order.
    pub(crate) stamped: Option<StampedOrders>,
    /// From the beginning of the measured part on.
    pub(crate) processor: ProcessorMeter,
    /// Live view: time from the intended event to the gateway.
    pub(crate) shown: Option<Recorder>,
    /// `None`: there is one address.
    pub(crate) addresses: Option<Box<Addresses>>,
}

impl LoopParts {
    /// The sample of the order that is about to leave, if the kernel shall stamp it.
    #[inline]
    pub(crate) fn choose_stamped(&mut self) -> Option<u32> {
        let stamped = self.stamped.as_mut()?;
        let place = Some(self.samples.next_place()).filter(|place| stamped.has_turn(*place))?;
        self.connection.stamp_next_write();
        Some(place)
    }

    /// Waits for the stamps of an order that left in one piece and has a sample.
    #[inline]
    pub(crate) fn expect_stamps(&mut self, place: Option<u32>, is_whole: bool) {
        let LoopParts { stamped: Some(stamped), samples, .. } = self else { return };
        if let Some(place) = place.filter(|place| is_whole && samples.next_place() == place + 1) {
            stamped.left(place);
        }
    }

    /// The sample whose stamped order was just answered.
    #[inline]
    pub(crate) fn stamped_answer(&self) -> Option<u32> {
        self.stamped.as_ref().and_then(StampedOrders::answered)
    }

    /// Off the path, after the reply has its stamp.
    #[cold]
    pub(crate) fn take_stamps(&mut self, place: u32, ended_read: bool) {
        let LoopParts { stamped, samples, connection, .. } = self;
        if let (Some(stamped), Some(sample)) = (stamped, samples.get(place)) {
            stamped.take(sample, connection.stamps(), ended_read);
        }
    }

    /// Why the feed has ended as well, if it has. Ticks that come first are dropped.
    #[cold]
    pub(crate) fn feeds_end(&mut self, into: &mut [u8]) -> Option<String> {
        for _ in 0..TICKS_AFTER_END_MAX {
            match self.receiver.receive(into) {
                Datagram::Bytes { .. } => {}
                Datagram::Empty => return None,
                Datagram::Failed(error) => {
                    return Some(format!("receiving the feed failed: {error}"));
                }
            }
        }
        None
    }

    /// Notes the reply to the order of a sample.
    pub(crate) fn replied(&mut self, place: u32, stamps: Option<Stamps>, first_byte_ns: u64) {
        self.samples.replied(place, stamps, first_byte_ns);
        self.stamped.iter_mut().for_each(|stamped| stamped.replied(place));
        // For the live view.
        if let (Some(shown), Some(sample)) = (&mut self.shown, self.samples.get(place)) {
            let at = |point: Point| sample.stamps[point as usize];
            shown.record(0, at(Point::GatewayIn).saturating_sub(at(Point::Intended)));
        }
    }
}
