package import RouterPlugin

/// The checks of APNs' provider API on the head of a request, in a fixed order; the body's follow in ``APNsPush``.
///
/// Apple does not say in which order it checks. This order is fixed so that a request with two faults has one answer.
package struct APNsChecks: Sendable {
    private let tokens: ProviderTokenCheck
    private let topics: APNsTopics
    private let keepsSuffixes: Bool

    /// - Parameter keepsSuffixes: Whether a topic that ends like one of a push type is of that type alone, as Apple has it.
    ///   An application may have such an id.
    package init(tokens: ProviderTokenCheck, topics: APNsTopics = APNsTopics(), keepsSuffixes: Bool = false) {
        self.tokens = tokens
        self.topics = topics
        self.keepsSuffixes = keepsSuffixes
    }

    /// Checks a head.
    ///
    /// - Parameters:
    ///   - certificateTopic: The topic in the client's certificate, which stands for a provider token; nil if the
    ///     client has presented none.
    ///   - now: The wall clock, which provider tokens are compared with.
    ///   - last: The provider token that was verified last on the connection.
    package func head(
        of request: APNsRequest, certificateTopic: String?, at now: Timestamp, last: inout VerifiedProviderToken?
    ) throws(APNsRefusal) -> APNsHead {
        let token = try Self.token(of: request)
        try Self.refuseDuplicates(in: request)
        let authority: APNsAuthority =
            if let certificateTopic { .topics([certificateTopic]) } else {
                try tokens.authority(of: request, at: now, last: &last)
            }
        try Self.check(.badMessageID) { () throws(SourceError) in try PushHeaders.messageID(request.header("apns-id")) }
        let type = try Self.pushType(of: request)
        let priority = try Self.priority(of: request, type)
        try Self.check(.badExpirationDate) { () throws(SourceError) in
            try PushHeaders.expiration(request.header("apns-expiration"))
        }
        try Self.check(.badCollapseID) { () throws(SourceError) in
            try PushHeaders.collapseID(request.header("apns-collapse-id"))
        }
        let (topic, application, pushType) = try place(request, type, certificateTopic, authority)
        return APNsHead(
            token: token, pushType: pushType, topic: topic, application: application, priority: priority,
            authority: authority, request: request)
    }

    /// The last part of the path.
    private static func token(of request: APNsRequest) throws(APNsRefusal) -> String {
        guard request.method == "POST" else {
            throw APNsRefusal(.methodNotAllowed, "Pushes are sent by POST.")
        }
        let prefix = "/3/device"
        guard request.path.utf8.starts(with: prefix.utf8) else { throw badPath }
        let rest = request.path.utf8.dropFirst(prefix.utf8.count)
        guard !rest.isEmpty, !rest.elementsEqual("/".utf8) else {
            throw APNsRefusal(.missingDeviceToken, "The path must end with a device token: /3/device/TOKEN.")
        }
        guard rest.first == UInt8(ascii: "/"), !rest.dropFirst().contains(UInt8(ascii: "/")) else { throw badPath }
        return String(decoding: rest.dropFirst(), as: UTF8.self)
    }

    private static var badPath: APNsRefusal {
        APNsRefusal(.badPath, "Pushes are sent to /3/device/TOKEN; there is no other path here.")
    }

    private static func refuseDuplicates(in request: APNsRequest) throws(APNsRefusal) {
        var seen: Set<String> = []
        for field in request.headers where field.name.hasPrefix("apns-") || field.name == "authorization" {
            guard seen.insert(field.name).inserted else {
                throw APNsRefusal(.duplicateHeaders, "The header \(field.name) may occur once.")
            }
        }
    }

    private static func check<Value>(
        _ reason: APNsReason, _ read: () throws(SourceError) -> Value
    ) throws(APNsRefusal) {
        do throws(SourceError) { _ = try read() } catch { throw APNsRefusal(reason, error.message) }
    }

    /// Nil without the header.
    private static func pushType(of request: APNsRequest) throws(APNsRefusal) -> APNsPushType? {
        guard let value = request.header("apns-push-type") else { return nil }
        guard let type = APNsPushType(rawValue: value) else {
            let names = APNsPushType.allCases.map(\.rawValue).joined(separator: ", ")
            throw APNsRefusal(.invalidPushType, "The header apns-push-type must be one of: \(names).")
        }
        return type
    }

    /// The priority is 10 unless the header says otherwise. Of background pushes it is 5, and may not be 10.
    private static func priority(of request: APNsRequest, _ type: APNsPushType?) throws(APNsRefusal) -> Priority {
        let stated: Priority?
        do throws(SourceError) {
            stated = try PushHeaders.priority(request.header("apns-priority"))
        } catch {
            throw APNsRefusal(.badPriority, error.message)
        }
        guard type == .background else { return stated ?? .high }
        guard stated != .high else {
            throw APNsRefusal(.badPriority, "The header apns-priority of a background push must be 5 or 1.")
        }
        return stated ?? .normal
    }

    /// The topic, its application, and the push type, which the topic implies where no header states it.
    private func place(
        _ request: APNsRequest, _ stated: APNsPushType?, _ certificateTopic: String?, _ authority: APNsAuthority
    ) throws(APNsRefusal) -> (topic: String, application: ApplicationID, type: APNsPushType) {
        var topic = request.header("apns-topic") ?? ""
        if topic.isEmpty, let certificateTopic { topic = certificateTopic + (stated?.topicSuffix ?? "") }
        guard !topic.isEmpty else {
            throw APNsRefusal(.missingTopic, "The header apns-topic must name the topic: a bundle id.")
        }
        let implied = APNsPushType.implied(by: topic)
        let type = stated ?? implied
        guard !keepsSuffixes || type.topicSuffix != nil || implied.topicSuffix == nil else {
            let message = "The topic is for pushes of the type \(implied.rawValue), which apns-push-type must name."
            throw APNsRefusal(.invalidPushType, message)
        }
        var base = topic
        if let suffix = type.topicSuffix {
            guard topic.hasByteSuffix(suffix) else {
                throw APNsRefusal(
                    .badTopic, "The topic of a push of the type \(type.rawValue) is the bundle id and \(suffix).")
            }
            base = String(decoding: topic.utf8.dropLast(suffix.utf8.count), as: UTF8.self)
        }
        guard let application = topics.application(for: topic, base: base) else {
            throw APNsRefusal(.badTopic, "The topic is no bundle id.")
        }
        guard authority.allows(base) else {
            throw APNsRefusal(.topicDisallowed, "The sender's key or certificate is not for this topic.")
        }
        return (topic, application, type)
    }
}
