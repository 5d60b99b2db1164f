import HTTPTypes
import Router
import RouterPlugin

/// The resources of an application.
extension Operation {
    static let applicationPath = "/v1/applications/{application}"
    private static let sessionPath = "\(applicationPath)/sessions/{session}"

    static let applications: [Operation] = [
        Operation(
            .get, "/v1/applications", .scope(.admin), "listApplications", "Lists the applications.", bounds: .page,
            query: .page(),
            .ok(.page("applications", of: "Application"))
        ) { $0.listApplications },
        Operation(
            .put, applicationPath, .scope(.admin), "putApplication", "Makes an application, or replaces it.",
            bounds: .change,
            body: .json(.named("ApplicationDraft")), .ok(.named("Application")), .created(.named("Application"))
        ) { $0.putApplication },
        Operation(
            .get, applicationPath, .scope(.admin), "getApplication", "Shows an application and its closest scenes.",
            bounds: .shown,
            query: [.device], .ok(.named("Application"))
        ) { $0.getApplication },
        Operation(
            .delete, applicationPath, .scope(.admin), "deleteApplication",
            "Deletes an application with its sessions and sources, at once or in steps.", bounds: .shown, .noContent,
            .accepted(.named("Application"))
        ) { $0.deleteApplication },
        Operation(
            .post, "\(applicationPath)/delegate/rotate-secret", .scope(.admin), "rotateDelegateSecret",
            "Exchanges the secret of the delegate's endpoint.", bounds: .change, headers: .repeatable,
            body: .optional(.named("SecretRotation")),
            .ok(.named("Endpoint"))
        ) { $0.rotateDelegateSecret },
        Operation(
            .post, "\(applicationPath)/delegate/resume", .scope(.sessions), "resumeDelegate",
            "Tries the deliveries to the delegate at once.", bounds: .shown, .ok(.named("Lane"))
        ) { $0.resumeDelegate },
        Operation(
            .post, "\(applicationPath)/sceneConfigurations/{configuration}/endpoint/rotate-secret", .scope(.admin),
            "rotateConfigurationSecret", "Exchanges the secret of a scene configuration's endpoint.", bounds: .change,
            headers: .repeatable, body: .optional(.named("SecretRotation")), .ok(.named("Endpoint"))
        ) { $0.rotateConfigurationSecret },
    ]

    static let sessions: [Operation] = [
        Operation(
            .get, "\(applicationPath)/sessions", .device(.sessions), "listSessions", "Lists the sessions.",
            bounds: .page,
            query: .page(Parameter("state", .oneOf(ActivationState.allCases.map(\.name))), .device),
            .ok(.page("sessions", of: "Session"))
        ) { $0.listSessions },
        Operation(
            .post, "\(applicationPath)/sessions:batch", .scope(.sessions), "putSessionBatch",
            "Puts many sessions, one a line; each line is answered by a line.", bounds: .lines,
            body: .other("application/x-ndjson"),
            .other("application/x-ndjson")
        ) { $0.putSessionBatch },
        Operation(
            .post, "\(applicationPath)/sessions:refresh", .device(.sessions), "refreshSessions",
            "Asks all connected scenes but one to bring their content up to date.",
            bounds: .walk(body: DaemonLimits.bodyBytes),
            body: .optional(.request(["except": .named("SessionId"), "device": .named("DeviceId")])),
            .accepted(.object(["refreshed": .count]))
        ) { $0.refreshSessions },
        Operation(
            .put, sessionPath, .session, "putSession", "Makes a session, or replaces it.", bounds: .change,
            headers: .conditional,
            body: .json(.named("SessionDraft")), .ok(.named("Session")), .created(.named("Session"))
        ) { $0.putSession },
        Operation(
            .patch, sessionPath, .session, "patchSession", "Changes a session by a merge patch (RFC 7396).",
            bounds: .change,
            body: .json(.named("SessionPatch")), .ok(.named("Session"))
        ) { $0.patchSession },
        Operation(
            .get, sessionPath, .session, "getSession", "Shows a session.", bounds: .shown, .ok(.named("Session"))
        ) { $0.getSession },
        Operation(
            .delete, sessionPath, .session, "deleteSession", "Discards a session permanently.", bounds: .shown,
            query: [Parameter("dismissal", .oneOf(["standard", "commit", "decline"]))], .noContent
        ) { $0.deleteSession },
        Operation(
            .post, "\(sessionPath)/activate", .device(.sessions), "activateSession", "Brings a session forward.",
            bounds: .change,
            headers: .repeatable, body: .optional(.named("SessionActivation")), .ok(.named("Session"))
        ) { $0.activateSession },
        Operation(
            .post, "\(sessionPath)/refresh", .device(.sessions), "refreshSession",
            "Asks a scene to bring its content up to date.", bounds: .shown, .accepted(.named("Session"))
        ) { $0.refreshSession },
        Operation(
            .post, "\(sessionPath)/disconnect", .session, "disconnectSession",
            "Ends a session's scene, and keeps the session.", bounds: .shown, .ok(.named("Session"))
        ) { $0.disconnectSession },
        Operation(
            .post, "\(sessionPath)/test", .scope(.sessions), "testSession",
            "Sends one test webhook now, and shows its outcome.", bounds: .shown, .ok(.named("Attempt"))
        ) { $0.testSession },
        Operation(
            .get, "\(sessionPath)/application", .session, "getSessionApplication",
            "Shows the scenes of the application that are closest to the person at a session's device.", bounds: .shown,
            .ok(.named("SessionApplication"))
        ) { $0.getSessionApplication },
        Operation(
            .post, "\(sessionPath)/tokens", .scope(.sessions), "postSessionToken",
            "Gives a token for a session, for pages that must not hold a key.", bounds: .change,
            body: .optional(
                .request([
                    "lifetimeSeconds": .whole(DaemonLimits.tokenSeconds), "device": .named("DeviceId"),
                ])),
            .created(.object(["token": .text, "expiresAt": .time]))
        ) { $0.postSessionToken },
        Operation(
            .post, "\(sessionPath)/endpoint/rotate-secret", .scope(.sessions), "rotateSessionSecret",
            "Exchanges the secret of a session's endpoint.", bounds: .change, headers: .repeatable,
            body: .optional(.named("SecretRotation")),
            .ok(.named("Endpoint"))
        ) { $0.rotateSessionSecret },
    ]

    static let activations: [Operation] = [
        Operation(
            .post, "\(applicationPath)/activations", .device(.sessions), "postActivation",
            "Brings the session forward that prefers a content, or makes one.", bounds: .change, headers: .repeatable,
            body: .json(.named("Activation")),
            .ok(.named("Session")), .created(.named("Session"))
        ) { $0.postActivation }
    ]

    static let sources: [Operation] = [
        Operation(
            .get, "/v1/sources", .scope(.sessions), "listSources", "Lists the sources.", bounds: .page,
            query: .page(.application), .ok(.page("sources", of: "Source"))
        ) { $0.listSources },
        Operation(
            .put, "/v1/sources/{source}", .scope(.sessions), "putSource", "Makes a source, or replaces it.",
            bounds: .change,
            body: .json(.named("SourceDraft")), .ok(.named("Source")), .created(.named("Source"))
        ) { $0.putSource },
        Operation(
            .get, "/v1/sources/{source}", .scope(.sessions), "getSource", "Shows a source.", bounds: .shown,
            .ok(.named("Source"))
        ) { $0.getSource },
        Operation(
            .delete, "/v1/sources/{source}", .scope(.sessions), "deleteSource", "Deletes a source.", bounds: .shown,
            .noContent
        ) { $0.deleteSource },
        Operation(
            .post, "/v1/sources/{source}/rotate-secret", .scope(.sessions), "rotateSourceSecret",
            "Adds a secret; the earlier ones stay valid for an overlap.", bounds: .change,
            headers: .repeatable,
            body: .optional(
                .request([
                    "secret": .text, "overlapSeconds": .whole(0...Int64(RouterLimits.secretOverlapSeconds)),
                ])),
            .ok(.named("Source"))
        ) { $0.rotateSourceSecret },
        Operation(
            .post, "/v1/sources/{source}/test", .scope(.sessions), "testSource",
            "Runs a sample request through all steps of a source, without any effect.",
            bounds: .decision(body: DaemonLimits.sourceSampleBytes),
            body: .json(.named("SourceSample")), .ok(.named("SourceTrial"))
        ) { $0.testSource },
        Operation(
            .post, "/v1/sources/{source}", .sender, "postToSource", "Takes a request of the source's sender.",
            bounds: .sender,
            headers: .repeatableInTrace, body: .other("*/*"), .ofSender,
            .accepted(.object(["notifications": .list(of: .named("Acceptance"))])), .noContent
        ) { api in { request, context, _ in try await api.ingest(request, context) } },
        Operation(
            .options, "/v1/sources/{source}", .sender, "askSource",
            "Answers a sender that asks before it sends (CloudEvents' handshake).", bounds: .sender, .empty
        ) { api in { request, context, _ in try await api.ingest(request, context) } },
    ]
}

extension Operation.Parameter {
    static let application = Self("application", .named("ApplicationId"))
    static let device = Self("device", .named("DeviceId"))
}
