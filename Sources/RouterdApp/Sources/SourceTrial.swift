import Foundation
import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// A sample request to a source, as a client describes it.
enum SourceSample {
    static func read(_ value: JSONValue, path: String, at now: Timestamp) throws(Problem) -> SourceRequest {
        var reader = try ObjectReader(value)
        let method = try reader.string("method") ?? "POST"
        let text = try reader.string("body")
        let encoded = try reader.string("bodyBase64")
        guard text == nil || encoded == nil else { throw reader.invalid("bodyBase64", "cannot stand beside body") }
        var body = Array((text ?? "").utf8)
        if let encoded {
            guard let bytes = Data(base64Encoded: encoded) else { throw reader.invalid("bodyBase64", "must be base64") }
            body = Array(bytes)
        }
        let headers = try fields("headers", &reader).map { ($0.name.lowercased(), $0.value) }
        let query = try fields("query", &reader)
        try reader.finish()
        return SourceRequest(
            method: method.uppercased(), path: path, query: query, headers: headers, body: body, receivedAt: now)
    }

    /// An object of texts.
    private static func fields(
        _ key: String, _ reader: inout ObjectReader
    ) throws(Problem) -> [(name: String, value: String)] {
        guard let value = reader.value(key) else { return [] }
        guard let object = value.asObject else {
            throw Problem(
                .badRequest, "wrong-type", "The field \(key) must be an object of strings.", pointer: "/\(key)")
        }
        var fields: [(name: String, value: String)] = []
        for member in object.members {
            guard let text = member.value.asString else {
                throw reader.invalid("\(key)/\(member.key)", "must be a string")
            }
            fields.append((member.key, text))
        }
        return fields
    }
}

/// The steps of a sample request through a source, with the result of each.
struct SourceTrial: Sendable {
    private enum Result: String {
        case ok, refused, skipped
    }

    private struct Step {
        var name: String
        var result: Result
        var detail: String
    }

    private var steps: [Step] = []
    /// The notifications that the request would become.
    private(set) var notifications: [SourceRun.Accepted] = []
    private var decisions: [(decision: Decision?, problem: Problem?)] = []
    private var isRefused = false

    init(_ run: SourceRun, of request: SourceRequest) {
        if let answer = run.handshake(request) {
            add("decode", .ok, "a handshake, answered \(answer.status)")
            return
        }
        guard run.methods.contains(request.method) else {
            isRefused = true
            let methods = run.methods.joined(separator: ", ")
            add("verify", .refused, "method-not-allowed: The source takes \(methods), not \(request.method).")
            return
        }
        if run.verifiesSender {
            attempt("verify", "the sender is known") { () throws(SourceError) in try run.verify(request) }
        } else {
            add("verify", .skipped, "the source has no secret: its sender needs an API key of the scope ingest")
        }
        var decoding = SourceDecoding([])
        attempt("decode", nil) { () throws(SourceError) in
            try Self.checkBody(of: request)
            decoding = try run.decode(request)
            try run.check(decoding)
        }
        if !isRefused { add("decode", .ok, Self.described(decoding)) }
        pass(decoding.events, by: run, request)
    }

    /// The checks that a real request passes before its source sees it.
    private static func checkBody(of request: SourceRequest) throws(SourceError) {
        if request.headers.contains(where: { $0.name == "content-encoding" && Request.isCompression($0.value) }) {
            throw SourceError(
                code: "content-encoding-not-supported", message: "A compressed body is not taken: send it as it is.")
        }
        guard request.body.count <= RouterLimits.payloadBytes else {
            throw SourceError(
                code: "body-too-large", message: "The body may have \(RouterLimits.payloadBytes) bytes.")
        }
    }

    private mutating func pass(_ events: [SourceEvent], by run: SourceRun, _ request: SourceRequest) {
        guard !isRefused else { return }
        var (leftOut, texts): (Int, [String]) = (0, [])
        do throws(SourceError) {
            for event in events {
                guard let accepted = try run.outcome(of: event, in: request) else {
                    leftOut += 1
                    continue
                }
                notifications.append(accepted)
                texts.append(accepted.notification.contentID?.text ?? "no content id")
            }
        } catch {
            notifications = []
            addFilter(run, leftOut, of: events.count)
            isRefused = true
            return add("template", .refused, "\(error.code): \(error.message)")
        }
        addFilter(run, leftOut, of: events.count)
        if !notifications.isEmpty { add("template", .ok, texts.joined(separator: ", ")) }
    }

    private mutating func addFilter(_ run: SourceRun, _ leftOut: Int, of count: Int) {
        guard run.definition.filter != nil else { return add("filter", .skipped, "the source has no filter") }
        add("filter", leftOut == count ? .refused : .ok, "\(count - leftOut) of \(count) events pass")
    }

    private mutating func attempt(_ step: String, _ detail: String?, _ body: () throws(SourceError) -> Void) {
        guard !isRefused else { return }
        do throws(SourceError) {
            try body()
            if let detail { add(step, .ok, detail) }
        } catch {
            isRefused = true
            add(step, .refused, "\(error.code): \(error.message)")
        }
    }

    private mutating func add(_ name: String, _ result: Result, _ detail: String) {
        steps.append(Step(name: name, result: result, detail: detail))
    }

    private static func described(_ decoding: SourceDecoding) -> String {
        let types = decoding.events.map { $0.type ?? "an event without a type" }
        if let response = decoding.response, decoding.events.isEmpty { return "answered \(response.status), no event" }
        return "\(types.count) events: \(types.prefix(10).joined(separator: ", "))"
    }

    /// Adds the decisions about the notifications, in their order.
    mutating func decide(_ decisions: [(decision: Decision?, problem: Problem?)]) {
        self.decisions = decisions
        guard !decisions.isEmpty else { return }
        let told = decisions.map { item in
            item.problem?.detail
                ?? item.decision.map { "\($0.session?.text ?? $0.tier.rawValue), because \($0.reason)" } ?? ""
        }
        add("explain", decisions.contains { $0.problem != nil } ? .refused : .ok, told.joined(separator: "; "))
    }

    var body: [UInt8] {
        JSONWriter.object { body in
            body.array("steps") { list in
                for step in steps {
                    list.object {
                        $0.field("step", step.name)
                        $0.field("result", step.result.rawValue)
                        $0.field("detail", step.detail)
                    }
                }
            }
            body.array("notifications") { list in
                for (accepted, decided) in zip(notifications, decisions) {
                    list.object { item in
                        item.field("contentId", accepted.notification.contentID)
                        item.field("device", accepted.device)
                        item.field("type", accepted.event.type)
                        item.field("priority", accepted.notification.priority.rawValue)
                        item.array("dedupeKeys") { keys in
                            for key in accepted.notification.dedupeKeys { keys.element(key) }
                        }
                        if let decision = decided.decision {
                            item.object("decision") { NotificationBody.write(decision, to: &$0) }
                        }
                    }
                }
            }
        }
    }
}
