package import RouterPlugin

/// The topics that a sender may push to.
package enum APNsAuthority: Hashable, Sendable {
    case everyTopic
    /// These topics, each without the suffix of a push type.
    case topics([String])

    package func allows(_ baseTopic: String) -> Bool {
        switch self {
        case .everyTopic: true
        case .topics(let topics): topics.contains { $0.utf8.elementsEqual(baseTopic.utf8) }
        }
    }
}

/// The applications that topics stand for: those of the table, and for all other topics the bundle id itself.
package struct APNsTopics: Hashable, Sendable {
    private let table: [[UInt8]: ApplicationID]

    package init(_ table: [(topic: String, application: ApplicationID)] = []) {
        self.table = Dictionary(table.map { (Array($0.topic.utf8), $0.application) }) { _, last in last }
    }

    /// - Parameters:
    ///   - topic: The topic as sent.
    ///   - base: The topic without the suffix of its push type.
    package func application(for topic: String, base: String) -> ApplicationID? {
        table[Array(topic.utf8)] ?? table[Array(base.utf8)] ?? (try? ApplicationID(base))
    }
}
