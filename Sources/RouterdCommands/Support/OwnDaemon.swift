import ArgumentParser
import Dispatch
import Foundation
import Glibc
import Synchronization

/// A daemon of this program, started for a command, with a database in a folder of its own.
///
/// Thread-safe.
final class OwnDaemon: Sendable {
    let address: String
    /// The folder of its database.
    let folder: URL
    private let process: Mutex<Process>

    private init(_ process: sending Process, address: String, in folder: URL) {
        (self.address, self.folder) = (address, folder)
        self.process = Mutex(process)
    }

    /// Starts the daemon and waits until it listens.
    static func start() throws -> OwnDaemon {
        let folder = FileManager.default.temporaryDirectory.appending(path: "routerd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        do {
            let (process, address) = try launch(in: folder, listen: "127.0.0.1:0")
            return OwnDaemon(process, address: address, in: folder)
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    private static func launch(in folder: URL, listen: String) throws -> (process: Process, address: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "serve", "--listen", listen, "--database", folder.appending(path: "routerd.sqlite").path,
            "--end-with-input",
        ]
        // Nothing is written to it: it ends with this process, whatever ends that.
        process.standardInput = Pipe()
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
                return (process, String(found.output.1))
            }
        }
        process.waitUntilExit()
        Console.error("the daemon did not start:\n\(log)")
        throw ExitCode(1)
    }

    /// Ends the process as a power cut would; its database stays.
    @Sendable func kill() async throws {
        try await Self.onThread { [self] in
            process.withLock { process in
                _ = Glibc.kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
            }
        }
    }

    /// Starts the daemon again, at the same address and with the same database.
    @Sendable func restart() async throws {
        let listen = String(address.dropFirst("http://".count))
        try await Self.onThread { [self] in
            try process.withLock { $0 = try Self.launch(in: folder, listen: listen).process }
        }
    }

    /// Ends the daemon and removes its folder.
    func end() {
        process.withLock { process in
            process.terminate()
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Runs work that waits for a process; the tasks of the run keep their threads.
    private static func onThread(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            DispatchQueue.global().async { done.resume(with: Result(catching: work)) }
        }
    }
}
