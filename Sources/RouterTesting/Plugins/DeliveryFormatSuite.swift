public import RouterPlugin

/// The laws that every delivery format must keep, whatever it renders.
///
/// Use it from any test framework:
///
///     #expect(DeliveryFormatSuite.violations(of: MyFormat(), seed: 1) == [])
///
/// The suite checks that
/// 1. the name is well-formed;
/// 2. every ordinary message is rendered: notifications of every kind, to sessions in every state, and events;
/// 3. the same message gives the same request, rendered twice and rendered in another order;
/// 4. a request can be sent: header fields are well-formed and none of the router's, and all is within
///    `DeliveryFormatLimits`;
/// 5. a body declared as JSON is JSON, whatever ids and payloads hold;
/// 6. hostile and huge messages are rendered or refused with a `DeliveryFormatError` whose code is in kebab-case and
///    whose message is one line of at most `maximumMessageLength` bytes that does not quote the payload.
///
/// A format that traps ends the test process, which is a finding too.
public enum DeliveryFormatSuite: Sendable {
    /// The maximum length of an error's message in bytes.
    public static let maximumMessageLength = 500

    /// The laws that the format breaks, one sentence each; empty if it conforms.
    ///
    /// - Parameters:
    ///   - format: The format under test.
    ///   - seed: Selects the hostile messages.
    public static func violations(
        of format: any DeliveryFormat, seed: UInt64
    ) -> [String] {
        var violations = Violations()
        violations.requireWellFormed(format.id, again: format.id)
        let ordinary = DeliveryMessages.ordinary
        for message in ordinary {
            guard case .failure(let error) = answer(of: format, to: message) else { continue }
            violations.add("ordinary: a message of the type \(message.type) is refused with \(error.code)")
        }
        let all = ordinary + DeliveryMessages.hostile(seed: seed)
        var answers: [Answer] = []
        for message in all {
            let answer = answer(of: format, to: message)
            answers.append(answer)
            switch answer {
            case .success(let request): check(request, into: &violations)
            case .failure(let error): check(error, into: &violations)
            }
        }
        var generator = SeededGenerator(seed: ~seed)
        for place in all.indices.shuffled(using: &generator) {
            let again = Self.answer(of: format, to: all[place])
            violations.require(again == answers[place], "determinism: the same message is rendered differently")
        }
        return violations.list
    }

    typealias Answer = Result<RenderedRequest, DeliveryFormatError>

    private static func answer(of format: any DeliveryFormat, to message: DeliveryMessage) -> Answer {
        do {
            return .success(try format.render(message))
        } catch {
            return .failure(error)
        }
    }

    private static func check(_ request: RenderedRequest, into violations: inout Violations) {
        if let fault = request.fault { violations.add("request: \(fault.message)") }
        guard MediaType.isJSON(request.contentType), request.body.count <= DeliveryFormatLimits.bodyBytes else {
            return
        }
        let limits = JSONLimits(maximumBytes: DeliveryFormatLimits.bodyBytes, maximumDepth: JSONLimits.deepest)
        let isJSON = (try? JSONValue(parsing: request.body, limits: limits)) != nil
        violations.require(isJSON, "body: is said to be JSON, and is none")
    }

    private static func check(_ error: DeliveryFormatError, into violations: inout Violations) {
        violations.require(isKebabCase(error.code), "errors: the code \(error.code) is not in kebab-case")
        violations.require(!error.message.isEmpty, "errors: the message of \(error.code) is empty")
        violations.require(
            error.message.utf8.count <= maximumMessageLength, "errors: the message of \(error.code) is too long")
        violations.require(isOneLine(error.message), "errors: the message of \(error.code) has control characters")
        violations.require(
            !error.message.contains(HostileRequests.canary), "errors: the message of \(error.code) quotes the payload")
    }
}
