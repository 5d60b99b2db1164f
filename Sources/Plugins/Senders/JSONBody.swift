import RouterPlugin

/// Bodies that must be JSON objects within the limits of bodies from the network.
enum JSONBody {
    /// The strings at the places of a lookup, nil where there is none; other values count as absent.
    ///
    /// - Parameter isWholeBody: whether the bytes are the body as received, so that offsets may be told.
    /// - Throws: any code of `JSONError`; `payload-not-an-object`.
    static func strings(
        at lookup: JSONLookup, of bytes: [UInt8], isWholeBody: Bool = true
    ) throws(SourceError) -> [String?] {
        let answer: JSONLookup.Answer
        do {
            answer = try lookup.search(bytes)
        } catch {
            throw refusal(error, isWholeBody: isWholeBody)
        }
        guard answer.root == .object else { throw notAnObject }
        return answer.findings.map { if case .string(let text, _) = $0 { text } else { nil } }
    }

    /// Checks that the bytes are a JSON object.
    static func check(_ bytes: [UInt8], isWholeBody: Bool = true) throws(SourceError) {
        _ = try strings(at: JSONLookup([]), of: bytes, isWholeBody: isWholeBody)
    }

    /// The members of the object.
    static func object(_ bytes: [UInt8]) throws(SourceError) -> JSONObject {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes)
        } catch {
            throw refusal(error, isWholeBody: true)
        }
        guard let object = value.asObject else { throw notAnObject }
        return object
    }

    private static func refusal(_ error: JSONError, isWholeBody: Bool) -> SourceError {
        SourceError(code: error.code, message: error.message, offset: isWholeBody ? error.offset : nil)
    }

    private static var notAnObject: SourceError {
        SourceError(code: "payload-not-an-object", message: "The payload must be a JSON object.")
    }
}
