package import RouterPlugin

/// The lanes of one application: the state of its deliveries that is kept in memory. It has no state of the node, so
/// that it can be moved to another node as a value.
package struct TenantLanes: Sendable {
    package let application: ApplicationID
    package internal(set) var lanes: [SessionID: Lane] = [:]

    init(_ application: ApplicationID) { self.application = application }

    /// The lanes with their keys, in no order.
    package var keyed: some Sequence<(key: SessionKey, value: Lane)> {
        lanes.lazy.map { (key: SessionKey(application: application, session: $0.key), value: $0.value) }
    }

    /// Makes of each delivery what a recovery would make of it: a delivery under way is in doubt, and waits for its
    /// next attempt; an end that was not committed has to be found again.
    mutating func interrupt() {
        for place in lanes.indices { lanes.values[place].interrupt() }
    }
}
