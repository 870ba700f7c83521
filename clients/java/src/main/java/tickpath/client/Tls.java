package tickpath.client;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import tickpath.shared.ClientException;

/** TLS 1.3 as a client that always checks the exchange's certificate and its name. */
final class Tls {
    private final SslContext context;
    private final String name;
    private final int port;

    Tls(final Plan plan) throws ClientException {
        final Plan.Trust trust = plan.tls();
        name = trust.name() == null ? plan.host() : trust.name();
        port = plan.port();
        try {
            final SslContextBuilder builder = SslContextBuilder.forClient().sslProvider(SslProvider.JDK).protocols("TLSv1.3");
            final String pem = trust.caPem() != null || trust.ca() == null ? trust.caPem() : Files.readString(trust.ca());
            if (pem != null) {
                builder.trustManager(new ByteArrayInputStream(pem.getBytes(StandardCharsets.UTF_8)));
            }
            context = builder.build();
        } catch (final IOException | IllegalArgumentException e) {
            final String from = trust.ca() == null ? "`tls.ca_pem`" : trust.ca().toString();
            throw new ClientException("can't read the authorities in " + from + ": " + ErrorText.of(e), e);
        }
    }

    SslHandler handler(final ByteBufAllocator allocator) {
        final SSLEngine engine = context.newEngine(allocator, name, port);
        final SSLParameters parameters = engine.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        engine.setSSLParameters(parameters);
        return new SslHandler(engine);
    }

    /** The reason of a failed handshake, and a remedy. */
    String sentence(final Throwable failure) {
        if (failure instanceof NotSslRecordException) {
            return "the TLS handshake failed: the server does not speak TLS on this port; start the exchange with a certificate, "
                    + "or leave out `tls`";
        }
        final String advice = failure instanceof SSLException
                ? "; name the authority in tls.ca, and the certificate's name in tls.name"
                : "";
        return "the TLS handshake failed: " + ErrorText.of(failure) + advice;
    }
}
