import Glibc

/// Measures a disk as the database uses it.
package enum DiskProbe: Sendable {
    /// The durations of durable writes of a page to a new file in the folder, in milliseconds; empty if it cannot be written.
    package static func syncMilliseconds(in folder: String, count: Int) -> [Double] {
        let path = "\(folder)/.routerd-doctor-\(getpid())"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return [] }
        defer {
            close(descriptor)
            unlink(path)
        }
        let page = [UInt8](repeating: 0x61, count: 4096)
        var durations: [Double] = []
        for _ in 0..<count {
            let start = ContinuousClock.now
            guard write(descriptor, page, page.count) == page.count, fdatasync(descriptor) == 0 else { return [] }
            durations.append(Double((ContinuousClock.now - start).components.attoseconds) / 1e15)
        }
        return durations
    }

    /// The bytes that the daemon's user may still write there; nil if the system does not say.
    package static func freeBytes(in folder: String) -> Int64? {
        var figures = statvfs()
        guard statvfs(folder, &figures) == 0 else { return nil }
        return Int64(clamping: UInt64(figures.f_bavail) * UInt64(figures.f_frsize))
    }
}
