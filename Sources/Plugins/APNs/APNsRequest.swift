package import Router
package import RouterPlugin

/// The head of a request to APNs' provider API.
package struct APNsRequest: Sendable {
    package var method: String
    /// The path as received.
    package var path: String
    /// Header fields in order, without pseudo-headers; names in lower case.
    package var headers: [(name: String, value: String)]

    package init(method: String, path: String, headers: [(name: String, value: String)]) {
        self.method = method
        self.path = path
        self.headers = headers
    }

    /// The first value of a header.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The length of the body that the head declares.
    package var declaredLength: Int? { header("content-length").flatMap { Int($0) } }

    /// The `apns-id` of every answer to this request.
    ///
    /// A valid id comes back byte for byte. So does an invalid id of printable ASCII, because clients find the request
    /// of a refusal by it.
    package func messageID(fresh: @autoclosure () -> String) -> String {
        let values = headers.filter { $0.name == "apns-id" }
        guard let value = values.first?.value, values.count == 1,
            (1...APNsLimits.collapseIDBytes).contains(value.utf8.count),
            value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return fresh() }
        return value
    }
}

/// A request whose head has passed every check; its body and its token are still to be looked at.
package struct APNsHead: Hashable, Sendable {
    /// The last part of the path, of any form.
    package var token: String
    package var pushType: APNsPushType
    /// The topic as sent, or as the client's certificate has it.
    package var topic: String
    /// The application that the topic stands for.
    package var application: ApplicationID
    package var priority: Priority
    /// The credentials of the sender.
    package var authority: APNsAuthority
    /// The header fields of APNs' own and `target-content-id`, as sent.
    private let sent: [Field]
    /// The sender's place in a trace.
    package var trace: TraceContext?

    private struct Field: Hashable, Sendable {
        let name: String
        let value: String
    }

    init(
        token: String, pushType: APNsPushType, topic: String, application: ApplicationID, priority: Priority,
        authority: APNsAuthority, request: APNsRequest
    ) {
        self.token = token
        self.pushType = pushType
        self.topic = topic
        self.application = application
        self.priority = priority
        self.authority = authority
        trace = TraceContext(headers: request.headers)
        sent = request.headers.filter { $0.name.hasPrefix("apns-") || $0.name == "target-content-id" }
            .map { Field(name: $0.name, value: $0.value) }
    }

    /// The header fields of APNs' own, as sent.
    package var headers: [(name: String, value: String)] { sent.map { ($0.name, $0.value) } }

    /// The header fields that make a notification of the payload: the priority is the one that applies.
    fileprivate var pushHeaders: [(name: String, value: String)] {
        headers.filter { $0.name != "apns-priority" } + [("apns-priority", String(priority.rawValue))]
    }
}

/// A push that has passed all checks of its form.
package struct APNsPush: Hashable, Sendable {
    package var head: APNsHead
    /// The notification in the payload.
    package var event: SourceEvent

    /// Checks the body, then the token.
    ///
    /// - Parameters:
    ///   - body: The bytes that have come; of a body beyond the limit, any number of them.
    ///   - length: The length of the body, as far as it is known.
    package init(_ head: APNsHead, body: [UInt8], length: Int) throws(APNsRefusal) {
        self.head = head
        guard length > 0 else { throw APNsRefusal(.payloadEmpty, "The request has no payload.") }
        let limit = head.pushType.payloadBytes
        guard length <= limit else {
            throw APNsRefusal(
                .payloadTooLarge, "The payload of a push of the type \(head.pushType.rawValue) may have \(limit) bytes."
            )
        }
        let digits = head.token.utf8
        guard APNsLimits.tokenDigits.contains(digits.count), digits.count.isMultiple(of: 2),
            digits.allSatisfy(\.isHexadecimalDigit)
        else {
            throw APNsRefusal(
                .badDeviceToken,
                "A device token has an even number of hexadecimal digits, \(APNsLimits.tokenDigits.lowerBound) to "
                    + "\(APNsLimits.tokenDigits.upperBound).")
        }
        let request = SourceRequest(
            headers: head.pushHeaders, body: body,
            receivedAt: Timestamp(milliseconds: 0))
        let decoding: SourceDecoding
        do {
            decoding = try PushPayloadSource().decode(request)
        } catch {
            throw APNsRefusal(.badPayload, error.message)
        }
        guard let event = decoding.events.first else {
            throw APNsRefusal(.badPayload, "The payload must be a JSON object.")
        }
        self.event = event
    }
}
