import ArgumentParser
import Foundation
import Router
import RouterPlugin
import RouterdApp

/// The options of every client of the daemon.
struct ServerOptions: ParsableArguments {
    @Option(
        name: .customLong("server"),
        help: ArgumentHelp("The daemon; left out, ROUTERD_SERVER, or http://127.0.0.1:8080.", valueName: "server"))
    var givenServer: String?
    @Option(
        name: .customLong("key"), help: ArgumentHelp("The API key; left out, ROUTERD_KEY.", valueName: "key"))
    var givenKey: String?
    @Flag(help: "Print the answer as it comes.")
    var json = false

    func validate() throws {
        guard !server.hasPrefix("http://"), !server.hasPrefix("https://") else { return }
        let name = givenServer == nil ? "ROUTERD_SERVER" : "--server"
        throw ValidationError("\(name) must begin with http:// or https://; '\(server)' does not.")
    }

    var server: String { givenServer ?? Environment["ROUTERD_SERVER"] ?? "http://127.0.0.1:8080" }
    var key: String? { givenKey ?? Environment["ROUTERD_KEY"] }

    /// A client that may have this number of requests under way.
    func client(requests: Int = 1) throws -> APIClient {
        try APIClient(server: server, key: key, requests: requests)
    }

    /// Asks the daemon. A refusal is printed, and ends the command with status 1.
    ///
    /// - Parameters:
    ///   - isQuiet: Whether the answer is not printed, even with `--json`.
    ///   - sentence: The text of a refusal; nil takes its detail.
    func send(
        _ method: WebhookRequest.Method = .post, path: String, headers: [HeaderField] = [], body: [UInt8] = [],
        isQuiet: Bool = false, sentence: (JSONValue) -> String? = { _ in nil }
    ) async throws -> JSONValue {
        let client = try client()
        defer { client.close() }
        let (status, answer): (Int, [UInt8])
        do { (status, answer) = try await client.send(method, path, headers: headers, body: body) } catch {
            Console.error("\(error)")
            throw ExitCode(1)
        }
        let isRefused = !(200...299).contains(status)
        if json, !answer.isEmpty, isRefused || !isQuiet { Console.print(answer) }
        let limits = JSONLimits(maximumBytes: DaemonLimits.batchBytes, maximumDepth: JSONLimits.deepest)
        let value = (try? JSONValue(parsing: answer, limits: limits)) ?? .null
        guard !isRefused else {
            let text = sentence(value) ?? value["detail"]?.asString ?? ""
            if !json { Console.error("\(status) \(value["code"]?.asString ?? ""): \(text)") }
            throw ExitCode(1)
        }
        return value
    }
}

extension ServerOptions {
    /// All entries of a list, page after page; as they come they are printed page by page.
    func list(_ path: String, _ query: [(name: String, value: String?)], of key: String) async throws -> [JSONValue] {
        var entries: [JSONValue] = []
        var cursor: String?
        repeat {
            let page = try await send(.get, path: path + Self.query(query + [("cursor", cursor)]))
            if !json { entries += page[key]?.asArray ?? [] }
            cursor = page["cursor"]?.asString
        } while cursor != nil
        return entries
    }

    /// The entries of the first page of a list.
    func page(_ path: String, _ query: [(name: String, value: String?)], of key: String) async throws -> [JSONValue] {
        let page = try await send(.get, path: path + Self.query(query))
        if !json, page["cursor"]?.asString != nil { Console.error("there are more; --all shows them") }
        return page[key]?.asArray ?? []
    }

    /// A query with its question mark; empty if no term has a value.
    static func query(_ terms: [(name: String, value: String?)]) -> String {
        let written = terms.compactMap { term in term.value.map { "\(term.name)=\(encoded($0))" } }
        return written.isEmpty ? "" : "?" + written.joined(separator: "&")
    }
}

/// A part of a path or a query.
func encoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~"))) ?? ""
}

/// The option of every command that prints a table.
struct TableOptions: ParsableArguments {
    @Flag(help: "Show all fields in the table.")
    var wide = false
}

/// A JSON object of some fields, for bodies.
func object(_ fields: [(name: String, value: String?)]) -> [UInt8] {
    JSONWriter.object { object in
        for field in fields { if let value = field.value { object.field(field.name, value) } }
    }
}
