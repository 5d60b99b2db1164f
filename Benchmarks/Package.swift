// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target of ours, as in the daemon's package.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
    .treatWarning("ExplicitSendable", as: .error),
]

/// Lets retains and releases be counted: CAllocationCount puts its own functions in their place, and what the standard
/// library does itself is counted where it is part of the program.
let counted = ["swift_retain", "swift_retain_n", "swift_tryRetain", "swift_release", "swift_release_n"]
let counting: [LinkerSetting] = [
    .unsafeFlags(["-static-stdlib"] + counted.flatMap { ["-Xlinker", "--wrap=\($0)"] })
]

// What is measured has `package` access, which ends at the package. So the modules of the core and RouterTesting are compiled
// here once more, from the same files behind symbolic links. A dependency on the daemon's package could not see into them, and
// would bring HTTP and the store along.
let package = Package(
    name: "router-benchmarks",
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections.git", from: "1.6.0")
    ],
    targets: [
        .target(name: "PredicateEngine", swiftSettings: settings),
        .target(name: "RouterPlugin", swiftSettings: settings),
        .target(
            name: "Router",
            dependencies: [
                "PredicateEngine",
                "RouterPlugin",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HashTreeCollections", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "registry-race", dependencies: ["PredicateEngine", "Router", "RouterPlugin"], swiftSettings: settings),
        .target(
            name: "RouterTesting", dependencies: ["PredicateEngine", "Router", "RouterPlugin"], swiftSettings: settings),
        .executableTarget(name: "simulation-soak", dependencies: ["RouterTesting"], swiftSettings: settings),
        .executableTarget(
            name: "decision-count", dependencies: ["PredicateEngine", "Router", "RouterPlugin"], swiftSettings: settings
        ),
        .target(name: "CAllocationCount"),
        .executableTarget(
            name: "router-benchmarks",
            dependencies: ["CAllocationCount", "PredicateEngine", "Router", "RouterPlugin"],
            swiftSettings: settings,
            linkerSettings: counting
        ),
    ]
)
