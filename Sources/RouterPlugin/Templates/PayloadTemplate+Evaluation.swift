extension PayloadTemplate {
    /// The outcome of an evaluation.
    public enum Outcome: Hashable, Sendable {
        /// A text that is not empty, has no control characters and is within the limit.
        case text(String)
        /// A hole has no value: none of these paths leads to one.
        case missing([TemplatePath])
        /// The values are there, and the text made of them is of no use.
        case unusable(Fault)

        /// The text, if there is one.
        public var text: String? { if case .text(let text) = self { text } else { nil } }
    }

    /// The reason that a text made of values is of no use.
    public enum Fault: Hashable, Sendable {
        /// The text is longer than the limit, in bytes.
        case tooLong(limit: Int)
        /// The value of the path makes a segment `.` or `..`.
        case dotSegment(TemplatePath)
    }

    /// Fills the holes from an event.
    ///
    /// - Parameters:
    ///   - scope: The event and the request that carried it.
    ///   - limit: The greatest length of the text in bytes; by default that of a content id.
    public func evaluate(_ scope: TemplateScope, limit: Int = TemplateLimits.resultBytes) -> Outcome {
        var bytes: [UInt8] = []
        var values: [PlacedValue] = []
        for part in parts {
            switch part {
            case .literal(let literal): bytes += literal.text.utf8
            case .hole(let hole):
                if let (path, text) = hole.value(in: scope) {
                    let start = bytes.count
                    hole.encoding.append(text, to: &bytes, limit: limit)
                    if hole.encoding != .reserved { values.append(PlacedValue(path, start..<bytes.count)) }
                } else if let fallback = hole.fallback {
                    bytes += fallback.text.utf8
                } else {
                    return .missing(hole.paths)
                }
            }
            guard bytes.count <= limit else { return .unusable(.tooLong(limit: limit)) }
        }
        if let path = Self.dotSegment(of: values, in: bytes) { return .unusable(.dotSegment(path)) }
        return .text(String(decoding: bytes, as: UTF8.self))
    }

    /// A value's place in the result.
    private struct PlacedValue {
        let path: TemplatePath
        let range: Range<Int>

        init(_ path: TemplatePath, _ range: Range<Int>) {
            self.path = path
            self.range = range
        }
    }

    /// The path of a value that is all or part of a segment `.` or `..`. Segments end with the query or the fragment.
    private static func dotSegment(of values: [PlacedValue], in bytes: [UInt8]) -> TemplatePath? {
        let end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.count
        var start = 0
        while start < end, !values.isEmpty {
            let stop = bytes[start..<end].firstIndex(of: UInt8(ascii: "/")) ?? end
            if (1...2).contains(stop - start), bytes[start..<stop].allSatisfy({ $0 == UInt8(ascii: ".") }),
                let value = values.first(where: { $0.range.overlaps(start..<stop) })
            {
                return value.path
            }
            start = stop + 1
        }
        return nil
    }
}

extension TemplateHole {
    /// The first path that leads to a value, with the value's text.
    fileprivate func value(in scope: TemplateScope) -> (TemplatePath, String)? {
        for path in paths {
            if let text = scope.text(at: path) { return (path, text) }
        }
        return nil
    }
}

extension PayloadTemplate.Outcome: CustomStringConvertible {
    /// The text, or one sentence that says why there is none. It quotes the template alone, never a value.
    public var description: String {
        switch self {
        case .text(let text): text
        case .missing(let paths):
            "The event has no value at \(paths.map { "\($0)" }.joined(separator: " or "))."
        case .unusable(.tooLong(let limit)): "The result is longer than \(limit) bytes."
        case .unusable(.dotSegment(let path)):
            "The value at \(path) makes a segment of the result . or .., which means another place in a URL."
        }
    }
}
