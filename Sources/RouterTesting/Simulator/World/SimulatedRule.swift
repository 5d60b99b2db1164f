import Router
package import RouterPlugin

/// Rules for simulations: together they give every verdict.
package struct SimulatedRule: RoutingRule {
    package enum Kind: String, CaseIterable, Sendable {
        /// Holds notifications that are not urgent during the first third of every ten minutes.
        case curfew
        /// Vetoes sessions of the configuration `Kiosk` for notifications of low priority.
        case kiosk
        /// Prefers sessions of the device `d1` for documents.
        case favourite
        /// Drops notifications about `spam`.
        case spam
        /// Redirects notifications about `help` to the session `s0`.
        case help
    }

    private let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    package var id: PluginID { PluginID(unchecked: "simulated.\(kind.rawValue)") }
    var redirects: Bool { kind == .help }
    package var looksAhead: Bool { kind == .favourite }

    package func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        let content = notification.contentID?.text ?? ""
        switch kind {
        case .curfew:
            let second = now.milliseconds / 1000 % 600
            guard second < 200, notification.priority != .high else { return .accept }
            return .hold(until: now.advanced(byMilliseconds: (200 - second) * 1000), reason: "curfew")
        case .kiosk:
            let isRefused = candidate.configuration == "Kiosk" && notification.priority == .low
            return isRefused ? .veto(reason: "not on a kiosk") : .accept
        case .favourite:
            let isFavourite = candidate.device?.text == "d1" && content.utf8.starts(with: "doc/".utf8)
            return isFavourite ? .prefer(reason: "documents go to d1") : .accept
        case .spam: return content == "spam" ? .drop(reason: "spam") : .accept
        case .help: return content == "help" ? .redirect(to: SessionID(unchecked: "s0"), reason: "help") : .accept
        }
    }
}
