import Router
import RouterPlugin

/// Reads what receivers answer: `{"session": {…}}`, in the words of a patch, or `{"configuration": "…"}` where the delegate
/// was asked for that.
enum AnswerReader {
    /// What was answered; nil if nothing that is meant for the router.
    ///
    /// - Parameter event: What the receiver was told; nil for a notification.
    static func read(_ result: TransferResult, to event: SceneEventKind?) -> ReceiverAnswer? {
        guard case .response(let response) = result.outcome, (200...299).contains(response.status),
            !response.body.isEmpty, response.contentType.map(isJSON) == true
        else { return nil }
        guard !response.bodyTruncated else { return .unreadable(code: "answer-too-large") }
        do {
            let body = try parse(response.body)
            if event == .configurationForConnecting {
                guard let value = body["configuration"], value != .null else { return nil }
                guard let name = value.asString else { return .unreadable(code: "wrong-type") }
                return .configuration(name)
            }
            // Receivers have always answered what they liked.
            guard let session = body["session"] else { return nil }
            return .change(try SessionBody.readAnswer(session, beside: body))
        } catch {
            return .unreadable(code: error.code)
        }
    }

    private static func parse(_ body: [UInt8]) throws(Problem) -> JSONValue {
        do { return try JSONValue(parsing: body) } catch { throw Problem(error) }
    }

    /// Whether it is JSON, whatever parameters the type has.
    private static func isJSON(_ contentType: String) -> Bool {
        let type = contentType.split(separator: ";", maxSplits: 1).first ?? ""
        return type.lowercased().trimmingPrefix { $0 == " " }.split(separator: " ").first == "application/json"
    }
}
