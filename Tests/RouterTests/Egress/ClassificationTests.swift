import Router
import Testing

/// The class of each address, in every form that can hide it.
@Suite("Address classes")
struct ClassificationTests {
    @Test("Every form", arguments: AddressForms.all)
    func form(_ form: AddressForm) throws {
        let address = try #require(IPAddress(form.text))
        #expect(address.classification.addressClass == form.rule, "\(address.classification)")
    }

    @Test func theTableIsLargeAndNamesEachFormOnce() {
        #expect(AddressForms.all.count >= 200)
        #expect(AddressForms.all.count { $0.rule.tier != .public } >= 150, "refused unless granted")
        #expect(Set(AddressForms.all.map(\.text)).count == AddressForms.all.count)
        #expect(Set(AddressForms.all.map(\.rule)) == Set(AddressClass.allCases), "every class occurs")
    }

    /// The bytes of a socket address give the same result as the text.
    @Test func bytesAndTextAgree() throws {
        for form in AddressForms.all {
            let address = try #require(IPAddress(form.text))
            let bytes: [UInt8] =
                switch address {
                case .v4(let number): (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
                case .v6(let number): (0..<16).map { UInt8(truncatingIfNeeded: number >> (120 - 8 * $0)) }
                }
            #expect(IPAddress(bytes: bytes) == address, "\(form.text)")
        }
        for count in [0, 1, 3, 5, 15, 17] { #expect(IPAddress(bytes: Array(repeating: 1, count: count)) == nil) }
    }

    @Test func tiers() {
        let tiers = Dictionary(grouping: AddressClass.allCases, by: \.tier)
        #expect(tiers[.public] == [.publicUnicast])
        #expect(
            tiers[.private] == [
                .loopback, .privateUse, .sharedAddressSpace, .linkLocal, .uniqueLocal, .siteLocal, .localTranslation,
            ])
        #expect(AddressClass.Tier.public < .private && AddressClass.Tier.private < .forbidden)
        #expect(AddressClass.allCases.allSatisfy { !$0.words.isEmpty })
    }

    @Test func everyRangeDecidesAboutItself() {
        for range in SpecialRanges.all {
            let found = SpecialRanges.classification(of: range.network)
            #expect(found.addressClass == range.addressClass && found.range == range.network, "\(range.network)")
            #expect(!range.source.isEmpty)
        }
        #expect(Set(SpecialRanges.all.map(\.network)).count == SpecialRanges.all.count)
    }

    /// An address that carries another one is never less restricted than either.
    @Test func embeddingMakesNothingBetter() throws {
        for form in AddressForms.v4 {
            guard case .v4(let number)? = IPAddress(form.text) else { continue }
            let number128 = UInt128(number)
            let forms: [UInt128] = [
                0xFFFF << 32 | number128, number128, 0xFFFF << 48 | number128, 0x0064_FF9B << 96 | number128,
                0x2002 << 112 | number128 << 80, 0x2001_0000 << 96 | number128 << 64 | 0xF7F7_F7F7,
                0x2001_0000_0808_0808 << 64 | (number128 ^ 0xFFFF_FFFF), 0x2001_4860 << 96 | 0x5EFE << 32 | number128,
            ]
            for form6 in forms where form6 > 1 {
                let tier = IPAddress.v6(form6).classification.addressClass.tier
                #expect(tier == form.rule.tier, "\(form.text) in \(IPAddress.v6(form6))")
            }
        }
    }
}
