import RouterPlugin

/// The sessions of each device, unordered. They are few, so a query about a device looks at all of them. A change does
/// not, because a device may have many.
struct DeviceSlots {
    private var numbers: [DeviceID: UInt32] = [:]
    private var slots: [[UInt32]] = []
    private var names: [DeviceID] = []
    private var free: [UInt32] = []
    /// By slot, its position in its device's list; as long as the highest slot with a device.
    private var positions: [UInt32] = []

    /// The slots of a device, in no order.
    subscript(device: DeviceID) -> [UInt32] { numbers[device].map { slots[Int($0)] } ?? [] }

    /// Adds a session; returns the number of its device.
    mutating func insert(_ slot: UInt32, _ device: DeviceID) -> UInt32 {
        let number = number(of: device)
        if positions.count <= Int(slot) {
            positions.append(contentsOf: repeatElement(0, count: Int(slot) + 1 - positions.count))
        }
        positions[Int(slot)] = UInt32(slots[Int(number)].count)
        slots[Int(number)].append(slot)
        return number
    }

    private mutating func number(of device: DeviceID) -> UInt32 {
        if let number = numbers[device] { return number }
        let number = free.popLast() ?? UInt32(slots.count)
        if Int(number) == slots.count {
            slots.append([])
            names.append(device)
        } else {
            names[Int(number)] = device
        }
        numbers[device] = number
        return number
    }

    /// Removes a session from the device with the number: the last session of the device takes its position.
    mutating func remove(_ slot: UInt32, _ number: UInt32) {
        guard number != SessionRecord.noDevice, let last = slots[Int(number)].popLast() else { return }
        if last != slot {
            let position = positions[Int(slot)]
            slots[Int(number)][Int(position)] = last
            positions[Int(last)] = position
        }
        guard slots[Int(number)].isEmpty else { return }
        slots[Int(number)] = []
        numbers[names[Int(number)]] = nil
        free.append(number)
    }
}
