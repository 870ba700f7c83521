//! The scenarios that ship.

/// The scenarios that ship: name and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("order-to-ack", include_str!("../../../../scenarios/order-to-ack.toml")),
    ("ping-pong", include_str!("../../../../scenarios/ping-pong.toml")),
    ("order-to-ack-400k", include_str!("../../../../scenarios/order-to-ack-400k.toml")),
    ("tls", include_str!("../../../../scenarios/tls.toml")),
    ("endpoint", include_str!("../../../../scenarios/endpoint.toml")),
    ("stacks", include_str!("../../../../scenarios/stacks.toml")),
    ("ring", include_str!("../../../../scenarios/ring.toml")),
    ("queue", include_str!("../../../../scenarios/queue.toml")),
    ("distributor", include_str!("../../../../scenarios/distributor.toml")),
    ("core-to-core", include_str!("../../../../scenarios/core-to-core.toml")),
    ("engine", include_str!("../../../../scenarios/engine.toml")),
    ("engine-open-loop", include_str!("../../../../scenarios/engine-open-loop.toml")),
    ("journal", include_str!("../../../../scenarios/journal.toml")),
    ("soak", include_str!("../../../../scenarios/soak.toml")),
    ("irq-topology", include_str!("../../../../scenarios/irq-topology.toml")),
    ("net-rr", include_str!("../../../../scenarios/net-rr.toml")),
    ("net-rate", include_str!("../../../../scenarios/net-rate.toml")),
    ("net-one-way", include_str!("../../../../scenarios/net-one-way.toml")),
    ("net-size", include_str!("../../../../scenarios/net-size.toml")),
    ("net-pps", include_str!("../../../../scenarios/net-pps.toml")),
    ("tick-to-trade", include_str!("../../../../scenarios/tick-to-trade.toml")),
    ("tick-to-trade-replay", include_str!("../../../../scenarios/tick-to-trade-replay.toml")),
    ("tick-to-trade-burst", include_str!("../../../../scenarios/tick-to-trade-burst.toml")),
    ("market-making", include_str!("../../../../scenarios/market-making.toml")),
];
