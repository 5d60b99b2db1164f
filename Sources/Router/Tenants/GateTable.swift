package import RouterPlugin

/// The gates of one application, one for each device and one for sessions of no device (nil): how each stands, its
/// passcode lock, and the notifications that wait for it.
///
/// Invariant: a device without gate, lock, waiting notifications and demos has no entry.
package struct GateTable: Sendable {
    private struct DeviceGate: Sendable {
        var gate: OnboardingGate?
        var lock: PasscodeLock?
        var gated = HeldNotifications()
        /// Whether sessions of the device show the demo.
        var hasDemos = false

        /// Whether lists show the gate.
        var isShown: Bool { gate != nil || !gated.isEmpty || hasDemos }
        var isUnused: Bool { !isShown && lock == nil }
    }

    private var devices: [DeviceID?: DeviceGate] = [:]
    /// The devices with an entry.
    private var order = OrderedIDs<DeviceID>()
    /// Devices whose locks an application without passcodes has to forget, in descending order.
    private(set) var obsoleteLocks: [DeviceID?] = []

    /// The bytes registered at gates and locks.
    private(set) var registeredBytes = 0

    /// Whether the application has no gates, locks and gated notifications.
    var isEmpty: Bool { devices.isEmpty }

    // MARK: Gates

    /// Gates with a history, in no order.
    package var all: [OnboardingGate] { devices.values.compactMap(\.gate) }

    /// The gate of a device; nil for a gate without a history.
    package func gate(of device: DeviceID?) -> OnboardingGate? { devices[device]?.gate }

    package func isOpen(for device: DeviceID?) -> Bool { devices[device]?.gate?.isOpen == true }

    mutating func put(_ gate: OnboardingGate) {
        registeredBytes += gate.registeredBytes - (self.gate(of: gate.key.device)?.registeredBytes ?? 0)
        change(gate.key.device) { $0.gate = gate }
    }

    /// Calls `body` with each device and whether lists show its gate, in order, until it returns false.
    ///
    /// - Parameter after: The gate to begin behind; nil begins with that of no device.
    func visit(after: GateKey?, _ body: (_ device: DeviceID?, _ isShown: Bool) -> Bool) {
        if after == nil, let entry = devices[DeviceID?.none], !body(nil, entry.isShown) { return }
        order.visit(after: after?.device) { body($0, devices[$0]?.isShown == true) }
    }

    /// Notes whether sessions of a device show the demo.
    mutating func note(demos: Bool, at device: DeviceID?) { change(device) { $0.hasDemos = demos } }

    private mutating func change(_ device: DeviceID?, _ body: (inout DeviceGate) -> Void) {
        let wasThere = devices[device] != nil
        body(&devices[device, default: DeviceGate()])
        let isThere = devices[device]?.isUnused == false
        if !isThere { devices[device] = nil }
        guard let device, isThere != wasThere else { return }
        if isThere { order.insert(device) } else { order.remove(device) }
    }

    // MARK: Gated notifications

    /// Devices whose gates have notifications waiting, in no order.
    var devicesWithGated: [DeviceID?] { devices.lazy.filter { !$0.value.gated.isEmpty }.map(\.key) }

    /// The notifications that wait for the gate of a device; nil if there are none.
    func gated(at device: DeviceID?) -> HeldNotifications? {
        devices[device].flatMap { $0.gated.isEmpty ? nil : $0.gated }
    }

    mutating func hold(_ sequence: NotificationSequence, at device: DeviceID?) {
        change(device) { $0.gated.insert(sequence) }
    }

    mutating func release(_ sequence: NotificationSequence, at device: DeviceID?) {
        change(device) { $0.gated.remove(sequence) }
    }

    // MARK: Passcode locks

    /// Locks with a history, in no order.
    package var locks: [PasscodeLock] { devices.values.compactMap(\.lock) }

    /// The lock of a device; nil for a lock without a history.
    func lock(of device: DeviceID?) -> PasscodeLock? { devices[device]?.lock }

    mutating func put(_ lock: PasscodeLock) {
        registeredBytes += lock.registeredBytes - (self.lock(of: lock.key.device)?.registeredBytes ?? 0)
        change(lock.key.device) { $0.lock = lock }
    }

    /// Finds obsolete locks after a restart or a change of the application's settings.
    mutating func findObsoleteLocks(under settings: GateSettings) {
        obsoleteLocks = []
        guard settings.onboarding == nil || settings.passcode == nil else { return }
        obsoleteLocks = locks.lazy.filter { !$0.isBlank }.map(\.key).sorted(by: >).map(\.device)
    }

    /// Drops blank locks from the end of the obsolete ones: the steps that forget them begin there.
    mutating func trimObsoleteLocks() {
        while let last = obsoleteLocks.last, devices[last]?.lock?.isBlank != false { obsoleteLocks.removeLast() }
    }
}
