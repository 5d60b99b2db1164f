import Glibc

/// A small file named by a setting. Errors complete "The value …", with the file and the reason.
struct ConfiguredFile {
    /// The content; it is cut one byte beyond the limit, so that a longer file can be recognised.
    let bytes: [UInt8]
    /// The mode bits of the open file, which may be behind a link; nil if the system does not report them.
    let mode: mode_t?

    init(_ path: String, limit: Int) throws(ConfigurationLoader.Unusable) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        mode = fstat(descriptor, &status) == 0 ? status.st_mode : nil
        var (content, chunk): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 1 << 16))
        while content.count <= limit {
            let count = read(descriptor, &chunk, min(chunk.count, limit + 1 - content.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.unreadable(path, errno) }
            if count == 0 { break }
            content.append(contentsOf: chunk[..<count])
        }
        bytes = content
    }

    private static func unreadable(_ path: String, _ code: Int32) -> ConfigurationLoader.Unusable {
        let reason = String(cString: strerror(code))
        return ConfigurationLoader.Unusable("names a file that cannot be read: \(path) (\(reason))")
    }
}
