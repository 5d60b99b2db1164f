// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target of ours: Swift 6 mode, the upcoming features that make access and
/// isolation explicit, and every warning an error.
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

/// Files that are part of the binary, as `PackageResources.name_type`; names are unique within a target.
func embedded(_ folder: String, _ names: [String]) -> [Resource] { names.map { .embedInCode("\(folder)/\($0)") } }

let package = Package(
    name: "routerd",
    products: [
        .executable(name: "routerd", targets: ["routerd"]),
        .library(name: "PredicateEngine", targets: ["PredicateEngine"]),
        .library(name: "RouterPlugin", targets: ["RouterPlugin"]),
        .library(name: "RouterdClient", targets: ["RouterdClient"]),
        .library(name: "RouterdApp", targets: ["RouterdApp", "RouterdCommands"]),
        .library(name: "RouterTesting", targets: ["RouterTesting"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift.git", from: "0.2.0"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        // Without its default trait ConfigurationSupport, which compiles swift-configuration.
        .package(
            url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/hummingbird-project/swift-mustache.git", from: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams.git", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
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
        .target(
            name: "Plugins",
            dependencies: [
                "Router", "RouterPlugin", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Mustache", package: "swift-mustache"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StoreSQLite",
            dependencies: ["PredicateEngine", "Router", "RouterPlugin", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings
        ),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CPluginChild"),
        .target(
            name: "DeliveryCurl",
            dependencies: [
                "CCurl", "Router", "RouterPlugin", .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "RouterdClient",
            dependencies: [
                "RouterPlugin",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "RouterdApp",
            dependencies: [
                "DeliveryCurl", "Plugins", "PredicateEngine", "Router", "RouterPlugin", "RouterdClient", "StoreSQLite",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Yams", package: "Yams"),
            ],
            resources: embedded(
                "Console/Assets",
                [
                    "app.js", "base.js", "index.html", "inspector.html", "inspector.js", "ladder.js", "lists.js",
                    "notification.js", "overview.js", "plots.js", "predicate.js", "route.js", "style.css", "traffic.js",
                    "trial.js",
                ]),
            swiftSettings: settings
        ),
        .target(
            name: "RouterdBench",
            dependencies: [
                "DeliveryCurl", "Plugins", "PredicateEngine", "Router", "RouterPlugin", "RouterdApp", "StoreSQLite",
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "RouterdCommands",
            dependencies: [
                "CPluginChild", "DeliveryCurl", "Plugins", "PredicateEngine", "Router", "RouterPlugin", "RouterdApp",
                "RouterdBench", "RouterdClient", "StoreSQLite",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: embedded(
                "Plugins/Projects/python", ["README.python.md", "routerd_rule.py", "rule.py", "test_rule.py"])
                + embedded("Plugins/Projects/node", ["README.node.md", "routerd-rule.js", "rule.js", "rule.test.js"])
                + embedded("Plugins/Projects/rules", ["README.rules.md", "rules.yaml"])
                // Copies of the files of Examples/third-party-rule; NewPluginTests compares them.
                + embedded(
                    "Plugins/Projects/swift",
                    [
                        "Package.swift.txt", "README.swift.md", "ShieldedRoles.swift.txt",
                        "ShieldedRolesTests.swift.txt", "main.swift.txt", "routerd.yaml",
                    ]),
            swiftSettings: settings
        ),
        .executableTarget(name: "routerd", dependencies: ["RouterdCommands"], swiftSettings: settings),
        .target(
            name: "RouterTesting",
            dependencies: ["PredicateEngine", "Router", "RouterPlugin"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PredicateEngineTests", dependencies: ["TestSupport", "PredicateEngine"],
            resources: [.copy("Fixtures")],
            swiftSettings: settings),
        .testTarget(
            name: "RouterPluginTests", dependencies: ["TestSupport", "RouterPlugin"], exclude: ["Fixtures"],
            swiftSettings: settings),
        .testTarget(
            name: "RouterTests",
            dependencies: ["TestSupport", "PredicateEngine", "Router", "RouterPlugin", "RouterTesting"],
            exclude: ["Fixtures"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PluginsTests",
            dependencies: [
                "TestSupport", "Plugins", "Router", "RouterPlugin", "RouterTesting",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            exclude: ["Fixtures"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StoreSQLiteTests",
            dependencies: [
                "TestSupport", "Router", "RouterPlugin", "RouterTesting", "StoreSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DeliveryCurlTests",
            dependencies: [
                "TestSupport", "CCurl", "DeliveryCurl", "Router", "RouterPlugin", "RouterTesting",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
            ],
            swiftSettings: settings
        ),
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        // Daemons, receivers and clients, which the two targets below share.
        .target(
            name: "DaemonTesting",
            dependencies: [
                "TestSupport", "DeliveryCurl", "Plugins", "Router", "RouterPlugin", "RouterdApp", "StoreSQLite",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Tests/DaemonTesting",
            swiftSettings: settings
        ),
        .testTarget(
            name: "RouterdAppTests",
            dependencies: [
                "TestSupport", "DaemonTesting", "DeliveryCurl", "Plugins", "PredicateEngine", "Router", "RouterPlugin",
                "RouterdApp", "RouterdBench", "RouterdCommands", "StoreSQLite",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RouterdClientTests",
            dependencies: [
                "TestSupport", "DaemonTesting", "Router", "RouterPlugin", "RouterdApp", "RouterdClient",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        // Starts the release binary, kills it and traces it.
        .testTarget(
            name: "AcceptanceTests",
            dependencies: [
                "TestSupport", "DaemonTesting", "Plugins", "Router", "RouterPlugin", "RouterdApp", "RouterdClient",
                "StoreSQLite", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            exclude: ["Snapshots"],
            swiftSettings: settings
        ),
    ]
)

// Benchmarks need `package` access to the code under measurement, so their targets belong to this package. They are part of it
// only when the Makefile asks for them: retains and releases are counted by flags of the linker, which no package that others
// depend on may have. They share the modules of a release build of routerd.
if Context.environment["ROUTERD_BENCHMARKS"] != nil {
    /// Lets retains and releases be counted: CAllocationCount puts its own functions in their place, and those of the
    /// standard library itself are counted where it is part of the program.
    let counted = ["swift_retain", "swift_retain_n", "swift_tryRetain", "swift_release", "swift_release_n"]
    package.targets += [
        .target(name: "CAllocationCount", path: "Benchmarks/CAllocationCount"),
        .executableTarget(
            name: "router-benchmarks",
            dependencies: ["CAllocationCount", "PredicateEngine", "Router", "RouterPlugin"],
            path: "Benchmarks/router-benchmarks",
            swiftSettings: settings,
            linkerSettings: [.unsafeFlags(counted.flatMap { ["-Xlinker", "--wrap=\($0)"] })]
        ),
        .executableTarget(
            name: "decision-count", dependencies: ["PredicateEngine", "Router", "RouterPlugin"],
            path: "Benchmarks/decision-count", swiftSettings: settings),
        .executableTarget(
            name: "simulation-soak", dependencies: ["RouterTesting"], path: "Benchmarks/simulation-soak",
            swiftSettings: settings),
    ]
}
