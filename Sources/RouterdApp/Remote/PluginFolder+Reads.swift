import Foundation
import Glibc
package import RouterPlugin

extension PluginFolder {
    /// The mark before a folder of which a plugin may read the names of its files, and nothing else.
    static let listing = "list:"
    /// The most files of a folder that are granted one by one.
    private static let sharedFiles = 1024

    /// The paths that a plugin may read: those of its settings, and the folder of each file that its command names by an
    /// absolute path. A program in a folder `bin` has its libraries beside that folder.
    ///
    /// - Parameters:
    ///   - hidden: Paths that a folder of the command does not open. Of such a folder the other files and folders that are
    ///     there now are readable, each by itself.
    ///   - isFolder: Whether a path is a folder; nil if there is none.
    ///   - names: The names of a folder's files and folders.
    package static func reads(
        of settings: ProcessSettings, hiding hidden: [String], isFolder: (String) -> Bool? = isFolder,
        names: (String) -> [String] = names
    ) -> [String] {
        func mayBeRead(_ folder: Substring) -> Bool {
            folder.utf8.count > 1 && !hidden.contains { $0 == folder || $0.hasPrefix("\(folder)/") }
        }
        func folder(of path: some StringProtocol) -> Substring {
            String(path)[..<(String(path).lastIndex(of: "/") ?? String(path).startIndex)]
        }
        // The files of a database begin with its name.
        func isHidden(_ path: String) -> Bool {
            !mayBeRead(path[...]) || hidden.contains { path.hasPrefix("\($0)-") || path.hasPrefix("\($0).") }
        }
        var reads = settings.reads
        for (place, argument) in settings.command.enumerated() where argument.hasPrefix("/") {
            guard let isFolder = isFolder(argument) else { continue }
            let parent = isFolder ? argument[...] : folder(of: argument)
            let above = folder(of: parent)
            if place == 0, parent.hasSuffix("/bin"), mayBeRead(above) {
                reads.append(String(above))
                continue
            }
            let shared = parent.utf8.count > 1 && !mayBeRead(parent) ? names(String(parent)) : []
            if shared.isEmpty || shared.count > sharedFiles {
                reads.append(mayBeRead(parent) ? String(parent) : argument)
            } else {
                reads.append("\(listing)\(parent)")
                reads += shared.map { "\(parent)/\($0)" }.filter { !isHidden($0) }.sorted()
            }
        }
        return reads
    }

    /// The absolute path of a file that need not be there, without links on the way to it.
    static func absolute(_ path: String) -> String {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? "."
        guard let real = realpath(folder, nil) else { return path }
        defer { free(real) }
        return "\(String(cString: real))/\(slash.map { path[path.index(after: $0)...] } ?? path[...])"
    }

    package static func names(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}
