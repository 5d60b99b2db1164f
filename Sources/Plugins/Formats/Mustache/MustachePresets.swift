public import RouterPlugin

/// Ready-made templates for chat systems. Each writes the title and the text of `NotificationText` as JSON.
public enum MustachePresets: Sendable {
    /// Slack's incoming webhooks. No options.
    ///
    /// Source: Slack, "Sending messages using incoming webhooks".
    public static let slack = preset("slack", "The message of an incoming webhook of Slack.") {
        (_) throws(PluginConfigurationError) in
        #"{"text":"{{#title}}*{{mrkdwn(title)}}*\n{{/title}}{{mrkdwn(body)}}"}"#
    }

    /// Discord's webhooks; nothing in a text can mention people. No options.
    ///
    /// Source: Discord's developer documentation, "Execute Webhook" and "Allowed Mentions Object".
    public static let discord = preset("discord", "The message of a webhook of Discord.") {
        (_) throws(PluginConfigurationError) in
        #"{"content":"{{#title}}**{{title}}**\n{{/title}}{{body}}","allowed_mentions":{"parse":[]}}"#
    }

    /// ntfy, published as JSON: the endpoint's URL is that of the server, and the option `topic` names the topic. The
    /// option `priority` is from 1 to 5.
    ///
    /// Source: ntfy's documentation, "Publish as JSON".
    public static let ntfy = preset("ntfy", "A message for a topic of ntfy.", fields: ntfyFields) {
        (configuration) throws(PluginConfigurationError) in
        let topic = try configuration.required("topic", try configuration.string("topic"))
        guard (1...64).contains(topic.utf8.count), topic.utf8.allSatisfy(isOfTopic) else {
            throw configuration.invalid("topic", because: "must have 1 to 64 of the characters A-Z a-z 0-9 _ -")
        }
        let priority = try configuration.integer("priority", in: 1...5).map { #","priority":\#($0)"# } ?? ""
        return #"{"topic":"\#(topic)","title":"{{title}}","message":"{{body}}"\#(priority)}"#
    }

    private static let ntfyFields = [
        PluginField("topic", .string, .required, summary: "The topic: 1 to 64 of the characters A-Z a-z 0-9 _ -."),
        PluginField("priority", .integer, summary: "The priority in ntfy, from 1 to 5."),
    ]

    private static func isOfTopic(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || "_-".utf8.contains(byte)
    }

    private static func preset(
        _ name: String, _ summary: String, fields: [PluginField] = [],
        template: @escaping @Sendable (PluginConfiguration) throws(PluginConfigurationError) -> String
    ) -> DeliveryFormatKind {
        let id = PluginID(unchecked: "routerd.format.\(name)")
        return DeliveryFormatKind(id: id, summary: summary, fields: fields) {
            (options) throws(PluginConfigurationError) in
            let configuration = try PluginConfiguration(options, declared: fields)
            let text = try template(configuration)
            do throws(TemplateFault) {
                return try MustacheFormat(id: id, template: text)
            } catch {
                throw configuration.invalid("id", because: error.reason)
            }
        }
    }
}
