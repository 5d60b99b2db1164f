import Foundation
import Glibc

/// Runs the daemon under strace. strace runs as a separate tracer, so that the started process is the daemon itself.
enum Strace {
    private static let command = ["strace", "-D", "-f", "-q"]

    /// Whether strace is installed, and permitted to trace.
    static let mayTrace: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command + ["-o", "/dev/null", "true"]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    static func killing(at call: String, _ count: Int) -> [String] {
        command + ["-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(count)"]
    }

    static func listing(_ calls: [String], in file: String) -> [String] {
        command + ["-o", file, "-e", "trace=\(calls.joined(separator: ","))"]
    }

    /// The number of calls of each kind, by the thread that made most of them. A line has the thread's number and the
    /// call.
    ///
    /// - Parameters:
    ///   - pid: The pid of the traced program, which has ended.
    ///   - list: Reads the list: strace goes on writing for a moment.
    static func count(_ calls: [String], of pid: pid_t, in list: () throws -> String) throws -> [String: Int] {
        var text = ""
        for _ in 0..<10_000 where !text.contains("\n\(pid) +++ ") { text = try list() }
        var made: [Substring: [Substring: Int]] = [:]
        for line in text.split(separator: "\n") {
            guard let call = line.prefixMatch(of: #/(\d+) +(\w+)\(/#) else { continue }
            made[call.2, default: [:]][call.1, default: 0] += 1
        }
        return Dictionary(uniqueKeysWithValues: calls.map { ($0, made[Substring($0)]?.values.max() ?? 0) })
    }
}
