/// The ports of public addresses at which webhooks may be received.
///
/// Below 1024 these are 80 and 443: other services there speak another protocol, and a signed POST to a mail server or
/// a shell would look like an attack by this daemon. Above it, all ports are open except those of data stores, queues
/// and control planes, which obey any client that reaches them and where no webhook is received.
enum EgressPorts {
    static func isOpen(_ port: Int) -> Bool {
        port == 80 || port == 443 || (port >= 1024 && port <= 65_535 && !services.contains(port))
    }

    private static let services: Set<Int> = [
        1433, 1434, 1521,  // SQL Server, Oracle
        2049,  // NFS
        2181,  // ZooKeeper
        2375, 2376,  // Docker
        2379, 2380,  // etcd
        3306, 5432, 5433,  // MySQL, PostgreSQL
        3389, 5900,  // Remote desktops
        5672, 9092,  // AMQP, Kafka
        5985, 5986,  // Windows Remote Management
        6379, 6380, 11211,  // Redis, memcached
        6667,  // IRC
        7000, 7001, 9042, 9160,  // Cassandra
        9200, 9300,  // Elasticsearch
        6443, 10_250, 10_255,  // Kubernetes: its API, kubelet
        27_017, 27_018, 27_019,  // MongoDB
    ]
}
