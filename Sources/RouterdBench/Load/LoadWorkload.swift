import PredicateEngine
package import Router
package import RouterPlugin

/// The sessions of a load run and the contents that its notifications name.
package struct LoadWorkload: Hashable, Sendable {
    /// A session to register.
    package struct Session: Hashable, Sendable {
        package var conditions: ActivationConditions
        package var state: ActivationState

        package init(conditions: ActivationConditions, state: ActivationState) {
            (self.conditions, self.state) = (conditions, state)
        }
    }

    /// The predicates that a workload of its own has. Except for `exact`, some sessions have the predicate of an earlier one, and
    /// three in ten prefer the contents that they can show.
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        /// Each session can show one content, and each content has one session.
        case exact
        case prefix, suffix, contains, like, list
        /// All of these, some negated in part, some without regard to case.
        case mixed
        /// Each session can show everything, and prefers a document.
        case documents
    }

    /// How often sessions may be asked about contents before the run, to know the expected session of each content.
    package static let mostQuestions = 4_000_000

    /// The name for reports.
    package let name: String
    package let sessions: [Session]
    package let contents: [String]
    /// Whether content and session of one place belong to each other, and to no other one.
    let isOneToOne: Bool

    /// A workload from elsewhere, such as files of `routerd decide`. Contents that are too many for the oracle are left out.
    package init(recorded name: String, sessions: [Session], contents: [String]) {
        (self.name, self.sessions, isOneToOne) = (name, sessions, false)
        self.contents = Array(contents.prefix(Self.mostQuestions / max(sessions.count, 1)))
    }

    /// Sessions with predicates of a kind, and contents that some of them can show. The same numbers give the same workload.
    package init(_ kind: Kind, sessions count: Int, seed: UInt64) {
        (name, isOneToOne) = (kind.rawValue, kind == .exact)
        guard kind != .exact else {
            self.contents = (0..<count).map { "load://session/\($0)" }
            self.sessions = self.contents.map { content in
                Session(conditions: Self.conditions(can: "SELF == '\(content)'"), state: .foregroundActive)
            }
            return
        }
        var random = LoadRandom(state: seed ^ 0x0010_AD5E_5510_5EED)
        var shapes: [Shape] = []
        var sessions: [Session] = []
        for number in 0..<count {
            let isShared = number > 0 && Int.random(in: 0..<5, using: &random) == 0
            let shape = isShared ? shapes.randomElement(using: &random) : nil
            shapes.append(shape ?? Shape(kind, number: number, using: &random))
            let (text, prefers) = (shapes[number].predicate, Int.random(in: 0..<10, using: &random) < 3)
            let (can, preferred) =
                kind == .documents ? ("TRUEPREDICATE", text) : (text, prefers ? text : "FALSEPREDICATE")
            let level = prefers ? Int.random(in: 0..<3, using: &random) : 0
            let states: [ActivationState] = [.foregroundActive, .foregroundInactive, .background]
            sessions.append(
                Session(
                    conditions: Self.conditions(can: can, prefers: preferred, level: level),
                    state: states[Int.random(in: 0..<states.count, using: &random)]))
        }
        self.sessions = sessions
        let number = min(max(2 * count, 64), max(Self.mostQuestions / max(count, 1), 1))
        contents = (0..<number).map { _ in
            shapes[Int.random(in: 0..<count, using: &random)].content(using: &random)
        }
    }

    /// The predicates are texts of this file, all of which can be read.
    private static func conditions(
        can: String, prefers: String = "FALSEPREDICATE", level: Int = 0
    ) -> ActivationConditions {
        ActivationConditions(
            canActivate: (try? Predicate(format: can)) ?? .alwaysFalse,
            prefersToActivate: (try? Predicate(format: prefers)) ?? .alwaysFalse, preferenceLevel: level)
    }

    /// A predicate and the contents that it holds for; `#` stands for a number in these.
    private struct Shape {
        let predicate: String
        private let contents: [String]

        init(_ kind: Kind, number: Int, using random: inout LoadRandom) {
            func part(_ operation: String, _ text: String, _ contents: [String]) -> (String, [String]) {
                ("SELF \(operation) '\(text)'", contents)
            }
            let simple: [Kind] = [.exact, .prefix, .suffix, .contains, .like, .list]
            let chosen = kind == .mixed ? simple[Int.random(in: 0..<simple.count, using: &random)] : kind
            let isLoose = kind == .mixed && Int.random(in: 0..<20, using: &random) == 0
            let option = isLoose ? "[c]" : ""
            var (predicate, contents): (String, [String])
            switch chosen {
            case .exact, .mixed, .documents:
                (predicate, contents) = part("==\(option)", "load://doc/\(number)", ["load://doc/\(number)"])
            case .prefix:
                // One in ten lies within an album of another session.
                let isNested = number > 0 && Int.random(in: 0..<10, using: &random) == 0
                let outer = isNested ? Int.random(in: 0..<number, using: &random) : number
                let text = isNested ? "load://album/\(outer)/photo/\(number)/" : "load://album/\(outer)/"
                (predicate, contents) = part("BEGINSWITH\(option)", text, ["\(text)photo/#"])
            case .suffix:
                let text = "/image-\(number).png"
                (predicate, contents) = part("ENDSWITH\(option)", text, ["load://photo/#\(text)"])
            case .contains:
                (predicate, contents) = part("CONTAINS\(option)", "-t\(number)-", ["load://x/#-t\(number)-y/#"])
            case .like:
                let (before, after) = ("load://doc/", "/page/\(number)")
                (predicate, contents) = part("LIKE\(option)", "\(before)*\(after)", ["\(before)#\(after)"])
            case .list:
                contents = (0..<3).map { "load://list/\(number)/\($0)" }
                predicate = "SELF IN {\(contents.map { "'\($0)'" }.joined(separator: ", "))}"
            }
            if isLoose, chosen != .list { contents = contents.map { $0.uppercased() } }
            if kind == .mixed, Int.random(in: 0..<10, using: &random) == 0 {
                predicate = "\(predicate) AND NOT (SELF ENDSWITH '/draft')"
                // A draft may have another session, or none.
                contents.append("\(contents[0])/draft")
            }
            (self.predicate, self.contents) = (predicate, contents)
        }

        func content(using random: inout LoadRandom) -> String {
            let text = contents[Int.random(in: 0..<contents.count, using: &random)]
            return text.reduce(into: "") { text, character in
                text += character == "#" ? "\(Int.random(in: 0..<1000, using: &random))" : String(character)
            }
        }
    }
}
