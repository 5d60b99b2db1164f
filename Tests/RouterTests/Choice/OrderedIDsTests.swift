import RouterPlugin
import RouterTesting
import Testing

@testable import Router

@Suite("Ordered ids") struct OrderedIDsTests {
    private func ids(_ order: OrderedIDs<SessionID>, after: SessionID? = nil) -> [SessionID] {
        var seen: [SessionID] = []
        order.visit(after: after) {
            seen.append($0)
            return true
        }
        return seen
    }

    @Test("The ids are those of a sorted set after any history", arguments: 0..<4 as Range<UInt64>)
    func history(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var order = OrderedIDs<SessionID>()
        var expected: Set<SessionID> = []
        for step in 0..<12_000 {
            let id = SessionID(unchecked: "s\(Int.random(in: 0..<6000, using: &random))")
            // The set grows past several chunks, then shrinks to nothing.
            if expected.contains(id) == (step < 6000 ? Bool.random(using: &random) : true) {
                if expected.remove(id) != nil { order.remove(id) }
            } else if step < 6000, expected.insert(id).inserted {
                order.insert(id)
            }
            guard step % 1000 == 999 else { continue }
            let sorted = expected.sorted()
            #expect(ids(order) == sorted)
            let start = SessionID(unchecked: "s\(Int.random(in: 0..<6000, using: &random))")
            #expect(ids(order, after: start) == sorted.filter { $0 > start })
        }
        for id in expected { order.remove(id) }
        #expect(ids(order).isEmpty)
    }

    @Test("Ids that come in order are found behind each of them")
    func ascending() {
        let sorted = (0..<3000).map { SessionID(unchecked: "s\($0)") }.sorted()
        var order = OrderedIDs<SessionID>()
        for id in sorted { order.insert(id) }
        for place in stride(from: 0, to: 3000, by: 7) {
            var next: SessionID?
            order.visit(after: sorted[place]) {
                next = $0
                return false
            }
            #expect(next == (place + 1 < 3000 ? sorted[place + 1] : nil))
        }
    }

    @Test("A page stops at its limit of sessions that are looked at, and says where the next one begins")
    func page() {
        var table = Tenant(application: Application(id: .gallery))
        for number in 0..<10 {
            let scene = Scene(
                SessionID(unchecked: "s\(number)"), number % 2 == 0 ? .foregroundActive : .background)
            table.put(scene.session(created: Int64(number)))
        }
        let page = table.page(after: nil, limit: 10, examined: 5) { $0.activationState == .background }
        #expect(page.sessions.map(\.key.session.text) == ["s1", "s3"])
        #expect(page.last == SessionID(unchecked: "s4") && page.hasMore)
        let rest = table.page(after: page.last, limit: 2, examined: 5) { $0.activationState == .background }
        #expect(rest.sessions.map(\.key.session.text) == ["s5", "s7"] && rest.hasMore)
        let last = table.page(after: rest.last, limit: 2, examined: 5) { $0.activationState == .background }
        #expect(last.sessions.map(\.key.session.text) == ["s9"] && !last.hasMore)
    }

    @Test("A page shows each session once after sessions were removed, discarded and put again")
    func historyOfPages() {
        var tenant = Tenant(application: Application(id: .gallery))
        let names = ["s1", "s2", "s3"].map { SessionID(unchecked: $0) }
        func put(_ id: SessionID) { tenant.put(Scene(id).session(created: 1)) }
        func shown() -> [SessionID] {
            tenant.page(after: nil, limit: 9, examined: 9) { _ in true }.sessions.map(\.key.session)
        }
        for _ in 0..<2 { for name in names { put(name) } }
        #expect(shown() == names)
        tenant.remove(names[1])
        #expect(tenant.page(after: nil, limit: 9, examined: 2) { _ in true }.hasMore == false)
        put(names[1])
        #expect(shown() == names)
        var discarded = Scene(names[0]).session(created: 1)
        discarded.discardedAt = .epoch
        tenant.put(discarded)
        #expect(shown() == Array(names.dropFirst()))
        put(names[0])
        #expect(shown() == names)
    }
}
