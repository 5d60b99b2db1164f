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
        1099,  // Java's remote objects
        1433, 1434, 1521,  // SQL Server, Oracle
        2049,  // NFS
        2181,  // ZooKeeper
        2375, 2376,  // Docker
        2379, 2380,  // etcd
        3306, 5432, 5433,  // MySQL, PostgreSQL
        3389, 5900,  // Remote desktops
        4222, 4369,  // NATS, Erlang's port mapper
        5672, 15_672, 9092,  // AMQP, RabbitMQ's management, Kafka
        5984, 8086, 50_000,  // CouchDB, InfluxDB, Db2
        5985, 5986,  // Windows Remote Management
        6379, 6380, 11211,  // Redis, memcached
        6667,  // IRC
        7000, 7001, 9042, 9160,  // Cassandra
        8200, 8300, 8500,  // Vault, Consul
        9200, 9300,  // Elasticsearch
        6443, 10_250, 10_255,  // Kubernetes: its API, kubelet
        27_017, 27_018, 27_019,  // MongoDB
    ]
}
