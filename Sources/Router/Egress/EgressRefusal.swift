/// Why the guard refuses a connection: the rule, and for people the address and the remedy.
package struct EgressRefusal: Error, Hashable, Sendable {
    /// The rule in kebab-case: an ``AddressClass``, or `port`.
    package let rule: String
    /// One sentence without its full stop, in ASCII, of bounded length.
    package let message: String

    init(_ address: IPAddress, _ found: AddressClassification, _ port: Int) {
        let kind = found.addressClass
        rule = kind.rawValue
        let subject = found.embedded.map { "\(address) embeds \($0), which is" } ?? "\(address.unmapped) is"
        let place = "\(subject) \(kind.words) (\(found.range))"
        message =
            kind.tier == .forbidden
            ? "\(place), and no setting allows it"
            : "\(place), and egress.grants has no grant that covers it at port \(port) for this application"
    }

    /// The refusal of a connection whose address cannot be read.
    package static let unreadableAddress = EgressRefusal(
        rule: "address", message: "the connection's address cannot be read, and an unknown address is not allowed")

    private init(rule: String, message: String) {
        self.rule = rule
        self.message = message
    }

    init(metadataName host: String) {
        rule = AddressClass.metadata.rawValue
        message = "\(HostPattern.canonical(host)) is the name of a cloud metadata address, and no setting allows it"
    }

    init(closedPort port: Int) {
        rule = "port"
        message = """
            port \(port) is not one that webhooks are received at, and egress.grants has no grant that covers it for \
            this application
            """
    }
}

extension EgressRefusal: CustomStringConvertible {
    package var description: String { "\(message) (rule \(rule))" }
}
