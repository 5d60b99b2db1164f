import HTTPTypes
import Plugins
package import Router
package import RouterPlugin

/// The scope in which endpoints and observers are read: their application, the permitted addresses, the registered
/// names, and the time. Permitted addresses follow the same policy that the transport asks when it connects.
package struct EndpointScope: Sendable {
    private let policy: EgressPolicy
    private let application: ApplicationID?
    /// The time from which on there must be a valid key.
    let now: Timestamp
    /// The observers that may be registered.
    private let observers: [PluginID]
    /// The formats that endpoints may have.
    let formats: DeliveryFormats

    package init(
        policy: EgressPolicy, application: ApplicationID, now: Timestamp, observers: [PluginID] = [],
        formats: DeliveryFormats
    ) {
        self.policy = policy
        self.application = application
        self.now = now
        self.observers = observers
        self.formats = formats
    }

    private init(policy: EgressPolicy, now: Timestamp, formats: [DeliveryFormatKind]) {
        self.policy = policy
        application = nil
        self.now = now
        observers = []
        self.formats = DeliveryFormats(formats)
    }

    /// For bodies whose endpoints are only read and never connected to.
    package static func unguarded(
        at now: Timestamp, formats: [DeliveryFormatKind] = BuiltInPlugins.deliveryFormatKinds
    ) -> EndpointScope {
        EndpointScope(policy: .unguarded, now: now, formats: formats)
    }

    /// Reads the observers, in their order; nil if the member is missing or null.
    func observers(_ reader: inout ObjectReader) throws(Problem) -> [PluginID]? {
        guard let names = try reader.strings("observers", atMost: RouterLimits.observers) else { return nil }
        var found: [PluginID] = []
        for (place, name) in names.enumerated() {
            let pointer = "\(reader.pointer(to: "observers"))/\(place)"
            guard let observer = observers.first(where: { $0.text.isSame(as: name) }) else {
                let known = observers.isEmpty ? "there are none" : observers.map(\.text).joined(separator: ", ")
                throw Problem(
                    .unprocessableContent, "unknown-observer",
                    "The daemon's configuration has no such observer; it has: \(known).", pointer: pointer)
            }
            guard !found.contains(observer) else {
                throw Problem(
                    .unprocessableContent, "invalid-field", "The observer \(observer) is named twice.", pointer: pointer
                )
            }
            found.append(observer)
        }
        return found
    }

    /// The reason why an endpoint can never be reached, as far as it is known before the name is looked up.
    func refusal(host: String, port: Int) -> EgressRefusal? {
        guard case .refused(let refusal) = policy.verdict(for: application, host: host, port: port) else { return nil }
        return refusal
    }
}
