import Router
package import RouterPlugin
package import RouterdApp

/// Decisions about one notification among equal sessions, under rules and without.
package struct RuleTrial {
    private static let now = Timestamp(milliseconds: 1_767_225_600_000)
    private static let warmUp = 100

    private let tenant: Tenant
    private let view: NotificationView

    /// - Parameters:
    ///   - sessions: The number of sessions, which can all show every content.
    ///   - payload: The payload of the notification.
    package init(sessions: Int, payload: [UInt8]) {
        let id = ApplicationID(unchecked: "com.example.App")
        var tenant = Tenant(application: Application(id: id), expecting: sessions)
        for number in 0..<sessions {
            tenant.put(
                SceneSession(
                    key: SessionKey(application: id, session: SessionID(unchecked: "s\(number)")),
                    role: SceneRole.windowApplication, configuration: "Default", creationSequence: Int64(number)))
        }
        self.tenant = tenant
        view = NotificationView(
            application: id, device: nil, contentID: ContentID(unchecked: "photo/7"), priority: .normal,
            payload: payload)
    }

    /// Measures decisions one by one, with the question to remote rules and its answer; returns a JSON object.
    ///
    /// - Parameter desk: The remote rules among the rules; nil if there are none.
    package func report(under rules: [any RoutingRule], asking desk: RuleDesk?, decisions: Int) async -> [UInt8] {
        let chooser = Chooser(rules: rules)
        await desk?.start()
        var times: [Int] = []
        times.reserveCapacity(decisions)
        for number in 0..<(Self.warmUp + decisions) {
            let start = Nanoseconds.now
            var asked = view
            if let desk {
                var work = DecisionWork.unlimited
                let question = RemoteQuestion(about: view, in: tenant, limit: RoutingLimits.lookAhead, &work)
                asked = NotificationView(view, answers: await desk.answers(to: question, at: Self.now))
            }
            let tried = chooser.tryOut(asked, in: tenant, at: Self.now)
            let spent = Nanoseconds.now - start
            withExtendedLifetime(tried) { if number >= Self.warmUp { times.append(spent) } }
        }
        await desk?.stop()
        let mean = Double(times.reduce(0, +)) / Double(max(times.count, 1))
        let sorted = SortedTimes(times)
        return JSONWriter.object {
            $0.field("rules", rules.count)
            $0.field("decisions", decisions)
            $0.field("nsMean", mean)
            $0.field("nsP50", sorted[permille: 500])
            $0.field("nsP99", sorted[permille: 990])
        }
    }
}
