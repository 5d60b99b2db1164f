import CCurl
import Router

/// Why a transport cannot be made.
package struct CurlSetupError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line for people.
    package var description: String

    init(_ description: String) { self.description = description }

    init(_ call: String, _ code: CURLMcode) {
        self.init("\(call): \(String(cString: curl_multi_strerror(code))) (\(code.rawValue))")
    }

    init(_ call: String, errno code: Int32) { self.init("\(call) failed with errno \(code)") }
}

extension TransferFailure.Kind {
    /// The meaning of libcurl's codes for a delivery. The whole mapping is this table; every code that is not in it
    /// says more about us or the machine than about the receiver, and is `.other`.
    static let table: [(kind: Self, codes: [CURLcode])] = [
        (.nameNotResolved, [CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY]),
        (.connectFailed, [CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_QUIC_CONNECT_ERROR]),
        (.timedOut, [CURLE_OPERATION_TIMEDOUT]),
        (
            .tlsFailed,
            [
                CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND,
                CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
                CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED,
            ]
        ),
        (
            .connectionLost,
            [
                CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2_STREAM,
                CURLE_SEND_FAIL_REWIND, CURLE_SSL_SHUTDOWN_FAILED,
            ]
        ),
        // CURLE_UNSUPPORTED_PROTOCOL is how libcurl reports an answer in HTTP/0.9: the URL's scheme is checked before.
        (
            .garbled,
            [CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2, CURLE_BAD_CONTENT_ENCODING]
        ),
        (.unusableURL, [CURLE_URL_MALFORMAT]),
    ]

    init(_ code: CURLcode) {
        self = Self.table.first { $0.codes.contains(code) }?.kind ?? .other
    }

    /// The meaning of a code for a request with this progress. It decides two questions: where the request failed, and
    /// whether the receiver may have it.
    init(_ code: CURLcode, _ progress: RequestProgress) {
        let kind = Self(code)
        self =
            switch (progress, kind) {
            case (.resolving, .timedOut): .nameNotResolved
            case (.resolving, .connectionLost), (.connecting, .timedOut), (.connecting, .connectionLost): .connectFailed
            // It went over a kept connection that ended without an answer, and there was no new one to be had.
            case (.begun, .nameNotResolved), (.begun, .connectFailed), (.begun, .tlsFailed): .connectionLost
            default: kind
            }
    }
}

/// How far a request has come.
enum RequestProgress: Hashable {
    /// Its host has no address yet.
    case resolving
    /// There is no connection for it yet: TLS belongs to the connection.
    case connecting
    /// The request was given a connection, this one or an earlier one. From then on the receiver may have it.
    case begun
}

extension TransferFailure {
    /// A failure that libcurl reports; `detail` is the text of its error buffer. Without its progress nothing is known
    /// of the request but the code.
    init(_ code: CURLcode, _ progress: RequestProgress? = nil, detail: String = "") {
        let text = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        let kind = progress.map { Kind(code, $0) } ?? Kind(code)
        self.init(kind: kind, curlCode: Int(code.rawValue), message: Self.oneLine(text))
    }

    /// libcurl refused to be set up for a transfer.
    init(settingUp option: String, _ code: CURLcode) {
        let reason = String(cString: curl_easy_strerror(code))
        self.init(
            kind: .other, curlCode: Int(code.rawValue), message: Self.oneLine("libcurl refused \(option): \(reason)"))
    }

    /// libcurl's engine failed, not the transfer.
    init(engine call: String, _ code: CURLMcode) {
        let reason = String(cString: curl_multi_strerror(code))
        self.init(kind: .other, message: Self.oneLine("libcurl's \(call) failed: \(reason) (\(code.rawValue))"))
    }

    /// The egress guard let nothing through.
    init(_ refusal: EgressRefusal, curlCode: Int) {
        self.init(kind: .egressRefused, curlCode: curlCode, message: Self.oneLine(refusal.description))
    }

    static let shuttingDown = TransferFailure(kind: .shuttingDown, message: "the transport is shutting down")
    static let cutOff = TransferFailure(
        kind: .shuttingDown, message: "the request was cut off when the time for shutting down was over")
    static let cancelled = TransferFailure(kind: .other, message: "the request was cancelled by its sender")
    static let queueFull = TransferFailure(kind: .other, message: "too many requests are waiting to be sent")

    /// Text that partly comes from a receiver: printable, bounded, one line.
    private static func oneLine(_ text: String) -> String {
        let printable = text.utf8.prefix(CurlLimits.messageBytes).map { byte in
            (0x20...0x7E).contains(byte) ? byte : UInt8(ascii: "?")
        }
        return String(decoding: printable, as: UTF8.self)
    }
}

/// A request that cannot be handed to libcurl.
struct RequestRefusal: Error, Hashable {
    var failure: TransferFailure

    init(_ failure: TransferFailure) { self.failure = failure }

    init(_ message: String) { self.init(TransferFailure(kind: .other, message: message)) }
}
