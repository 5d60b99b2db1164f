package import RouterPlugin

/// Recognises the bodies of senders whose requests need not bear a header of their own.
///
///     groupKey, version, alerts, without orgId   alertmanager
///     groupKey, version, alerts, orgId           grafana
///     specversion, source, type, id              cloudevents
///
/// A body with `aps` or `notification-content-id` at its top is a push payload, whatever else it holds.
package enum ForeignBodies: Sendable {
    private static let own = [["aps"], ["notification-content-id"]]
    private static let alerts = [["groupKey"], ["version"], ["alerts"], ["orgId"]]
    private static let cloudEvent = [["specversion"], ["source"], ["type"], ["id"]]
    private static let lookup = JSONLookup(own + alerts + cloudEvent)
    /// Keys that every body in question holds; a body without both is not read again.
    private static let hints = [Array("\"groupKey\"".utf8), Array("\"specversion\"".utf8)]

    /// The kind of source that the body belongs to, and the fields that say so; nil for a body of any other form.
    ///
    /// - Parameter body: a JSON document that was read before and has no content id.
    package static func sender(of body: [UInt8], limits: JSONLimits = .ingest) -> (kind: String, mark: String)? {
        guard hints.contains(where: { contains($0, in: body) }),
            let answer = try? lookup.search(body, limits: limits), answer.root == .object
        else { return nil }
        let findings = answer.findings
        guard findings[0] == .absent, findings[1] == .absent else { return nil }
        if case .string = findings[2], case .string = findings[3], case .notAString(.array, _) = findings[4] {
            return (findings[5] == .absent ? "alertmanager" : "grafana", "groupKey with version and alerts")
        }
        let isCloudEvent = findings[6...].allSatisfy { if case .string = $0 { true } else { false } }
        return isCloudEvent ? ("cloudevents", "specversion with source, type and id") : nil
    }

    private static func contains(_ key: [UInt8], in body: [UInt8]) -> Bool {
        body.withUnsafeBufferPointer { bytes in
            guard bytes.count >= key.count else { return false }
            for start in 0...bytes.count - key.count where bytes[start] == key[0] && bytes[start + 1] == key[1] {
                if bytes[start..<start + key.count].elementsEqual(key) { return true }
            }
            return false
        }
    }
}
