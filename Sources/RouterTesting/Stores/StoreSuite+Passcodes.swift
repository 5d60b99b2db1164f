import Router
import RouterPlugin

extension StoreSuite {
    /// The lock of a passcode is kept as last committed, one for each device, and is deleted with its application.
    static func passcodes(_ trial: StoreTrial<some Store>) throws {
        let (gallery, clinic) = (StoreSamples.gallery, StoreSamples.clinic)
        try trial.expectConflict(
            [.putPasscodeLock(PasscodeLock(GateKey(application: gallery, device: nil)))], "a lock of no application")
        try trial.store.commit([gallery, clinic].map { .putApplication(StoreSamples.application($0)) })
        var locks: [PasscodeLock] = []
        for text in StoreSamples.hostileTexts {
            let more = StoreSamples.passcodeLocks(gallery, text)
            try trial.store.commit(more.map(StoreChange.putPasscodeLock))
            // The lock without a device is the same each time.
            locks = locks.filter { $0.key.device != nil } + more
        }
        let elsewhere = StoreSamples.passcodeLocks(clinic, "plain")
        try trial.store.commit(elsewhere.map(StoreChange.putPasscodeLock))
        locks += elsewhere
        for _ in 0..<2 {
            let expected = locks.sorted { $0.key < $1.key }
            trial.expectSame(try trial.store.recover().passcodeLocks, expected, "the locks")
            try trial.reopen()
        }
        var changed = PasscodeLock(elsewhere[0].key)
        changed.leaveForeground(at: Timestamp(milliseconds: 1))
        try trial.store.commit([.putPasscodeLock(changed), .deleteApplication(gallery)])
        let left = [changed, elsewhere[1]].sorted { $0.key < $1.key }
        trial.expectSame(try trial.store.recover().passcodeLocks, left, "the locks that are left")
    }
}
