import Testing

@testable import RouterPlugin

struct JSONValueTests {
    /// Swift's own strings would say otherwise of the first pair.
    @Test func stringsAreComparedByTheirBytes() {
        #expect("é" == "e\u{301}")
        #expect(JSONValue.string("é") != .string("e\u{301}"))
        #expect(JSONValue.string("é") == .string("\u{E9}"))
        #expect(Set([JSONValue.string("é"), .string("e\u{301}"), .string("\u{E9}")]).count == 2)
        #expect(JSONValue.object(["é": 1]) != .object(["e\u{301}": 1]))
    }

    @Test func numbersAreComparedByTheirText() throws {
        #expect(try parsed("1") != parsed("1.0"))
        #expect(try parsed("1") == 1)
    }

    @Test func theOrderOfMembersMeansNothing() throws {
        let (one, other) = (try parsed(#"{"a":1,"b":{"c":2,"d":3}}"#), try parsed(#"{"b":{"d":3,"c":2},"a":1}"#))
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one.serialized() != other.serialized())
        #expect(try parsed(#"{"a":1}"#) != parsed(#"{"a":2}"#))
        #expect(try parsed(#"{"a":1}"#) != parsed(#"{"b":1}"#))
        #expect(try parsed(#"{"a":1}"#) != parsed(#"{"a":1,"b":1}"#))
        #expect(try parsed("[1,2]") != parsed("[2,1]"))
    }

    @Test func literalsReadAsJSON() throws {
        let value: JSONValue = ["a": [1, "x", true, nil], "b": ["c": -5]]
        #expect(try value == parsed(#"{"a":[1,"x",true,null],"b":{"c":-5}}"#))
    }

    @Test func accessorsAnswerOnlyForTheirKind() {
        let all: [JSONValue] = [nil, true, 1, "x", [], [:]]
        #expect(all.map(\.kind) == JSONKind.allCases)
        #expect(all.map { $0.asBool != nil } == [false, true, false, false, false, false])
        #expect(all.map { $0.asInt64 != nil } == [false, false, true, false, false, false])
        #expect(all.map { $0.asDouble != nil } == [false, false, true, false, false, false])
        #expect(all.map { $0.asString != nil } == [false, false, false, true, false, false])
        #expect(all.map { $0.asArray != nil } == [false, false, false, false, true, false])
        #expect(all.map { $0.asObject != nil } == [false, false, false, false, false, true])
        #expect(JSONValue.string("x")["a"] == nil)
    }

    /// Against a plain list of pairs, below and above the width where the object begins to hash.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func anObjectBehavesAsAListOfPairs(seed: UInt64) {
        var noise = Noise(state: seed)
        var object = JSONObject()
        var model: [(key: String, value: Int64)] = []
        let keys = (0..<24).map { "k\($0)" } + ["é", "e\u{301}"]
        for step in 0..<500 {
            let key = keys[Int.random(in: keys.indices, using: &noise)]
            let place = model.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
            if Int.random(in: 0..<3, using: &noise) == 0 {
                object[key] = nil
                if let place { model.remove(at: place) }
            } else {
                object[key] = .number(JSONNumber(Int64(step)))
                if let place { model[place].value = Int64(step) } else { model.append((key, Int64(step))) }
            }
            #expect(object.members.map { Array($0.key.utf8) } == model.map { Array($0.key.utf8) }, "seed \(seed)")
            #expect(object.members.map(\.value.asInt64) == model.map(\.value), "seed \(seed)")
            #expect(object.count == model.count && object.isEmpty == model.isEmpty)
            let expected = keys.map { key in model.first { $0.key.utf8.elementsEqual(key.utf8) }?.value }
            #expect(keys.map { object[$0]?.asInt64 } == expected, "seed \(seed)")
        }
    }
}
