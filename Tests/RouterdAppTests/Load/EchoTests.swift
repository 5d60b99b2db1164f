import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// The receiver of a load run.
@Suite("Echo receiver", .longest)
struct EchoTests {
    /// A connection that is being accepted at the stop must not end the process.
    @Test func stopsWhileConnectionsAreMade() async throws {
        for _ in 0..<30 {
            let receivers = EchoApp(address: ListenAddress(host: "127.0.0.1", port: 0))
            let (ports, listening) = AsyncStream<Int>.makeStream()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await receivers.run { listening.yield($0) } }
                let port = try #require(await ports.first { _ in true })
                let made = Tally()
                for _ in 0..<2 {
                    group.addTask {
                        // Until connections are refused, perhaps at the first one.
                        try? await RawConnection.to(port) { _ in
                            for _ in 0..<10_000 where (try? RawConnection(port)) != nil { made.add() }
                        }
                    }
                }
                try await made.reached(50)
                receivers.stop()
                try await group.waitForAll()
            }
        }
    }
}
