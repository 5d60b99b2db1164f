import Router

extension ConfigurationLoader {
    /// How long finished work is kept; a setting that the file leaves out has its default.
    mutating func retention() -> RetentionPolicy {
        var policy = DaemonLimits.retention
        var days: Int64? = policy.ageMilliseconds
        read("retention.days") { text in
            days = text == "forever" ? nil : Int64(try Self.days(text)) * DaemonLimits.dayMilliseconds
        }
        read("retention.maxBytes") { text in
            let least = DaemonLimits.retentionBytesMinimum
            policy.maximumBytes = text == "none" ? nil : Int64(try Self.integer(text, least...Int.max))
        }
        read("retention.repeatHours") { text in
            policy.repeatMilliseconds = Int64(try Self.integer(text, 1...8760)) * 60 * 60 * 1000
        }
        if let days, days < policy.repeatMilliseconds {
            refuse(
                "retention.days",
                "The age must be at least retention.repeatHours: notifications are kept that long in any case.")
        }
        return RetentionPolicy(
            ageMilliseconds: days, maximumBytes: policy.maximumBytes, repeatMilliseconds: policy.repeatMilliseconds)
    }

    /// The most that one application may register.
    mutating func registration() -> RegistrationLimits {
        var limits = RegistrationLimits()
        read("limits.sessionsPerApplication") { limits.sessions = try Self.integer($0, 1...100_000_000) }
        read("limits.sessionBytesPerApplication") { limits.sessionBytes = try Self.integer($0, 1024...Int.max) }
        read("limits.predicateStepsPerApplication") { limits.predicateSteps = try Self.integer($0, 1024...Int.max) }
        return limits
    }

    private static func days(_ text: String) throws(Unusable) -> Int {
        guard let days = Int(text), (1...36_500).contains(days) else {
            throw Unusable("must be a whole number of days from 1 to 36500, or forever")
        }
        return days
    }
}
