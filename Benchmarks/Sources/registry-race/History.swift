import PredicateEngine
import Router
import RouterPlugin

/// What happens to a registry: sessions come, change their state and go.
struct History: Sendable {
    enum Change: Sendable {
        case insert(RegistryEntry)
        case remove(SessionID)
        case setState(SessionID, ActivationState, Timestamp)

        func apply(to registry: inout some SessionRegistry) {
            switch self {
            case .insert(let entry): registry.insert(entry)
            case .remove(let session): registry.remove(session)
            case .setState(let session, let state, let time): registry.setState(session, state, lastActivatedAt: time)
            }
        }

        var session: SessionID {
            switch self {
            case .insert(let entry): entry.session
            case .remove(let session), .setState(let session, _, _): session
            }
        }
    }

    private static let sessions = 200

    /// What is asked, of documents that come and go.
    static let queries: [RegistryQuery] = (0..<64).map {
        RegistryQuery(contentID: $0 == 0 ? nil : ContentID(unchecked: "myapp://doc/\($0)/page/\($0 % 7)"))
    }

    let changes: [Change]
    /// Sessions that are there before anybody asks, and for which none of the named contents is.
    let crowd: [RegistryEntry]
    /// So many changes are made together, of which the registry is told before.
    let changesTogether: Int

    /// So many sessions that a registry foresees changes.
    private static let crowded = 1 << 14

    /// - Parameter isCrowded: Whether it happens among so many others that changes are made in groups.
    init(seed: UInt64, isCrowded: Bool) {
        crowd =
            !isCrowded
            ? []
            : (0..<Self.crowded).map { number in
                let conditions = ActivationConditions(
                    canActivate: Self.predicate("SELF == 'elsewhere/\(number % 4096)'"), prefersToActivate: .alwaysFalse
                )
                return RegistryEntry(
                    session: SessionID(unchecked: "other-\(number)"), conditions: conditions, state: .background,
                    creationSequence: Int64(1_000_000 + number))
            }
        changesTogether = isCrowded ? IndexedRegistry.foreseenTogether : 1
        var state = seed
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        changes = (0..<1200).map { step in
            let number = random(Self.sessions)
            let session = SessionID(unchecked: "session-\(number)")
            let state = ActivationState.allCases[random(4)]
            switch random(5) {
            case 0: return .remove(session)
            case 1, 2: return .setState(session, state, Timestamp(milliseconds: Int64(1000 + step)))
            default:
                let conditions = ActivationConditions(
                    canActivate: Self.predicate(random(8), number), prefersToActivate: Self.predicate(random(8), number)
                )
                return .insert(
                    RegistryEntry(
                        session: session, conditions: conditions, state: state, creationSequence: Int64(step + 1)))
            }
        }
    }

    private static func predicate(_ kind: Int, _ number: Int) -> Predicate {
        let document = "myapp://doc/\(number % 64)"
        let format =
            switch kind {
            case 0: "TRUEPREDICATE"
            case 1: "SELF BEGINSWITH '\(document)/'"
            case 2: "SELF LIKE '*/page/\(number % 7)'"
            case 3: "SELF CONTAINS[c] 'DOC/\(number % 64)/'"
            case 4: "NOT SELF ENDSWITH '\(number % 7)'"
            case 5: "SELF IN {'\(document)/page/1', '\(document)/page/2'}"
            default: "SELF == '\(document)/page/\(number % 64 % 7)'"
            }
        return predicate(format)
    }

    private static func predicate(_ format: String) -> Predicate {
        guard let predicate = try? Predicate(format: format) else { preconditionFailure("no predicate: \(format)") }
        return predicate
    }
}
