/// A place where a command shows its progress.
package struct ProgressDisplay: Sendable {
    /// Whether each text replaces the one before, as in a terminal.
    let replacesText: Bool
    let show: @Sendable (String) -> Void

    /// - Parameter show: Shows a text; where texts replace one another, the empty one clears the line.
    package init(replacesText: Bool, show: @escaping @Sendable (String) -> Void) {
        self.replacesText = replacesText
        self.show = show
    }
}

/// The progress of a load run: each second where texts replace one another, else a line every ten seconds.
struct LoadProgress {
    private let plan: LoadPlan
    private let display: ProgressDisplay
    private var next: UInt64 = 0

    init(plan: LoadPlan, display: ProgressDisplay) {
        self.plan = plan
        self.display = display
    }

    mutating func show(at now: UInt64, _ ledger: () -> LoadLedger) {
        let interval: UInt64 = display.replacesText ? 1_000_000_000 : 10_000_000_000
        if next == 0 { next = now + interval }
        guard now >= next else { return }
        next = now + interval
        let ledger = ledger()
        display.show(
            "sent \(ledger.lateness.count) of about \(Int(plan.rate * plan.seconds)), accepted \(ledger.accepted), "
                + "delivered \(ledger.delivered)")
    }

    func end() {
        if display.replacesText { display.show("") }
    }
}
