package import RouterPlugin

extension WebhookEnvelope {
    /// The whole body of an event, whose data was written when it happened.
    ///
    /// - Parameter session: As it is now. Who connects is told what the scene was doing as it is known by then: when the
    ///   event came about, the scene may still have been asked.
    package static func body(
        of event: SceneEvent, at time: Timestamp, data: [UInt8], session: SceneSession? = nil
    ) -> [UInt8] {
        JSONWriter.object { body in
            body.field("type", event.kind.rawValue)
            body.field("timestamp", time)
            if event.kind == .willConnect, let session, var members = (try? JSONValue(parsing: data))?.asObject {
                let options = ConnectionOptions(of: .object(members))
                if session.userInfo != .emptyObject, var object = members["session"]?.asObject {
                    object["userInfo"] = session.userInfo.value
                    members["session"] = .object(object)
                }
                members["connectionOptions"] = .object(options.members(for: session))
                members["userActivity"] = options.userActivity(of: session)
                body.field("data", JSONValue.object(members))
            } else {
                body.raw("data", data)
            }
        }
    }

    /// What an event says: the session as it is after it.
    ///
    /// - Parameter options: Why it connects, if it does.
    static func data(
        of event: SceneEvent, _ session: SceneSession, dismissal: Dismissal?, options: ConnectionOptions?
    ) -> [UInt8] {
        JSONWriter.object { data in
            data.field("application", session.key.application)
            data.object("session") { describe(session, in: &$0) }
            if let number = event.number { write(number, to: &data) }
            switch event.kind {
            case .willConnect: write(options ?? ConnectionOptions(), of: nil, to: &data)
            case .didDisconnect: if let dismissal { data.field("dismissal", dismissal.rawValue) }
            default: break
            }
        }
    }

    static func write(_ number: EventNumber, to data: inout JSONObjectWriter) {
        data.field("epoch", number.epoch)
        data.field("sequence", number.sequence)
    }

    /// Which configuration is a session to have that is made for this?
    static func data(asking options: ConnectionOptions, for session: SceneSession) -> [UInt8] {
        JSONWriter.object { data in
            data.field("application", session.key.application)
            data.object("session") { describe(session, in: &$0) }
            write(options, of: nil, to: &data)
        }
    }

    // MARK: Discarded sessions

    /// A set of sessions that are gone.
    static func data(discarding sessions: [JSONValue], of application: ApplicationID) -> [UInt8] {
        JSONWriter.object { data in
            data.field("application", application)
            data.array("sessions") { list in for session in sessions { list.element(session) } }
        }
    }

    /// The members of such a set; none if it is none.
    static func discardedSessions(in data: [UInt8]) -> [JSONValue] {
        guard let value = try? JSONValue(parsing: data), case .array(let sessions)? = value.asObject?["sessions"] else {
            return []
        }
        return sessions
    }

    /// Two such sets as one; nil if that would be too much for one event.
    static func joined(_ earlier: [JSONValue], _ later: [JSONValue], of application: ApplicationID) -> [JSONValue]? {
        let all = earlier + later
        let isSmall = all.count <= RouterLimits.discardedSessions
        return isSmall && data(discarding: all, of: application).count <= RouterLimits.payloadBytes ? all : nil
    }

    /// All that is left of a session for who has to tidy up after it.
    static func discarded(_ session: SceneSession) -> JSONValue {
        var object = JSONObject()
        object["id"] = .string(session.key.session.text)
        object["role"] = .string(session.role)
        if !session.configuration.isEmpty { object["configuration"] = .string(session.configuration) }
        if let device = session.device { object["device"] = .string(device.text) }
        object["userInfo"] = session.userInfo.value
        return .object(object)
    }
}
