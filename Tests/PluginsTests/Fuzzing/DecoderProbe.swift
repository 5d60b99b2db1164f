import Plugins
import RouterPlugin
import RouterTesting

/// The laws of every request to every kind of source: `PayloadSourceSuite` has them. The caller finds traps.
///
/// An input is the letter of a kind, header fields and query parameters, an empty line, and the body:
///
///     d                                   the fourth kind of `BuiltInPlugins`
///     x-github-event: issues
///     ?access_token: s3cret               a query parameter
///
///     {"action": "opened"}
enum DecoderProbe {
    private struct Target: Sendable {
        let source: any PayloadSource
        let keepsBody: Bool
        let secrets: [SourceSecret]
    }

    /// Kinds that make a payload of parts of the body, for some bodies at least.
    private static let splitting = ["scene", "cloudevents", "github", "slack", "alertmanager", "grafana"]
    private static let options: [String: JSONValue] = [
        "hmac": [
            "header": "x-sig", "separator": ",", "timestampHeader": "x-time", "idHeader": "x-id",
            "signedContent": "{id}.{header.x-id}.{timestamp}.{body}",
        ],
        "grafana": ["timestampHeader": "x-time"],
    ]
    private static let secrets = [
        SourceSecret("s3cret:of-the-source"), SourceSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ]
    private static let targets: [Target] = BuiltInPlugins.sourceKinds.compactMap { kind in
        let name = String(kind.id.text.dropFirst("routerd.source.".count))
        guard let source = try? kind.make(options[name] ?? [:]) else { return nil }
        let isSplitting = splitting.contains(name)
        return Target(source: source, keepsBody: !isSplitting, secrets: secrets)
    }

    /// The number of kinds, each of which can be chosen.
    static var count: Int { targets.count }

    /// The fault that was found, if there is one.
    static func fault(in input: [UInt8]) -> String? {
        guard let letter = input.first else { return nil }
        let target = targets[Int(letter &- UInt8(ascii: "a")) % targets.count]
        let request = request(of: input.dropFirst())
        let violations = PayloadSourceSuite.violations(
            of: target.source, answering: request, keepsBody: target.keepsBody, secrets: secrets.map(\.text))
        if let violation = violations.first { return "\(target.source.id): \(violation)" }
        return refusalFault(target, request) ?? templateFault(target, request)
    }

    private static func request(of input: ArraySlice<UInt8>) -> SourceRequest {
        var rest = input
        if rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
        var headers: [(name: String, value: String)] = []
        var query: [(name: String, value: String)] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[..<end]
            rest = rest[(end + 1)...]
            guard !line.isEmpty else { break }
            let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            let name = String(decoding: line[..<colon], as: UTF8.self)
            let value = String(
                decoding: line[colon...].dropFirst().drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
            if name.utf8.first == UInt8(ascii: "?") {
                query.append((String(name.dropFirst()), value))
            } else {
                headers.append((name.lowercased(), value))
            }
        }
        return SourceRequest(query: query, headers: headers, body: Array(rest), receivedAt: arrival)
    }

    private static let arrival = Timestamp(milliseconds: 1_767_268_800_000)

    // MARK: Laws beside those of the suite

    /// A refusal by `verify` says nothing of the request.
    private static func refusalFault(_ target: Target, _ request: SourceRequest) -> String? {
        do throws(SourceError) {
            try target.source.verify(request, with: target.secrets)
            return nil
        } catch {
            let isRight =
                error.kind == .unauthenticated && error.offset == nil
                && PayloadSourceSuite.verificationCodes.contains(error.code)
            return isRight ? nil : "\(target.source.id): the refusal \(error)"
        }
    }

    /// The kind's own templates make content ids of its events.
    private static func templateFault(_ target: Target, _ request: SourceRequest) -> String? {
        guard let decoding = try? target.source.decode(request),
            let table = try? TemplateTable(target.source.defaults.contentID)
        else { return nil }
        for event in decoding.events {
            guard case .text(let text)? = table.evaluate(TemplateScope(request, event)) else { continue }
            if (try? ContentID(text)) == nil { return "\(target.source.id): the content id \(text.debugDescription)" }
        }
        return nil
    }
}
