import RouterPlugin
import RouterdApp
import Testing

@Suite("Turns of tenants") struct TenantTurnsTests {
    private let a = ApplicationID(unchecked: "com.example.A")
    private let b = ApplicationID(unchecked: "com.example.B")

    @Test("A tenant has its share of the slots, and another one begins at once")
    func share() {
        var turns = TenantTurns<String>(slots: 4, share: 2, waitingLimit: 3)
        #expect(turns.ask(a, "a1") == .begin)
        #expect(turns.ask(a, "a2") == .begin)
        #expect(turns.ask(a, "a3") == .wait)
        #expect(turns.ask(b, "b1") == .begin)
        #expect(turns.ask(nil, "operator") == .begin)
        // All slots are taken.
        #expect(turns.ask(b, "b2") == .wait)
    }

    @Test("A freed slot goes to the tenants in turn, and to none that has its share")
    func turnsOfTenants() {
        var turns = TenantTurns<String>(slots: 4, share: 2, waitingLimit: 3)
        for read in ["a1", "a2", "a3", "a4"] { _ = turns.ask(a, read) }
        for read in ["b1", "b2", "b3", "b4"] { _ = turns.ask(b, read) }
        #expect(turns.finished(b) == "b3")
        #expect(turns.finished(a) == "a3")
        #expect(turns.finished(a) == "a4")
        #expect(turns.finished(b) == "b4")
        #expect(turns.finished(b) == nil)
        #expect(turns.finished(b) == nil)
        #expect(turns.finished(a) == nil)
        #expect(turns.finished(a) == nil)
        #expect(turns.ask(a, "a5") == .begin)
    }

    @Test("Tenants whose turns have come alternate")
    func alternation() {
        var turns = TenantTurns<String>(slots: 4, share: 2, waitingLimit: 3)
        for tenant in [a, b, nil] { _ = turns.ask(tenant, "first") }
        _ = turns.ask(a, "a1")
        _ = turns.ask(b, "b1")
        _ = turns.ask(nil, "o1")
        _ = turns.ask(b, "b2")
        // The slots of a are taken, so b comes first.
        #expect(turns.finished(nil) == "b1")
        #expect(turns.finished(b) == "o1")
        #expect(turns.finished(nil) == "b2")
    }

    @Test("A tenant has a bounded number of pieces of work waiting, and others still have theirs")
    func bound() {
        var turns = TenantTurns<String>(slots: 4, share: 2, waitingLimit: 3)
        for _ in 0..<5 { _ = turns.ask(a, "a") }
        #expect(turns.ask(a, "a") == .refused)
        #expect(turns.ask(b, "b") == .begin)
        _ = turns.finished(a)
        #expect(turns.ask(a, "a") == .wait)
    }
}
