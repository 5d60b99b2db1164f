import ArgumentParser
import Glibc
import Router
import RouterPlugin
import RouterdApp

struct ShowPasscode: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode", abstract: "Show the state and the policy of a device's passcode.",
        discussion: """
            EXAMPLES
              routerd gates passcode --device till-3
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var gate: GateOptions

    func run() async throws {
        let query = gate.device.map { "?device=\(encoded($0))" } ?? ""
        let answer = try await server.send(.get, path: "\(gate.path)/passcode\(query)")
        guard !server.json else { return }
        var rows = [["created", answer["isCreated"] == true ? answer["chosenAt"]?.asString ?? "yes" : "no"]]
        let tries = answer["triesRemaining"]?.asInt64 ?? -1
        rows.append(["tries remaining", tries < 0 ? "unlimited" : "\(tries)"])
        if let time = answer["notBefore"]?.asString { rows.append(["no try before", time]) }
        if let time = answer["locksAt"]?.asString { rows.append(["locks at", time]) }
        if answer["mustBeChanged"] == true { rows.append(["must be changed", "yes"]) }
        rows.append(["device key", answer["hasDeviceKey"] == true ? "yes" : "no"])
        for issuer in answer["issuers"]?.asArray ?? [] {
            rows.append(["issuer", "\(issuer["issuer"]?.asString ?? "") for \(issuer["audience"]?.asString ?? "")"])
        }
        if let party = answer["webAuthn"]?["rpId"]?.asString { rows.append(["relying party", party]) }
        for member in answer["policy"]?.asObject?.members ?? [] {
            rows.append([member.key, String(decoding: member.value.serialized(), as: UTF8.self)])
        }
        for line in Table.aligned([], rows) { Console.print(line) }
    }
}

struct CheckPasscode: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-passcode",
        abstract: "Say what a passcode, read from standard input, does not meet. Nothing is kept.",
        discussion: """
            Ends with status 1 if it does not meet the policy of the application.

            EXAMPLES
              routerd gates check-passcode --application com.example.Gallery < passcode.txt
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var application: ApplicationOption

    func run() async throws {
        // Every user of the machine could read a passcode in an argument.
        let line = try Console.secretLine()
        let body = JSONWriter.object { $0.field("passcode", String(decoding: line, as: UTF8.self)) }
        let path = "\(application.path)/gate/passcode/check"
        let answer = try await server.send(path: path, body: body)
        let faults = answer["faults"]?.asArray ?? []
        if !server.json {
            for fault in faults {
                Console.print("\(fault["rule"]?.asString ?? ""): \(fault["message"]?.asString ?? "")")
            }
        }
        guard answer["meetsPolicy"] == true else { throw ExitCode(1) }
    }
}

extension Console {
    /// The first line of standard input, without its end; text that is typed at a terminal is not shown there.
    static func secretLine() throws -> ArraySlice<UInt8> {
        var settings = termios()
        let isTerminal = tcgetattr(STDIN_FILENO, &settings) == 0
        if isTerminal {
            var silent = settings
            silent.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        }
        defer { if isTerminal { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) } }
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        // Far beyond what a passcode may have: the daemon says that it is too long.
        while bytes.count < 1 << 16 {
            let count = Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        return bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes[...]
    }
}
