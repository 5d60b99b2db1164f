import Glibc

/// How many files, and so connections, the process may have open.
package enum OpenFiles {
    /// Raises the limit as far as the process may, and returns it. The lower default is for programs that use `select`.
    package static func raiseLimit() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return DaemonLimits.openFilesAssumed }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
