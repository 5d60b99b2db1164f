import RouterPlugin

/// The headers of APNs and `Idempotency-Key`; nil where the sender leaves one out.
struct PushHeaders {
    let priority: Priority?
    let expiration: Expiration?
    let collapseID: String?
    let dedupeKeys: [String]

    init(_ request: SourceRequest) throws(SourceError) {
        try Self.refuseDuplicates(in: request)
        priority = try Self.priority(request.header("apns-priority"))
        let expiration = try Self.expiration(request.header("apns-expiration"))
        // APNs tries at least once whatever the time is, and senders take it for a number of seconds from now.
        self.expiration =
            if case .at(let end) = expiration, end <= request.receivedAt { .immediate } else { expiration }
        collapseID = try Self.collapseID(request.header("apns-collapse-id"))
        var keys: [String] = []
        if let id = try Self.messageID(request.header("apns-id")) { keys.append("apns-id:\(id)") }
        if let key = try request.idempotencyKey() { keys.append("key:\(key)") }
        dedupeKeys = keys
    }

    /// APNs refuses any of its headers that occurs twice, also those without a meaning here.
    private static func refuseDuplicates(in request: SourceRequest) throws(SourceError) {
        for field in request.headers where field.name.hasPrefix("apns-") { _ = try request.header(field.name) }
    }

    static func priority(_ value: String?) throws(SourceError) -> Priority? {
        switch value {
        case nil: nil
        case "1": .low
        case "5": .normal
        case "10": .high
        default: throw SourceError(code: "bad-priority", message: "The header apns-priority must be 1, 5 or 10.")
        }
    }

    /// Decimal seconds since the epoch; 0 is once and at once.
    static func expiration(_ value: String?) throws(SourceError) -> Expiration? {
        guard let value else { return nil }
        // Int64 alone would take a sign as well.
        guard value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let seconds = Int64(value),
            case let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000), !overflow
        else {
            let message = "The header apns-expiration must be a number of seconds since 1970."
            throw SourceError(code: "bad-expiration-date", message: message)
        }
        return seconds == 0 ? .immediate : .at(Timestamp(milliseconds: milliseconds))
    }

    static func collapseID(_ value: String?) throws(SourceError) -> String? {
        guard let value else { return nil }
        guard (1...64).contains(value.utf8.count), !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            let message = "The header apns-collapse-id must have 1 to 64 bytes and no control characters."
            throw SourceError(code: "bad-collapse-id", message: message)
        }
        return value
    }

    /// A UUID in lower case, so that the same one repeated in upper case is still the same.
    static func messageID(_ value: String?) throws(SourceError) -> String? {
        guard let value else { return nil }
        let groups = value.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12], groups.allSatisfy({ $0.allSatisfy(\.isHexadecimalDigit) }) else {
            throw SourceError(code: "bad-message-id", message: "The header apns-id must be a UUID.")
        }
        return value.lowercased()
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII hexadecimal digit of either case.
    var isHexadecimalDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
