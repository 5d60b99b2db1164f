import HTTPTypes
package import Plugins
package import RouterPlugin

/// Answers that a fake APNs gives instead of 200, as a test prescribes them.
///
///     - {token: "aa…", reason: Unregistered, timestamp: 1767268800000}
///     - {topic: com.example.Mail, status: 503, reason: ServiceUnavailable, times: 2}
///
/// The first entry that matches the push and has uses left gives the answer. A push that no entry matches is accepted.
package struct APNsScript: Sendable {
    /// An entry. An entry without token or topic matches every push.
    private struct Entry: Sendable {
        let token: String?
        let topic: String?
        let status: Int
        let reason: String
        let timestamp: Timestamp?
        /// How many pushes the entry still answers; nil for any number.
        var times: Int?

        func fits(_ push: APNsHead) -> Bool {
            times != 0 && token.map { $0.utf8.elementsEqual(push.token.utf8) } != false
                && topic.map { $0.utf8.elementsEqual(push.topic.utf8) } != false
        }
    }

    private var entries: [Entry] = []

    /// A script that accepts every push.
    package init() {}

    /// Reads a list of entries, or reports all of its faults.
    package init(_ file: ConfigurationFile) throws(ConfigurationFaults) {
        var faults = file.faults
        guard let list = file.root.asArray else {
            throw ConfigurationFaults([file.fault("", "A script must be a list of answers.")])
        }
        for (place, value) in list.enumerated() {
            do throws(Problem) { entries.append(try Self.entry(value, at: "/\(place)")) } catch {
                faults.append(file.fault(error.pointer ?? "", error.detail))
            }
        }
        guard faults.isEmpty else { throw ConfigurationFaults(faults) }
    }

    /// The answer to a push; nil if the push is accepted.
    package mutating func refusal(of push: APNsHead, at now: Timestamp) -> APNsRefusal? {
        guard let place = entries.firstIndex(where: { $0.fits(push) }) else { return nil }
        let entry = entries[place]
        entries[place].times = entry.times.map { $0 - 1 }
        guard entry.status != 200 else { return nil }
        // Clients of APNs expect a timestamp with every 410.
        let timestamp = entry.timestamp ?? (entry.status == 410 ? now : nil)
        return APNsRefusal(
            status: entry.status, reason: entry.reason, "Entry \(place + 1) of the script says so.",
            timestamp: timestamp)
    }

    private static func entry(_ value: JSONValue, at pointer: String) throws(Problem) -> Entry {
        var reader = try ObjectReader(value, at: pointer)
        let token = try reader.string("token")
        let topic = try reader.string("topic")
        let reason = try reader.string("reason")
        let status = try reader.integer("status", in: 200...599)
        let timestamp = try reader.integer("timestamp", in: 0...Int64.max)
        let times = try reader.integer("times", in: 1...Int64(Int32.max))
        try reader.finish()
        guard reason != nil || status == 200 else { throw reader.missing("reason") }
        guard let number = status ?? APNsReason(rawValue: reason ?? "")?.status else {
            throw reader.invalid("reason", "is none of APNs' own: say its status too")
        }
        return Entry(
            token: token, topic: topic, status: number, reason: reason ?? "",
            timestamp: timestamp.map { Timestamp(milliseconds: Int64($0)) }, times: times)
    }
}
