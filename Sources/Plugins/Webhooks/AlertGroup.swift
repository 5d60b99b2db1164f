import RouterPlugin

/// A group of alerts as Alertmanager posts it, and Grafana after it: one event for each alert, so that each has a
/// content id of its own.
///
///     {"alerts": [A, B], "receiver": R, "status": S, …}
///         ──▶  {"alert": A, "receiver": R, "status": S, …}   {"alert": B, "receiver": R, "status": S, …}
///
/// An alert is identified by its fingerprint, a hash of its labels, and its `startsAt`. Repeated notices that it fires are
/// repetitions until a notice that it is resolved, and the other way round: an alert may fire again under the `startsAt` that
/// it had before. So the last notice counts.
///
///     firing ──▶ new    firing ──▶ repetition    resolved ──▶ new    resolved ──▶ repetition    firing ──▶ new
///
/// With reminders, the time since `startsAt` has spans of equal length, and a notice that an alert fires is a repetition
/// within a span only. A sender that repeats a request at once, because it got no answer, stays within it nearly always.
struct AlertGroup {
    /// The option for reminders.
    static let reminders = PluginField(
        "remindAfterSeconds", .integer, unit: "seconds",
        summary: "The time after which a notice that an alert still fires is new; repetitions have no end, if left out."
    )

    /// The members of the group that each event repeats, in this order.
    let members: [String]
    private let spanSeconds: Int64?

    init(members: [String], _ options: PluginConfiguration) throws(PluginConfigurationError) {
        self.members = members
        spanSeconds = try options.integer(Self.reminders.name, in: 10...31_536_000)
    }

    init(members: [String]) { (self.members, spanSeconds) = (members, nil) }

    /// An event for each alert.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `missing-field`, `bad-alert`, `too-many-alerts`.
    func events(of body: JSONObject, at now: Timestamp) throws(SourceError) -> [SourceEvent] {
        guard let alerts = body["alerts"]?.asArray, !alerts.isEmpty else {
            let message = "The member alerts must be an array of at least one alert."
            throw SourceError(code: "missing-field", message: message)
        }
        guard alerts.count <= SenderLimits.maximumAlerts else { throw Self.tooMany }
        var events: [SourceEvent] = []
        var bytes = 0
        for (place, alert) in alerts.enumerated() {
            let event = try event(of: alert, at: place, in: body, now)
            bytes += event.payload.count
            guard bytes <= SenderLimits.maximumSplitBytes else { throw Self.tooMany }
            events.append(event)
        }
        return events
    }

    private static var tooMany: SourceError {
        let message =
            "The request has more than \(SenderLimits.maximumAlerts) alerts, or they have more than "
            + "\(SenderLimits.maximumSplitBytes) bytes together with the group; the sender's max_alerts bounds them."
        return SourceError(code: "too-many-alerts", message: message, kind: .unprocessable)
    }

    private func event(
        of alert: JSONValue, at place: Int, in body: JSONObject, _ now: Timestamp
    ) throws(SourceError) -> SourceEvent {
        let status = try text("status", of: alert, at: place)
        guard status == "firing" || status == "resolved" else {
            let message = "The status of the alert at index \(place) must be firing or resolved."
            throw SourceError(code: "bad-alert", message: message)
        }
        let fingerprint = try text("fingerprint", of: alert, at: place)
        let start = try text("startsAt", of: alert, at: place)
        let span = spanSeconds.map { ":" + Self.span(of: now, since: start, seconds: $0) } ?? ""
        func key(_ status: String) -> String {
            "alert:\(fingerprint):\(status):\(start)" + (status == "firing" ? span : "")
        }
        let other = status == "firing" ? "resolved" : "firing"
        var object = JSONObject()
        object["alert"] = alert
        for member in members { object[member] = body[member] }
        return SourceEvent(
            type: status, payload: JSONValue.object(object).serialized(), collapseID: fingerprint,
            dedupeKeys: [key(status)], releasedKeys: [key(other)])
    }

    /// The number of the span of a time, in its text.
    private static func span(of now: Timestamp, since start: String, seconds: Int64) -> String {
        let origin = Timestamp(rfc3339: start)?.milliseconds ?? 0
        return String((now.milliseconds - origin) / (seconds * 1000))
    }

    private func text(_ field: String, of alert: JSONValue, at place: Int) throws(SourceError) -> String {
        guard let text = alert[field]?.asString, EventText.isPrintable(text, upTo: 64) else {
            let message = "The alert at index \(place) needs the member \(field), 1 to 64 printable ASCII characters."
            throw SourceError(code: "bad-alert", message: message)
        }
        return text
    }
}
