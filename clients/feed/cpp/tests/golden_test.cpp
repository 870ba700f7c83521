// Reads the golden datagrams, compares them with the golden texts, and writes them again.

#include <tickpath_feed/Definition.h>
#include <tickpath_feed/Level.h>
#include <tickpath_feed/OrderAdded.h>
#include <tickpath_feed/OrderDeleted.h>
#include <tickpath_feed/OrderReduced.h>
#include <tickpath_feed/Packet.h>
#include <tickpath_feed/State.h>
#include <tickpath_feed/Trade.h>

#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace feed = tickpath::feed;

namespace {

using Bytes = std::vector<char>;

constexpr std::uint64_t HEADER_BYTES = feed::MessageHeader::encodedLength();

// A message's codec at `block`, for reading.
template <typename Codec>
Codec reader(Bytes& bytes, std::uint64_t block, feed::MessageHeader& header) {
    Codec codec;
    codec.wrapForDecode(bytes.data(), block, header.blockLength(), header.version(), bytes.size());
    return codec;
}

// A message's codec at the end of `bytes`, for writing. Its header is written.
template <typename Codec>
Codec writer(Bytes& bytes) {
    const std::uint64_t at = bytes.size();
    bytes.resize(at + Codec::sbeBlockAndHeaderLength());
    Codec codec;
    codec.wrapAndApplyHeader(bytes.data(), at, bytes.size());
    return codec;
}

std::string scaled(feed::Scaled& value) {
    return std::to_string(value.mantissa()) + "e" + std::to_string(value.exponent());
}

class Datagram {
public:
    explicit Datagram(Bytes datagram) : bytes_(std::move(datagram)) {
        std::uint64_t position = 0;
        while (position < bytes_.size()) {
            feed::MessageHeader header(bytes_.data(), position, bytes_.size(), 0);
            if (header.schemaId() != feed::Packet::sbeSchemaId()) {
                throw std::runtime_error("another schema");
            }
            message(position + HEADER_BYTES, header);
            position += HEADER_BYTES + header.blockLength();
        }
    }

    [[nodiscard]] std::string text() const { return text_.str(); }
    [[nodiscard]] const Bytes& again() const { return again_; }

private:
    void message(std::uint64_t block, feed::MessageHeader& header) {
        switch (header.templateId()) {
        case feed::Packet::SBE_TEMPLATE_ID:
            return packet(reader<feed::Packet>(bytes_, block, header));
        case feed::OrderAdded::SBE_TEMPLATE_ID:
            return order_added(reader<feed::OrderAdded>(bytes_, block, header));
        case feed::OrderReduced::SBE_TEMPLATE_ID:
            return order_reduced(reader<feed::OrderReduced>(bytes_, block, header));
        case feed::OrderDeleted::SBE_TEMPLATE_ID:
            return order_deleted(reader<feed::OrderDeleted>(bytes_, block, header));
        case feed::Trade::SBE_TEMPLATE_ID:
            return trade(reader<feed::Trade>(bytes_, block, header));
        case feed::Level::SBE_TEMPLATE_ID:
            return level(reader<feed::Level>(bytes_, block, header));
        case feed::State::SBE_TEMPLATE_ID:
            return state(reader<feed::State>(bytes_, block, header));
        case feed::Definition::SBE_TEMPLATE_ID:
            return definition(reader<feed::Definition>(bytes_, block, header));
        default:
            text_ << "unknown template=" << header.templateId() << " version=" << header.version()
                  << " bytes=" << header.blockLength() << '\n';
        }
    }

    void packet(feed::Packet in) {
        text_ << "Packet session=" << in.session() << " sequence=" << in.sequence() << " intendedNs=" << in.intendedNs()
              << " acknowledgedNs=" << in.acknowledgedNs() << " publishedNs=" << in.publishedNs() << " count=" << in.count()
              << " part=" << in.part() << " parts=" << in.parts() << " channel=" << feed::Channel::c_str(in.channel())
              << " kind=" << feed::Kind::c_str(in.kind()) << '\n';
        writer<feed::Packet>(again_)
            .session(in.session())
            .sequence(in.sequence())
            .intendedNs(in.intendedNs())
            .acknowledgedNs(in.acknowledgedNs())
            .publishedNs(in.publishedNs())
            .count(in.count())
            .part(in.part())
            .parts(in.parts())
            .channel(in.channel())
            .kind(in.kind());
    }

    void order_added(feed::OrderAdded in) {
        text_ << "OrderAdded orderId=" << in.orderId() << " priceTicks=" << in.priceTicks() << " quantityLots=" << in.quantityLots()
              << " instrument=" << in.instrument() << " side=" << feed::Side::c_str(in.side()) << '\n';
        writer<feed::OrderAdded>(again_)
            .orderId(in.orderId())
            .priceTicks(in.priceTicks())
            .quantityLots(in.quantityLots())
            .instrument(in.instrument())
            .side(in.side());
    }

    void order_reduced(feed::OrderReduced in) {
        text_ << "OrderReduced orderId=" << in.orderId() << " quantityLots=" << in.quantityLots() << " instrument=" << in.instrument()
              << '\n';
        writer<feed::OrderReduced>(again_).orderId(in.orderId()).quantityLots(in.quantityLots()).instrument(in.instrument());
    }

    void order_deleted(feed::OrderDeleted in) {
        text_ << "OrderDeleted orderId=" << in.orderId() << " instrument=" << in.instrument() << '\n';
        writer<feed::OrderDeleted>(again_).orderId(in.orderId()).instrument(in.instrument());
    }

    void trade(feed::Trade in) {
        text_ << "Trade tradeId=" << in.tradeId() << " orderId=" << in.orderId() << " priceTicks=" << in.priceTicks()
              << " quantityLots=" << in.quantityLots() << " instrument=" << in.instrument()
              << " aggressorSide=" << feed::Side::c_str(in.aggressorSide()) << '\n';
        writer<feed::Trade>(again_)
            .tradeId(in.tradeId())
            .orderId(in.orderId())
            .priceTicks(in.priceTicks())
            .quantityLots(in.quantityLots())
            .instrument(in.instrument())
            .aggressorSide(in.aggressorSide());
    }

    void level(feed::Level in) {
        text_ << "Level priceTicks=" << in.priceTicks() << " quantityLots=" << in.quantityLots() << " orders=" << in.orders()
              << " instrument=" << in.instrument() << " side=" << feed::Side::c_str(in.side()) << '\n';
        writer<feed::Level>(again_)
            .priceTicks(in.priceTicks())
            .quantityLots(in.quantityLots())
            .orders(in.orders())
            .instrument(in.instrument())
            .side(in.side());
    }

    void state(feed::State in) {
        text_ << "State instrument=" << in.instrument() << " state=" << feed::InstrumentState::c_str(in.state()) << '\n';
        writer<feed::State>(again_).instrument(in.instrument()).state(in.state());
    }

    void definition(feed::Definition in) {
        text_ << "Definition bookHash=" << in.bookHash() << " entries=" << in.entries() << " instrument=" << in.instrument()
              << " tick=" << scaled(in.tick()) << " lot=" << scaled(in.lot()) << " code=" << in.getCodeAsString() << '\n';
        auto out = writer<feed::Definition>(again_);
        out.bookHash(in.bookHash()).entries(in.entries()).instrument(in.instrument());
        out.putCode(in.getCodeAsString());
        out.tick().mantissa(in.tick().mantissa()).exponent(in.tick().exponent());
        out.lot().mantissa(in.lot().mantissa()).exponent(in.lot().exponent());
    }

    Bytes bytes_;
    Bytes again_;
    std::ostringstream text_;
};

std::string file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        throw std::runtime_error("can't open " + path.string());
    }
    return {std::istreambuf_iterator<char>(stream), {}};
}

bool same(const std::string& what, const std::string& expected, const std::string& found) {
    if (expected != found) {
        std::cerr << what << ": expected\n" << expected << "found\n" << found;
    }
    return expected == found;
}

bool check(const std::filesystem::path& vectors, const std::string& name, bool is_of_this_version) {
    const std::string bytes = file(vectors / (name + ".packet"));
    const Datagram datagram(Bytes(bytes.begin(), bytes.end()));
    const std::string again(datagram.again().begin(), datagram.again().end());
    const bool is_text_same = same(name, file(vectors / (name + ".txt")), datagram.text());
    return is_text_same && (!is_of_this_version || same(name + " again", bytes, again));
}

// A message that is cut off is rejected. The sanitizers check that nothing after it is read.
bool rejects_cut_messages(const std::filesystem::path& vectors) {
    const std::string bytes = file(vectors / "feed_orders.packet");
    for (std::size_t length = 1; length < bytes.size(); ++length) {
        std::string text;
        try {
            text = Datagram(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))).text();
        } catch (const std::runtime_error&) {
            continue;
        }
        // It may end between two messages: only the packet's count shows that.
        if (text.back() != '\n' || file(vectors / "feed_orders.txt").rfind(text, 0) != 0) {
            std::cerr << length << " bytes of feed_orders were read as\n" << text;
            return false;
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: golden_test VECTORS\n";
        return 2;
    }
    try {
        bool is_good = rejects_cut_messages(argv[1]);
        for (const char* name : {"feed_orders", "feed_levels", "feed_heartbeat", "feed_replay", "feed_snapshot"}) {
            is_good &= check(argv[1], name, true);
        }
        is_good &= check(argv[1], "feed_later", false);
        return is_good ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << "golden_test: " << error.what() << '\n';
        return 1;
    }
}
