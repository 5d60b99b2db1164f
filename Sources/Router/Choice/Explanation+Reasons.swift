import PredicateEngine
import RouterPlugin

extension ActivationConditions {
    /// A remark on a *prefers* condition that is nothing but `CONTAINS`, and holds for a content id that is longer than its
    /// text: whose text is `issues/1` prefers issue 12 as well.
    func hint(about content: ContentID?) -> String? {
        guard let content, let texts = Self.containedTexts(prefersToActivate.root),
            let text = texts.first, !texts.contains(where: { $0.string.isSame(as: content.text) })
        else { return nil }
        return "its prefers condition holds for every content id that contains '\(text.string)', so for this one too; "
            + "of a session for one content it is SELF == '\(text.string)'"
    }

    /// The texts, one of which a content id must contain; nil for any other condition.
    private static func containedTexts(_ tree: Predicate.Tree) -> [Predicate.Text]? {
        switch tree {
        case .comparison(let comparison):
            guard comparison.operation == .contains, comparison.left == .subject, comparison.quantifier == nil,
                case .text(let text) = comparison.right
            else { return nil }
            return [text]
        case .or(let terms):
            var texts: [Predicate.Text] = []
            for term in terms {
                guard let more = containedTexts(term) else { return nil }
                texts += more
            }
            return texts
        case .and, .not, .constant: return nil
        }
    }
}

extension Explanation.Considered {
    /// The reason why the session was chosen or passed over, as a phrase for people.
    ///
    /// - Parameter chosen: The chosen session as it was considered; nil if none was, or if it is not among those shown.
    func reason(_ decision: Decision, _ outcome: ChoiceOutcome, chosen: Explanation.Considered?) -> String {
        if decision.session == session { return "chosen" }
        guard let tier else { return noCandidate }
        for said in verdicts where said.obstacle == nil {
            switch said.verdict {
            case .veto(let reason): return "vetoed by \(said.rule): \(reason)"
            case .hold(_, let reason): return "held by \(said.rule): \(reason)"
            case .drop(let reason): return "dropped by \(said.rule): \(reason)"
            case .redirect(let other, let reason): return "redirected to \(other) by \(said.rule): \(reason)"
            case .accept, .prefer: continue
            }
        }
        switch outcome {
        case .held: return "a rule holds the notification"
        case .dropped: return "a rule drops the notification"
        case .session, .newSession, .undeliverable: break
        }
        guard let chosen, let chosenTier = chosen.tier else {
            return decision.session.map { "\($0) comes first" } ?? "not chosen"
        }
        return passedOver(in: tier, for: chosen, in: chosenTier)
    }

    /// The reason why the session is no candidate.
    private var noCandidate: String {
        switch (can, prefers) {
        case (false, true): "prefers the content but cannot show it, and routing.prefersRequiresCan is on"
        case (false, _): "cannot show the content: its can predicate is false"
        default: "no candidate"
        }
    }

    /// The first step of the ranking at which the chosen session is ahead.
    private func passedOver(in tier: Tier, for chosen: Explanation.Considered, in chosenTier: Tier) -> String {
        for said in chosen.verdicts {
            if case .prefer(let reason) = said.verdict { return "\(said.rule) prefers \(chosen.session): \(reason)" }
        }
        if tier != chosenTier { return "only can; \(chosen.session) prefers the content" }
        if tier == .prefers, preferenceLevel != chosen.preferenceLevel {
            return "preference level \(preferenceLevel); \(chosen.session) has \(chosen.preferenceLevel)"
        }
        if activationState != chosen.activationState {
            return "\(activationState.name); \(chosen.session) is \(chosen.activationState.name)"
        }
        if lastActivatedAt != chosen.lastActivatedAt {
            return lastActivatedAt == nil
                ? "never activated; \(chosen.session) was" : "activated before \(chosen.session)"
        }
        return "registered after \(chosen.session)"
    }
}
