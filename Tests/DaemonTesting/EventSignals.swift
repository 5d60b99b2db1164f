import Glibc
import RouterPlugin
import Synchronization

/// A signal for each event of a daemon's stream, for tests that wait until a condition holds.
///
///     daemon ──stream──▶ thread of the connection ──signal──▶ the test checks its condition again
///
/// Signals that wait for the test are merged into one.
enum EventSignals {
    /// The connection while its thread reads, so that the test can end it.
    private final class Line: Sendable {
        private let state = Mutex((descriptor: Int32?.none, isOver: false))

        func hold(_ connection: RawConnection) {
            state.withLock { state in
                state.descriptor = connection.descriptor
                if state.isOver { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
            }
        }

        func drop() { state.withLock { $0.descriptor = nil } }

        func hangUp() {
            state.withLock { state in
                state.isOver = true
                if let descriptor = state.descriptor { shutdown(descriptor, Int32(SHUT_RDWR)) }
            }
        }
    }

    /// Checks whether the condition holds when the stream is open, and after each event, until it holds; throws if the
    /// stream ends before.
    static func wait(on port: Int, until holds: () async throws -> Bool) async throws {
        let (signals, signal) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let line = Line()
        async let _ = read(port, line, signal)
        defer { line.hangUp() }
        for try await _ in signals where try await holds() { return }
        try Task.checkCancellation()
        throw ProgramError(reason: "the stream of events has ended")
    }

    private static func read(
        _ port: Int, _ line: Line, _ signal: AsyncThrowingStream<Void, any Error>.Continuation
    ) async {
        do {
            try await RawConnection.to(port) { connection in
                line.hold(connection)
                defer { line.drop() }
                let stream = try StreamConnection(connection, "", [:])
                // The first heartbeat shows that the stream is open.
                while try stream.next() != nil { signal.yield() }
            }
            signal.finish()
        } catch {
            signal.finish(throwing: error)
        }
    }
}
