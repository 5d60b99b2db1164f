import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// The sessions read by plans for arrivals at a gate.
@Suite("Visits of gates") struct GateVisitTests {
    private static let phone = GateKey(application: .gallery, device: "phone")

    private static func application() -> Application {
        var application = Application.gallery(lifeCycleEvents: true)
        application.gates.onboarding = OnboardingSettings()
        return application
    }

    private static func puts(_ count: Int, on device: DeviceID?) -> [Command] {
        (0..<count).map { number in
            let id = SessionID(unchecked: "s\(number)")
            return .putSession(.gallery(id), .of(Scene(id, .background, device: device)))
        }
    }

    @Test("A session that connects at a closed gate is told without a look at the others")
    func arrival() throws {
        let tenant = Tenant(Self.application(), (0..<9).map { Scene(SessionID(unchecked: "s\($0)"), device: "phone") })
        var visit = GateVisit(tenant.gate(of: "phone"), under: OnboardingSettings())
        visit.connected(Scene("new", device: "phone").session(created: 10))
        #expect(visit.actions == [.hideApplicationScreen("new")])
        #expect(visit.attending(in: tenant).map(\.key.session) == ["new"] && !visit.reliesOnOthers)
        // A step of the gate is for all of them.
        visit.actions.append(.hideApplicationScreens)
        #expect(visit.attending(in: tenant).count == 10 && visit.reliesOnOthers)
    }

    @Test(
        "Sessions that connect at one gate share a transaction, and each is told",
        arguments: ["phone", nil] as [DeviceID?])
    func batch(device: DeviceID?) throws {
        var bench = LoopBench(Self.application(), [])
        for command in Self.puts(40, on: device) { bench.offer(command) }
        bench.run()
        #expect(bench.transactions.first == 40)
        #expect(bench.answers.values.filter { $0.session != nil }.count == 40)
        let told = try bench.store.notifications(matching: NotificationFilter(), limit: .max).filter {
            $0.event?.kind == .hideApplicationScreen
        }
        #expect(Set(told.map(\.decision.session)).count == 40)
    }

    @Test("A plan that tells all sessions of a gate does not share a transaction with a session that connects there")
    func openingAndArrival() throws {
        let bench = try Workbench(Self.application(), [Scene("A", .foregroundActive, device: "phone")])
        let arrival = Self.puts(1, on: "phone")[0]
        for commands in [[arrival, .gate(.open(.gallery("A")))], [.gate(.open(.gallery("A"))), arrival]] {
            var batch = Batch()
            batch.append(try bench.plan(commands[0]))
            #expect(batch.conflicts(with: try bench.plan(commands[1])))
        }
    }

    @Test(
        "The sessions of a device are found, whatever they take part in",
        arguments: ["phone", "pad", nil] as [DeviceID?])
    func sessionsOfDevice(device: DeviceID?) throws {
        var tenant = Tenant(Self.application(), [])
        for number in 0..<30 {
            let place = ["phone", "pad", nil][number % 3] as DeviceID?
            let scene = Scene(SessionID(unchecked: "s\(number)"), device: place, disabled: number % 4 == 1)
            var session = scene.session(created: Int64(number))
            if number % 4 == 2 { session.enterDemo("Demo", at: .epoch) }
            if number % 4 == 3 {
                session.role = SceneRole.observer
                session.takePart(at: .epoch)
            }
            tenant.put(session)
        }
        let expected = tenant.sessions.values.filter { $0.device == device }.map(\.key).sorted()
        #expect(tenant.sessions(of: device).map(\.key).sorted() == expected && expected.count == 10)
    }
}
