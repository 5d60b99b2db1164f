import Router
import RouterPlugin

/// Reads the answers of receivers: `{"session": {…}}`, with the fields of a patch, or `{"configuration": "…"}` where
/// the delegate was asked for a configuration.
enum AnswerReader {
    /// The answer; nil if it has nothing that is meant for the router.
    ///
    /// - Parameter event: The event that the receiver was told; nil for a notification.
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
            // A body without `session` is no fault: receivers have always been free to answer with any body.
            guard let session = body["session"] else { return nil }
            return .change(try SessionBody.readAnswer(session, beside: body))
        } catch {
            return .unreadable(code: error.code)
        }
    }

    private static func parse(_ body: [UInt8]) throws(Problem) -> JSONValue {
        do { return try JSONValue(parsing: body) } catch { throw Problem(error) }
    }

    /// Whether the content type is JSON, whatever parameters it has.
    private static func isJSON(_ contentType: String) -> Bool {
        let type = contentType.split(separator: ";", maxSplits: 1).first ?? ""
        return type.lowercased().trimmingPrefix { $0 == " " }.split(separator: " ").first == "application/json"
    }
}
