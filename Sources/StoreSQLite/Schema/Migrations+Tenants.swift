/// Step 22: lists of one tenant read no rows of others.
extension Migrations {
    /// The states that few notifications are in: an index of these costs nothing while a notification waits and when it is
    /// delivered.
    static let isOutcome = "state NOT IN ('waiting', 'delivered')"

    static let listsByTenant = """
        -- The terms of the list index name the application: see `ListTerm`.
        DELETE FROM list_entry;
        INSERT INTO list_entry
          SELECT sequence >> 10, term, sequence FROM (
            SELECT 'a' || application AS term, sequence FROM notification
            UNION ALL SELECT 's' || session || char(31) || application, sequence FROM notification
              WHERE session IS NOT NULL
            UNION ALL SELECT 'c' || content_id || char(31) || application, sequence FROM notification
              WHERE content_id IS NOT NULL
            UNION ALL SELECT 'k' || kind || char(31) || application, sequence FROM notification WHERE kind IS NOT NULL
            UNION ALL SELECT 'e' || event || char(31) || application, sequence FROM notification
              WHERE event IS NOT NULL
          ) WHERE sequence < (SELECT listed_segments << 10 FROM ledger) ORDER BY 1, 2, 3;
        -- The failures of a tenant, without the rows of other tenants.
        CREATE INDEX notification_by_outcome ON notification (application, state)
          WHERE state NOT IN ('waiting', 'delivered');
        """
}
