import Testing

@testable import RouterPlugin

/// Laws over random documents; a failure prints its seed.
struct JSONRandomTests {
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func writtenValuesAreReadBack(seed: UInt64) throws {
        var noise = Noise(state: seed)
        let value = Self.value(depth: 5, using: &noise)
        let bytes = value.serialized()
        let again = try JSONValue(parsing: bytes, limits: .configuration)
        #expect(again == value, "seed \(seed)")
        #expect(again.hashValue == value.hashValue, "seed \(seed)")
        #expect(again.serialized() == bytes, "seed \(seed)")
    }

    /// For any bytes: an answer, the same from both readers, with the fault within the document; an accepted
    /// document is written, accepted again and means the same.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func bentBytesNeverTrap(seed: UInt64) throws {
        var noise = Noise(state: seed)
        let lookup = JSONLookup([["a"], ["b", "a"]])
        let bytes = Self.value(depth: 4, using: &noise).serialized()
        for _ in 0..<40 {
            var bent = bytes
            for _ in 0..<Int.random(in: 1...4, using: &noise) { Self.bend(&bent, using: &noise) }
            do {
                let value = try JSONValue(parsing: bent, limits: .configuration)
                let answer = try lookup.search(bent, limits: .configuration)
                #expect(answer.root == value.kind, "seed \(seed)")
                #expect(
                    answer.findings.map(Self.string) == [value["a"]?.asString, value["b"]?["a"]?.asString],
                    "seed \(seed)")
                #expect(try JSONValue(parsing: value.serialized(), limits: .configuration) == value, "seed \(seed)")
            } catch {
                #expect((0...bent.count).contains(error.offset), "seed \(seed)")
                #expect(throws: error, "seed \(seed)") { try lookup.search(bent, limits: .configuration) }
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func randomBytesNeverTrap(seed: UInt64) {
        var noise = Noise(state: seed)
        let alphabet = Array("{}[]\",:\\u0d8c1eE+-. \ntrufalsn".utf8) + [0x00, 0x80, 0xC3, 0xED, 0xA0, 0xF4, 0xFF]
        for _ in 0..<300 {
            let bytes = (0..<Int.random(in: 0...40, using: &noise)).map { _ in
                alphabet[Int.random(in: alphabet.indices, using: &noise)]
            }
            if let error = fault(bytes) { #expect((0...bytes.count).contains(error.offset), "seed \(seed)") }
        }
    }

    private static func string(_ finding: JSONLookup.Finding) -> String? {
        if case .string(let text, _) = finding { text } else { nil }
    }

    private static func bend(_ bytes: inout [UInt8], using noise: inout Noise) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: bytes.indices, using: &noise)
        switch Int.random(in: 0..<5, using: &noise) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &noise)
        case 1: bytes.remove(at: place)
        case 2: bytes.removeSubrange(place...)
        case 3: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 20)], at: place)
        default: bytes.insert(UInt8.random(in: .min ... .max, using: &noise), at: place)
        }
    }

    static func value(depth: Int, using noise: inout Noise) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &noise) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &noise))
        case 2: return .number(JSONNumber(Int64.random(in: .min ... .max, using: &noise)))
        case 3: return .number(JSONNumber(Double(bitPattern: noise.next())) ?? 0)
        case 4: return .string(text(using: &noise))
        case 5:
            return .array(
                (0..<Int.random(in: 0...5, using: &noise)).map { _ in value(depth: depth - 1, using: &noise) })
        default:
            var object = JSONObject()
            let width = Bool.random(using: &noise) ? 4 : 30
            for _ in 0..<Int.random(in: 0...width, using: &noise) {
                object[text(using: &noise)] = value(depth: depth - 1, using: &noise)
            }
            return .object(object)
        }
    }

    private static func text(using noise: inout Noise) -> String {
        if Bool.random(using: &noise) { return ["a", "b", "id", ""][Int.random(in: 0..<4, using: &noise)] }
        var text = ""
        for _ in 0..<Int.random(in: 0...20, using: &noise) {
            let limit: UInt32 = [0x80, 0x800, 0x11_0000][Int.random(in: 0..<3, using: &noise)]
            // Surrogates are no scalars; any other number below the limit is one.
            text.unicodeScalars.append(Unicode.Scalar(UInt32.random(in: 0..<limit, using: &noise)) ?? "x")
        }
        return text
    }
}

extension JSONNumber: ExpressibleByIntegerLiteral {
    /// For tests.
    init(integerLiteral value: Int64) { self.init(value) }
}
