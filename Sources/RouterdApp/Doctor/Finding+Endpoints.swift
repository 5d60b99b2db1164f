package import RouterPlugin

// Judgements of the endpoints that webhooks go to. The facts are arguments.

extension Finding {
    /// The outcome of a TLS handshake with an endpoint.
    package enum Handshake: Hashable, Sendable {
        /// The certificate is trusted, and valid until then; nil if that cannot be read.
        case trusted(until: Timestamp?)
        case failed(HandshakeFault)
    }

    /// Days of validity that an operator needs to exchange a certificate.
    private static let daysNeeded: Int64 = 14

    package static func endpoint(_ origin: String, _ handshake: Handshake, at now: Timestamp) -> Finding {
        switch handshake {
        case .failed(let fault):
            return Finding("endpoint", .bad, "\(origin) cannot be reached over TLS: \(fault.reason).", cure: fault.cure)
        case .trusted(until: nil):
            return Finding("endpoint", .good, "\(origin) has a trusted certificate.")
        case .trusted(let end?):
            let days = (end.milliseconds - now.milliseconds) / 86_400_000
            guard days < daysNeeded else {
                return Finding("endpoint", .good, "\(origin) has a trusted certificate for \(days) more days.")
            }
            return Finding(
                "endpoint", .doubtful, "The certificate of \(origin) ends in \(days) days.",
                cure: "Ask the receiver's operator to exchange it.")
        }
    }

    /// - Parameter origins: Origins of endpoints without TLS on other machines.
    package static func clearText(_ origins: [String]) -> Finding? {
        guard let first = origins.first else { return nil }
        let others = origins.count > 1 ? " and to \(origins.count - 1) more" : ""
        return Finding(
            "endpoint", .doubtful, "Webhooks go to \(first)\(others) in clear text: signed, but readable on the way.",
            cure: "Register https:// endpoints.")
    }
}
