import Foundation
import Glibc

/// Memory that starting needed, and that is hardly used afterwards.
///
/// Starting runs code that never runs again: the dynamic loader, configuration, migrations, recovery. The kernel maps
/// the sixteen pages around each page that is touched, so that nine tenths of an idle daemon's resident memory are
/// pages of programs. Giving them back costs no I/O: they stay in the page cache, and a page that is needed again is
/// mapped again when it is touched.
enum MappedPages {
    /// Gives unmodified pages of mapped files back to the kernel.
    static func giveBack() {
        // Reads to the end: files in /proc report no size, and a reader that goes by the size gets only the beginning.
        guard let file = FileHandle(forReadingAtPath: "/proc/self/smaps"), let bytes = try? file.readToEnd() else {
            return
        }
        for range in unchanged(in: String(decoding: bytes, as: UTF8.self)) {
            guard let start = UnsafeMutableRawPointer(bitPattern: range.lowerBound) else { continue }
            madvise(start, Int(range.upperBound - range.lowerBound), Int32(MADV_DONTNEED))
        }
    }

    /// The address ranges in a text like `/proc/self/smaps` that are mapped from a file, are not writable, and have no
    /// page that differs from the file, as pages relocated by the loader do.
    static func unchanged(in mappings: String) -> [Range<UInt>] {
        var found: [Range<UInt>] = []
        var candidate: Range<UInt>?
        for line in mappings.split(separator: "\n") {
            if let mapping = Mapping(line) {
                candidate = mapping.isFile && !mapping.isWritable ? mapping.range : nil
            } else if line.hasPrefix("Anonymous:"), let range = candidate {
                if line.split(separator: " ").dropFirst().first == "0" { found.append(range) }
                candidate = nil
            }
        }
        return found
    }

    /// The first line of a mapping: `7f00-7f10 r-xp 00000000 fe:00 123      /lib/x.so`.
    private struct Mapping {
        let range: Range<UInt>
        let isWritable: Bool
        let isFile: Bool

        init?(_ line: Substring) {
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count >= 5, fields[1].utf8.count == 4 else { return nil }
            let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard ends.count == 2, ends[0] < ends[1] else { return nil }
            range = ends[0]..<ends[1]
            isWritable = fields[1].contains("w")
            isFile = fields.count == 6 && fields[5].drop { $0 == " " }.first == "/"
        }
    }
}
