package import RouterPlugin

/// Identifies a gate: an application has one for each device, and one for all sessions without a device.
package struct GateKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let application: ApplicationID
    package let device: DeviceID?

    package init(application: ApplicationID, device: DeviceID?) {
        self.application = application
        self.device = device
    }

    /// The key of the gate that a session belongs to.
    package init(of session: SceneSession) {
        self.init(application: session.key.application, device: session.device)
    }

    package var description: String { "\(application)/\(device?.text ?? "-")" }

    package static func < (lhs: GateKey, rhs: GateKey) -> Bool {
        guard lhs.application == rhs.application else { return lhs.application < rhs.application }
        guard let left = lhs.device else { return rhs.device != nil }
        return rhs.device.map { left < $0 } ?? false
    }
}
