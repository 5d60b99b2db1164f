package import Router

/// The contract of every store: the same cases run over the model and over each real store.
///
///     let violations = StoreSuite.violations(
///         fresh: { try SQLiteStore(path: temporaryPath()) },
///         reopening: { store in try store.close(); return try SQLiteStore(path: store.path) })
///
/// The suite belongs to no test library; it returns its findings.
package enum StoreSuite {
    /// Every way in which the stores break the contract, as `case: finding`; empty if there is none.
    ///
    /// `fresh` creates an empty store; `reopening` closes a store and opens its data again. The seed selects the random
    /// histories. With `untilFirst` the cases after the first violation are left out.
    package static func violations<Subject: Store>(
        seed: UInt64 = 1, untilFirst: Bool = false, fresh: () throws -> Subject,
        reopening: @escaping (Subject) throws -> Subject
    ) -> [String] {
        var violations: [String] = []
        func run(_ name: String, _ body: (StoreTrial<Subject>) throws -> Void) {
            if untilFirst, !violations.isEmpty { return }
            do {
                let trial = StoreTrial(name, try fresh(), reopening)
                do {
                    try body(trial)
                } catch {
                    trial.fail("threw \(error)")
                }
                violations += trial.violations
            } catch {
                violations.append("\(name): no store to begin with: \(error)")
            }
        }
        run("empty", empty)
        run("registry", registry)
        run("notifications", notifications)
        run("attempts", attempts)
        run("receipts", receipts)
        run("broadcasts", broadcasts)
        run("payloads of broadcasts", payloadsOfBroadcasts)
        run("answers", answers)
        run("facts", facts)
        run("later keys", laterKeys)
        run("released keys", releasedKeys)
        run("life of a delivery", deliveries)
        run("atomicity", atomicity)
        run("illegal changes", illegalChanges)
        run("retention", retention)
        run("lists", lists)
        run("replays", replays)
        run("rules", rules)
        run("keys of the API", keysOfAPI)
        run("log of changes", changeLog)
        run("gates", gates)
        run("passcodes", passcodes)
        run("deletions", deletions)
        run("numbers", numbers)
        for seed in [seed, seed &+ 1, seed &+ 2] {
            run("history with seed \(seed)") { try history(seed: seed, $0) }
        }
        return violations
    }
}

/// One case of the suite: a store, a way to reopen it, and the violations so far.
final class StoreTrial<Subject: Store> {
    private(set) var store: Subject
    private(set) var violations: [String] = []
    private let name: String
    private let reopening: (Subject) throws -> Subject

    init(_ name: String, _ store: Subject, _ reopening: @escaping (Subject) throws -> Subject) {
        self.name = name
        self.store = store
        self.reopening = reopening
    }

    /// Closes the store and continues with its data in a new one.
    func reopen() throws {
        store = try reopening(store)
    }

    func fail(_ finding: String) {
        violations.append("\(name): \(finding)")
    }

    func expect(_ condition: Bool, _ finding: @autoclosure () -> String) {
        if !condition { fail(finding()) }
    }

    /// Requires that both are equal to the last byte of every text, which `==` alone would not check.
    func expectSame<Value: Equatable>(_ found: Value, _ expected: Value, _ what: @autoclosure () -> String) {
        guard found == expected, ByteFingerprint.of(found) == ByteFingerprint.of(expected) else {
            return fail(
                "\(what()): found \(String(describing: found).prefix(600)), "
                    + "expected \(String(describing: expected).prefix(600))")
        }
    }

    /// Requires that the changes are refused as a conflict and leave all data as it was.
    func expectConflict(_ changes: [StoreChange], _ what: String) throws {
        let before = (try store.recover(), try store.census())
        do {
            try store.commit(changes)
            fail("\(what) was accepted")
        } catch {
            expect(error.code == .conflict, "\(what) was refused with \(error)")
        }
        expect(try (store.recover(), store.census()) == before, "\(what) has left something behind")
    }
}
