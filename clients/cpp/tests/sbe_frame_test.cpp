// Frames of SBE order entry, against the golden bytes.

#include "sbe_frame.hpp"

#include "vectors.hpp"

#include <tickpath_orders/Booked.h>
#include <tickpath_orders/Done.h>
#include <tickpath_orders/Instrument.h>
#include <tickpath_orders/Logon.h>
#include <tickpath_orders/LogonAccepted.h>
#include <tickpath_orders/Rejected.h>
#include <tickpath_orders/Terminate.h>

namespace tickpath::tests {
namespace {

constexpr std::uint32_t nonce = 0x6f1c2a9e;
constexpr std::uint64_t number = 42;
constexpr std::string_view own_id = "6f1c2a9e-0000-4000-8000-00000000002a";
constexpr std::string_view golden_id = "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60";

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

/// The frame that a form writes, with the client id of the files.
std::string filled(const SbeForm& form, std::uint64_t sequence) {
    std::vector<std::uint8_t> out(form.bytes());
    form.fill(out.data(), ClientIds(nonce), sequence, number);
    std::string text = text_of(out);
    return text.replace(text.find(own_id), own_id.size(), golden_id);
}

/// A golden frame after `change`, by the codec generated from the schema.
template <typename Codec, typename Change> std::string changed(const std::string& name, Change&& change) {
    std::string bytes = vector(name);
    Codec codec(bytes.data(), sbe_block_at, bytes.size(), Codec::sbeBlockLength(), 0);
    change(codec);
    return bytes;
}

void add(SbeReader& reader, std::string_view bytes, std::uint64_t stamp_ns = 0) {
    std::memcpy(reader.space().data(), bytes.data(), bytes.size());
    reader.filled(bytes.size(), stamp_ns);
}

/// The only message of `bytes`, in the buffer of `reader`.
SbeMessage message_of(SbeReader& reader, std::string_view bytes) {
    add(reader, bytes);
    SbeMessage message;
    EXPECT_TRUE(reader.next(message));
    SbeMessage none;
    EXPECT_FALSE(reader.next(none));
    return message;
}

std::string error_of(std::string_view bytes) {
    SbeReader reader;
    add(reader, bytes);
    try {
        SbeMessage message;
        return reader.next(message) ? std::string(message.text()) : "incomplete";
    } catch (const Error& error) {
        return error.what();
    }
}

} // namespace

TEST(SbeForms, OrdersAndCancelsHaveTheirGoldenBytes) {
    Load load;
    load.side = "SELL";
    load.price = "65000.5";
    load.amount = "0.25";
    // The order of the file is good till a date, an iceberg, and only posted.
    const std::string order = changed<orders::NewOrder>("sbe_new_order.frame", [](orders::NewOrder& one) {
        one.timeInForce(orders::TimeInForce::GOOD_TILL_CANCELLED).postOnly(orders::PostOnly::NO).expireTimeMs(0);
        one.displayAmount().mantissa(orders::Scaled::mantissaNullValue()).exponent(0);
    });
    EXPECT_EQ(filled(SbeForm::order(load, 1), 1), order);
    EXPECT_EQ(filled(SbeForm::cancel(0), 2), vector("sbe_cancel_order.frame"));
}

TEST(SbeForms, LogonAndHeartbeatHaveTheirGoldenBytes) {
    const std::string logon = changed<orders::Logon>("sbe_logon.frame", [](orders::Logon& one) {
        one.session(0).lastSequence(0).cancelOnDisconnect(orders::Flag::OFF);
    });
    EXPECT_EQ(text_of(sbe_logon("secret-1")), logon);
    EXPECT_EQ(text_of(sbe_heartbeat(5)), vector("sbe_heartbeat.frame"));
}

TEST(SbeReaders, FindEveryGoldenFrameByteByByteWithTheStampOfItsFirst) {
    const auto frames = files(".", ".frame");
    int found = 0;
    SbeReader reader;
    std::uint64_t now_ns = 0;
    for (const auto& path : frames) {
        if (!path.filename().string().starts_with("sbe_")) {
            continue;
        }
        const std::string bytes = file(path);
        const std::uint64_t first_ns = now_ns + 1;
        SbeMessage message;
        for (const char byte : bytes) {
            EXPECT_FALSE(reader.next(message)) << path;
            add(reader, {&byte, 1}, ++now_ns);
        }
        ASSERT_TRUE(reader.next(message)) << path;
        EXPECT_EQ(message.frame.size(), bytes.size()) << path;
        EXPECT_EQ(message.first_byte_ns, first_ns) << path;
        ++found;
    }
    EXPECT_GE(found, 22);
}

TEST(SbeReaders, ReadTheFieldsOfGoldenReports) {
    SbeReader reader;
    const auto accepted = message_of(reader, vector("sbe_logon_accepted.frame")).as<orders::LogonAccepted>();
    EXPECT_EQ(accepted.instruments(), 4);
    const auto instrument = message_of(reader, vector("sbe_instrument.frame")).as<orders::Instrument>();
    EXPECT_EQ(sbe_padded(instrument.code(), orders::Instrument::codeEncodingLength()), "BTC_EUR");
    const auto booked = message_of(reader, vector("sbe_booked.frame")).as<orders::Booked>();
    EXPECT_EQ(sbe_padded(booked.clientId(), orders::Booked::clientIdEncodingLength()), golden_id);
    EXPECT_EQ(booked.orderId(), 42U);
    const auto done = message_of(reader, vector("sbe_done.frame")).as<orders::Done>();
    EXPECT_EQ(done.statusRaw(), orders::DoneStatus::SELF_TRADE_PREVENTED);
    const SbeMessage rejected = message_of(reader, vector("sbe_rejected.frame"));
    EXPECT_EQ(rejected.as<orders::Rejected>().sequence(), 58U);
    EXPECT_EQ(rejected.text(), "no such order: \xc3\xa9");
    EXPECT_EQ(message_of(reader, vector("sbe_terminate.frame")).text(), "done");
}

TEST(SbeReaders, NameEachFault) {
    const std::string good = vector("sbe_rejected.frame");
    const auto with = [&](std::size_t at, char byte) {
        std::string bad = good;
        bad[at] = byte;
        return error_of(bad);
    };
    EXPECT_EQ(with(0, 1).find("a frame of 16777"), 0U) << with(0, 1);
    EXPECT_EQ(with(3, 13), "a frame of 13 bytes: the length must be from 14 to 1024");
    EXPECT_EQ(with(5, 0x51), "a frame's encoding type is 60241, not 60240 (SBE 1.0, little endian)");
    EXPECT_EQ(with(10, 0), "a message of schema 29696, not 29802");
    EXPECT_EQ(with(7, 1), "a message of template 58 is longer than its frame");
    // A reason that is longer than the rest of the frame, and one that is not UTF-8.
    EXPECT_EQ(with(sbe_block_at + orders::Rejected::sbeBlockLength(), '\xff'),
              "a message of template 58 is shorter than its fields");
    EXPECT_EQ(with(good.size() - 1, 'x'), "a text is not UTF-8 of at most 512 bytes");
    EXPECT_EQ(error_of(good.substr(0, good.size() - 1)), "incomplete");
    // A block that ends before its fields.
    SbeReader reader;
    std::string bad = vector("sbe_booked.frame");
    bad[sbe_frame_head_bytes] = 20;
    const SbeMessage cut = message_of(reader, bad);
    EXPECT_THROW(cut.as<orders::Booked>(), Error);
}

} // namespace tickpath::tests
