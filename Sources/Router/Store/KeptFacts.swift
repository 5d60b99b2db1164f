package import RouterPlugin

extension EventFacts {
    /// The bytes by which a store keeps the facts: an object with the members of an envelope's data, whatever format the
    /// event goes out in. The event's kind and number, and the application, are kept beside them.
    package func kept(of event: SceneEvent, for application: ApplicationID) -> [UInt8] {
        DeliveryMessage(of: event, self, for: application, at: Timestamp(milliseconds: 0)).envelopeData
    }

    /// Reads kept bytes; nil if they are damaged. Earlier versions, which kept the data of the webhook itself, have
    /// written the same bytes.
    package init?(kept bytes: [UInt8], of event: SceneEvent, for application: ApplicationID) {
        let limits = JSONLimits(
            maximumBytes: bytes.count, maximumDepth: JSONLimits.deepest, maximumNumberLength: bytes.count)
        guard let data = try? JSONValue(parsing: bytes, limits: limits) else { return nil }
        switch event.kind {
        case .didDiscardSceneSessions:
            guard case .array(let elements)? = data["sessions"] else { return nil }
            let sessions = elements.compactMap(DiscardedSession.init)
            guard sessions.count == elements.count else { return nil }
            self = .discarded(sessions)
        case .hideApplicationScreen, .showApplicationScreen, .showProgressScreen, .onboardingSceneDidChange,
            .passcodeSceneDidChange:
            guard let gate = data["gate"].flatMap({ OnboardingGate($0, of: application) }) else { return nil }
            self = .gate(gate, data["session"].flatMap(SessionView.init))
        case .willConnect, .configurationForConnecting:
            guard let session = data["session"].flatMap(SessionView.init) else { return nil }
            var options = ConnectionOptions(of: data)
            options.gate = data["gate"].flatMap { OnboardingGate($0, of: application) }
            options.screen = data["applicationScreen"]?.asString.flatMap(ApplicationScreen.init)
            self = .connection(session, options)
        case .didDisconnect:
            guard let session = data["session"].flatMap(SessionView.init) else { return nil }
            self = .disconnection(session, data["dismissal"]?.asString.flatMap(Dismissal.init))
        case .willEnterForeground, .didBecomeActive, .willResignActive, .stateRestorationActivity, .didEnterBackground,
            .refresh:
            guard let session = data["session"].flatMap(SessionView.init) else { return nil }
            self = .session(session)
        }
    }
}

extension MessagePayload {
    /// The bytes by which a store keeps it.
    ///
    /// - Parameter event: The event that the facts are of; nil of a notification.
    package func kept(of event: SceneEvent?, for application: ApplicationID) -> [UInt8] {
        guard let event, let facts else { return bytes }
        return facts.kept(of: event, for: application)
    }
}

extension NewNotification {
    /// The size of its payload as it is kept, in bytes.
    package var keptBytes: Int {
        guard case .facts = payload else { return payload.weight }
        return payload.kept(of: event, for: application).count
    }
}

extension StoredNotification {
    /// The size of its payload as it is kept, in bytes; 0 if it was left out.
    package var keptBytes: Int { payload?.kept(of: event, for: application).count ?? 0 }
}

extension SessionView {
    fileprivate init?(_ json: JSONValue) {
        guard case .string(let id)? = json["id"], case .string(let role)? = json["role"],
            case .string(let name)? = json["activationState"], let state = ActivationState(name: name)
        else { return nil }
        self.init(
            id: SessionID(unchecked: id), role: role, configuration: json["configuration"]?.asString ?? "",
            activationState: state)
    }
}

extension DiscardedSession {
    fileprivate init?(_ json: JSONValue) {
        guard case .string(let id)? = json["id"], case .string(let role)? = json["role"] else { return nil }
        self.init(
            id: SessionID(unchecked: id), role: role, configuration: json["configuration"]?.asString ?? "",
            device: json["device"]?.asString.map { DeviceID(unchecked: $0) },
            userInfo: JSONDocument(json["userInfo"] ?? .object(JSONObject())))
    }
}

extension OnboardingGate {
    fileprivate init?(_ json: JSONValue, of application: ApplicationID) {
        guard case .string(let name)? = json["state"], let state = State(rawValue: name),
            let term = json["term"]?.asInt64
        else { return nil }
        self.init(
            GateKey(application: application, device: json["device"]?.asString.map { DeviceID(unchecked: $0) }),
            state: state, responsible: json["responsible"]?.asString.map { SessionID(unchecked: $0) }, term: term,
            onboardingID: json["onboardingId"]?.asString, progress: json["progress"].flatMap(ProgressReport.init),
            operations: json["operations"]?.asObject?.members.compactMap { ProgressReport($0.value) },
            failure: json["failure"].flatMap(GateFailure.init), proof: json["proof"].flatMap(UnlockProof.init))
    }
}

extension ProgressReport {
    fileprivate init?(_ json: JSONValue) {
        guard case .string(let operation)? = json["operationId"], case .string(let step)? = json["step"],
            let current = json["currentStepNumber"]?.asInt64, let total = json["totalNumberOfSteps"]?.asInt64
        else { return nil }
        self.init(
            operationID: operation, step: step, currentStepNumber: Int(current), totalNumberOfSteps: Int(total),
            parameters: (json["parameters"]?.asArray ?? []).compactMap(\.asString),
            defaultMessage: json["defaultMessage"]?.asString ?? "", time: json["time"]?.asString,
            failure: json["failure"].flatMap(RequestFailure.init))
    }
}

extension RequestFailure {
    fileprivate init?(_ json: JSONValue) {
        guard let reason = json["reason"]?.asString else { return nil }
        self.init(status: json["status"]?.asInt64.map { Int($0) }, reason: reason)
    }
}

extension GateFailure {
    fileprivate init?(_ json: JSONValue) {
        guard let session = json["session"]?.asString else { return nil }
        self.init(
            session: SessionID(unchecked: session), reason: json["reason"]?.asString,
            message: json["message"]?.asString)
    }
}

extension UnlockProof {
    fileprivate init?(_ json: JSONValue) {
        guard let issuer = json["issuer"]?.asString, let subject = json["subject"]?.asString else { return nil }
        self.init(issuer: issuer, subject: subject)
    }
}
