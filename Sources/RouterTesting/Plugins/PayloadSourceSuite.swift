public import RouterPlugin

/// The laws that every payload source must keep, whatever format it accepts.
///
/// Use it from any test framework, with a few requests that the source accepts:
///
///     #expect(PayloadSourceSuite.violations(of: MySource(), accepting: examples, seed: 1) == [])
///
/// The suite checks that
/// 1. the name is well-formed;
/// 2. the examples are accepted, and each event is well-formed (see `check`);
/// 3. the same request gives the same answer, sent twice and sent in another order;
/// 4. broken, random, huge and oddly headed requests are answered or refused with a `SourceError` whose code is in
///    kebab-case, whose message is one line of at most `maximumMessageLength` bytes, and whose offset is in the body;
/// 5. no message quotes the request or a secret;
/// 6. no example is a handshake, and handshakes are answered in HTTP's form and alike each time.
///
/// A source that traps ends the test process, which is a finding too.
public enum PayloadSourceSuite: Sendable {
    /// The maximum length of an error's message in bytes.
    public static let maximumMessageLength = 500

    /// The laws that the source breaks, one sentence each; empty if it conforms.
    ///
    /// - Parameters:
    ///   - source: The source under test.
    ///   - examples: Requests that the source accepts, at least one.
    ///   - keepsBody: Whether the source promises that an event's payload is the request's body, byte for byte.
    ///   - secrets: Texts that no message may contain, such as the secret that the source verifies with.
    ///   - seed: Selects the hostile requests.
    public static func violations(
        of source: any PayloadSource, accepting examples: [SourceRequest], keepsBody: Bool = true,
        secrets: [String] = [], seed: UInt64
    ) -> [String] {
        var violations = Violations()
        violations.requireWellFormed(source.id, again: source.id)
        violations.require(!examples.isEmpty, "examples: there must be at least one request that the source takes")
        for (place, example) in examples.enumerated() {
            guard case .failure(let error) = answer(of: source, to: example) else { continue }
            violations.add("examples: number \(place) is refused with \(error.code)")
        }
        for (place, example) in examples.enumerated() where source.handshake(example) != nil {
            violations.add("handshake: example \(place) is answered as a handshake, and its events are lost")
        }
        let requests = examples + HostileRequests.all(from: examples, seed: seed)
        let answers = requests.map { request in
            answer(of: source, to: request, keepsBody: keepsBody, secrets: secrets, &violations)
        }
        var generator = SeededGenerator(seed: ~seed)
        for place in requests.indices.shuffled(using: &generator) {
            let again = Self.answer(of: source, to: requests[place])
            violations.require(again == answers[place], "determinism: the same request is answered differently")
        }
        return violations.list
    }

    /// The laws that the source breaks for one request, accepted or not; empty if it keeps them.
    package static func violations(
        of source: any PayloadSource, answering request: SourceRequest, keepsBody: Bool, secrets: [String] = []
    ) -> [String] {
        var violations = Violations()
        let first = answer(of: source, to: request, keepsBody: keepsBody, secrets: secrets, &violations)
        violations.require(
            answer(of: source, to: request) == first, "determinism: the same request is answered differently")
        return violations.list
    }

    typealias Answer = Result<SourceDecoding, SourceError>

    private static func answer(
        of source: any PayloadSource, to request: SourceRequest, keepsBody: Bool, secrets: [String],
        _ violations: inout Violations
    ) -> Answer {
        for method in source.methods {
            checkHandshake(of: source, request.replacing(method: method), into: &violations)
        }
        let answer = answer(of: source, to: request)
        switch answer {
        case .success(let decoding): check(decoding, of: request, keepsBody: keepsBody, into: &violations)
        case .failure(let error): check(error, of: request, secrets: secrets, into: &violations)
        }
        return answer
    }

    private static func answer(of source: any PayloadSource, to request: SourceRequest) -> Answer {
        do {
            return .success(try source.decode(request))
        } catch {
            return .failure(error)
        }
    }

    private static func check(
        _ decoding: SourceDecoding, of request: SourceRequest, keepsBody: Bool, into violations: inout Violations
    ) {
        violations.require(
            !decoding.events.isEmpty || decoding.response != nil,
            "events: a request was taken, but carries none and has no answer of its own")
        if let response = decoding.response {
            check(response, "response", into: &violations)
        }
        for event in decoding.events {
            if keepsBody {
                violations.require(event.payload == request.body, "payload: is not the body byte for byte")
            }
            if let id = event.contentID {
                violations.require((try? ContentID(id.text)) != nil, "contentID: is not a well-formed content id")
            }
            let keys = event.dedupeKeys + event.releasedKeys + [event.collapseID].compactMap { $0 }
            violations.require(keys.allSatisfy { !$0.isEmpty }, "keys: a dedupe key or collapse id is empty")
            violations.require(keys.allSatisfy { $0.utf8.count <= 512 }, "keys: one is longer than 512 bytes")
            violations.require(keys.allSatisfy(isOneLine), "keys: one has control characters")
        }
    }

    private static func checkHandshake(
        of source: any PayloadSource, _ request: SourceRequest, into violations: inout Violations
    ) {
        let response = source.handshake(request)
        violations.require(
            source.handshake(request) == response, "determinism: the same handshake is answered differently")
        if let response { check(response, "handshake", into: &violations) }
    }

    private static func check(_ response: SourceResponse, _ part: String, into violations: inout Violations) {
        violations.require((100...599).contains(response.status), "\(part): the status is none of HTTP's")
        for field in response.headers {
            violations.require(
                !field.name.isEmpty && field.name == field.name.lowercased(),
                "\(part): the name of a header is empty or not in lower case")
            violations.require(isOneLine(field.name + field.value), "\(part): a header has control characters")
        }
    }

    private static func check(
        _ error: SourceError, of request: SourceRequest, secrets: [String], into violations: inout Violations
    ) {
        violations.require(isKebabCase(error.code), "errors: the code \(error.code) is not in kebab-case")
        violations.require(!error.message.isEmpty, "errors: the message of \(error.code) is empty")
        violations.require(
            error.message.utf8.count <= maximumMessageLength, "errors: the message of \(error.code) is too long"
        )
        violations.require(isOneLine(error.message), "errors: the message of \(error.code) has control characters")
        if let offset = error.offset {
            violations.require(
                (0...request.body.count).contains(offset), "errors: the offset of \(error.code) is outside of the body"
            )
        }
        let forbidden = secrets + [HostileRequests.canary]
        violations.require(
            !forbidden.contains { !$0.isEmpty && error.message.contains($0) },
            "errors: the message of \(error.code) quotes the request or a secret"
        )
    }
}

extension SourceRequest {
    fileprivate func replacing(method: String) -> SourceRequest {
        SourceRequest(
            method: method, path: path, query: query, headers: headers, body: body, receivedAt: receivedAt)
    }
}
