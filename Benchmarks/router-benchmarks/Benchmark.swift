/// One thing that is measured.
struct Benchmark {
    /// Names it in tables and thresholds.
    let name: String
    /// How many operations one call of `run` does.
    let operations: Int
    /// Does them. Everything that may be made beforehand has been made. The result depends on all of them, so that none
    /// is left out when this is compiled.
    let run: () -> Int
}

/// The sizes at which most things are measured.
enum Size: Int, CaseIterable {
    case thousand = 1_000
    case hundredThousand = 100_000

    /// The size in words for the name of a benchmark.
    var words: String { self == .thousand ? "1,000" : "100,000" }
}
