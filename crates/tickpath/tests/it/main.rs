//! The integration tests of `tickpath`, in one program: linking is most of what a test binary
//! costs. Beside it stand tests that need a process of their own: `no_allocation`.

mod audit;
mod commands;
mod compare;
mod cpp_client;
mod docs;
mod doctor;
mod endpoint;
mod engine;
mod gateway_process;
mod gateways;
mod history;
mod inject;
mod ipc;
mod java_client;
mod journaled;
mod live_view;
mod merge;
mod network;
mod noise;
mod observer;
mod page;
mod peers;
mod raw_ticker;
mod replay;
mod run;
mod second_hour;
mod security;
mod side_by_side;
mod stopped;
mod support;
mod sweep;
mod tick_to_trade;
mod tls;
mod two_machines;
mod watch;
