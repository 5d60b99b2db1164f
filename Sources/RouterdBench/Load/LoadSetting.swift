import Foundation
package import RouterPlugin
import RouterdApp

/// The circumstances of a load run: when, where and by which command.
package struct LoadSetting: Hashable, Sendable {
    package var startedAt: Timestamp?
    /// The name of the machine that made the load.
    package var host = ""
    /// Kernel and architecture.
    package var system = ""
    package var processors = 0
    /// The name of the processors.
    package var processor = ""
    /// The time of a durable write beside the daemon's database, the median; nil if that disk is not known.
    package var syncMilliseconds: Double?
    /// The version of the program that made the load; the daemon's own is in `daemonVersion`.
    package var version = RouterdVersion.current
    package var daemonVersion: String?
    /// The command line without its key.
    package var commandLine = ""

    package init() {}

    /// The circumstances of this process.
    package static func current(arguments: [String], at now: Timestamp) -> LoadSetting {
        var setting = LoadSetting()
        setting.startedAt = now
        setting.host = ProcessInfo.processInfo.hostName
        var names = utsname()
        if uname(&names) == 0 {
            setting.system = "\(text(names.sysname)) \(text(names.release)) \(text(names.machine))"
        }
        setting.processors = ProcessInfo.processInfo.activeProcessorCount
        setting.processor = processor(in: (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? "")
        setting.commandLine = withoutKey(arguments).joined(separator: " ")
        return setting
    }

    /// The first name of a processor in `/proc/cpuinfo`; empty if it has none, as on ARM.
    static func processor(in text: String) -> String {
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return line.flatMap { $0.split(separator: ":", maxSplits: 1).last }.map {
            $0.split(separator: " ").joined(separator: " ")
        } ?? ""
    }

    /// The number and the name of the processors.
    var processorsShown: String {
        processors > 0 ? "\(processors) processors\(processor.isEmpty ? "" : " \(processor)")" : ""
    }

    /// The median time of durable writes in a folder, in milliseconds; nil if it cannot be written.
    package static func syncMilliseconds(in folder: String) -> Double? {
        let times = DiskProbe.syncMilliseconds(in: folder, count: 25).sorted()
        return times.isEmpty ? nil : times[times.count / 2]
    }

    /// The arguments with the value of `--key` hidden.
    static func withoutKey(_ arguments: [String]) -> [String] {
        var hidesNext = false
        return arguments.enumerated().map { place, argument in
            defer { hidesNext = argument == "--key" }
            if hidesNext { return "…" }
            if place == 0 { return URL(filePath: argument).lastPathComponent }
            return argument.hasPrefix("--key=") ? "--key=…" : argument
        }
    }

    /// The text of a fixed array of characters that ends with a zero.
    private static func text<Characters>(_ characters: Characters) -> String {
        withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    func write(to object: inout JSONObjectWriter) {
        object.field("startedAt", startedAt)
        object.field("host", host)
        object.field("system", system)
        object.field("processors", processors)
        object.field("processor", processor)
        object.field("syncMilliseconds", syncMilliseconds)
        object.field("version", version)
        object.field("daemonVersion", daemonVersion)
        object.field("commandLine", commandLine)
    }
}
