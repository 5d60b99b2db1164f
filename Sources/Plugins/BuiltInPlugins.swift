public import RouterPlugin

/// Every plugin that comes with routerd. Adding one means adding a line here; nothing registers itself.
public enum BuiltInPlugins: Sendable {
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
