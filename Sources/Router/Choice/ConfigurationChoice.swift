import RouterPlugin

/// The source of a new session's configuration.
package enum ConfigurationChoice: Hashable, Sendable, CustomStringConvertible {
    case named(String)
    /// The known facts choose none of several configurations: the delegate is asked.
    case asked

    package var description: String {
        switch self {
        case .named(let name): "configuration '\(name)'"
        case .asked: "the delegate is asked for its configuration"
        }
    }
}

extension Tenant {
    /// The source of the configuration of a new session in the role: the type of the activity brought to it, else the
    /// delegate if there are several configurations, else the first one.
    ///
    /// - Returns: nil if no configuration has an endpoint at which the session could be reached.
    package func configuration(forNew role: String, activityType: String?) -> ConfigurationChoice? {
        let open = openConfigurations(of: role)
        guard let first = open.first else { return nil }
        if let activityType, let chosen = open.first(where: { $0.isChosen(by: activityType) }) {
            return .named(chosen.name)
        }
        let isAsked = application.delegate != nil && application.delivery.lifeCycleEvents
        return open.count > 1 && isAsked ? .asked : .named(first.name)
    }

    /// The configuration that the delegate named for a new session, or the first one if the delegate named none that
    /// exists.
    package func configuration(named name: String?, forNew role: String) -> String? {
        let open = openConfigurations(of: role)
        let named = open.first { name?.isSame(as: $0.name) == true }
        return (named ?? open.first)?.name
    }

    /// The configurations with an endpoint that can reach a new session, without that of the demo. An endpoint that answered 410 for another
    /// session is left out: it would answer the same for a new one.
    private func openConfigurations(of role: String) -> [SceneConfiguration] {
        application.manifest.sceneConfigurations.filter { configuration in
            guard let endpoint = configuration.endpoint else { return false }
            return configuration.role == role && !application.isDemo(configuration.name) && !isGone(endpoint)
        }
    }
}

extension SceneConfiguration {
    fileprivate func isChosen(by activityType: String) -> Bool {
        activityTypes.contains { $0.isSame(as: activityType) }
    }
}
