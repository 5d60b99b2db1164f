import Router
import RouterPlugin
import RouterTesting
import Testing

/// The faults of the model, on which the simulator relies.
struct ModelStoreTests {
    @Test func theNthCommitFailsAndWritesNothing() {
        let store = ModelStore()
        store.failCommit(2, with: StoreError(.diskFull, "told to"))
        #expect(outcome(store, [.insert(notification(1))]) == nil)
        #expect(outcome(store, [.insert(notification(2))]) == .diskFull)
        #expect(outcome(store, [.insert(notification(2))]) == nil)
        #expect(store.commits == 3)
    }

    @Test func aSnapshotIsADiskOfItsOwn() throws {
        let store = ModelStore()
        try store.commit([.insert(notification(1))])
        store.failReads(with: StoreError(.inputOutput, "told to"))
        #expect(performing: { try store.recover() }, throws: { ($0 as? StoreError)?.code == .inputOutput })
        let restarted = store.snapshot()
        try store.commit([.insert(notification(2))])
        #expect(try restarted.recover().lastSequence == NotificationSequence(1))
        try restarted.commit([.settle(NotificationSequence(1), .delivered, at: Timestamp(milliseconds: 1))])
        store.failReads(with: nil)
        #expect(try store.census().byState == [.waiting: 2])
    }
}
