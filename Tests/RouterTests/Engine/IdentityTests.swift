import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Identity")
struct IdentityTests {
    private func ulid(_ milliseconds: Int64, seed: UInt64) -> String {
        var generator = SeededGenerator(seed: seed)
        return Identity.ulid(at: Timestamp(milliseconds: milliseconds), using: &generator)
    }

    @Test(
        "The time, in Crockford's base 32",
        arguments: [
            (0, "0000000000"), (1, "0000000001"), (31, "000000000Z"), (32, "0000000010"),
            (1_469_918_176_385, "01ARYZ6S41"), (0xFFFF_FFFF_FFFF, "7ZZZZZZZZZ"), (-5, "0000000000"),
        ] as [(Int64, String)])
    func time(milliseconds: Int64, text: String) {
        #expect(ulid(milliseconds, seed: 1).prefix(10) == text)
    }

    @Test("26 characters of the alphabet, never I, L, O or U")
    func format() {
        let alphabet = Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        for seed in 0..<300 as Range<UInt64> {
            let text = ulid(Int64(seed) * 1_000_000_007, seed: seed)
            #expect(text.count == 26 && text.allSatisfy(alphabet.contains))
        }
    }

    @Test("Later ids sort behind earlier ones")
    func order() {
        let times = [0, 1, 999, 1_767_225_600_000, 1_767_225_600_001, 1_800_000_000_000] as [Int64]
        let texts = times.map { ulid($0, seed: UInt64($0) ^ 0xFF) }
        #expect(texts == texts.sorted())
    }

    @Test("The same seed gives the same ids, and a generator gives no id twice")
    func determinism() {
        #expect(ulid(5, seed: 7) == ulid(5, seed: 7))
        #expect(ulid(5, seed: 7) != ulid(5, seed: 8))
        var generator = SeededGenerator(seed: 1)
        let ids = (0..<10_000).map { _ in Identity.ulid(at: .epoch, using: &generator) }
        #expect(Set(ids).count == ids.count)
    }

    @Test("All 80 random bits are used")
    func randomness() {
        struct Most: RandomNumberGenerator { mutating func next() -> UInt64 { .max } }
        var (least, most) = (LeastGenerator(), Most())
        #expect(Identity.ulid(at: .epoch, using: &least).suffix(16) == "0000000000000000")
        #expect(Identity.ulid(at: .epoch, using: &most).suffix(16) == "ZZZZZZZZZZZZZZZZ")
    }

    @Test("A delivery has the id of its notification")
    func delivery() {
        var generator = SeededGenerator(seed: 1)
        let id = Identity.notification(at: .epoch, using: &generator)
        #expect(id.text.hasPrefix("ntf_") && id.text.count == 30)
        #expect(Identity.delivery(of: id) == "dlv_" + id.text.dropFirst(4))
        #expect(Identity.session(at: .epoch, using: &generator).text.hasPrefix("ses_"))
        #expect(throws: Never.self) { try NotificationID(id.text) }
    }
}
