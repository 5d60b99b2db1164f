import RouterPlugin
import RouterTesting
import Testing

@testable import Router

@Suite("Sessions of devices") struct DeviceSlotsTests {
    @Test("Each device has the sessions that were added to it and not removed", arguments: 0..<4 as Range<UInt64>)
    func history(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var devices = DeviceSlots()
        var expected: [DeviceID: Set<UInt32>] = [:]
        var homes: [UInt32: (number: UInt32, device: DeviceID)] = [:]
        for step in 0..<3000 {
            let slot = UInt32.random(in: 0..<300, using: &random)
            if let home = homes.removeValue(forKey: slot) {
                devices.remove(slot, home.number)
                expected[home.device]?.remove(slot)
            } else if step < 2500 {
                // One of the five devices has most of the sessions.
                let device = DeviceID(unchecked: "d\(max(Int.random(in: -8..<5, using: &random), 0))")
                homes[slot] = (devices.insert(slot, device), device)
                expected[device, default: []].insert(slot)
            }
            if step % 100 == 99 {
                for (device, slots) in expected {
                    #expect(Set(devices[device]) == slots && devices[device].count == slots.count)
                }
                #expect(Set(homes.values.map(\.number)).count == expected.values.count { !$0.isEmpty })
            }
        }
        devices.remove(7, SessionRecord.noDevice)
        for (slot, home) in homes { devices.remove(slot, home.number) }
        for device in expected.keys { #expect(devices[device].isEmpty) }
        #expect(devices.insert(0, DeviceID(unchecked: "new")) < 5, "a number is used again")
    }
}
