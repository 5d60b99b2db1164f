import PredicateEngine
import RouterPlugin
import Testing

@testable import Router

@Suite("Turns of commands") struct CommandTurnTests {
    private static let key = SessionKey(application: .gallery, session: "A")

    @Test("Connections, acknowledgements and gates wait in the line of their tenant")
    func lines() {
        let commands: [Command] = [
            .attachConsumer(Self.key, epoch: 1), .detachConsumer(Self.key, epoch: 1),
            .acknowledge(Acknowledgement(session: Self.key, notification: NotificationID(unchecked: "n"))),
            .gate(.open(Self.key)), .deleteSession(Self.key), .deleteApplication(.gallery),
            .rotateSecret(.session(Self.key), SecretRotation(overlapSeconds: 0, freshSecrets: [:])),
        ]
        #expect(commands.allSatisfy { $0.tenant == .gallery })
        let others: [Command] = [.cancel(NotificationID(unchecked: "n")), .followUp(.forget)]
        #expect(others.allSatisfy { $0.tenant == nil && $0.weight == 1 })
    }

    @Test("A session weighs as much as its predicates take to be indexed")
    func weights() throws {
        let text = String(repeating: "x", count: 1000)
        let predicate = try Predicate(format: (0..<10).map { "SELF == '\($0)\(text)'" }.joined(separator: " OR "))
        var draft = SessionDraft()
        #expect(Command.putSession(Self.key, draft).weight == 1)
        draft.conditions.canActivate = predicate
        #expect((100...110).contains(Command.putSession(Self.key, draft).weight))
        var patch = SessionPatch()
        patch.prefersToActivate = .set(predicate)
        #expect((100...110).contains(Command.patchSession(Self.key, patch).weight))
        patch.prefersToActivate = .remove
        #expect(Command.patchSession(Self.key, patch).weight == 1)
    }
}
