import Dispatch

extension DispatchQueue {
    /// Runs work that takes long on the queue; the task that waits for it keeps no thread.
    func perform<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            async { continuation.resume(with: Result { try work() }) }
        }
    }
}
