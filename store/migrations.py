"""Numbered schema migrations: forward only, append only, each in one transaction.

DuckDB looks ids up by an index on one column only, never by a compound key, and a key costs more
room than the rows of a link: so each table has the index that its look-ups use, and what must not
come twice is looked up before it is inserted.
"""

Migrations = tuple[tuple[str, ...], ...]

MIGRATIONS: Migrations = (
    (  # 1: captures, records, links, and the feed that the index follows
        """
        CREATE TABLE scopes (
            scope VARCHAR PRIMARY KEY,
            created_at TIMESTAMP NOT NULL
        )
        """,
        """
        CREATE TABLE captures (
            scope VARCHAR NOT NULL,
            capture_id VARCHAR NOT NULL,
            text VARCHAR NOT NULL,
            utf8_sha256 VARCHAR NOT NULL,
            recorded_at TIMESTAMP NOT NULL,
            captured_at TIMESTAMP,
            speaker VARCHAR NOT NULL,
            session_id VARCHAR,
            turn_id VARCHAR,
            previous_id VARCHAR,
            origin VARCHAR NOT NULL,
            fidelity VARCHAR NOT NULL,
            source_path VARCHAR,
            external_id VARCHAR,
            attrs VARCHAR NOT NULL,
            utc_offset INTEGER
        )
        """,
        "CREATE INDEX captures_by_id ON captures (capture_id)",
        """
        CREATE TABLE records (
            scope VARCHAR NOT NULL,
            record_id VARCHAR NOT NULL,
            version INTEGER NOT NULL,
            kind VARCHAR NOT NULL,
            layer VARCHAR NOT NULL,
            status VARCHAR NOT NULL,
            title VARCHAR NOT NULL,
            gist VARCHAR NOT NULL,
            detail VARCHAR,
            topics VARCHAR[] NOT NULL,
            aliases VARCHAR[] NOT NULL,
            salience INTEGER NOT NULL,
            salience_source VARCHAR NOT NULL,
            date_start DATE,
            date_end DATE,
            date_precision VARCHAR NOT NULL,
            date_basis VARCHAR NOT NULL,
            phase VARCHAR,
            created_at TIMESTAMP NOT NULL,
            updated_at TIMESTAMP NOT NULL,
            expires_at TIMESTAMP,
            confidence DOUBLE,
            sensitivity VARCHAR,
            reason VARCHAR,
            external_id VARCHAR,
            attrs VARCHAR NOT NULL,
            PRIMARY KEY (scope, record_id, version)
        )
        """,
        "CREATE INDEX records_by_id ON records (record_id)",
        """
        CREATE TABLE links (
            scope VARCHAR NOT NULL,
            src VARCHAR NOT NULL,
            rel VARCHAR NOT NULL,
            dst VARCHAR NOT NULL,
            span_start INTEGER NOT NULL,
            span_end INTEGER NOT NULL,
            attrs VARCHAR NOT NULL
        )
        """,
        "CREATE INDEX links_by_source ON links (src)",
        "CREATE INDEX links_by_target ON links (dst)",
        """
        CREATE TABLE changes (
            seq BIGINT NOT NULL,
            scope VARCHAR NOT NULL,
            what VARCHAR NOT NULL,
            id VARCHAR NOT NULL,
            version INTEGER NOT NULL,
            changed_at TIMESTAMP NOT NULL
        )
        """,
        """
        CREATE TABLE idempotency (
            key_id VARCHAR PRIMARY KEY,
            scope VARCHAR NOT NULL,
            idempotency_key VARCHAR NOT NULL,
            request_sha256 VARCHAR NOT NULL,
            result VARCHAR NOT NULL,
            created_at TIMESTAMP NOT NULL
        )
        """,
    ),
    (  # 2: turns and their ledger, attachments, feedback, what was purged or undone
        """
        CREATE TABLE receipts (
            scope VARCHAR NOT NULL,
            turn_id VARCHAR NOT NULL,
            version INTEGER NOT NULL,
            seq BIGINT NOT NULL,
            asked VARCHAR NOT NULL,
            tier VARCHAR NOT NULL,
            signal VARCHAR NOT NULL,
            reasons VARCHAR[] NOT NULL,
            reasons_suppressed VARCHAR[] NOT NULL,
            utf8_sha256 VARCHAR NOT NULL,
            created_at TIMESTAMP NOT NULL
        )
        """,
        "CREATE INDEX receipts_by_turn ON receipts (turn_id)",
        """
        CREATE TABLE ledger (
            scope VARCHAR NOT NULL,
            seq BIGINT NOT NULL,
            step VARCHAR NOT NULL,
            outcome VARCHAR NOT NULL,
            turn_id VARCHAR,
            capture_id VARCHAR,
            attachment_id VARCHAR,
            records VARCHAR[] NOT NULL,
            trace_id VARCHAR,
            reason VARCHAR,
            created_at TIMESTAMP NOT NULL
        )
        """,
        "CREATE INDEX ledger_by_turn ON ledger (turn_id)",
        "CREATE INDEX ledger_by_capture ON ledger (capture_id)",
        "CREATE INDEX ledger_by_attachment ON ledger (attachment_id)",
        """
        CREATE TABLE attachments (
            scope VARCHAR NOT NULL,
            attachment_id VARCHAR NOT NULL,
            sha256 VARCHAR NOT NULL,
            bytes BIGINT NOT NULL,
            name VARCHAR NOT NULL,
            media_type VARCHAR NOT NULL,
            turn_id VARCHAR,
            source_path VARCHAR,
            recorded_at TIMESTAMP NOT NULL
        )
        """,
        "CREATE INDEX attachments_by_id ON attachments (attachment_id)",
        "CREATE INDEX attachments_by_bytes ON attachments (sha256)",
        """
        CREATE TABLE feedback (
            scope VARCHAR NOT NULL,
            feedback_id VARCHAR NOT NULL,
            verdict VARCHAR NOT NULL,
            target_id VARCHAR NOT NULL,
            capture_id VARCHAR NOT NULL,
            span_start INTEGER NOT NULL,
            span_end INTEGER NOT NULL,
            trace_id VARCHAR,
            note VARCHAR,
            created_at TIMESTAMP NOT NULL
        )
        """,
        "CREATE INDEX feedback_by_target ON feedback (target_id)",
        # What was corrected, by the SHA-256 of its folded words: found when it is said again.
        """
        CREATE TABLE corrected (
            scope VARCHAR NOT NULL,
            claim VARCHAR NOT NULL,
            record_id VARCHAR NOT NULL
        )
        """,
        "CREATE INDEX corrected_by_claim ON corrected (claim)",
        """
        CREATE TABLE tombstones (
            scope VARCHAR NOT NULL,
            id VARCHAR NOT NULL,
            what VARCHAR NOT NULL,
            purged_at TIMESTAMP NOT NULL
        )
        """,
        "CREATE INDEX tombstones_by_id ON tombstones (id)",
        """
        CREATE TABLE unlinked (
            scope VARCHAR NOT NULL,
            src VARCHAR NOT NULL,
            rel VARCHAR NOT NULL,
            dst VARCHAR NOT NULL,
            span_start INTEGER NOT NULL,
            span_end INTEGER NOT NULL,
            attrs VARCHAR NOT NULL,
            made_seq BIGINT NOT NULL,
            removed_seq BIGINT NOT NULL
        )
        """,
    ),
)
SCHEMA_VERSION = len(MIGRATIONS)
