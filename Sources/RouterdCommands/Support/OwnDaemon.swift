import ArgumentParser
import Foundation

/// A daemon of this program, started for a command, with a database in a folder of its own.
struct OwnDaemon {
    let address: String
    private let process: Process
    private let folder: URL

    /// Starts the daemon and waits until it listens.
    static func start() throws -> OwnDaemon {
        let folder = FileManager.default.temporaryDirectory.appending(path: "routerd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "serve", "--listen", "127.0.0.1:0", "--database", folder.appending(path: "routerd.sqlite").path,
        ]
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("ROUTERD_") }
        let errors = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        try process.run()
        var log = ""
        while case let bytes = errors.fileHandleForReading.availableData, !bytes.isEmpty {
            log += String(decoding: bytes, as: UTF8.self)
            if let found = log.firstMatch(of: /listening on (http:\/\/\S+)\n/) {
                // The rest of its log goes nowhere, and must not fill the pipe.
                errors.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
                return OwnDaemon(address: String(found.output.1), process: process, folder: folder)
            }
        }
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
        Console.error("the daemon did not start:\n\(log)")
        throw ExitCode(1)
    }

    func end() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
