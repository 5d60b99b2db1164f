import ArgumentParser
import Router
import RouterPlugin

struct Notifications: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show notifications, call them back, and send them again.",
        discussion: """
            EXAMPLES
              routerd notifications list --state deadLettered --since 2026-01-02T00:00:00Z
              routerd notifications show ntf_01…
              routerd notifications replay ntf_01…
            """,
        subcommands: [
            ListNotifications.self, ShowNotification.self, CancelNotification.self, ReplayNotification.self,
        ],
        defaultSubcommand: ListNotifications.self)
}

/// The filter of lists of notifications and of replays.
struct NotificationFilterOptions: ParsableArguments {
    @Option(help: "Only those of this application; left out, ROUTERD_APPLICATION, or all.")
    var application: String?
    @Option(help: "Only those in this state, such as waiting, delivered or deadLettered.")
    var state: String?
    @Option(help: "Only those for this session.")
    var session: String?
    @Option(help: "Only those about this content.")
    var contentID: String?
    @Option(help: "Only those received at or after this time, such as 2026-01-02T03:04:05Z.")
    var since: String?
    @Option(help: "Only those received before this time.")
    var until: String?

    var terms: [(name: String, value: String?)] {
        [
            ("application", application ?? Environment["ROUTERD_APPLICATION"]), ("state", state), ("session", session),
            ("contentId", contentID), ("since", since), ("until", until),
        ]
    }
}

struct ListNotifications: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List notifications, the newest first.",
        discussion: """
            EXAMPLES
              routerd notifications
              routerd notifications list --state deadLettered --all
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var filter: NotificationFilterOptions
    @Option(help: "Only this type, such as scene.notification.")
    var type: String?
    @Option(help: "The greatest number to show.")
    var limit: Int?
    @Flag(help: "Show all of them, page after page.")
    var all = false
    @OptionGroup var table: TableOptions

    func run() async throws {
        let terms = filter.terms + [("type", type), ("limit", limit.map { "\($0)" })]
        let found =
            all
            ? try await server.list("/v1/notifications", terms, of: "notifications")
            : try await server.page("/v1/notifications", terms, of: "notifications")
        guard !server.json else { return }
        let columns = [
            "id", "receivedAt", "state", "type", "application", "session", "targetContentIdentifier", "reason",
        ]
        Table(columns, of: found.map(Self.withSession), wide: table.wide).show(
            nothing: "No notification yet, or none that fits; routerd send makes one.")
    }

    /// An event names its session itself, and another notification in its decision.
    private static func withSession(_ notification: JSONValue) -> JSONValue {
        guard var object = notification.asObject, var decision = object["decision"]?.asObject else {
            return notification
        }
        object["session"] = decision["session"]
        decision["session"] = nil
        object["decision"] = .object(decision)
        return .object(object)
    }
}

struct ShowNotification: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a notification with its decision, its attempts and its payload.",
        discussion: """
            EXAMPLES
              routerd notifications show ntf_… | jq '{state, nextAttemptAt, attempts}'
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The notification's id.")
    var notification: String

    func run() async throws {
        let answer = try await server.send(.get, path: "/v1/notifications/\(encoded(notification))")
        if !server.json { Console.print(indented: answer) }
    }
}

struct CancelNotification: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Call a notification back that is not delivered yet.",
        discussion: """
            EXAMPLES
              routerd notifications cancel ntf_…
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The notification's id.")
    var notification: String

    func run() async throws {
        let answer = try await server.send(path: "/v1/notifications/\(encoded(notification))/cancel")
        if !server.json { Console.print("\(notification) \(answer["state"]?.asString ?? "")") }
    }
}

struct ReplayNotification: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Send a settled notification again, as a new one with a new decision.",
        discussion: """
            EXAMPLES
              routerd notifications replay ntf_…
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The notification's id.")
    var notification: String

    func run() async throws {
        let answer = try await server.send(path: "/v1/notifications/\(encoded(notification))/replay")
        guard !server.json else { return }
        Console.print("\(answer["id"]?.asString ?? "") \(answer["state"]?.asString ?? "")")
        Console.print(told(answer["decision"]))
        if answer["state"]?.asString == "deadLettered" { throw ExitCode(1) }
    }
}
