import RouterPlugin
import RouterTesting
import Testing

@testable import Router

@Suite("Engine: log of changes") struct ChangeLogTests {
    private static func note(_ application: ApplicationID? = nil) -> ChangeNote {
        ChangeNote(key: "ci", operation: "op", resource: "/v1", application: application)
    }

    private static func source(of application: ApplicationID) -> SourceDraft {
        SourceDraft(
            definition: SourceDefinition(id: "s", application: application, kind: "routerd.source.github"),
            secrets: nil)
    }

    private static func logged(_ plan: Plan) -> [ApplicationID?] {
        plan.changes.compactMap { change -> ApplicationID?? in
            if case .log(let note, _, _) = change { .some(note.application) } else { nil }
        }
    }

    @Test("A change and its line are in one plan; a refusal and a repetition have no line")
    func lines() throws {
        var bench = try Workbench(.gallery(), [])
        let put = Command.logged(.putSource(Self.source(of: .gallery)), Self.note(.gallery))
        let plan = try bench.plan(put)
        #expect(plan.changes.count == 2)
        #expect(plan.changes.last == .log(Self.note(.gallery), at: .epoch, keeping: RouterLimits.changesKept))
        try bench.run(put)
        #expect(try bench.plan(put).changes.isEmpty)
        #expect(try bench.plan(.logged(.deleteSource("none"), Self.note())).changes.isEmpty)
        #expect(put.tenant == .gallery)
        let lines = try bench.store.changes(matching: ChangeFilter(), limit: 9)
        #expect(lines == [LoggedChange(number: 1, note: Self.note(.gallery), time: .epoch)])
    }

    @Test("A set has a line for each application that it changes, and a trial has none")
    func sets() throws {
        let (a, b) = (ApplicationID(unchecked: "a"), ApplicationID(unchecked: "b"))
        var bench = try Workbench(.gallery(), [])
        func set(_ applications: ApplicationID..., name: String = "s", isDryRun: Bool = false) -> Command {
            let resources = applications.map { id in
                ResourceDraft.application(
                    ApplicationDraft(application: Application(id: id), delegate: nil, endpoints: [:]))
            }
            return .logged(
                .applySet(ResourceSetDraft(name: name, resources: resources, prunes: false, isDryRun: isDryRun)),
                Self.note())
        }
        #expect(Self.logged(try bench.plan(set(a, b, isDryRun: true))) == [])
        #expect(Self.logged(try bench.plan(set(b, a))) == [a, b])
        try bench.run(set(a))
        #expect(Self.logged(try bench.plan(set(a, b))) == [b])
        #expect(Self.logged(try bench.plan(set(a))) == [])
        #expect(Self.logged(try bench.plan(set(a, name: "other"))) == [nil], "The set alone is new.")
    }
}
