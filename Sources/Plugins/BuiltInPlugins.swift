import Router
public import RouterPlugin

/// The plugins that are part of routerd. A plugin of another package is added in that package's own `main.swift`.
public enum BuiltInPlugins: Sendable {
    /// All of them.
    public static let all: PluginSet = {
        do {
            return try PluginSet(
                sources: sourceKinds, rules: ruleKinds, passcodeValidators: passcodeValidatorKinds,
                deliveryFormats: deliveryFormatKinds, observers: observerKinds)
        } catch {
            preconditionFailure("The built-in plugins do not form a set: \(error)")
        }
    }()

    /// The ways in that can be configured.
    public static let sourceKinds: [PayloadSourceKind] = [
        PushPayloadSource.kind,
        ScenePayloadSource.kind,
        CloudEventsSource.kind,
        GitHubSource.kind,
        GitLabSource.kind,
        StripeSource.kind,
        SlackSource.kind,
        ShopifySource.kind,
        AlertmanagerSource.kind,
        GrafanaSource.kind,
        StandardWebhooksSource.kind,
        HMACSource.kind,
        BasicSource.kind,
        BearerSource.kind,
    ]

    /// The rules that a configuration may name.
    public static let ruleKinds: [RoutingRuleKind] = [
        QuietHoursRule.kind,
        StateFloorRule.kind,
        DigestRule.kind,
        NotBeforeRule.kind,
        OriginatorRule.kind,
        CanaryRule.kind,
        MaintenanceRule.kind,
        StickyRule.kind,
        LeastBusyRule.kind,
        RateLimitRule.kind,
        RemoteRule.process,
        RemoteRule.callOut,
        DeclaredRule.kind { ZoneOffsets(named: $0) },
    ]

    /// The observers that a configuration may name.
    public static let observerKinds: [SceneObserverKind] = [
        EventLogObserver.kind
    ]

    /// The passcode validators that a configuration may name.
    public static let passcodeValidatorKinds: [PasscodeValidatorKind] = [
        ForbiddenPasscodes.kind
    ]

    /// The formats that an endpoint may name.
    public static let deliveryFormatKinds: [DeliveryFormatKind] = [
        StandardFormat.kind,
        RawFormat.kind,
        CloudEventsFormat.kind,
        MustacheFormat.kind,
        MustachePresets.slack,
        MustachePresets.discord,
        MustachePresets.ntfy,
    ]
}
