#pragma once

#include "connection.hpp"
#include "error.hpp"
#include "plan.hpp"
#include "streams.hpp"

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tickpath {

struct OpenSslDeleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* session) const { SSL_free(session); }
    void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

/// A server answered, but TLS failed.
class TlsError : public Error {
public:
    using Error::Error;
};

/// Certificate authorities and name, for all connections of a run.
class TlsContext {
public:
    /// Throws Error if there is no authority.
    TlsContext(const Trust& trust, const std::string& target);

private:
    friend class TlsSession;

    std::unique_ptr<SSL_CTX, OpenSslDeleter> context_;
    std::unique_ptr<BIO_METHOD, OpenSslDeleter> method_;
    std::string name_;
};

/// TLS 1.3 of one connection, from memory to memory: the backend makes the socket calls and stamps
/// them. A message is encrypted before SEND and decrypted after RECEIVE.
class TlsSession {
public:
    explicit TlsSession(const TlsContext& context);

    /// Shakes hands over `link` and checks the certificate. Throws Error with the reason if that
    /// fails.
    void shake_hands(Link& link);

    /// Encrypts into `out`. False if OpenSSL reports an error.
    bool encrypt(const std::uint8_t* from, std::size_t size);

    /// Decrypts a part of the next record. Returns `bytes` with n > 0, `empty` if no record is
    /// complete, `closed`, or `failed` with the reason in `why`.
    Transfer decrypt(std::uint8_t* into, std::size_t size);

    /// The space for bytes from the socket.
    std::uint8_t* space();
    std::size_t space_bytes() const { return in_.size() - in_end_; }
    void filled(std::size_t n, std::uint64_t stamp_ns);

    /// Encrypted bytes that are not written yet.
    std::vector<std::uint8_t> out;

private:
    static BIO_METHOD* bio_method();
    friend class TlsContext;

    std::size_t record_end() const;
    bool has_record() const { return record_end() != 0; }
    [[noreturn]] void explain() const;

    std::unique_ptr<SSL, OpenSslDeleter> ssl_;
    /// Records from the socket. The session reads only complete ones, before `in_limit_`.
    std::vector<std::uint8_t> in_;
    std::size_t in_start_ = 0;
    std::size_t in_end_ = 0;
    std::size_t in_limit_ = 0;
    std::size_t latest_at_ = 0;
    std::uint64_t latest_ns_ = 0;
    std::uint64_t older_ns_ = 0;
    /// Stamp of the first byte of the current record.
    std::uint64_t record_ns_ = 0;
};

/// A connection with TLS during its set-up.
class TlsLink final : public Link {
public:
    TlsLink(Link& link, TlsSession& session) : link_(link), session_(session) {}

    void write(std::string_view bytes, Deadline deadline) override;
    std::size_t read(std::uint8_t* into, std::size_t size, Deadline deadline) override;

private:
    Link& link_;
    TlsSession& session_;
};

/// Adds TLS to the streams of a backend; lane n has session n.
std::unique_ptr<Streams> with_tls(std::unique_ptr<Streams> inner,
                                  std::vector<std::unique_ptr<TlsSession>> sessions);

} // namespace tickpath
