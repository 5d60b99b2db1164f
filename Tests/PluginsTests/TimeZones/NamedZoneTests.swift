import Foundation
import Plugins
import Router
import RouterPlugin
import RouterTesting
import Testing

/// Time zones by their names.
struct NamedZoneTests {
    @Test(arguments: ["", "CET", "GMT+3", "Europe/Nowhere", "../etc/passwd", "europe berlin", "/etc/localtime"])
    func anotherNameIsNoZone(name: String) { #expect(ZoneOffsets(named: name) == nil) }

    /// 22:00 to 07:00 in each zone, against the calendar of Foundation.
    @Test(arguments: [
        "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
        "America/Sao_Paulo",
    ])
    func aWindowFollowsTheClockOfTheZone(name: String) throws {
        let zone = try #require(ZoneOffsets(named: name))
        let windows = TimeWindows([TimeWindow(startMinute: 22 * 60, endMinute: 7 * 60, zone: zone)])
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: name))
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            // 1980 to 2060.
            let seconds = Int64.random(in: 315_532_800..<2_840_140_800, using: &generator)
            let hour = calendar.component(.hour, from: Date(timeIntervalSince1970: Double(seconds)))
            let isOpen = windows.contains(Timestamp(milliseconds: seconds * 1000))
            #expect(isOpen == (hour >= 22 || hour < 7), "\(name) at \(seconds)")
        }
    }
}
