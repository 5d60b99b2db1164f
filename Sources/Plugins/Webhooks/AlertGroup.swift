import RouterPlugin

/// A group of alerts as Alertmanager posts it, and Grafana after it: one event for each alert, so that each has a
/// content id of its own.
///
///     {"alerts": [A, B], "receiver": R, "status": S, …}
///         ──▶  {"alert": A, "receiver": R, "status": S, …}   {"alert": B, "receiver": R, "status": S, …}
///
/// An alert is identified by its fingerprint, a hash of its labels. An alert that fires again after it was resolved has
/// another `startsAt`, so repeated notices of the same firing are recognised as repetitions and new firings are not.
struct AlertGroup {
    /// The members of the group that each event repeats, in this order.
    let members: [String]

    /// An event for each alert.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `missing-field`, `bad-alert`, `too-many-alerts`.
    func events(of body: JSONObject) throws(SourceError) -> [SourceEvent] {
        guard let alerts = body["alerts"]?.asArray, !alerts.isEmpty else {
            let message = "The member alerts must be an array of at least one alert."
            throw SourceError(code: "missing-field", message: message)
        }
        guard alerts.count <= SenderLimits.maximumAlerts else { throw Self.tooMany }
        var events: [SourceEvent] = []
        var bytes = 0
        for (place, alert) in alerts.enumerated() {
            let event = try event(of: alert, at: place, in: body)
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

    private func event(of alert: JSONValue, at place: Int, in body: JSONObject) throws(SourceError) -> SourceEvent {
        let status = try text("status", of: alert, at: place)
        guard status == "firing" || status == "resolved" else {
            let message = "The status of the alert at index \(place) must be firing or resolved."
            throw SourceError(code: "bad-alert", message: message)
        }
        let fingerprint = try text("fingerprint", of: alert, at: place)
        var key = "alert:\(fingerprint):\(status):" + (try text("startsAt", of: alert, at: place))
        if status == "resolved" { key += ":" + (try text("endsAt", of: alert, at: place)) }
        var object = JSONObject()
        object["alert"] = alert
        for member in members { object[member] = body[member] }
        return SourceEvent(
            type: status, payload: JSONValue.object(object).serialized(), collapseID: fingerprint, dedupeKeys: [key])
    }

    private func text(_ field: String, of alert: JSONValue, at place: Int) throws(SourceError) -> String {
        guard let text = alert[field]?.asString, EventText.isPrintable(text, upTo: 64) else {
            let message = "The alert at index \(place) needs the member \(field), 1 to 64 printable ASCII characters."
            throw SourceError(code: "bad-alert", message: message)
        }
        return text
    }
}
