import RouterPlugin

extension Engine {
    /// A lock as it was committed.
    mutating func put(_ lock: PasscodeLock) {
        passcodeLocks[lock.key] = lock
        if let time = lock.locksAt { timers.set(.passcode(lock.key), at: time) }
    }
}
