import RouterPlugin

/// Requests that no honest sender makes, most of them mutated from examples that a source accepts.
enum HostileRequests {
    /// A marker in keys, strings, numbers and headers of hostile requests, which detects errors that quote them.
    static let canary = "7365637265746361"

    static func all(from examples: [SourceRequest], seed: UInt64) -> [SourceRequest] {
        var generator = SeededGenerator(seed: seed)
        var requests: [SourceRequest] = []
        for example in examples {
            requests += bodies(bentFrom: example.body, using: &generator).map { example.replacing(body: $0) }
            requests += headers(bentFrom: example.headers).map { example.replacing(headers: $0) }
            requests += [Int64.min, -1, 0, .max].map { example.replacing(receivedAt: Timestamp(milliseconds: $0)) }
        }
        // A source that insists on headers sees the fixed bodies only together with headers that it accepts.
        let headers = examples.first?.headers ?? []
        requests += (fixedBodies + randomBodies(using: &generator)).map {
            SourceRequest(headers: headers, body: $0, receivedAt: Timestamp(milliseconds: 0))
        }
        return requests
    }

    // MARK: Bodies

    private static func bodies(bentFrom body: [UInt8], using generator: inout SeededGenerator) -> [[UInt8]] {
        let wide = body.flatMap { [$0, 0] as [UInt8] }
        var bodies: [[UInt8]] = [[0xEF, 0xBB, 0xBF] + body, body + [0], body + body, wide, body.reversed()]
        // Every prefix of a small example, otherwise a sample of them.
        let step = max(1, body.count / 200)
        bodies += stride(from: 0, to: body.count, by: step).map { Array(body[..<$0]) }
        guard !body.isEmpty else { return bodies }
        for _ in 0..<200 {
            var bent = body
            for _ in 0..<Int.random(in: 1...3, using: &generator) { mutate(&bent, using: &generator) }
            bodies.append(bent)
        }
        return bodies
    }

    private static func mutate(_ body: inout [UInt8], using generator: inout SeededGenerator) {
        guard !body.isEmpty else { return }
        let place = Int.random(in: body.indices, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1: body[place] = UInt8.random(in: .min ... .max, using: &generator)
        case 2: body.remove(at: place)
        case 3: body.insert(UInt8.random(in: .min ... .max, using: &generator), at: place)
        default:
            let end = min(body.count, place + Int.random(in: 1...40, using: &generator))
            body.insert(contentsOf: body[place..<end], at: place)
        }
    }

    private static func randomBodies(using generator: inout SeededGenerator) -> [[UInt8]] {
        (0..<50).map { _ in generator.bytes(count: Int.random(in: 0...300, using: &generator)) }
    }

    private static var fixedBodies: [[UInt8]] {
        let texts = [
            "", " ", "null", "[]", "{}", "{}{}", "\"\(canary)\"", canary, "{\"\(canary)\":1,\"\(canary)\":2}",
            "{\"\(canary)\":\"\(canary)\\x\"}", "{\"\(canary)\"", "{\"aps\":{\"\(canary)\":-\(canary)e}}",
            "<?xml version=\"1.0\"?><\(canary)/>", "\(canary)=\(canary)&a=b", "{\"a\":\"\(canary)\u{0}\"}",
        ]
        return texts.map { Array($0.utf8) } + [
            Array(repeating: UInt8(ascii: "["), count: 100_000),
            Array(String(repeating: "{\"a\":", count: 50_000).utf8),
            Array("{\"a\":\"".utf8) + Array(repeating: UInt8(ascii: "x"), count: 300 * 1024) + Array("\"}".utf8),
            Array("{\"a\":".utf8) + Array(repeating: UInt8(ascii: "9"), count: 100_000) + Array("}".utf8),
        ]
    }

    // MARK: Headers

    private static func headers(
        bentFrom headers: [(name: String, value: String)]
    ) -> [[(name: String, value: String)]] {
        let values = [
            "", " ", canary, "\u{0}", "a\r\nb: c", "é", "\u{FFFD}", "-1", "0", "99999999999999999999999", "1e3", "NaN",
            "٣", String(repeating: "x", count: 70_000), "null", "{}", ",", "=", "v1,", "v1,\(canary)",
        ]
        var bent: [[(name: String, value: String)]] = [[]]
        for (place, field) in headers.enumerated() {
            bent.append(headers + [field])
            bent.append(Array(headers[..<place] + headers[(place + 1)...]))
            for value in values {
                var changed = headers
                changed[place].value = value
                bent.append(changed)
            }
        }
        for value in values { bent.append(headers + [(name: "x-\(canary)", value: value), (name: "", value: value)]) }
        return bent
    }
}

extension SourceRequest {
    fileprivate func replacing(body: [UInt8]) -> SourceRequest {
        SourceRequest(headers: headers, body: body, receivedAt: receivedAt)
    }

    fileprivate func replacing(headers: [(name: String, value: String)]) -> SourceRequest {
        SourceRequest(headers: headers, body: body, receivedAt: receivedAt)
    }

    fileprivate func replacing(receivedAt: Timestamp) -> SourceRequest {
        SourceRequest(headers: headers, body: body, receivedAt: receivedAt)
    }
}
