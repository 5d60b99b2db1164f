package import Dispatch

/// Runs an actor's jobs on a serial dispatch queue.
///
/// The engine's owner waits for the disk inside its jobs. On the cooperative pool, which has one thread a core, that
/// would block other tasks; a dispatch queue gets a thread of its own when it needs one.
package final class QueueExecutor: SerialExecutor {
    package let queue: DispatchQueue

    package init(label: String) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
