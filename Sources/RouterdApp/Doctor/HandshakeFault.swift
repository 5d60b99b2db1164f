package import RouterPlugin

/// The cause of a TLS handshake that did not come about.
package enum HandshakeFault: Hashable, Sendable {
    case unknownHost
    case refused
    case unreachable
    case late(seconds: Int64)
    /// The connection was closed in the handshake.
    case closed
    /// The server does not speak TLS.
    case clearText
    /// The certificate is for other names, whether it is trusted or not.
    ///
    /// - Parameter names: Its names; none if they could not be read.
    case wrongName(names: [String])
    case expired(at: Timestamp)
    case notYetValid(until: Timestamp)
    case selfSigned
    /// - Parameter issuer: The authority that has signed it, as the certificate names it.
    case untrusted(issuer: String)
    /// - Parameter word: The word of the library for the cause.
    case other(word: String)

    /// Completes "The endpoint cannot be reached over TLS: …".
    package var reason: String {
        switch self {
        case .unknownHost: "no name server has an address for this name"
        case .refused: "no program listens there"
        case .unreachable: "there is no way to it from this machine"
        case .late(let seconds): "it has not answered within \(seconds) s"
        case .closed: "it closed the connection during the handshake"
        case .clearText: "the program there does not speak TLS"
        case .wrongName(let names) where names.isEmpty: "its certificate is for another name"
        case .wrongName(let names):
            "its certificate is for \(names.prefix(3).joined(separator: ", "))\(names.count > 3 ? " and others" : ""), "
                + "and not for this name"
        case .expired(let time): "its certificate ended at \(time.rfc3339)"
        case .notYetValid(let time): "its certificate is not valid before \(time.rfc3339)"
        case .selfSigned: "its certificate is signed by itself, and by no authority that this machine trusts"
        case .untrusted(let issuer): "its certificate is signed by \(issuer), which this machine does not trust"
        case .other(let word): "the handshake failed (\(word))"
        }
    }

    /// The remedy, for the operator.
    package var cure: String {
        switch self {
        case .unknownHost:
            "Mend the host in the endpoint's URL, or the name server: `getent hosts` asks the same resolver."
        case .refused: "Start the receiver, or mend the port in the endpoint's URL."
        case .unreachable: "Mend the network between this machine and the receiver, or a firewall on the way."
        case .late: "See whether the receiver is overloaded, or a firewall drops packets on the way."
        case .closed: "Ask the receiver's operator: it may want a client certificate, or another version of TLS."
        case .clearText: "Register the endpoint with the port of TLS, or let the receiver speak TLS there."
        case .wrongName:
            "Register the endpoint under a name of the certificate, or ask the receiver's operator for one with this name."
        case .expired: "Ask the receiver's operator to exchange it."
        case .notYetValid: "Look at the clock of this machine, then ask the receiver's operator."
        case .selfSigned: "If it is meant to be so, name the certificate in delivery.certificateAuthorityFile."
        case .untrusted:
            """
            For a private authority set delivery.certificateAuthorityFile; for a public one ask the receiver's operator for the \
            certificates in between.
            """
        case .other: "Ask the receiver's operator."
        }
    }
}
