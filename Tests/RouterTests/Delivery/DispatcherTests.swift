import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// The dispatcher by itself: it knows lanes by their keys, and has no deliveries.
@Suite("The dispatcher: blocked lanes")
struct DispatcherTests {
    private static func endpoint(_ path: String, of application: ApplicationID = .gallery) -> EndpointKey {
        EndpointKey(application: application, url: "https://one.example/\(path)")
    }

    /// The keys of all lanes in the dispatcher's turns.
    private static func turns(_ dispatcher: inout Dispatcher) -> [SessionKey] {
        var keys: [SessionKey] = []
        while let turn = dispatcher.nextTurn(weight: { _ in 1 }) {
            dispatcher.finishTurn(turn, hasStarted: false)
            keys.append(turn.key)
        }
        return keys
    }

    /// A dispatcher whose only attempt at the origin is under way, with lanes blocked on the origin.
    private static func crowded(_ lanes: [SessionKey]) -> Dispatcher {
        var dispatcher = Dispatcher(DeliveryCaps(slots: 9, perOrigin: 1))
        dispatcher.take(1, of: .gallery("first"), at: endpoint("first"), .high)
        for key in lanes {
            let endpoint = endpoint(key.session.description)
            #expect(dispatcher.obstacle(at: endpoint, .high) == .origin(endpoint.origin))
            dispatcher.block(key, on: .origin(endpoint.origin), .high, at: endpoint)
        }
        return dispatcher
    }

    @Test("Releasing a resource grants it to the lane that has been blocked longest, and to no other lane")
    func releaseWakesTheHead() {
        var dispatcher = Self.crowded([.gallery("A"), .gallery("B")])
        let origin = Self.endpoint("A").origin
        #expect(Self.turns(&dispatcher) == [])
        dispatcher.release(1)
        #expect(Self.turns(&dispatcher) == [.gallery("A")])
        #expect(dispatcher.blockedOn(.gallery("A")) == nil)
        #expect(dispatcher.blockedOn(.gallery("B")) == .origin(origin))
    }

    @Test("A lane that cannot use a granted resource passes it on")
    func passOn() {
        var dispatcher = Self.crowded([.gallery("A"), .gallery("B")])
        dispatcher.release(1)
        dispatcher.passOn(.gallery("A"))
        #expect(Self.turns(&dispatcher) == [.gallery("A"), .gallery("B")])
        dispatcher.passOn(.gallery("A"))
        #expect(Self.turns(&dispatcher) == [], "It has nothing more to pass on.")
    }

    @Test("A lane blocked again on the resource that it was granted goes back to the head of the wait list")
    func blockedAgain() {
        var dispatcher = Self.crowded([.gallery("A"), .gallery("B")])
        dispatcher.release(1)
        dispatcher.take(2, of: .gallery("first"), at: Self.endpoint("first"), .high)
        let endpoint = Self.endpoint("A")
        dispatcher.block(.gallery("A"), on: .origin(endpoint.origin), .high, at: endpoint)
        _ = Self.turns(&dispatcher)
        dispatcher.release(2)
        #expect(Self.turns(&dispatcher) == [.gallery("A")])
    }

    @Test("A lane blocked on another resource passes the granted one on")
    func blockedOnAnother() {
        var dispatcher = Self.crowded([.gallery("A"), .gallery("B")])
        dispatcher.release(1)
        dispatcher.block(.gallery("A"), on: .slowSlots, .high, at: Self.endpoint("A"))
        #expect(dispatcher.blockedOn(.gallery("A")) == .slowSlots)
        #expect(Self.turns(&dispatcher) == [.gallery("A"), .gallery("B")])
    }

    @Test(
        "A lane that starts without the granted resource passes it on; a lane that uses it does not",
        arguments: [true, false])
    func startedWithout(isElsewhere: Bool) {
        var dispatcher = Self.crowded([.gallery("A"), .gallery("B")])
        dispatcher.release(1)
        let elsewhere = EndpointKey(application: .gallery, url: "https://two.example/")
        dispatcher.take(2, of: .gallery("A"), at: isElsewhere ? elsewhere : Self.endpoint("A"), .high)
        #expect(Self.turns(&dispatcher) == [.gallery("A")] + (isElsewhere ? [.gallery("B")] : []))
    }

    @Test("A lane that is no longer blocked is skipped in the wait list")
    func unblocked() {
        var dispatcher = Self.crowded([.gallery("A"), .gallery("B")])
        dispatcher.unblock(.gallery("A"))
        dispatcher.release(1)
        #expect(Self.turns(&dispatcher) == [.gallery("B")])
    }

    @Test("In each class of priority one lane is granted the resource")
    func classes() {
        var dispatcher = Self.crowded([.gallery("A")])
        let endpoint = Self.endpoint("B")
        dispatcher.block(.gallery("B"), on: .origin(endpoint.origin), .low, at: endpoint)
        dispatcher.release(1)
        #expect(Self.turns(&dispatcher) == [.gallery("A"), .gallery("B")])
    }

    @Test("A resource that blocks no lane has no wait list")
    func listsAreDropped() {
        var dispatcher = Self.crowded([.gallery("A")])
        let origin = Self.endpoint("A").origin
        #expect(dispatcher.isAwaited(.origin(origin)))
        dispatcher.release(1)
        #expect(!dispatcher.isAwaited(.origin(origin)))
    }
}
