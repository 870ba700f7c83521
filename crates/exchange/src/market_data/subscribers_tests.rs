use super::*;
use crate::market_data::settings::published_as;
use crate::setup::instruments::Instruments;
use engine::{NewOrder, SavedItem, Side};
use feed::{Follower, FollowerSettings, PublisherSettings};
use std::net::UdpSocket;
use transport::datagram::SendOptions;

const LOCAL: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

/// No subscribers, room for one, and its address.
fn nobody() -> (FeedSubscribers, UdpSocket, Option<SocketAddr>) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let sender = DatagramSender::bind(any, &SendOptions::default()).unwrap();
    let receiver = UdpSocket::bind(any).unwrap();
    let address = Some(receiver.local_addr().unwrap());
    let limits = Limits { feed_subscribers_max: 1, ..Limits::default() };
    let none = Recipients::default();
    (FeedSubscribers::new(sender, Clock::calibrate(), &limits, none), receiver, address)
}

/// A client that asks for snapshots faster than they can be sent still gets one.
#[test]
fn an_impatient_client_gets_a_snapshot() {
    let instruments = Instruments::shipped();
    let channels = vec![Channel::Orders];
    let settings = published_as(None, &Limits::default(), 1, &instruments);
    let mut publisher = Publisher::new(&PublisherSettings { channels, ..settings }).unwrap();
    for order_id in 1..=1_000 {
        let order = NewOrder { order_id, ..NewOrder::limit(Side::Buy, 100, 1) };
        publisher.restore(&SavedItem::Order { order, visible_lots: 1 });
    }
    let mut follower =
        Follower::new(FollowerSettings::new(Channel::Orders, instruments.count(), 1_000, 10));
    let (mut subscribers, receiver, address) = nobody();
    receiver.set_nonblocking(true).unwrap();
    let one = StreamId(0);
    subscribers.subscribe((one, LOCAL), Channel::Orders, address).unwrap();
    let (mut came, mut datagram) = (0, [0; 2048]);
    while !follower.is_in_sync() {
        assert!(came < 100, "{:#?}", follower.counts());
        if came % 5 == 0 {
            let sending = publisher.snapshot(Channel::Orders).unwrap();
            subscribers.send_again(one, Channel::Orders, sending);
        }
        subscribers.resend(Channel::Orders, &mut publisher);
        if let Ok(n) = receiver.recv(&mut datagram) {
            follower.datagram(&datagram[..n]);
            came += 1;
        }
    }
    assert!(came > 20, "{came}");
    assert_eq!(follower.book_hash(), publisher.book_hash(Channel::Orders));
}

#[test]
fn former_subscribers_have_own_counters_up_to_a_limit() {
    let (mut subscribers, _receiver, address) = nobody();
    for id in 0..GONE_MAX as u32 + 3 {
        subscribers.subscribe((StreamId(id), LOCAL), Channel::Orders, address).unwrap();
        let other = (StreamId(id + 1), LOCAL);
        let full = subscribers.subscribe(other, Channel::Orders, address);
        assert_eq!(full, Err(SubscribeError::Full));
        subscribers.publish(Channel::Orders, &mut [0; 100]);
        subscribers.unsubscribe(StreamId(id));
    }
    let counts = subscribers.counts();
    assert_eq!(counts.len(), GONE_MAX + 1);
    let all: u64 = counts.iter().map(|one| one.sent + one.dropped + one.failed).sum();
    assert_eq!(all, GONE_MAX as u64 + 3);
    assert_eq!(counts.last().map(|others| others.address.as_str()), Some(OTHERS));
}
