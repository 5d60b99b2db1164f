import PredicateEngine
import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: applications")
struct ApplicationTests {
    private static let A = SessionKey.gallery("A")

    @Test("PUT of an application creates, replaces, and changes nothing if it is equal")
    func putApplication() throws {
        var bench = Workbench()
        guard case .application(let first, created: true) = try bench.run(.putApplication(.of(.gallery()))) else {
            Issue.record("Not created.")
            return
        }
        #expect(first == .gallery())
        #expect(try bench.plan(.putApplication(.of(.gallery()))).changes.isEmpty)
        guard case .application(_, created: false) = try bench.run(.putApplication(.of(.gallery(strict: true)))) else {
            Issue.record("Not replaced.")
            return
        }
        #expect(bench.engine.tenants[.gallery]?.application.routing.prefersRequiresCan == true)
    }

    @Test("PUT keeps an omitted secret, as long as the URL stays")
    func applicationSecrets() throws {
        var bench = Workbench()
        let application = Application.gallery()
        func draft(_ url: String, _ secret: String?) -> ApplicationDraft {
            let endpoint = EndpointDraft(url: url, secret: secret, freshSecret: "fresh")
            return ApplicationDraft(application: application, delegate: endpoint, endpoints: ["Default": endpoint])
        }
        func secrets(_ reply: Reply) -> [String?] {
            [
                reply.application?.delegate?.secret,
                reply.application?.manifest.configuration(named: "Default")?.endpoint?.secret,
            ]
        }
        #expect(secrets(try bench.run(.putApplication(draft("https://1", "mine")))) == ["mine", "mine"])
        #expect(secrets(try bench.run(.putApplication(draft("https://1", nil)))) == ["mine", "mine"])
        #expect(secrets(try bench.run(.putApplication(draft("https://2", nil)))) == ["fresh", "fresh"])
        #expect(secrets(try bench.run(.putApplication(draft("https://2", "new")))) == ["new", "new"])
    }

    @Test("A configuration whose endpoint sessions use cannot be removed")
    func configurationInUse() throws {
        var bench = try Workbench(.gallery(), [])
        _ = try bench.run(.putSession(Self.A, SessionDraft()))
        let without = Application.gallery(configurations: [.unreachable])
        #expect(try bench.run(.putApplication(.of(without))).refusal == .configurationInUse("Default"))
        _ = try bench.patch(Self.A) {
            $0.endpoint = .set(EndpointPatch(url: "https://own", secret: nil, freshSecret: "s"))
        }
        #expect(try bench.run(.putApplication(.of(without))).application != nil)
    }

    @Test("Notifications for a deleted application end with it", arguments: [false, true])
    func deleteWaiting(isCrashing: Bool) throws {
        let hold = SayingRule { $0.session == "H" ? .hold(until: .second(99), reason: "") : .accept }
        var bench = try Workbench(
            .gallery(), [Scene("A", can: "SELF == 'x'"), Scene("H", can: "SELF == 'h'")], rules: [hold])
        for content in ["x", "x", "x", "h", "x"] as [ContentID] { try bench.accept(content) }
        let attempt = try #require(try bench.start().first)
        try bench.run(.deleteApplication(.gallery))
        #expect(try bench.store.census().byState == [.deadLettered: 4, .waiting: 1], "one is on its way")
        // A new application with the same id is unrelated to the deleted one.
        try bench.add(.gallery(), [Scene("A")])
        if isCrashing { try bench.crash() } else { try bench.finish(attempt, .status(500)) }
        #expect(try bench.start().isEmpty)
        #expect(try bench.store.census().byState == [.deadLettered: 5])
        #expect(try bench.stored(1)?.reason == "application-deleted")
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("DELETE of an application takes its sessions with it")
    func deleteApplication() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        _ = try bench.run(.deleteApplication(.gallery))
        #expect(bench.session("A") == nil)
        #expect(try bench.run(.deleteApplication(.gallery)).refusal == .unknownApplication(.gallery))
        #expect(try bench.run(.putSession(Self.A, SessionDraft())).refusal == .unknownApplication(.gallery))
        #expect(try bench.patch(Self.A) { _ in }.refusal == .unknownApplication(.gallery))
        #expect(try bench.run(.deleteSession(Self.A)).refusal == .unknownApplication(.gallery))
    }
}
