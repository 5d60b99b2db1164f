import Router
import RouterPlugin

extension Benchmark {
    /// A decision with its full record: the session looked up, the reason in words.
    static func choice(_ name: String, among population: Population) -> Benchmark {
        let application = Application(id: ApplicationID(unchecked: "org.example.gallery"))
        var tenant = Tenant(application: application)
        for entry in population.entries {
            tenant.put(
                SceneSession(
                    key: SessionKey(application: application.id, session: entry.session),
                    role: SceneRole.windowApplication, configuration: "main", device: entry.device,
                    activationState: entry.state, conditions: entry.conditions,
                    lastActivatedAt: entry.lastActivatedAt, creationSequence: entry.creationSequence))
        }
        let notifications = Lasting(
            population.subjects.map {
                NotificationView(
                    application: application.id, device: nil, contentID: ContentID(unchecked: $0), priority: .high,
                    payload: [])
            })
        // An engine makes its chooser once.
        let (made, chooser) = (tenant, Chooser())
        return Benchmark(name: "choice, \(name)", operations: notifications.count) {
            choose(notifications, by: chooser, among: made)
        }
    }

    /// The number of notifications that go to a session.
    @inline(never)
    private static func choose(
        _ notifications: Lasting<NotificationView>, by chooser: Chooser, among tenant: Tenant
    ) -> Int {
        let now = Timestamp(milliseconds: 1_767_225_600_000)
        var found = 0
        notifications.forEach { notification in
            let (_, decision) = chooser.choose(for: notification, from: tenant, at: now)
            if decision.session != nil { found += 1 }
        }
        return found
    }
}
