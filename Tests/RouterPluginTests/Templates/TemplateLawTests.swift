import Testing

@testable import RouterPlugin

/// Laws over random templates and random events; a failure prints its seed.
struct TemplateLawTests {
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func printedTemplatesReadBackAsTheyWere(seed: UInt64) throws {
        var noise = Noise(state: seed)
        for _ in 0..<20 {
            let parts = Self.parts(using: &noise)
            let text = parts.map(\.text).joined()
            let template = try PayloadTemplate(text)
            #expect(template.parts == parts, "seed \(seed): \(text)")
            #expect(try PayloadTemplate(template.description) == template, "seed \(seed)")
        }
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func valuesAddNoStructure(seed: UInt64) throws {
        var noise = Noise(state: seed)
        let scope = Self.scope(using: &noise)
        for _ in 0..<20 {
            let parts = Self.parts(using: &noise)
            let template = try PayloadTemplate(parts.map(\.text).joined())
            switch template.evaluate(scope) {
            case .text(let text): try Self.check(text, of: parts, scope, "seed \(seed): \(template) gave \(text)")
            case .missing(let paths):
                #expect(paths.allSatisfy { scope.text(at: $0) == nil }, "seed \(seed): \(template)")
            case .unusable(.tooLong(let limit)): #expect(limit == 4096, "seed \(seed): \(template)")
            case .unusable(.dotSegment(let path)):
                #expect(scope.text(at: path)?.contains(".") == true, "seed \(seed): \(template)")
            }
        }
    }

    /// The literals stand in order in the result, and the stretches between them hold only bytes that the holes allow.
    private static func check(
        _ text: String, of parts: [TemplatePart], _ scope: TemplateScope, _ comment: Comment
    ) throws {
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }, comment)
        #expect(throws: Never.self, comment) { try ContentID(text) }
        var rest = Array(text.utf8)[...]
        var escapesAreWhole = true
        for part in parts {
            let (expected, kept): ([UInt8]?, Set<UInt8>) =
                switch part {
                case .literal(let literal): (Array(literal.text.utf8), [])
                case .hole(let hole):
                    if let value = hole.paths.lazy.compactMap(scope.text(at:)).first {
                        (
                            encoded(value, hole.encoding),
                            hole.encoding == .reserved ? reserved : hole.encoding == .segment ? [] : [0x2F]
                        )
                    } else {
                        (hole.fallback.map { Array($0.text.utf8) }, [])
                    }
                }
            let stretch = try #require(expected, comment)
            #expect(rest.starts(with: stretch), comment)
            rest = rest.dropFirst(stretch.count)
            guard case .hole(let hole) = part, hole.fallback == nil else { continue }
            #expect(!stretch.isEmpty, comment)
            for byte in stretch where byte != UInt8(ascii: "%") && !unreserved.contains(byte) {
                escapesAreWhole = escapesAreWhole && kept.contains(byte)
            }
        }
        #expect(rest.isEmpty, comment)
        #expect(escapesAreWhole, comment)
    }

    // MARK: A second opinion on the encoding

    private static let unreserved = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
    private static let reserved = Set(":/?#[]@!$&'()*+,;=".utf8)

    private static func encoded(_ value: String, _ encoding: TemplateEncoding) -> [UInt8] {
        let bytes = Array(value.utf8)
        return bytes.indices.flatMap { place -> [UInt8] in
            let byte = bytes[place]
            let keeps: Bool =
                switch encoding {
                case .segment: unreserved.contains(byte)
                case .segments:
                    unreserved.contains(byte)
                        || byte == 0x2F && place > 0 && place + 1 < bytes.count && bytes[place - 1] != 0x2F
                            && bytes[place + 1] != 0x2F
                case .reserved:
                    unreserved.contains(byte) || reserved.contains(byte)
                        || byte == 0x25 && place + 2 < bytes.count && hexDigit(bytes[place + 1]) != nil
                            && hexDigit(bytes[place + 2]) != nil
                }
            let digits = String(byte, radix: 16, uppercase: true)
            return keeps ? [byte] : Array("%\(digits.count == 1 ? "0" : "")\(digits)".utf8)
        }
    }

    // MARK: Random templates

    private static let names = ["a", "b", "x-y", "$c", "full name", "it's", "größe", "", "header", "type", "0", "LAST"]
    private static let literals = [
        "app://", "/", "x", "..", "?q=", "#", "é", "{", "}", "{{", "%25", "a b", "'", "|", ":",
    ]

    private static func parts(using noise: inout Noise) -> [TemplatePart] {
        var parts: [TemplatePart] = []
        for _ in 0..<Int.random(in: 1...6, using: &noise) {
            if case .literal? = parts.last {
            } else if Bool.random(using: &noise) {
                let count = Int.random(in: 1...3, using: &noise)
                let text = (0..<count).map { _ in literals[Int.random(in: literals.indices, using: &noise)] }.joined()
                parts.append(.literal(ByteExactText(text)))
                continue
            }
            parts.append(.hole(hole(using: &noise)))
        }
        return parts
    }

    private static func hole(using noise: inout Noise) -> TemplateHole {
        let encodings: [TemplateEncoding] = [.segments, .segment, .reserved]
        var hole = TemplateHole(encoding: encodings[Int.random(in: 0..<3, using: &noise)], paths: [])
        for _ in 0..<Int.random(in: 1...4, using: &noise) { hole.paths.append(path(using: &noise)) }
        if Int.random(in: 0..<3, using: &noise) == 0 { hole.fallback = ByteExactText("it's {none}") }
        return hole
    }

    private static func path(using noise: inout Noise) -> TemplatePath {
        let name = ByteExactText(names[Int.random(in: names.indices, using: &noise)])
        switch Int.random(in: 0..<10, using: &noise) {
        case 0: return TemplatePath(.header(ByteExactText(name.text.lowercased())))
        case 1: return TemplatePath(.query(name))
        case 2: return TemplatePath(.attribute(ByteExactText(name.text.lowercased())))
        case 3: return TemplatePath(.type)
        default:
            var steps: [TemplatePath.Step] = [.member(name)]
            for _ in 0..<Int.random(in: 0...2, using: &noise) {
                switch Int.random(in: 0..<4, using: &noise) {
                case 0: steps.append(.element(Int.random(in: 0...2, using: &noise)))
                case 1: steps.append(.last)
                default: steps.append(.member(ByteExactText(names[Int.random(in: names.indices, using: &noise)])))
                }
            }
            if Int.random(in: 0..<8, using: &noise) == 0 { steps.removeFirst() }
            return TemplatePath(.payload(steps))
        }
    }

    // MARK: Random events

    private static func scope(using noise: inout Noise) -> TemplateScope {
        TemplateScope(
            payload: value(depth: 3, using: &noise),
            headers: [("a", text(using: &noise)), ("x-y", text(using: &noise))],
            query: [("b", text(using: &noise)), ("full name", text(using: &noise))],
            attributes: [.init("a", text(using: &noise))], type: Bool.random(using: &noise) ? text(using: &noise) : nil)
    }

    private static func value(depth: Int, using noise: inout Noise) -> JSONValue {
        switch Int.random(in: depth > 0 ? 0..<10 : 4..<10, using: &noise) {
        case 0...1: return .array((0..<3).map { _ in value(depth: depth - 1, using: &noise) })
        case 2...3:
            var object = JSONObject()
            for name in names where Bool.random(using: &noise) { object[name] = value(depth: depth - 1, using: &noise) }
            return .object(object)
        case 4: return nil
        case 5: return .bool(Bool.random(using: &noise))
        case 6: return .number(JSONNumber(Int64.random(in: -9...9, using: &noise)))
        default: return .string(text(using: &noise))
        }
    }

    /// Texts of bytes that matter to URLs, control characters and others.
    private static func text(using noise: inout Noise) -> String {
        let alphabet = Array("ab./?#%2Fe:@ +é漢😀\u{0}\n\u{7F}\u{85}\u{301}{}|\\'\"".unicodeScalars)
        let count = Int.random(in: 0..<40, using: &noise) == 0 ? 2000 : Int.random(in: 0...5, using: &noise)
        var text = ""
        for _ in 0..<count { text.unicodeScalars.append(alphabet[Int.random(in: alphabet.indices, using: &noise)]) }
        return text
    }
}
