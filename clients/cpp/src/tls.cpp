#include "tls.hpp"

#include "error.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tickpath {
namespace {

constexpr std::size_t record_header_bytes = 5;
/// The longest record of TLS 1.3, with its header.
constexpr std::size_t record_bytes_max = record_header_bytes + 16384 + 256;
/// Four records per read, to save system calls.
constexpr std::size_t in_bytes = 4 * record_bytes_max;
constexpr std::size_t out_bytes = 128 * 1024;

std::string openssl_error() {
    const char* reason = ERR_reason_error_string(ERR_get_error());
    ERR_clear_error();
    return reason == nullptr ? "OpenSSL gives no reason" : reason;
}

void trust_pem(SSL_CTX* context, const std::string& pem) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                        BIO_free);
    int count = 0;
    while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate);
        X509_free(certificate);
        ++count;
    }
    ERR_clear_error();
    if (count == 0) {
        throw Error("the plan's tls.ca_pem has no certificate in PEM");
    }
}

bool is_address(const std::string& name) {
    in6_addr ignored{};
    return inet_pton(AF_INET, name.c_str(), &ignored) == 1 || inet_pton(AF_INET6, name.c_str(), &ignored) == 1;
}

} // namespace

TlsContext::TlsContext(const Trust& trust, const std::string& target)
    : context_(SSL_CTX_new(TLS_client_method())), method_(TlsSession::bio_method()),
      name_(trust.name.value_or(host_of(target))) {
    SSL_CTX* context = context_.get();
    if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) {
        throw Error("OpenSSL has no TLS 1.3: " + openssl_error());
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // Allows to trust an exchange by its own certificate.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    if (trust.ca_pem) {
        trust_pem(context, *trust.ca_pem);
    } else if (trust.ca) {
        if (SSL_CTX_load_verify_file(context, trust.ca->c_str()) != 1) {
            throw Error("cannot read certificates from " + *trust.ca + ": " + openssl_error());
        }
    } else if (SSL_CTX_set_default_verify_paths(context) != 1) {
        throw Error("this system has no certificate authorities: name a file in tls.ca");
    }
}

BIO_METHOD* TlsSession::bio_method() {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tickpath");
    BIO_meth_set_read(method, [](BIO* bio, char* into, int size) {
        auto* session = static_cast<TlsSession*>(BIO_get_data(bio));
        const std::size_t n = std::min(static_cast<std::size_t>(size), session->in_limit_ - session->in_start_);
        BIO_clear_retry_flags(bio);
        if (n == 0) {
            BIO_set_retry_read(bio);
            return -1;
        }
        std::memcpy(into, session->in_.data() + session->in_start_, n);
        session->in_start_ += n;
        return static_cast<int>(n);
    });
    BIO_meth_set_write(method, [](BIO* bio, const char* from, int size) {
        auto* session = static_cast<TlsSession*>(BIO_get_data(bio));
        session->out.insert(session->out.end(), from, from + size);
        BIO_clear_retry_flags(bio);
        return size;
    });
    BIO_meth_set_ctrl(method, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH; });
    return method;
}

TlsSession::TlsSession(const TlsContext& context) : ssl_(SSL_new(context.context_.get())), in_(in_bytes) {
    BIO* bio = BIO_new(context.method_.get());
    if (ssl_ == nullptr || bio == nullptr) {
        throw Error("OpenSSL cannot make a session: " + openssl_error());
    }
    out.reserve(out_bytes);
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    const std::string& name = context.name_;
    const bool is_set = is_address(name)
                            ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), name.c_str()) == 1
                            : SSL_set1_host(ssl_.get(), name.c_str()) == 1 &&
                                  SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) == 1;
    if (!is_set) {
        throw Error(name + " is not a valid name of a certificate: set tls.name");
    }
}

void TlsSession::shake_hands(Link& link) {
    const Deadline deadline = step_deadline();
    for (;;) {
        if (const std::size_t end = record_end(); end != 0) {
            in_limit_ = end;
        }
        const int result = SSL_connect(ssl_.get());
        if (!out.empty()) {
            link.write({reinterpret_cast<const char*>(out.data()), out.size()}, deadline);
            out.clear();
        }
        if (result == 1) {
            return;
        }
        if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) {
            explain();
        }
        if (has_record()) {
            continue;
        }
        std::uint8_t* into = space();
        const std::size_t n = link.read(into, space_bytes(), deadline);
        if (n == 0) {
            throw TlsError("the server closed the connection in the TLS handshake");
        }
        filled(n, 0);
        // A TLS record begins with 20 to 24.
        if (in_[in_start_] < 20 || in_[in_start_] > 24) {
            throw TlsError("TLS handshake failed: the server answered in plain text; is it meant to speak TLS?");
        }
    }
}

void TlsSession::explain() const {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK) {
        ERR_clear_error();
        throw TlsError(std::string("TLS handshake failed: the server's certificate is not accepted: ") +
                    X509_verify_cert_error_string(verified) +
                    "; name the CA's file in tls.ca, and the certificate's name in tls.name");
    }
    throw TlsError("TLS handshake failed: " + openssl_error());
}

/// The end of the first record; 0 if it is incomplete.
std::size_t TlsSession::record_end() const {
    if (in_end_ - in_start_ < record_header_bytes) {
        return 0;
    }
    const std::size_t length = static_cast<std::size_t>(in_[in_start_ + 3]) << 8 | in_[in_start_ + 4];
    const std::size_t end = in_start_ + record_header_bytes + length;
    // OpenSSL rejects a record that is too long by its header.
    return end <= in_end_ || length > record_bytes_max ? std::min(end, in_end_) : 0;
}

std::uint8_t* TlsSession::space() {
    if (in_start_ == in_end_) {
        in_start_ = in_end_ = latest_at_ = 0;
    } else if (space_bytes() < record_bytes_max) {
        std::memmove(in_.data(), in_.data() + in_start_, in_end_ - in_start_);
        latest_at_ = latest_at_ > in_start_ ? latest_at_ - in_start_ : 0;
        in_end_ -= in_start_;
        in_start_ = 0;
    }
    in_limit_ = in_start_;
    return in_.data() + in_end_;
}

void TlsSession::filled(std::size_t n, std::uint64_t stamp_ns) {
    if (in_start_ >= latest_at_) {
        older_ns_ = latest_ns_;
    }
    latest_at_ = in_end_;
    latest_ns_ = stamp_ns;
    in_end_ += n;
}

bool TlsSession::encrypt(const std::uint8_t* from, std::size_t size) {
    std::size_t written = 0;
    return SSL_write_ex(ssl_.get(), from, size, &written) == 1 && written == size;
}

Transfer TlsSession::decrypt(std::uint8_t* into, std::size_t size) {
    for (;;) {
        if (SSL_pending(ssl_.get()) == 0) {
            const std::size_t end = record_end();
            if (end == 0) {
                return {};
            }
            record_ns_ = in_start_ < latest_at_ ? older_ns_ : latest_ns_;
            in_limit_ = end;
        }
        std::size_t n = 0;
        const int result = SSL_read_ex(ssl_.get(), into, size, &n);
        if (result == 1) {
            Transfer transfer = Transfer::bytes(n, record_ns_);
            transfer.has_more = SSL_pending(ssl_.get()) > 0 || has_record();
            return transfer;
        }
        switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ:
            // A record without data for us, such as a ticket.
            break;
        case SSL_ERROR_ZERO_RETURN:
            return {Transfer::Outcome::closed, false, 0, nullptr, 0, 0};
        default:
            ERR_clear_error();
            return {Transfer::Outcome::failed, false, 0, "a TLS record can't be decrypted, or is an alert", 0, 0};
        }
    }
}

void TlsLink::write(std::string_view bytes, Deadline deadline) {
    if (!session_.encrypt(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size())) {
        throw Error("TLS: " + openssl_error());
    }
    link_.write({reinterpret_cast<const char*>(session_.out.data()), session_.out.size()}, deadline);
    session_.out.clear();
}

std::size_t TlsLink::read(std::uint8_t* into, std::size_t size, Deadline deadline) {
    for (;;) {
        const Transfer got = session_.decrypt(into, size);
        switch (got.outcome) {
        case Transfer::Outcome::bytes:
            return got.n;
        case Transfer::Outcome::closed:
            return 0;
        case Transfer::Outcome::failed:
            throw Error(got.why);
        case Transfer::Outcome::empty:
            break;
        }
        std::uint8_t* space = session_.space();
        const std::size_t n = link_.read(space, session_.space_bytes(), deadline);
        if (n == 0) {
            return 0;
        }
        session_.filled(n, 0);
    }
}

namespace {

class TlsStreams final : public Streams {
public:
    TlsStreams(std::unique_ptr<Streams> inner, std::vector<std::unique_ptr<TlsSession>> sessions)
        : inner_(std::move(inner)), sessions_(std::move(sessions)), lanes_(sessions_.size()) {}

    void add(int socket) override { inner_->add(socket); }

    int wait(std::uint64_t until_ns, std::vector<ReadyLane>& ready) override { return inner_->wait(until_ns, ready); }

    Transfer read(std::uint32_t lane, std::uint8_t* into, std::size_t size) override {
        TlsSession& session = *sessions_[lane];
        for (;;) {
            Transfer got = session.decrypt(into, size);
            if (got.outcome != Transfer::Outcome::empty) {
                got.has_more = got.has_more || lanes_[lane].has_more;
                return got;
            }
            std::uint8_t* space = session.space();
            const Transfer raw = inner_->read(lane, space, session.space_bytes());
            lanes_[lane].has_more = raw.has_more;
            if (raw.outcome != Transfer::Outcome::bytes) {
                return raw;
            }
            session.filled(raw.n, raw.stamp_ns);
        }
    }

    Transfer write(std::uint32_t lane, const std::uint8_t* from, std::size_t size) override {
        TlsSession& session = *sessions_[lane];
        std::size_t& plain_bytes = lanes_[lane].plain_bytes;
        if (plain_bytes == 0) {
            if (!session.encrypt(from, size)) {
                return {Transfer::Outcome::failed, false, 0, "OpenSSL cannot encrypt a message", 0, 0};
            }
            plain_bytes = size;
        }
        Transfer written = inner_->write(lane, session.out.data(), session.out.size());
        if (written.outcome != Transfer::Outcome::bytes) {
            return written;
        }
        session.out.erase(session.out.begin(), session.out.begin() + static_cast<std::ptrdiff_t>(written.n));
        // A message is written when its record is.
        written.n = session.out.empty() ? std::exchange(plain_bytes, 0) : 0;
        return written;
    }

    int watch_writable(std::uint32_t lane, bool watch) override { return inner_->watch_writable(lane, watch); }

private:
    struct Lane {
        /// Length of the batch that is encrypted but not fully written.
        std::size_t plain_bytes = 0;
        /// Whether the backend has more to read.
        bool has_more = false;
    };

    std::unique_ptr<Streams> inner_;
    std::vector<std::unique_ptr<TlsSession>> sessions_;
    std::vector<Lane> lanes_;
};

} // namespace

std::unique_ptr<Streams> with_tls(std::unique_ptr<Streams> inner,
                                  std::vector<std::unique_ptr<TlsSession>> sessions) {
    return std::make_unique<TlsStreams>(std::move(inner), std::move(sessions));
}

} // namespace tickpath
