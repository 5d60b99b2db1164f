import RouterPlugin

/// The sessions of each device. They are few, so they are kept as they come, and a question about a device looks at all
/// of them.
struct DeviceSlots {
    private var numbers: [DeviceID: UInt32] = [:]
    private var slots: [[UInt32]] = []
    private var names: [DeviceID] = []
    private var free: [UInt32] = []

    subscript(device: DeviceID) -> [UInt32] { numbers[device].map { slots[Int($0)] } ?? [] }

    /// Adds a session; returns the number of its device.
    mutating func insert(_ slot: UInt32, _ device: DeviceID) -> UInt32 {
        if let number = numbers[device] {
            slots[Int(number)].append(slot)
            return number
        }
        let number = free.popLast() ?? UInt32(slots.count)
        if Int(number) == slots.count {
            slots.append([slot])
            names.append(device)
        } else {
            slots[Int(number)] = [slot]
            names[Int(number)] = device
        }
        numbers[device] = number
        return number
    }

    /// Removes a session from the device with the number.
    mutating func remove(_ slot: UInt32, _ number: UInt32) {
        guard number != SessionRecord.noDevice else { return }
        slots[Int(number)].removeAll { $0 == slot }
        guard slots[Int(number)].isEmpty else { return }
        numbers[names[Int(number)]] = nil
        free.append(number)
    }
}
