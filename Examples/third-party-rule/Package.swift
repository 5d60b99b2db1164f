// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "kiosk-router",
    dependencies: [.package(name: "routerd", path: "../..")],
    targets: [
        .executableTarget(
            name: "kiosk-router",
            dependencies: [
                .product(name: "RouterdApp", package: "routerd"), .product(name: "RouterPlugin", package: "routerd"),
            ]),
        .testTarget(
            name: "kiosk-routerTests",
            dependencies: [
                "kiosk-router", .product(name: "RouterPlugin", package: "routerd"),
                .product(name: "RouterTesting", package: "routerd"),
            ]),
    ]
)
