import ArgumentParser
import Foundation
import Router
import RouterPlugin
import RouterdApp

/// What every client of the daemon takes.
struct ServerOptions: ParsableArguments {
    @Option(help: "The daemon.")
    var server = "http://127.0.0.1:8080"
    @Option(help: "The API key; left out, ROUTERD_KEY is taken.")
    var key: String?
    @Flag(help: "Print the answer as it comes.")
    var json = false

    /// A client that may have so many requests under way.
    func client(requests: Int = 1) throws -> APIClient {
        try APIClient(
            server: server, key: key ?? ProcessInfo.processInfo.environment["ROUTERD_KEY"], requests: requests)
    }

    /// Asks the daemon; what it refuses is told, and ends the command with status 1.
    func send(
        _ method: WebhookRequest.Method = .post, path: String, headers: [HeaderField] = [], body: [UInt8] = []
    ) async throws -> JSONValue {
        let client = try client()
        defer { client.close() }
        let (status, answer): (Int, [UInt8])
        do { (status, answer) = try await client.send(method, path, headers: headers, body: body) } catch {
            Console.error("\(error)")
            throw ExitCode(1)
        }
        if json, !answer.isEmpty { Console.print(answer) }
        let value = (try? JSONValue(parsing: answer, limits: .configuration)) ?? .null
        guard (200...299).contains(status) else {
            if !json { Console.error("\(status) \(value["code"]?.asString ?? ""): \(value["detail"]?.asString ?? "")") }
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
            let terms = (query + [("cursor", cursor)]).compactMap { term in
                term.value.map { "\(term.name)=\(encoded($0))" }
            }
            let page = try await send(.get, path: terms.isEmpty ? path : "\(path)?\(terms.joined(separator: "&"))")
            if !json { entries += page[key]?.asArray ?? [] }
            cursor = page["cursor"]?.asString
        } while cursor != nil
        return entries
    }
}

/// A part of a path or a query.
func encoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~"))) ?? ""
}

/// What names a notification on the command line.
struct NotificationOptions: ParsableArguments {
    @Option(help: "The application.")
    var application: String
    @Option(help: "The device that it is for.")
    var device: String?
    @Argument(help: "A file with the payload; - is standard input.")
    var payload: String

    func path(_ verb: String) -> String {
        let query = device.map { "?device=\(encoded($0))" } ?? ""
        return "/v1/applications/\(encoded(application))/\(verb)\(query)"
    }
}

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Send a notification to a running daemon.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var notification: NotificationOptions
    @Option(help: "A key under which the same request may be repeated.")
    var idempotencyKey: String?

    func run() async throws {
        let headers = idempotencyKey.map { [HeaderField("idempotency-key", $0)] } ?? []
        let answer = try await server.send(
            path: notification.path("notifications"), headers: headers, body: try Console.read(notification.payload))
        guard !server.json else { return }
        let duplicate = answer["duplicate"] == true ? " (sent before)" : ""
        Console.print("\(answer["id"]?.asString ?? "") \(answer["state"]?.asString ?? "")\(duplicate)")
        Console.print(told(answer["decision"]))
    }
}

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show who would receive a notification, and why. Nothing is sent.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var notification: NotificationOptions

    func run() async throws {
        let answer = try await server.send(
            path: notification.path("explain"), body: try Console.read(notification.payload))
        guard !server.json else { return }
        Console.print(told(answer["decision"]))
        let columns = ["session", "tier", "can", "prefers", "activationState"]
        let rows = (answer["candidates"]?.asArray ?? []).map { candidate in
            columns.map { candidate[$0]?.asString ?? candidate[$0]?.asBool.map { "\($0)" } ?? "-" }
        }
        for line in aligned([columns] + rows) { Console.print("  " + line) }
    }

}

/// Rows as lines whose columns stand under one another.
func aligned(_ rows: [[String]]) -> [String] {
    let widths = rows.reduce([]) { widths, row in
        row.enumerated().map { max($1.count, widths.indices.contains($0) ? widths[$0] : 0) }
    }
    return rows.map { row in
        let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
        return cells.dropLast().joined(separator: "  ") + "  " + (row.last ?? "")
    }
}

/// A table of some fields of each entry; what is not there is a dash.
func table(_ columns: [String], of entries: [JSONValue]) -> [String] {
    aligned(
        [columns]
            + entries.map { entry in
                columns.map { column in
                    let value = entry[column]
                    return value?.asString ?? value?.asInt64.map(String.init) ?? value?.asBool.map { "\($0)" } ?? "-"
                }
            })
}

/// Who has it, and why; the reason names the tier.
private func told(_ decision: JSONValue?) -> String {
    let receiver = decision?["session"]?.asString ?? decision?["tier"]?.asString ?? ""
    return "→ \(receiver)  because \(decision?["reason"]?.asString ?? "")"
}
