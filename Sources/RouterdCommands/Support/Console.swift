import Glibc
import RouterPlugin

/// Where the command line reads and writes.
enum Console {
    static func print(_ text: String) { write(Array((Terminal.printable(text) + "\n").utf8), to: STDOUT_FILENO) }

    static func error(_ text: String, terminator: String = "\n") {
        write(Array((Terminal.printable(text) + terminator).utf8), to: STDERR_FILENO)
    }

    /// Prints a document; an answer of the API has a line end already. In a terminal the control characters that JSON leaves
    /// alone are escaped; a script receives the bytes as they are.
    static func print(_ bytes: [UInt8]) {
        let bytes = Terminal.isOutput ? Array(Terminal.printable(String(decoding: bytes, as: UTF8.self)).utf8) : bytes
        write(bytes.last == UInt8(ascii: "\n") ? bytes : bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO)
    }

    /// Writes all of it; a reader that has gone away ends the command.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { exit(1) }
            rest = rest.dropFirst(count)
        }
    }

    /// Prints a document with a line a member, indented.
    static func print(indented value: JSONValue) { print(value.indented()) }

    /// The bytes that an argument names: those of standard input for `-`, else of a file, with or without `@`.
    static func read(argument: String) throws -> [UInt8] {
        try read(argument.hasPrefix("@") ? String(argument.dropFirst()) : argument)
    }

    /// Makes a file with these bytes, or replaces its content.
    static func write(_ bytes: [UInt8], toFile path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw UnwritableFile(path: path, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw UnwritableFile(path: path, reason: String(cString: strerror(errno))) }
            rest = rest.dropFirst(count)
        }
    }

    /// All of standard input, or of a file; `-` is standard input.
    static func read(_ path: String) throws -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw UnreadableFile(path: path, reason: String(cString: strerror(errno))) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw UnreadableFile(path: path, reason: String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// Shows each line of a file with its number from 1, without its end, while reading it, so that the whole need not
    /// be in memory. The last line need not have an end.
    static func forEachLine(of path: String, _ body: (_ number: Int, _ line: ArraySlice<UInt8>) throws -> Void) throws {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw UnreadableFile(path: path, reason: String(cString: strerror(errno))) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var (waiting, number): ([UInt8], Int) = ([], 0)
        func show(_ line: ArraySlice<UInt8>) throws {
            number += 1
            try body(number, line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw UnreadableFile(path: path, reason: String(cString: strerror(errno))) }
            if count == 0 { break }
            waiting.append(contentsOf: chunk[..<count])
            var start = waiting.startIndex
            while let end = waiting[start...].firstIndex(of: UInt8(ascii: "\n")) {
                try show(waiting[start..<end])
                start = end + 1
            }
            waiting.removeSubrange(..<start)
        }
        if !waiting.isEmpty { try show(waiting[...]) }
    }

    /// The lines that are not empty, without their ends, and their numbers from 1; the last one need not have an end.
    static func lines(_ bytes: [UInt8]) -> [(number: Int, bytes: ArraySlice<UInt8>)] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
            .map { ($0 + 1, $1.last == UInt8(ascii: "\r") ? $1.dropLast() : $1) }
            .filter { !$0.1.isEmpty }
    }
}

/// A file that cannot be read.
struct UnreadableFile: Error, CustomStringConvertible {
    let path: String
    let reason: String
    var description: String { "\(path) cannot be read: \(reason)" }
}

/// A file that cannot be written.
struct UnwritableFile: Error, CustomStringConvertible {
    let path: String
    let reason: String
    var description: String { "\(path) cannot be written: \(reason)" }
}
