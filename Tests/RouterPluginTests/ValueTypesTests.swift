import Testing

@testable import RouterPlugin

/// The small types that all targets share.
struct ValueTypesTests {
    @Test func identifiersAreComparedByTheirBytes() throws {
        let (one, two) = (try ContentID("é"), try ContentID("e\u{301}"))
        #expect(one != two)
        #expect(Set([one, two, ContentID(unchecked: "\u{E9}")]).count == 2)
        #expect(two < one)
        #expect("\(one)" == "é")
    }

    @Test func identifiersAreCheckedByTheirKind() throws {
        #expect(throws: InvalidIdentifier(kind: "content-id", fault: .empty)) { try ContentID("") }
        #expect(throws: InvalidIdentifier(kind: "content-id", fault: .forbiddenByte)) { try ContentID("a\u{0}") }
        #expect(try ContentID(String(repeating: "x", count: 4096)).text.utf8.count == 4096)
        let long = #expect(throws: InvalidIdentifier.self) { try ContentID(String(repeating: "é", count: 2049)) }
        #expect(long?.code == "invalid-content-id")
        #expect(long?.description == "The content id is longer than 4096 bytes.")
        #expect(throws: InvalidIdentifier.self) { try SessionID("a/b") }
        #expect(throws: InvalidIdentifier.self) { try SessionID("a\nb") }
        #expect(try DeviceID("a/b é").text == "a/b é")
        for dots in [".", ".."] {
            #expect(throws: InvalidIdentifier(kind: "session-id", fault: .dots)) { try SessionID(dots) }
            #expect(throws: InvalidIdentifier(kind: "application-id", fault: .dots)) { try ApplicationID(dots) }
            #expect(try ContentID(dots).text == dots)
        }
        #expect(try SessionID("...").text == "...")
        #expect(throws: InvalidIdentifier.self) { try ApplicationID("com.example Gallery") }
        #expect(try ApplicationID("com.example.Gallery-2_x").text == "com.example.Gallery-2_x")
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func timestampsAreWrittenAsRFC3339(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
    }

    @Test func timestampsSaturate() {
        #expect(Timestamp(milliseconds: .max - 1).advanced(byMilliseconds: 2) == .distantFuture)
        #expect(Timestamp(milliseconds: .min + 1).advanced(byMilliseconds: -2).milliseconds == .min)
        #expect(Timestamp(milliseconds: 5).advanced(byMilliseconds: -7).milliseconds == -2)
    }

    @Test func aHeaderOccursOnce() throws {
        let request = SourceRequest(
            headers: [("a", "1"), ("b", "2"), ("b", "2")], body: [], receivedAt: Timestamp(milliseconds: 0)
        )
        #expect(try request.header("a") == "1")
        #expect(try request.header("c") == nil)
        let error = #expect(throws: SourceError.self) { try request.header("b") }
        #expect(error?.code == "duplicate-header")
    }

    @Test func activationStatesAreOrderedAndNamed() {
        #expect(
            ActivationState.allCases.sorted() == [.unattached, .background, .foregroundInactive, .foregroundActive])
        for state in ActivationState.allCases { #expect(ActivationState(name: state.name) == state) }
        #expect(ActivationState(name: "Background") == nil)
    }
}
