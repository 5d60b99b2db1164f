import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Signing keys")
struct SigningKeysTests {
    private static func key(_ name: String, _ from: Int64?, _ to: Int64?) -> SigningKey {
        SigningKey(name, notBefore: from.map { .second($0) }, notAfter: to.map { .second($0) })
    }

    private func names(_ keys: SigningKeys?, at second: Int64) -> [String] {
        keys?.signing(at: .second(second)).map(\.secret) ?? []
    }

    /// A window begins at its first moment and ends before its last.
    @Test("A key signs from its beginning to just before its end")
    func windows() throws {
        let keys = try SigningKeys(
            [
                Self.key("ever", nil, nil), Self.key("until 5", nil, 5), Self.key("from 5", 5, nil),
                Self.key("5 to 6", 5, 6),
            ],
            at: .epoch)
        #expect(names(keys, at: 0) == ["ever", "until 5"])
        #expect(keys.signing(at: .millisecond(4999)).map(\.secret) == ["ever", "until 5"])
        #expect(names(keys, at: 5) == ["ever", "from 5", "5 to 6"])
        #expect(names(keys, at: 6) == ["ever", "from 5"])
    }

    private static let gaps: [(keys: [SigningKey], gap: Int64?)] = [
        ([], 0),
        ([key("a", nil, nil)], nil),
        ([key("a", nil, 10)], 10),
        ([key("a", 1, nil)], 0),
        ([key("a", 0, nil)], nil),
        ([key("a", -1, 0)], 0),
        ([key("a", nil, 10), key("b", 10, nil)], nil),
        ([key("b", 10, nil), key("a", nil, 10)], nil),
        ([key("a", nil, 10), key("b", 11, nil)], 10),
        ([key("a", nil, 10), key("b", 5, 20), key("c", 15, 30), key("d", 30, nil)], nil),
        ([key("a", nil, 10), key("b", 5, 20), key("c", 15, 30)], 30),
        ([key("a", nil, 10), key("b", 5, 20), key("c", 21, nil)], 20),
    ]

    @Test("A gap without a valid key is refused, and its start is reported", arguments: gaps)
    func gap(_ row: (keys: [SigningKey], gap: Int64?)) throws {
        do throws(SigningKeysError) {
            let keys = try SigningKeys(row.keys, at: .epoch)
            #expect(row.gap == nil)
            for second in 0..<40 { #expect(!names(keys, at: Int64(second)).isEmpty) }
        } catch {
            #expect(error == row.gap.map { SigningKeysError.gap(from: .second($0)) })
        }
    }

    @Test("The number of keys is limited, and keys that have ended are forgotten")
    func bounds() throws {
        let many = (0...RouterLimits.signingKeys).map { Self.key("\($0)", nil, nil) }
        #expect(throws: SigningKeysError.tooMany(limit: 10)) { try SigningKeys(many, at: .epoch) }
        #expect(try SigningKeys(many.dropLast(), at: .epoch).all.count == 10)
        var keys = try SigningKeys(
            [Self.key("old", nil, 0), Self.key("a", nil, 7), Self.key("b", nil, nil)], at: .epoch)
        #expect(keys.all.map(\.secret) == ["a", "b"])
        keys.forgetEnded(at: .second(7))
        #expect(keys.all.map(\.secret) == ["b"])
    }

    /// A clock that is set back must not leave webhooks unsigned.
    @Test("Before the first key begins, the first key signs")
    func clockSetBack() throws {
        let keys = try SigningKeys([Self.key("c", 9, nil), Self.key("b", 5, nil), Self.key("a", 5, 7)], at: .second(6))
        #expect(names(keys, at: 0) == ["b", "a"])
    }

    @Test("After a rotation old and new key sign until the overlap ends, then only the new one")
    func rotation() throws {
        let keys = try SigningKeys("old").rotated(
            to: "new", replacing: [.v1], overlapSeconds: 60, at: .second(100))
        #expect(names(keys, at: 100) == ["old", "new"])
        #expect(keys.signing(at: .millisecond(159_999)).map(\.secret) == ["old", "new"])
        #expect(names(keys, at: 160) == ["new"])
        // Another rotation within the overlap: keys with an end keep that end.
        let again = try keys.rotated(to: "newer", replacing: [.v1], overlapSeconds: 3600, at: .second(130))
        #expect(names(again, at: 159) == ["old", "new", "newer"])
        #expect(names(again, at: 160) == ["new", "newer"])
        #expect(names(again, at: 3730) == ["newer"])
        // A rotation without an overlap ends the old keys at once.
        let alone = try keys.rotated(to: "alone", replacing: [.v1], overlapSeconds: 0, at: .second(130))
        #expect(alone == SigningKeys("alone"))
        #expect(
            try keys.rotated(to: "old", replacing: [.v1], overlapSeconds: 0, at: .second(130)) == SigningKeys("old"))
    }

    @Test("A rotation leaves keys of the other version as they are, unless it is told to replace them")
    func versions() throws {
        let keys = try SigningKeys([SigningKey("whsec_a"), SigningKey("whsk_b")], at: .epoch)
        func rotate(
            _ secret: String?, _ version: SignatureVersion?, _ replaces: Set<SignatureVersion>?, of keys: SigningKeys
        ) throws -> [String] {
            let rotation = SecretRotation(
                secret: secret, version: version, replaces: replaces, overlapSeconds: 0,
                freshSecrets: [.v1: "whsec_fresh", .v1a: "whsk_fresh"])
            return try rotation.applied(to: keys, at: .epoch).all.map(\.secret)
        }
        #expect(try rotate(nil, nil, nil, of: keys) == ["whsk_b", "whsec_fresh"])
        #expect(try rotate(nil, .v1a, nil, of: keys) == ["whsec_a", "whsk_fresh"])
        #expect(try rotate("whsk_own", nil, nil, of: keys) == ["whsec_a", "whsk_own"])
        #expect(try rotate(nil, .v1a, [.v1, .v1a], of: keys) == ["whsk_fresh"])
        #expect(try rotate(nil, .v1a, [.v1], of: keys) == ["whsk_b", "whsk_fresh"])
        #expect(try rotate(nil, nil, [], of: keys) == ["whsec_a", "whsk_b", "whsec_fresh"])
        #expect(try rotate(nil, nil, nil, of: SigningKeys("whsk_b")) == ["whsk_fresh"], "as the endpoint has them")
    }

    @Test("A planned key that would begin only after the overlap is dropped")
    func plannedKeys() throws {
        let keys = try SigningKeys([Self.key("now", nil, 50), Self.key("later", 50, nil)], at: .epoch)
        let soon = try keys.rotated(to: "new", replacing: [.v1], overlapSeconds: 50, at: .epoch)
        #expect(soon.all.map(\.secret) == ["now", "new"])
        let late = try keys.rotated(to: "new", replacing: [.v1], overlapSeconds: 51, at: .epoch)
        #expect(late.all.map(\.secret) == ["now", "later", "new"])
        #expect(names(late, at: 50) == ["later", "new"] && names(late, at: 51) == ["new"])
    }

    /// However keys are rotated, a receiver that knows the newest key, or within the overlap the one before, can always
    /// verify.
    @Test("Random rotations leave no moment unsigned")
    func randomExchanges() throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            var keys = SigningKeys("whsec_0")
            var now: Int64 = 0
            for step in 1...12 {
                now += Int64.random(in: 0...100, using: &generator)
                let before = names(keys, at: now)
                let overlap = Int.random(in: 0...120, using: &generator)
                let secret = Bool.random(using: &generator) ? "whsec_\(step)" : "whsk_\(step)"
                let rotated: SigningKeys
                do throws(SigningKeysError) {
                    let replaced = Set(SignatureVersion.allCases.filter { _ in Bool.random(using: &generator) })
                    rotated = try keys.rotated(
                        to: secret, replacing: replaced, overlapSeconds: overlap, at: .second(now))
                } catch {
                    #expect(error == .tooMany(limit: RouterLimits.signingKeys))
                    continue
                }
                #expect(names(rotated, at: now).contains(secret))
                // The earlier keys sign as long as the overlap, or until their own end.
                for old in before {
                    for second in now..<now + Int64(overlap) where names(keys, at: second).contains(old) {
                        #expect(names(rotated, at: second).contains(old), "\(old) at \(second)")
                    }
                }
                keys = rotated
            }
            for second in now..<now + 300 { #expect(!keys.all.filter { $0.isValid(at: .second(second)) }.isEmpty) }
        }
    }

    @Test("No printed form shows a secret")
    func printing() throws {
        let endpoint = Endpoint(url: "https://a", keys: SigningKeys("whsec_hidden"))
        var shown = "\(endpoint) \(endpoint.keys) \(endpoint.keys.all) \(String(reflecting: endpoint.keys))"
        dump(endpoint, to: &shown)
        dump(endpoint.keys, to: &shown)
        #expect(!shown.contains("hidden"))
    }
}
