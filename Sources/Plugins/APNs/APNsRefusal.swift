package import RouterPlugin

/// The refusal of a push: APNs' status and reason, and a sentence of this router's own.
package struct APNsRefusal: Error, Hashable, Sendable {
    /// The HTTP status.
    package var status: Int
    /// The reason in the body, such as `BadTopic`.
    package var reason: String
    /// The last time at which the token was known to be invalid; only answers of status 410 have one.
    package var timestamp: Timestamp?
    /// A sentence for people: the fault and the values that are accepted. It never quotes a provider token.
    package var detail: String

    /// A refusal for a reason that APNs has, under its status.
    package init(_ reason: APNsReason, _ detail: String, timestamp: Timestamp? = nil) {
        self.init(status: reason.status, reason: reason.rawValue, detail, timestamp: timestamp)
    }

    /// A refusal of any status and reason.
    package init(status: Int, reason: String, _ detail: String, timestamp: Timestamp? = nil) {
        self.status = status
        self.reason = reason
        self.detail = detail
        self.timestamp = timestamp
    }
}

/// The outcome of a push that has passed all checks of its form.
package enum APNsVerdict: Hashable, Sendable {
    /// Committed. Repetitions of a push have the id of the first one.
    case accepted(uniqueID: String, session: String?)
    case refused(APNsRefusal)
}

extension APNsVerdict {
    /// The answer in APNs' form: an empty body for 200, a JSON object with `reason` for all others.
    ///
    /// - Parameter messageID: The `apns-id` of the answer.
    package func response(messageID: String) -> SourceResponse {
        switch self {
        case .accepted(let uniqueID, let session):
            var headers = [SourceResponse.Field("apns-id", messageID), .init("apns-unique-id", Self.visible(uniqueID))]
            if let session { headers.append(.init("x-routerd-session", Self.visible(session))) }
            return SourceResponse(status: 200, headers: headers)
        case .refused(let refusal):
            let body = JSONWriter.object { body in
                body.field("reason", refusal.reason)
                if let timestamp = refusal.timestamp { body.field("timestamp", timestamp.milliseconds) }
            }
            let headers: [SourceResponse.Field] = [
                .init("apns-id", messageID), .init("content-type", "application/json"),
                .init("content-length", String(body.count)), .init("x-routerd-detail", Self.visible(refusal.detail)),
            ]
            return SourceResponse(status: refusal.status, headers: headers, body: body)
        }
    }

    /// The text as a header value: bytes other than printable ASCII, and `%`, are percent-encoded.
    private static func visible(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
