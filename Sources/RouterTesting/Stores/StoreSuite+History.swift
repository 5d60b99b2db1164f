import Router
import RouterPlugin

extension StoreSuite {
    /// The store and the model execute the same random history; they must agree all along, and after reopening.
    static func history(seed: UInt64, _ trial: StoreTrial<some Store>) throws {
        let model = ModelStore()
        var history = StoreHistory(seed: seed)
        for step in 0..<120 {
            let (changes, isLegal) = history.next()
            let expected = outcome(of: changes, on: model)
            let found = outcome(of: changes, on: trial.store)
            trial.expect((expected == nil) == isLegal, "step \(step): the model says \(String(describing: expected))")
            trial.expect(found == expected, "step \(step): \(String(describing: found)) for \(changes)")
            if step % 8 == 7 { try compare(trial, model, history) }
            if step % 40 == 39 {
                try trial.reopen()
                try compare(trial, model, history)
            }
            // Later differences follow from the first one.
            guard trial.violations.isEmpty else { return }
        }
        trial.expectSame(try trial.store.recover(), try model.recover(), "recover, byte for byte")
    }

    private static func outcome(of changes: [StoreChange], on store: some Store) -> StoreError.Code? {
        do {
            try store.commit(changes)
            return nil
        } catch {
            return error.code
        }
    }

    private static func compare(
        _ trial: StoreTrial<some Store>, _ model: ModelStore, _ history: StoreHistory
    ) throws {
        let census = try trial.store.census()
        trial.expect(census == (try model.census()), "the census is \(census)")
        trial.expect(census.accepted == census.byState.values.reduce(0, +), "the census does not add up: \(census)")
        trial.expect(try trial.store.recover() == model.recover(), "recover differs from the model")
        for id in history.ids {
            let (found, expected) = (try trial.store.notification(id), try model.notification(id))
            trial.expect(
                found == expected, "\(id): found \(String(describing: found)), not \(String(describing: expected))")
        }
        for key in history.dedupeKeys {
            trial.expect(try trial.store.receipt(for: key) == model.receipt(for: key), "the receipt for \(key)")
        }
        for session in history.sessions { try compareNumbers(of: session.key, trial, model) }
        for state in NotificationState.allCases {
            let filter = NotificationFilter(application: StoreSamples.gallery, state: state)
            let found = try trial.store.notifications(matching: filter, limit: 20)
            trial.expect(try found == model.notifications(matching: filter, limit: 20), "the list of \(state)")
        }
    }
}
