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
        setting.commandLine = withoutKey(arguments).joined(separator: " ")
        return setting
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
        object.field("version", version)
        object.field("daemonVersion", daemonVersion)
        object.field("commandLine", commandLine)
    }
}
