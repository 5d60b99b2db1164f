import Glibc
package import Logging
package import Router
package import RouterPlugin

extension RuleDesk {
    /// The desk of a configuration's remote rules; nil if there are none.
    ///
    /// - Throws: ``PluginFolderError``.
    package init?(
        _ configuration: DaemonConfiguration, transport: any Transport, clock: SteadyClock = SteadyClock(),
        logger: Logger
    ) throws(PluginFolderError) {
        let rules = configuration.rules.compactMap { $0 as? RemoteRule }
        guard !rules.isEmpty else { return nil }
        var members: [Member] = []
        for rule in rules {
            switch rule.transport {
            case .callOut(let settings):
                members.append(Member(rule, CallOutRule(rule, settings, transport: transport, clock: clock)))
            case .process(let settings):
                let folder = try PluginFolder.make(for: rule.id, in: configuration.pluginsFolder)
                let process = ProcessRule(
                    rule, settings, launcher: configuration.pluginLauncher, folder: folder, clock: clock, logger: logger
                )
                members.append(Member(rule, process))
            }
        }
        self.init(members)
    }
}

extension DaemonConfiguration {
    /// The folder with the working folders of plugins.
    fileprivate var pluginsFolder: String {
        if let pluginFolder { return pluginFolder }
        guard let slash = database.lastIndex(of: "/") else { return "plugins" }
        return database[...slash] + "plugins"
    }
}

extension EngineHost {
    /// The answers of the remote rules about a notification that is explained.
    package func answers(about view: NotificationView, at now: Timestamp) async -> RuleAnswers? {
        guard let desk, let tenant = loop.engine.tenants[view.application] else { return nil }
        let question = RemoteQuestion(about: view, in: tenant, limit: DaemonLimits.candidatesAsked)
        return await desk.answers(to: question, at: now)
    }
}

/// The working folder of a plugin, the only place that it may write to.
package enum PluginFolder {
    /// The user that plugins of a daemon with the rights of root run as.
    private static let plainUser: uid_t = 65534

    /// Makes the folder; returns its absolute path.
    package static func make(for plugin: PluginID, in parent: String) throws(PluginFolderError) -> String {
        let name = String(plugin.text.map { $0 == "/" ? "_" : $0 })
        let path = "\(parent)/\(name)"
        for (folder, mode) in [(parent, mode_t(0o711)), (path, mode_t(0o700))] {
            guard mkdir(folder, mode) == 0 || errno == EEXIST else {
                throw PluginFolderError(path: folder, code: errno)
            }
        }
        if geteuid() == 0, chown(path, plainUser, plainUser) != 0 { throw PluginFolderError(path: path, code: errno) }
        guard let absolute = realpath(path, nil) else { throw PluginFolderError(path: path, code: errno) }
        defer { free(absolute) }
        return String(cString: absolute)
    }
}

/// A working folder of a plugin cannot be made.
package struct PluginFolderError: Error, CustomStringConvertible {
    let path: String
    let code: Int32

    package var description: String {
        "The folder \(path) of a plugin cannot be made: \(String(cString: strerror(code)))."
    }
}
