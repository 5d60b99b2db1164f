import Dispatch
package import Router

// The health of the store, and the end of a host whose store cannot be gone on with.

extension EngineHost {
    /// Why the store cannot be used, or could not be used a moment ago; nil if it is worth trying.
    ///
    /// It looks after the files of the store, as each commit does, and waits for neither the engine nor a commit. If the files
    /// are lost, the host ends.
    package nonisolated func storeFault() -> StoreError? {
        do { try store.verify() } catch {
            executor.queue.async { self.assumeIsolated { $0.giveUp(error) } }
            return error
        }
        return recentFault.error(at: clock.now)
    }

    /// The work of a timer: an idle host looks after the files of its store, and after a clock that is held back.
    package func look() {
        _ = storeFault()
        confirmClockInTime(at: clock.now, wall: clock.wall)
    }

    /// Starts no more attempts and asks the owner to end. More than once is harmless.
    func giveUp(_ error: StoreError) {
        reports.giveUp(because: error)
        loop.drain()
        contradict.yield(error)
    }
}
