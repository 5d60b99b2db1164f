import Router
import RouterPlugin
import Testing

/// The permitted connections of an application.
@Suite("Egress policy")
struct EgressPolicyTests {
    private static let (mine, theirs): (ApplicationID, ApplicationID) = ("mine", "theirs")

    /// The rule that refuses, or nil.
    private func rule(
        _ policy: EgressPolicy, _ application: ApplicationID? = mine, _ host: String = "hooks.example",
        at address: String, _ port: Int = 443
    ) throws -> String? {
        let address = try #require(IPAddress(address))
        guard case .refused(let refusal) = policy.verdict(for: application, host: host, address: address, port: port)
        else { return nil }
        return refusal.rule
    }

    @Test("Without grants each address is judged by its class", arguments: AddressForms.all)
    func withoutGrants(_ form: AddressForm) throws {
        let expected = form.rule == .publicUnicast ? nil : form.rule.rawValue
        #expect(try rule(EgressPolicy(), at: form.text) == expected)
        #expect(try rule(.unguarded, at: form.text, 22) == nil)
    }

    /// A grant of everything opens private addresses, and no forbidden one.
    @Test("A grant opens private addresses only", arguments: AddressForms.all)
    func grantOfEverything(_ form: AddressForm) throws {
        let networks = [try IPNetwork("0.0.0.0/0"), try IPNetwork("::/0")]
        let everything = EgressPolicy(grants: networks.map { EgressGrant(network: $0) })
        #expect(try rule(everything, at: form.text) == (form.rule.tier == .forbidden ? form.rule.rawValue : nil))
        let host = EgressPolicy(grants: [EgressGrant(host: try HostPattern("hooks.example"))])
        #expect(try rule(host, at: form.text) == (form.rule.tier == .forbidden ? form.rule.rawValue : nil))
    }

    @Test func aGrantIsForItsApplication() throws {
        let policy = EgressPolicy(grants: [EgressGrant(application: Self.mine, network: try IPNetwork("10.0.0.0/8"))])
        #expect(try rule(policy, Self.mine, at: "10.1.2.3") == nil)
        #expect(try rule(policy, Self.theirs, at: "10.1.2.3") == "private-use")
        #expect(try rule(policy, nil, at: "10.1.2.3") == "private-use")
        #expect(try rule(policy, Self.mine, at: "::ffff:10.1.2.3") == nil, "the same destination")
        #expect(try rule(policy, Self.mine, at: "64:ff9b::10.1.2.3") == "private-use", "a way that was not granted")
        #expect(try rule(policy, Self.mine, at: "192.168.0.1") == "private-use")
    }

    @Test func aGrantIsForItsPorts() throws {
        let grant = EgressGrant(network: try IPNetwork("10.0.0.0/8"), ports: [443...443, 8000...8099])
        for (port, isOpen) in [(443, true), (8000, true), (8099, true), (8100, false), (80, false), (22, false)] {
            #expect(try rule(EgressPolicy(grants: [grant]), at: "10.0.0.1", port) == (isOpen ? nil : "private-use"))
        }
    }

    @Test func aGrantIsForItsHost() throws {
        let both = EgressGrant(host: try HostPattern("*.internal"), network: try IPNetwork("10.0.0.0/8"))
        let policy = EgressPolicy(grants: [both])
        #expect(try rule(policy, Self.mine, "a.internal", at: "10.0.0.1") == nil)
        #expect(try rule(policy, Self.mine, "a.example", at: "10.0.0.1") == "private-use")
        #expect(try rule(policy, Self.mine, "a.internal", at: "192.168.0.1") == "private-use")
    }

    @Test(
        "Ports of public addresses",
        arguments: [
            (80, true), (443, true), (1024, true), (8080, true), (8443, true), (65_535, true), (9000, true), (0, false),
            (1, false), (22, false), (25, false), (53, false), (110, false), (389, false), (445, false), (1023, false),
            (2375, false), (3306, false), (5432, false), (6379, false), (6443, false), (9200, false), (11_211, false),
            (27_017, false), (65_536, false),
        ])
    func ports(port: Int, isOpen: Bool) throws {
        #expect(try rule(EgressPolicy(), at: "8.8.8.8", port) == (isOpen ? nil : "port"))
        let granted = EgressPolicy(grants: [EgressGrant(network: try IPNetwork("8.8.8.0/24"), ports: [port...port])])
        #expect(try rule(granted, at: "8.8.8.8", port) == nil)
        #expect(try rule(granted, at: "8.8.4.4", port) == (isOpen ? nil : "port"))
    }

    @Test(
        "Hosts and patterns",
        arguments: [
            ("hooks.internal", "hooks.internal", true), ("hooks.internal", "HOOKS.Internal.", true),
            ("Hooks.Internal.", "hooks.internal", true), ("hooks.internal", "a.hooks.internal", false),
            ("hooks.internal", "hooks.internal.example", false), ("*.internal", "a.internal", true),
            ("*.internal", "a.b.internal", true), ("*.internal", "internal", false),
            ("*.internal", ".internal", false), ("*.internal", "ainternal", false),
            ("*.internal", "a.internal.example", false), ("a_b.example", "a_b.example", true),
        ])
    func patterns(pattern: String, host: String, isMatch: Bool) throws {
        #expect(try HostPattern(pattern).matches(host) == isMatch)
    }

    @Test(
        "Invalid patterns",
        arguments: [
            "", "*", "*.", "a.*.b", "**.a", "a..b", ".a", "a b", "10.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]",
            "::1", "bücher.example", "a/b", "a:80", String(repeating: "a", count: 64),
        ])
    func notAPattern(text: String) {
        let error = #expect(throws: InvalidGrantText.self) { try HostPattern(text) }
        #expect(error?.reason.isEmpty == false)
    }

    // MARK: Checks when an endpoint is registered

    private func registering(_ policy: EgressPolicy, _ host: String, _ port: Int = 443) -> String? {
        guard case .refused(let refusal) = policy.verdict(for: Self.mine, host: host, port: port) else { return nil }
        return refusal.rule
    }

    @Test(
        "Decided by the host alone",
        arguments: [
            ("hooks.example", nil), ("8.8.8.8", nil), ("[2606:4700:4700::1111]", nil), ("127.0.0.1", "loopback"),
            ("[::1]", "loopback"), ("[::ffff:7f00:1]", "loopback"), ("10.0.0.1", "private-use"),
            ("[fd12::1]", "unique-local"), ("169.254.169.254", "metadata"), ("[2002:a9fe:a9fe::1]", "metadata"),
            ("localhost", "loopback"), ("LOCALHOST.", "loopback"), ("a.localhost", "loopback"),
            ("localhost.example", nil), ("notlocalhost", nil), ("metadata.google.internal", "metadata"),
            ("Metadata.Google.Internal.", "metadata"), ("0.0.0.0", "this-network"), ("[::]", "this-network"),
        ])
    func known(host: String, rule: String?) {
        #expect(registering(EgressPolicy(), host) == rule)
        #expect(registering(.unguarded, host, 22) == nil)
        let isLoopback = rule == "loopback"
        #expect(registering(.grantingLoopback, host) == (isLoopback ? nil : rule))
    }

    /// The address of a name is unknown, and a grant might cover it; without a grant the port alone decides.
    @Test func aNameIsRefusedByItsPortOnlyIfNoGrantCouldFit() throws {
        #expect(registering(EgressPolicy(), "hooks.example", 22) == "port")
        let network = try IPNetwork("10.0.0.0/8")
        #expect(registering(EgressPolicy(grants: [EgressGrant(network: network)]), "hooks.example", 22) == nil)
        let others = EgressGrant(application: Self.theirs, network: network)
        #expect(registering(EgressPolicy(grants: [others]), "hooks.example", 22) == "port")
        let otherHost = EgressGrant(host: try HostPattern("a.example"))
        #expect(registering(EgressPolicy(grants: [otherHost]), "hooks.example", 22) == "port")
        let otherPort = EgressGrant(network: network, ports: [23...25])
        #expect(registering(EgressPolicy(grants: [otherPort]), "hooks.example", 22) == "port")
    }

    @Test func localhostIsWorthRegisteringIfEitherOfItsAddressesIsGranted() throws {
        for network in ["127.0.0.0/8", "::1/128"] {
            let policy = EgressPolicy(grants: [EgressGrant(network: try IPNetwork(network))])
            #expect(registering(policy, "localhost") == nil)
        }
    }

    @Test(
        "Messages for people",
        arguments: [
            (
                "10.0.0.5", 8080,
                """
                10.0.0.5 is a private address (10.0.0.0/8), and egress.grants has no grant that covers it at port 8080 \
                for this application (rule private-use)
                """
            ),
            (
                "64:ff9b::a9fe:a9fe", 80,
                """
                64:ff9b::a9fe:a9fe embeds 169.254.169.254, which is a cloud metadata address (169.254.169.254/32), and \
                no setting allows it (rule metadata)
                """
            ),
            (
                "8.8.8.8", 25,
                """
                port 25 is not one that webhooks are received at, and egress.grants has no grant that covers it for \
                this application (rule port)
                """
            ),
        ])
    func messages(address: String, port: Int, message: String) throws {
        let address = try #require(IPAddress(address))
        let verdict = EgressPolicy().verdict(for: Self.mine, host: "h", address: address, port: port)
        guard case .refused(let refusal) = verdict else {
            Issue.record("\(address) is allowed")
            return
        }
        #expect("\(refusal)" == message)
    }

    /// A failure's message has 256 bytes, and the rule, which comes last, has to fit into them.
    @Test func messagesAreShort() throws {
        for form in AddressForms.all {
            let address = try #require(IPAddress(form.text))
            let verdict = EgressPolicy().verdict(for: Self.mine, host: "h", address: address, port: 65_535)
            guard case .refused(let refusal) = verdict else { continue }
            #expect("\(refusal)".utf8.count <= 256, "\(refusal)")
        }
    }
}
