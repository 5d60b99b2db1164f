import PredicateEngine
package import RouterPlugin

extension DeclaredRule {
    /// The kind of declared rules, which an entry without an id is of.
    ///
    /// - Parameter zone: Finds a time zone by its name in the IANA database; nil if there is none.
    package static func kind(zone: @escaping @Sendable (String) -> ZoneOffsets?) -> RoutingRuleKind {
        RoutingRuleKind(
            id: kindID, summary: "Decides by a condition and hours, without code.", fields: fields, isRepeatable: true,
            isUsual: true
        ) { (object) throws(PluginConfigurationError) in try DeclaredRule(object, zone: zone) }
    }

    package static let kindID = PluginID(unchecked: "routerd.rule.declared")

    private static let fields = [
        PluginField("name", .string, .required, summary: "The name: letters, digits, hyphens and underscores."),
        PluginField("applications", .strings, summary: "The applications that it applies to; all if left out."),
        PluginField("when", .string, summary: "A predicate over notification and candidate; always if left out."),
        PluginField(
            "during", .any, summary: "The hours in which it applies: an object or a list of zone, days, from and to."),
        PluginField("outside", .any, summary: "The hours in which it does not apply, in place of during."),
        PluginField(
            "then", .any, .required,
            summary:
                "veto, prefer, drop, {hold: end}, {holdSeconds: N}, {redirect: SESSION}, or changes: priority, expireSeconds, headers."
        ),
        PluginField("reason", .string, summary: "The reason that decisions show; the name if left out."),
    ]

    /// Reads a rule.
    init(_ object: JSONValue, zone: (String) -> ZoneOffsets?) throws(PluginConfigurationError) {
        let fields = try PluginConfiguration(object, declared: Self.fields)
        let name = try fields.required("name", fields.string("name"))
        guard let id = RuleInstance.id(named: name) else {
            throw fields.invalid("name", because: "must be 1 to 64 letters, digits, hyphens and underscores")
        }
        self.id = id
        applications = try fields.applications("applications")
        condition = try Self.condition(fields)
        windows = try Self.windows(fields, zone)
        reason = try fields.string("reason") ?? name
        outcome = try Self.outcome(fields, "\(id): \(reason)")
        guard (1...200).contains(reason.utf8.count), !reason.unicodeScalars.contains(where: Self.isControl) else {
            throw fields.invalid("reason", because: "must be one line of 1 to 200 bytes")
        }
        if amends, condition?.readsCandidate == true {
            throw fields.invalid(
                "when", because: "cannot name the candidate of a change: changes come before the choice")
        }
        if outcome == .holdUntilEnd, windows == nil {
            throw fields.invalid("then", because: "can only hold until the end of during or outside, which are missing")
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    private static func condition(_ fields: PluginConfiguration) throws(PluginConfigurationError) -> RuleCondition? {
        guard let text = try fields.string("when") else { return nil }
        do throws(PredicateError) {
            return try RuleCondition(format: text)
        } catch {
            throw PluginConfigurationError(
                code: error.code.rawValue, pointer: "/when", message: "\(error.message)\n\(error.caret(in: text))")
        }
    }

    private static func outcome(
        _ fields: PluginConfiguration, _ words: String
    ) throws(PluginConfigurationError) -> Outcome {
        let wanted =
            "must be veto, prefer, drop, {hold: end}, {holdSeconds: 1 to 604800}, {redirect: SESSION}, or changes: "
            + Amendment.names.joined(separator: ", ")
        switch try fields.required("then", fields.value("then")) {
        case .string("veto"): return .veto
        case .string("prefer"): return .prefer
        case .string("drop"): return .drop
        case .object(let object) where object.members.contains { Amendment.names.contains($0.key) }:
            do throws(PluginConfigurationError) {
                return .amend(try Amendment(object, because: words))
            } catch {
                throw error.within("/then")
            }
        case .object(let object) where object.count == 1:
            if object["hold"] == .string("end") { return .holdUntilEnd }
            if let value = object["holdSeconds"] {
                guard let seconds = value.asInt64, (1...604_800).contains(seconds) else {
                    let bound =
                        "holdSeconds is a whole number from 1 to 604800: a rule holds a notification for seven days at most"
                    throw PluginConfigurationError(
                        code: "invalid-value", pointer: "/then/holdSeconds", message: "The field \(bound).")
                }
                return .hold(seconds: seconds)
            }
            if let name = object["redirect"]?.asString, let session = try? SessionID(name) {
                return .redirect(to: session)
            }
            throw fields.invalid("then", because: wanted)
        default: throw fields.invalid("then", because: wanted)
        }
    }
}

// MARK: - Hours

extension DeclaredRule {
    private static func windows(
        _ fields: PluginConfiguration, _ zone: (String) -> ZoneOffsets?
    ) throws(PluginConfigurationError) -> TimeWindows? {
        if let during = fields.value("during") {
            guard fields.value("outside") == nil else {
                throw fields.invalid("outside", because: "cannot stand beside during")
            }
            return TimeWindows(try windows(during, "during", zone))
        }
        guard let outside = fields.value("outside") else { return nil }
        return TimeWindows(try windows(outside, "outside", zone), isOutside: true)
    }

    private static func windows(
        _ value: JSONValue, _ field: String, _ zone: (String) -> ZoneOffsets?
    ) throws(PluginConfigurationError) -> [TimeWindow] {
        guard case .array(let elements) = value else { return [try window(value, "/\(field)", zone)] }
        guard (1...8).contains(elements.count) else {
            throw fault("invalid-value", "/\(field)", "There may be 1 to 8 windows.")
        }
        var windows: [TimeWindow] = []
        for (place, element) in elements.enumerated() {
            windows.append(try window(element, "/\(field)/\(place)", zone))
        }
        return windows
    }

    private static func window(
        _ value: JSONValue, _ pointer: String, _ zone: (String) -> ZoneOffsets?
    ) throws(PluginConfigurationError) -> TimeWindow {
        guard let object = value.asObject else {
            throw fault("wrong-type", pointer, "A window must be an object of zone, days, from and to.")
        }
        for member in object.members where !["zone", "days", "from", "to"].contains(member.key) {
            let place = "\(pointer)/\(escapedForPointer(member.key))"
            throw fault("unknown-field", place, "There is no such field; the fields are: zone, days, from, to.")
        }
        guard let name = object["zone"]?.asString else {
            throw fault("missing-field", pointer + "/zone", "The field zone is missing; UTC is one.")
        }
        guard let offsets = zone(name) else {
            let message = "There is no time zone of this name; an example is Europe/Berlin."
            throw fault("invalid-value", pointer + "/zone", message)
        }
        let days = try days(object["days"], pointer + "/days")
        let start = try minutes(object["from"], pointer + "/from", orElse: 0)
        let end = try minutes(object["to"], pointer + "/to", orElse: 1440)
        guard start < 1440, start != end else {
            throw fault("invalid-value", pointer + "/to", "The window has no length.")
        }
        guard days != TimeWindow.everyDay || start != 0 || end != 1440 else {
            throw fault("invalid-value", pointer, "The window never ends: name days or hours.")
        }
        return TimeWindow(startMinute: start, endMinute: end, days: days, zone: offsets)
    }

    private static func days(_ value: JSONValue?, _ pointer: String) throws(PluginConfigurationError) -> UInt8 {
        guard let value else { return TimeWindow.everyDay }
        var days: UInt8 = 0
        for name in value.asArray ?? [] {
            guard let day = name.asString.flatMap({ TimeWindow.dayNames.firstIndex(of: $0) }) else { days = 0; break }
            days |= 1 << UInt8(day)
        }
        guard days != 0 else {
            throw fault("invalid-value", pointer, "Days are a list of: \(TimeWindow.dayNames.joined(separator: ", ")).")
        }
        return days
    }

    private static func minutes(
        _ value: JSONValue?, _ pointer: String, orElse other: Int
    ) throws(PluginConfigurationError) -> Int {
        guard let value else { return other }
        guard let minutes = value.asString.flatMap(TimeOfDay.minutes) else {
            throw fault("invalid-value", pointer, "This must be a time of day from \"00:00\" to \"24:00\".")
        }
        return minutes
    }

    private static func fault(_ code: String, _ pointer: String, _ message: String) -> PluginConfigurationError {
        PluginConfigurationError(code: code, pointer: pointer, message: message)
    }
}
